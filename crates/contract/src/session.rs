//! Log in and Switch group (AUTH-1 to AUTH-6 and AUTH-17 in `docs/interface.md`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Request;

/// Body of Log in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoginRequest {
    /// The login name of the account; a display name is not accepted (AUTH-7).
    pub username: String,
    /// The original password, not hashed before.
    pub password: String,
}

impl Request for LoginRequest {}

/// Body of Switch group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SwitchGroupRequest {
    /// One of `switchableGroups`.
    pub group_id: String,
}

impl Request for SwitchGroupRequest {}

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
