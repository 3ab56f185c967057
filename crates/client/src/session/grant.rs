//! The answer to a login or a switch.

use std::time::Duration;

use kiosque_clock::Clock;
use kiosque_model::{GroupId, UnixMs};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Refusal};
use crate::transport::{Answer, Token};

/// A token with the group that it selects: `data` of a login or a switch, with the fields that
/// every server of the interface sends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// The token.
    #[serde(rename = "accessToken")]
    pub token: Token,
    /// The selected group.
    #[serde(rename = "groupId", with = "group_id")]
    pub group: GroupId,
    /// The groups that the account may select.
    #[serde(rename = "switchableGroups", default)]
    pub groups: Vec<Group>,
    /// When the token ends, by the server's clock.
    #[serde(rename = "expiresIn", with = "JsonMs")]
    pub expires_at: UnixMs,
}

/// A group as its id in JSON.
pub(super) mod group_id {
    use kiosque_model::GroupId;
    use serde::{Deserialize, Deserializer, Serializer, de};

    pub(in crate::session) fn serialize<S: Serializer>(
        group: &GroupId,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(group.as_str())
    }

    pub(in crate::session) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<GroupId, D::Error> {
        GroupId::parse(String::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

/// A time as Unix milliseconds in JSON.
#[derive(Serialize, Deserialize)]
#[serde(remote = "UnixMs")]
pub(super) struct JsonMs(i64);

/// A group that an account may select.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Group {
    /// Its id.
    #[serde(rename = "groupId")]
    pub id: String,
    /// Its name, for people; empty if the server sends none.
    #[serde(rename = "groupName", default)]
    pub name: String,
}

impl Grant {
    /// Reads a successful answer, or returns why it cannot be used.
    pub(super) fn of(answer: &Answer) -> Result<Grant, &'static str> {
        match answer.data::<Grant>() {
            Ok(data) if data.token.is_sendable() => Ok(data),
            Ok(_) => Err("the accessToken of the login has a character that no header can have"),
            Err(_) => Err("the data does not have the fields of a login"),
        }
    }
}

/// A new token.
#[derive(Debug)]
pub(super) struct Granted {
    pub(super) grant: Grant,
    /// How long it is valid, if the clocks of client and server agree that it is.
    pub(super) lifetime: Option<Duration>,
    /// When the session began, by the client's clock. A switch does not change it.
    pub(super) logged_in_at: UnixMs,
    /// How long ago that was.
    pub(super) age: Duration,
}

impl Granted {
    /// Returns a token that was just received.
    pub(super) fn new(grant: Grant, clock: &Clock) -> Granted {
        let now = clock.now();
        let lifetime = time_between(now, grant.expires_at);
        Granted { grant, lifetime, logged_in_at: now, age: Duration::ZERO }
    }
}

/// Returns the time from one instant to a later one; `None` if it is not later.
pub(super) fn time_between(from: UnixMs, to: UnixMs) -> Option<Duration> {
    let between = u64::try_from(to.0.saturating_sub(from.0)).ok();
    between.filter(|ms| *ms > 0).map(Duration::from_millis)
}

/// A login or switch without success.
#[derive(Debug)]
pub(super) enum Failure {
    /// The server refused it, and nothing changed.
    Refused(Refusal),
    /// It may have happened or not (ENV-11).
    Unclear(Error, Option<Duration>),
    /// The server does not implement this interface, or the password cannot be read.
    Unusable(Error),
}
