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
    use crate::failure::Errors;
    use kiosque_contract::operator_call::ListAudit;
    use proptest::prelude::*;

    fn read(query: &str) -> Result<AuditQuery, Failure> {
        audit_query(Query::of(ListAudit, query)?)
    }

    #[test]
    fn a_query_says_which_entries() {
        let all = AuditQuery::latest(100);
        let some = |account: &str| AuditQuery { account: Some(account.to_owned()), ..all.clone() };
        for (query, want) in [
            ("", all.clone()),
            ("cursor=", all.clone()),
            ("account=o%70s", some("ops")),
            ("account=a%20b%26c", some("a b&c")),
            ("limit=1", AuditQuery { limit: 1, ..all.clone() }),
            ("limit=1000", AuditQuery { limit: 1_000, ..all.clone() }),
            ("sinceTimestamp=0", AuditQuery { since: Some(UnixMs(0)), ..all.clone() }),
            ("cursor=00000000000000ff", AuditQuery { before: Some(255), ..all.clone() }),
        ] {
            assert_eq!(read(query).ok(), Some(want), "{query}");
        }
    }

    /// All invalid values of a query are reported at once.
    #[test]
    fn everything_wrong_with_a_query_is_named() {
        for (query, want) in [
            ("limit=0", &["limit must be from 1 to 1000"][..]),
            ("limit=1001", &["limit must be from 1 to 1000"]),
            ("limit=-1", &["limit must be from 1 to 1000"]),
            ("limit=1&limit=1", &["limit must be given once"]),
            ("limit=", &["limit must be from 1 to 1000"]),
            ("sinceTimestamp=", &["sinceTimestamp must be Unix milliseconds"]),
            ("account=&source=", &["account must be a login name", "source must be an address"]),
            ("sinceTimestamp=2026-01-01", &["sinceTimestamp must be Unix milliseconds"]),
            ("sinceTimestamp=99999999999999999999", &["sinceTimestamp must be Unix milliseconds"]),
            ("cursor=ff", &["cursor must be the value of next in an answer"]),
            ("cursor=00000000000000FF", &["cursor must be the value of next in an answer"]),
            ("cursor=0000000000000000", &["cursor must be the value of next in an answer"]),
            (
                "account=%ff&limit=x&cursor=%00&sinceTimestamp=-1",
                &[
                    "account is not valid UTF-8",
                    "sinceTimestamp must be Unix milliseconds",
                    "limit must be from 1 to 1000",
                    "cursor must be the value of next in an answer",
                ],
            ),
        ] {
            let refused = read(query).expect_err(query);
            let Failure::Denied(_, _, Errors(faults)) = refused else { panic!("{refused:?}") };
            assert_eq!(faults, want, "{query}");
        }
    }

    proptest! {
        #[test]
        fn no_query_panics_and_cursors_are_read_back(query in ".{0,60}", number in 1..i64::MAX) {
            let _ = read(&query);
            prop_assert_eq!(i64::read(&number.write()), Some(number));
        }
    }
}
