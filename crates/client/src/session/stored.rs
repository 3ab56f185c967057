//! A session that outlives the program.

use kiosque_clock::Clock;
use kiosque_model::GroupId;
use serde::{Deserialize, Serialize};

use super::grant::{Grant, Granted, group_id};

/// A session for the next program of the same account, so that short-lived programs need not log in
/// each time. It contains the token: store it where only the user may read it.
///
/// One program at a time may use a stored session, since a switch replaces its token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredSession {
    #[serde(flatten)]
    grant: Grant,
    #[serde(rename = "defaultGroupId", with = "group_id")]
    default_group: GroupId,
}

impl StoredSession {
    pub(super) fn new(grant: &Grant, default: &GroupId) -> StoredSession {
        StoredSession { grant: grant.clone(), default_group: default.clone() }
    }

    /// Returns the token and the default group; `None` if the session has ended.
    pub(super) fn into_granted(self, clock: &Clock) -> Option<(Granted, GroupId)> {
        let granted = Granted::new(self.grant, clock);
        granted.lifetime?;
        Some((granted, self.default_group))
    }
}
