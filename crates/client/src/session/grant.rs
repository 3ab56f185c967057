//! The answer to a login or a switch.

use std::time::Duration;

use kiosque_clock::Clock;
use kiosque_model::{GroupId, UnixMs};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Refusal};
use crate::transport::{Answer, Token};

/// A token with the group that it selects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The token.
    pub token: Token,
    /// The selected group.
    pub group: GroupId,
    /// The groups that the account may select.
    pub groups: Vec<Group>,
    /// When the token ends, by the clock of the server.
    pub expires_at: UnixMs,
}

/// A group that an account may select.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Group {
    /// Its id.
    #[serde(rename = "groupId")]
    pub id: String,
    /// Its name, for people; empty if the server sends none.
    #[serde(rename = "groupName", default)]
    pub name: String,
}

/// `data` of a login or a switch, with the fields that every server of the interface sends.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Data {
    access_token: String,
    group_id: String,
    #[serde(default)]
    switchable_groups: Vec<Group>,
    expires_in: i64,
}

impl Grant {
    /// Reads a successful answer; `None` if it does not have these fields.
    pub(super) fn of(answer: &Answer) -> Option<Grant> {
        #[derive(Deserialize)]
        struct WithData {
            data: Data,
        }
        let WithData { data } = serde_json::from_slice(&answer.body).ok()?;
        Some(Grant {
            token: Token::new(data.access_token),
            group: GroupId::parse(data.group_id).ok()?,
            groups: data.switchable_groups,
            expires_at: UnixMs(data.expires_in),
        })
    }
}

/// A new token.
#[derive(Debug)]
pub(super) struct Granted {
    pub(super) grant: Grant,
    /// How long it is valid, if the clocks of client and server agree that it is.
    pub(super) lifetime: Option<Duration>,
}

impl Granted {
    pub(super) fn new(grant: Grant, clock: &Clock) -> Granted {
        let left = grant.expires_at.0.saturating_sub(clock.now().0);
        let left = u64::try_from(left).ok().filter(|left| *left > 0);
        Granted { grant, lifetime: left.map(Duration::from_millis) }
    }
}

/// A login or switch without success.
#[derive(Debug)]
pub(super) enum Failure {
    /// The server refused it, and nothing changed.
    Refused(Refusal),
    /// It may have happened or not (ENV-11).
    Unclear(Error, Option<Duration>),
    /// The server is no server of this interface, or the password cannot be read.
    Unusable(Error),
}
