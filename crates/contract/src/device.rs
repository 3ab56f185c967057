//! List devices (DEV-1 to DEV-7 in `docs/interface.md`).

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::example::{DAY_MS, MARCH_MS};
use crate::{Example, Request, ZeroOrOne};

/// Body of List devices; every field may be left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(not(feature = "literals"), non_exhaustive)]
pub struct DeviceFilter {
    /// Another active group of the account; does not switch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group_id: Option<String>,
    /// Exactly this code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_code: Option<String>,
    /// The name contains this text; case matters, no wildcards.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_name: Option<String>,
    /// 1: only devices that are online, 0: only others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_online: Option<ZeroOrOne>,
}

impl Request for DeviceFilter {}

impl Example for DeviceFilter {
    fn example() -> DeviceFilter {
        DeviceFilter { device_name: Some("lobby".to_owned()), ..DeviceFilter::default() }
    }
}

/// A device of a device page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Device")]
#[cfg_attr(not(feature = "literals"), non_exhaustive)]
pub struct DeviceRecord<'a> {
    /// Identifies the device.
    pub device_code: Cow<'a, str>,
    /// Its name, for people.
    pub device_name: Cow<'a, str>,
    /// The group that owns it now.
    pub group_id: Cow<'a, str>,
    /// The name of that group.
    pub group_name: Cow<'a, str>,
    /// Its model; may be empty.
    pub device_model: Cow<'a, str>,
    /// Its location; may be empty.
    pub address: Cow<'a, str>,
    /// 1 when its last activity is recent, else 0.
    #[schemars(with = "crate::schema::Flag")]
    pub is_online: i64,
    /// Items in all its aisles, as last reported.
    pub total_curr_stock: i64,
    /// Its last activity in this group, Unix time in milliseconds; null when there was none.
    pub last_active_timestamp: Option<i64>,
    /// When it was created, Unix time in milliseconds.
    pub create_timestamp: i64,
}

impl Example for DeviceRecord<'_> {
    fn example() -> Self {
        DeviceRecord {
            device_code: "HBR-001".into(),
            device_name: "Pier 1, lobby".into(),
            group_id: "harbor-offices".into(),
            group_name: "Harbor Offices".into(),
            device_model: "Borne Duo 48".into(),
            address: "1 Pier Street, ground floor, Harbor City".into(),
            is_online: 0,
            total_curr_stock: 200,
            last_active_timestamp: Some(MARCH_MS),
            create_timestamp: MARCH_MS - 90 * DAY_MS,
        }
    }
}
