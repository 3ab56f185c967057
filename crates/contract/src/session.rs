//! Log in and Switch group (AUTH-1 to AUTH-6 and AUTH-17 in `docs/interface.md`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::example::MARCH_MS;
use crate::{Example, Request};

/// Body of Log in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoginRequest {
    /// The login name of the account; a display name is not accepted (AUTH-7).
    pub username: String,
    /// The original password, not hashed before.
    pub password: String,
}

impl Request for LoginRequest {}

impl Example for LoginRequest {
    fn example() -> LoginRequest {
        LoginRequest { username: "demo".to_owned(), password: "kiosque-demo".to_owned() }
    }
}

/// Body of Switch group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SwitchGroupRequest {
    /// One of `switchableGroups`.
    pub group_id: String,
}

impl Request for SwitchGroupRequest {}

impl Example for SwitchGroupRequest {
    fn example() -> SwitchGroupRequest {
        SwitchGroupRequest { group_id: "tokyo-stations".to_owned() }
    }
}

/// `data` of Log in and of Switch group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(not(feature = "literals"), non_exhaustive)]
pub struct SessionData {
    /// Goes into the header `third-api-token`, complete and unchanged.
    pub access_token: String,
    /// The currently selected group.
    pub group_id: String,
    /// The active groups that the account may select, its default first.
    pub switchable_groups: Vec<SwitchableGroup>,
    /// Absolute expiry, Unix time in milliseconds.
    pub expires_in: i64,
}

impl Example for SessionData {
    fn example() -> SessionData {
        let group = |id: &str, name: &str| SwitchableGroup {
            group_id: id.to_owned(),
            group_name: name.to_owned(),
        };
        SessionData {
            access_token: "AAAAAAAAAAEAAAAAAAAAAZayGC1ZYilYpZa858gk9soPfvyuURrf9Mj0fZj1FruO"
                .to_owned(),
            group_id: "harbor-offices".to_owned(),
            switchable_groups: vec![
                group("harbor-offices", "Harbor Offices"),
                group("tokyo-stations", "東京ステーション"),
            ],
            expires_in: MARCH_MS + 7_200_000,
        }
    }
}

/// An entry of `switchableGroups`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(not(feature = "literals"), non_exhaustive)]
pub struct SwitchableGroup {
    /// The value that Switch group takes.
    pub group_id: String,
    /// The group's name, for people.
    pub group_name: String,
}
