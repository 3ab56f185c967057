//! The audit trail, as `GET /operator/v1/audit` answers it.

use serde::Serialize;

/// Entries, newest first.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AuditPage {
    /// The entries.
    pub entries: Vec<AuditEntry>,
    /// `cursor` of the next page; null when this is the last.
    pub next: Option<String>,
}

/// One thing that happened. Times are in milliseconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AuditEntry {
    /// Grows with each entry, and is given once.
    pub entry_no: i64,
    /// When; the last time, of several told together.
    pub timestamp: i64,
    /// What: `login`, `loginRefused`, `switchGroup` …
    pub event: &'static str,
    /// Whose account; null when it is nobody's, or the login name does not exist.
    pub account: Option<String>,
    /// Who acted for the operator: `command`, `server`, or `key` and the key's name.
    pub actor: Option<String>,
    /// From which address; null when there is none, or several are told together.
    pub source: Option<String>,
    /// By which request; the last, of several told together.
    pub request_id: Option<String>,
    /// The group that the session selects, or selected until it ended.
    pub group_id: Option<String>,
    /// How often; above 1 for refusals that are told together.
    pub count: i64,
    /// More: why a login was refused or a session ended, what an act did.
    pub detail: Option<String>,
    /// The session that this ended.
    pub replaced: Option<ReplacedSession>,
}

/// From where a session was opened that ended; null is what an older program did not note.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReplacedSession {
    /// From which address.
    pub source: Option<String>,
    /// By which request.
    pub request_id: Option<String>,
    /// When.
    pub timestamp: Option<i64>,
}
