//! A session that outlives the program.

use kiosque_clock::Clock;
use kiosque_model::{GroupId, UnixMs};
use serde::{Deserialize, Serialize};

use super::grant::{Grant, Granted, JsonMs, group_id, time_between};
use super::held::Held;

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
    /// When the session began, by the client's clock.
    #[serde(rename = "loggedInAt", with = "JsonMs")]
    logged_in_at: UnixMs,
}

impl StoredSession {
    pub(super) fn new(held: &Held, default: &GroupId) -> StoredSession {
        let grant = Grant::clone(&held.grant);
        let logged_in_at = held.logged_in_at;
        StoredSession { grant, default_group: default.clone(), logged_in_at }
    }

    /// Returns the token and the default group; `None` if the session has ended, or if its token
    /// cannot be sent. An end before the login shows that the clocks of client and server differ:
    /// such a session is used until the server refuses it.
    pub(super) fn into_granted(self, clock: &Clock) -> Option<(Granted, GroupId)> {
        let StoredSession { grant, default_group, logged_in_at } = self;
        if !grant.token.is_sendable() {
            return None;
        }
        let now = clock.now();
        let lifetime = match time_between(logged_in_at, grant.expires_at) {
            Some(_) => Some(time_between(now, grant.expires_at)?),
            None => None,
        };
        let age = time_between(logged_in_at, now).unwrap_or_default();
        Some((Granted { grant, lifetime, logged_in_at, age }, default_group))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicI64;
    use std::time::{Duration, Instant};

    use super::*;
    use crate::session::pace::Pace;

    fn at(ms: i64) -> Clock {
        Clock::Manual(Arc::new(AtomicI64::new(ms)))
    }

    /// AUTH-6: a session of the file ends with its token, unless the clocks differ by more than the
    /// token is valid: then the server alone knows the end.
    #[test]
    fn a_stored_session_is_used_until_its_end() {
        let resumed = |logged_in_ms: i64, now_ms: i64| {
            let grant = serde_json::from_str(
                r#"{"accessToken": "t", "groupId": "north", "expiresIn": 10000}"#,
            );
            let granted = Granted::new(grant.expect("a grant"), &at(logged_in_ms));
            let held = Held::new(Instant::now(), granted, &Pace::default());
            let group = GroupId::parse("north".to_owned()).expect("an id");
            let stored = serde_json::to_string(&StoredSession::new(&held, &group)).expect("text");
            let stored: StoredSession = serde_json::from_str(&stored).expect("a session");
            stored.into_granted(&at(now_ms)).map(|(granted, _)| (granted.lifetime, granted.age))
        };
        let seconds = Duration::from_secs;
        assert_eq!(resumed(1_000, 4_000), Some((Some(seconds(6)), seconds(3))));
        assert_eq!(resumed(1_000, 10_000), None);
        assert_eq!(resumed(20_000, 25_000), Some((None, seconds(5))));
        assert_eq!(resumed(4_000, 1_000), Some((Some(seconds(9)), Duration::ZERO)));
    }

    #[test]
    fn a_stored_token_that_no_header_can_have_is_not_used() {
        let stored = |token: &str| {
            let session = serde_json::json!({
                "accessToken": token, "groupId": "north", "expiresIn": 0,
                "defaultGroupId": "north", "loggedInAt": 0
            });
            let stored: StoredSession = serde_json::from_value(session).expect("a session");
            stored.into_granted(&at(0)).is_some()
        };
        assert_eq!(["t", "t\r\nx: y", "t\u{0}"].map(stored), [true, false, false]);
    }
}
