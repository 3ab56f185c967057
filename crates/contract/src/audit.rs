//! The audit trail, as `GET /operator/v1/audit` answers it.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The query string: which entries to return. An empty value counts as absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuditFilter {
    /// Only entries of this login name.
    pub account: Option<String>,
    /// Only entries of this event.
    pub event: Option<String>,
    /// Only entries of this source address.
    pub source: Option<String>,
    /// Only entries of this time or later, Unix milliseconds.
    #[schemars(with = "Option<i64>", range(min = 0))]
    pub since_timestamp: Option<String>,
    /// The largest number of entries, 100 by default.
    #[schemars(with = "Option<i64>", range(min = 1, max = 1_000))]
    pub limit: Option<String>,
    /// `next` of the page before.
    pub cursor: Option<String>,
}

/// Entries, newest first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AuditPage {
    /// The entries.
    pub entries: Vec<AuditEntry>,
    /// `cursor` of the next page; null on the last page.
    pub next: Option<String>,
}

/// An event. Times are Unix milliseconds.
///
/// Refused logins that are written together have one entry: `count` of them, with the time, the
/// address and the request of the last one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuditEntry {
    /// The number of the entry; later entries have larger numbers.
    pub entry_no: i64,
    /// When it happened.
    pub timestamp: i64,
    /// The event: `login`, `loginRefused`, `switchGroup` …
    pub event: Cow<'static, str>,
    /// The login name of the account; null without an account, or for one that does not exist.
    pub account: Option<String>,
    /// The actor for the operator: `command`, `server`, or `key` and the key's name.
    pub actor: Option<String>,
    /// The address of the caller.
    pub source: Option<String>,
    /// The id of the request.
    pub request_id: Option<String>,
    /// The group that the session selects, or selected when it ended.
    pub group_id: Option<String>,
    /// The number of events; more than 1 only for refused logins.
    pub count: i64,
    /// The reason of a refusal or of the end of a session, or the changes that were made.
    pub detail: Option<String>,
    /// The session that the event ended.
    pub replaced: Option<ReplacedSession>,
}

/// The login that opened a session. A field is null if an earlier version did not record it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReplacedSession {
    /// The address of the caller.
    pub source: Option<String>,
    /// The id of the request.
    pub request_id: Option<String>,
    /// When it was opened.
    pub timestamp: Option<i64>,
}
