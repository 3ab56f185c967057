//! `GET /operator/v1/audit`: the audit trail, newest first.

use kiosque_contract::AuditPage;
use kiosque_model::UnixMs;
use kiosque_model::audit::AuditEvent;
use kiosque_store::AuditQuery;

use super::call::Caller;
use super::cursor::Cursor;
use super::query::Query;
use crate::failure::Failure;
use crate::request::digits;

pub(super) async fn list(caller: Caller<'_>) -> Result<AuditPage, Failure> {
    let query = audit_query(caller.query)?;
    let page = caller.call.app.store.trail().entries(query).await?;
    Ok(AuditPage { entries: page.entries, next: page.next.map(|entry_no| entry_no.write()) })
}

/// Reads a query string.
///
/// # Errors
/// All its errors.
fn audit_query(mut query: Query) -> Result<AuditQuery, Failure> {
    let events = AuditEvent::ALL.iter().map(|event| event.name()).collect::<Vec<_>>();
    let events = format!("one of {}", events.join(", "));
    let filter = AuditQuery {
        since: query.parse("sinceTimestamp", "Unix milliseconds", |text| digits(text).map(UnixMs)),
        account: query.parse("account", "a login name", |text| {
            Some(text.to_owned()).filter(|name| !name.is_empty())
        }),
        event: query.parse("event", &events, |name| name.parse().ok()),
        source: query.parse("source", "an address", |text| text.parse().ok()),
        limit: query.limit(),
        before: query.cursor(),
    };
    query.finish()?;
    Ok(filter)
}

#[cfg(test)]
mod tests {
    use super::*;
    use kiosque_contract::operator_call::ListAudit;
    use proptest::prelude::*;

    fn read(query: &str) -> Result<AuditQuery, Failure> {
        audit_query(Query::of(ListAudit, query)?)
    }

    proptest! {
        #[test]
        fn no_query_panics_and_cursors_are_read_back(query in ".{0,60}", number in 1..i64::MAX) {
            let _ = read(&query);
            prop_assert_eq!(i64::read(&number.write()), Some(number));
        }
    }
}
