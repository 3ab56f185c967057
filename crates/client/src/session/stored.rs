//! A session that outlives the program.

use kiosque_clock::Clock;
use kiosque_model::{GroupId, UnixMs};
use serde::{Deserialize, Serialize};

use super::grant::{Grant, Granted, Group};
use crate::transport::Token;

/// A session, for the next program of the same account: programs that run for a moment each then
/// need no login each. It has the token: store it where only the user may read it.
///
/// One program at a time may use a stored session, since a switch replaces its token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoredSession {
    access_token: Token,
    group_id: String,
    default_group_id: String,
    switchable_groups: Vec<Group>,
    expires_in: i64,
}

impl StoredSession {
    pub(super) fn new(grant: &Grant, default: &GroupId) -> StoredSession {
        StoredSession {
            access_token: grant.token.clone(),
            group_id: grant.group.to_string(),
            default_group_id: default.to_string(),
            switchable_groups: grant.groups.clone(),
            expires_in: grant.expires_at.0,
        }
    }

    /// Returns the token and the default group; `None` if the session has ended, or was stored with
    /// ids that there are not.
    pub(super) fn into_granted(self, clock: &Clock) -> Option<(Granted, GroupId)> {
        let grant = Grant {
            token: self.access_token,
            group: GroupId::parse(self.group_id).ok()?,
            groups: self.switchable_groups,
            expires_at: UnixMs(self.expires_in),
        };
        let granted = Granted::new(grant, clock);
        granted.lifetime?;
        Some((granted, GroupId::parse(self.default_group_id).ok()?))
    }
}
