//! `GET /operator/v1/audit`: the audit trail, newest first.

use kiosque_contract::ReplacedSession;
use kiosque_model::audit::AuditEntry;
use kiosque_model::{Right, UnixMs};
use kiosque_store::{AuditPage, AuditQuery};

use super::call::Call;
use super::problem::Problem;
use super::{Answer, json};
use crate::answer::Failure;
use crate::query;

/// Entries of a page, unless the caller says otherwise.
const LIMIT_DEFAULT: i64 = 100;
/// Most entries of a page.
const LIMIT_MAX: i64 = 1_000;

pub(super) async fn list(call: &Call<'_>) -> Answer {
    call.holder(Right::Audit).await?;
    let query = call.head.uri.query().unwrap_or_default();
    let ask = asked(query).map_err(Problem::bad_query)?;
    let page = call.app.store.audit(ask).await.map_err(Failure::from)?;
    json(&told(page))
}

/// What a query string asks for. An empty value is as if absent.
///
/// # Errors
/// Everything that is wrong with it.
fn asked(query: &str) -> Result<AuditQuery, Vec<String>> {
    let mut reading = Reading { query, faults: Vec::new() };
    let account = reading.value("account", |text| Ok(text.to_owned()));
    let since = reading.value("sinceTimestamp", |text| {
        digits(text).map(UnixMs).ok_or_else(|| "must be Unix milliseconds".to_owned())
    });
    let limit = reading.value("limit", |text| {
        let limit = digits(text).filter(|limit| (1..=LIMIT_MAX).contains(limit));
        limit.ok_or_else(|| format!("must be from 1 to {LIMIT_MAX}"))
    });
    let before = reading.value("cursor", |text| {
        read_cursor(text).ok_or_else(|| "must be what next was in an answer".to_owned())
    });
    if !reading.faults.is_empty() {
        return Err(reading.faults);
    }
    let limit = usize::try_from(limit.unwrap_or(LIMIT_DEFAULT)).unwrap_or_default();
    Ok(AuditQuery { account, since, limit, before })
}

/// A query string being read, and what is wrong with it.
struct Reading<'a> {
    query: &'a str,
    faults: Vec<String>,
}

impl Reading<'_> {
    fn value<T>(&mut self, key: &str, read: impl Fn(&str) -> Result<T, String>) -> Option<T> {
        let mut values = query::values(self.query, key);
        let value = values.next().filter(|value| !value.is_empty());
        let read = match (value, values.next()) {
            (_, Some(_)) => Err("must be given once".to_owned()),
            (None, None) => return None,
            (Some(value), None) => match std::str::from_utf8(&value) {
                Ok(text) => read(text),
                Err(_) => Err("is no UTF-8".to_owned()),
            },
        };
        read.map_err(|fault| self.faults.push(format!("{key} {fault}"))).ok()
    }
}

/// Digits alone: no sign, no space, no digits of another script.
fn digits(text: &str) -> Option<i64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

/// A cursor is the number of the entry that a page ended with; nobody is meant to know.
fn cursor(entry_no: i64) -> String {
    format!("{entry_no:016x}")
}

fn read_cursor(text: &str) -> Option<i64> {
    let number = i64::from_str_radix(text, 16).ok()?;
    (number > 0 && cursor(number) == text).then_some(number)
}

fn told(page: AuditPage) -> kiosque_contract::AuditPage {
    let entries = page.entries.into_iter().map(entry).collect();
    kiosque_contract::AuditPage { entries, next: page.next.map(cursor) }
}

fn entry(entry: AuditEntry) -> kiosque_contract::AuditEntry {
    let happened = entry.happened;
    let replaced = happened.earlier.map(|earlier| ReplacedSession {
        source: earlier.source.map(|source| source.to_string()),
        request_id: earlier.request_id,
        timestamp: earlier.at.map(|at| at.0),
    });
    kiosque_contract::AuditEntry {
        entry_no: entry.entry_no,
        timestamp: happened.at.0,
        event: happened.event.name(),
        account: happened.account,
        actor: happened.actor.map(|actor| actor.to_string()),
        source: happened.source.map(|source| source.to_string()),
        request_id: happened.request_id,
        group_id: happened.group_id,
        count: happened.count,
        detail: happened.detail,
        replaced,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_query_says_which_entries() {
        let all = AuditQuery { account: None, since: None, limit: 100, before: None };
        let some = |account: &str| AuditQuery { account: Some(account.to_owned()), ..all.clone() };
        for (query, want) in [
            ("", all.clone()),
            ("account=&limit=&cursor=&sinceTimestamp=&other=1", all.clone()),
            ("account=o%70s", some("ops")),
            ("account=a%20b%26c", some("a b&c")),
            ("limit=1", AuditQuery { limit: 1, ..all.clone() }),
            ("limit=1000", AuditQuery { limit: 1_000, ..all.clone() }),
            ("sinceTimestamp=0", AuditQuery { since: Some(UnixMs(0)), ..all.clone() }),
            ("cursor=00000000000000ff", AuditQuery { before: Some(255), ..all.clone() }),
        ] {
            assert_eq!(asked(query), Ok(want), "{query}");
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
            ("sinceTimestamp=2026-01-01", &["sinceTimestamp must be Unix milliseconds"]),
            ("sinceTimestamp=99999999999999999999", &["sinceTimestamp must be Unix milliseconds"]),
            ("cursor=ff", &["cursor must be what next was in an answer"]),
            ("cursor=00000000000000FF", &["cursor must be what next was in an answer"]),
            ("cursor=0000000000000000", &["cursor must be what next was in an answer"]),
            (
                "account=%ff&limit=x&cursor=%00&sinceTimestamp=-1",
                &[
                    "account is no UTF-8",
                    "sinceTimestamp must be Unix milliseconds",
                    "limit must be from 1 to 1000",
                    "cursor must be what next was in an answer",
                ],
            ),
        ] {
            assert_eq!(asked(query).expect_err(query), want, "{query}");
        }
    }

    proptest! {
        #[test]
        fn no_query_panics_and_cursors_are_read_back(query in ".{0,60}", number in 1..i64::MAX) {
            let _ = asked(&query);
            prop_assert_eq!(read_cursor(&cursor(number)), Some(number));
        }
    }
}
