//! The audit trail, as returned by `GET /operator/v1/audit`.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::FleetCounts;

/// The query string: which entries to return.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuditFilter {
    /// Only entries of this login name.
    #[schemars(length(min = 1))]
    pub account: Option<String>,
    /// Only entries of this event.
    #[schemars(length(min = 1))]
    pub event: Option<String>,
    /// Only entries of this source address.
    #[schemars(length(min = 1))]
    pub source: Option<String>,
    /// Only entries of this time or later, Unix milliseconds.
    #[schemars(with = "Option<i64>", range(min = 0))]
    pub since_timestamp: Option<String>,
    /// The largest number of entries, 100 by default.
    #[schemars(with = "Option<i64>", range(min = 1, max = 1_000))]
    pub limit: Option<String>,
    /// `next` of the previous page; empty or absent for the first page.
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
    /// The reason of a refusal or of the end of a session, or the changes that were made, as text.
    pub detail: Option<String>,
    /// The content of `detail` as fields; null without any.
    pub details: Option<AuditDetails>,
    /// The session that the event ended.
    pub replaced: Option<ReplacedSession>,
}

impl AuditEntry {
    /// Returns the actor as people read it: for a command with the user of the machine.
    pub fn actor_with_user(&self) -> Option<String> {
        let user = self.details.as_ref().and_then(|details| {
            details.user.clone().or_else(|| details.uid.map(|uid| uid.to_string()))
        });
        let actor = self.actor.as_deref()?;
        Some(user.map_or_else(|| actor.to_owned(), |user| format!("{actor} ({user})")))
    }
}

/// The login that opened a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReplacedSession {
    /// The address of the caller.
    pub source: String,
    /// The id of the request.
    pub request_id: String,
    /// When it was opened.
    pub timestamp: i64,
}

/// The details of an entry. A field that its event does not have is left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct AuditDetails {
    /// The user of the machine who ran the command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The number of that user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uid: Option<u32>,
    /// The command, such as `import orders`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The file that the command read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The mapping of the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mapping: Option<String>,
    /// The id of the import.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub import_id: Option<String>,
    /// Why a login was refused, a session ended, or an import ended early.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The name of the key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_name: Option<String>,
    /// Its rights.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rights: Vec<String>,
    /// The time before which orders were archived.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before_timestamp: Option<i64>,
    /// The code of the deleted device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_code: Option<String>,
    /// The last owner of the deleted device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group_id: Option<String>,
    /// Orders that were archived, or were stored by an import that runs or ended early.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub orders: Option<i64>,
    /// Their devices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub devices: Option<usize>,
    /// Archived orders that are current again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub returned_orders: Option<i64>,
    /// Their devices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub returned_devices: Option<usize>,
    /// Imported exchange rates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rates: Option<usize>,
    /// New orders of an import.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accepted: Option<u64>,
    /// Changed orders of an import.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated: Option<u64>,
    /// Orders of an import that were stored already.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unchanged: Option<u64>,
    /// Rejected lines of an import.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rejected: Option<u64>,
    /// The orders of an import by their owners.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<ImportedGroup>,
    /// The numbers of changes that a fleet made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fleet: Option<FleetCounts>,
    /// The entries of the fleet that changed, moves of devices first; 100 at most.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub entries: Vec<ChangedEntry>,
    /// The number of further ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub more_entries: Option<usize>,
}

/// The orders of a group in an import.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImportedGroup {
    /// The group.
    pub group_id: String,
    /// New orders.
    pub accepted: u64,
    /// Changed orders.
    pub updated: u64,
    /// Orders that were stored already.
    pub unchanged: u64,
}

/// An entry of a fleet that was created or changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChangedEntry {
    /// `group`, `account`, `product` or `device`.
    pub kind: Cow<'static, str>,
    /// Its id, login name or code.
    pub id: String,
    /// `created`, `changed`, or `moved` for a device with another owner.
    pub change: Cow<'static, str>,
    /// The owner before, of a device that moves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_group_id: Option<String>,
    /// The new owner, of a device that is created or moves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group_id: Option<String>,
    /// When the move takes effect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since_timestamp: Option<i64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_shown_with_the_user_who_ran_it_by_name_if_known() {
        let shown = |actor: Option<&str>, user: Option<&str>, uid| {
            let entry = AuditEntry {
                entry_no: 1,
                timestamp: 0,
                event: "import".into(),
                account: None,
                actor: actor.map(str::to_owned),
                source: None,
                request_id: None,
                group_id: None,
                count: 1,
                detail: None,
                details: Some(AuditDetails {
                    user: user.map(str::to_owned),
                    uid,
                    ..AuditDetails::default()
                }),
                replaced: None,
            };
            entry.actor_with_user()
        };
        assert_eq!(shown(Some("command"), Some("ana"), Some(7)).as_deref(), Some("command (ana)"));
        assert_eq!(shown(Some("command"), None, Some(7)).as_deref(), Some("command (7)"));
        assert_eq!(shown(Some("server"), None, None).as_deref(), Some("server"));
        assert_eq!(shown(None, Some("ana"), Some(7)), None);
    }
}
