//! `GET /operator/v1/audit`: the audit trail, newest first.

use kiosque_contract::ReplacedSession;
use kiosque_contract::operator_call::ListAudit;
use kiosque_model::UnixMs;
use kiosque_model::audit::AuditEvent;
use kiosque_store::{AuditEntry, AuditPage, AuditQuery, KeyHolder};

use super::call::Call;
use super::cursor::Cursor;
use super::problem::Problem;
use super::query::{self, QueryFaults, digits};
use crate::answer::Failure;

pub(super) async fn list(
    call: &mut Call<'_>,
    _: KeyHolder,
) -> Result<kiosque_contract::AuditPage, Problem> {
    let query = audit_query(call.query())?;
    let page = call.app.store.trail().entries(query).await.map_err(Failure::from)?;
    Ok(wire_page(page))
}

/// Reads a query string.
///
/// # Errors
/// Everything that is wrong with it.
fn audit_query(query: &str) -> Result<AuditQuery, Problem> {
    let mut faults = QueryFaults::default();
    let filter = query::read::<ListAudit>(query, &mut faults)?;
    let since = faults.parse(
        ("sinceTimestamp", filter.since_timestamp.as_deref()),
        "Unix milliseconds",
        |text| digits(text).map(UnixMs),
    );
    let account = faults.parse(("account", filter.account.as_deref()), "a login name", |text| {
        Some(text.to_owned()).filter(|name| !name.is_empty())
    });
    let events = format!("one of {}", AuditEvent::ALL.map(AuditEvent::name).join(", "));
    let event = faults.parse(("event", filter.event.as_deref()), &events, AuditEvent::named);
    let source =
        faults.parse(("source", filter.source.as_deref()), "an address", |text| text.parse().ok());
    let limit = faults.limit(filter.limit.as_deref());
    let before = faults.cursor(filter.cursor.as_deref());
    if let Some(faults) = faults.finish() {
        return Err(Problem::bad_query(faults));
    }
    Ok(AuditQuery { account, event, source, since, limit, before })
}

fn wire_page(page: AuditPage) -> kiosque_contract::AuditPage {
    let entries = page.entries.into_iter().map(wire_entry).collect();
    kiosque_contract::AuditPage { entries, next: page.next.map(|entry_no| entry_no.write()) }
}

/// Returns an entry of the audit trail as the operator's calls send it.
#[must_use]
pub fn wire_entry(entry: AuditEntry) -> kiosque_contract::AuditEntry {
    let happened = entry.happened;
    let replaced = happened.earlier.map(|earlier| ReplacedSession {
        source: earlier.source.map(|source| source.to_string()),
        request_id: earlier.request_id,
        timestamp: earlier.opened_at.map(|at| at.0),
    });
    kiosque_contract::AuditEntry {
        entry_no: entry.entry_no,
        timestamp: happened.at.0,
        event: happened.event.name().into(),
        account: happened.account,
        actor: happened.actor.map(|actor| actor.to_string()),
        source: happened.source.map(|source| source.to_string()),
        request_id: happened.request_id,
        group_id: happened.group_id,
        count: happened.count,
        detail: happened.detail,
        details: entry.details,
        replaced,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
            assert_eq!(audit_query(query).ok(), Some(want), "{query}");
        }
    }

    /// All invalid values of a query are named at once.
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
            let problem = audit_query(query).expect_err(query);
            assert_eq!(problem.faults(), want, "{query}");
        }
    }

    proptest! {
        #[test]
        fn no_query_panics_and_cursors_are_read_back(query in ".{0,60}", number in 1..i64::MAX) {
            let _ = audit_query(&query);
            prop_assert_eq!(i64::read(&number.write()), Some(number));
        }
    }
}
