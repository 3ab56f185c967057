//! The fleet that an operator applies, as `kiosque apply` reads it from TOML or JSON.
//!
//! An entry creates what is missing and changes the fields that it has; an absent field keeps its
//! value, or has its default in a new entry. A given list replaces the whole list.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Object;

/// A fleet: every list may be left out.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    expecting = "an object with lists of group, account, product and device"
)]
pub struct FleetFile {
    /// Groups.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<FleetGroup>")]
    pub group: Vec<Object<FleetGroup>>,
    /// Accounts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<FleetAccount>")]
    pub account: Vec<Object<FleetAccount>>,
    /// Products.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<FleetProduct>")]
    pub product: Vec<Object<FleetProduct>>,
    /// Devices.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<FleetDevice>")]
    pub device: Vec<Object<FleetDevice>>,
}

/// A group of devices.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a group")]
pub struct FleetGroup {
    /// The `groupId`.
    #[schemars(length(min = 1))]
    pub id: String,
    /// Its name; required when the group is new.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Whether accounts can select it; true by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active: Option<bool>,
}

/// An account of an integrator.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "an account")]
pub struct FleetAccount {
    /// The login name.
    #[schemars(length(min = 1))]
    pub login_name: String,
    /// Its name for people; the login name by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    /// The password; this or `password_hash` is required when the account is new.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub password: Option<String>,
    /// An argon2id hash of the password, in PHC form.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub password_hash: Option<String>,
    /// Whether it may log in here; false by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub third_party_api: Option<bool>,
    /// Whether it may log in at all; true by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// Its groups; a login selects the first active one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub groups: Option<Vec<String>>,
}

impl fmt::Debug for FleetAccount {
    /// Leaves out the password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FleetAccount({:?}, ***)", self.login_name)
    }
}

/// A product.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a product")]
pub struct FleetProduct {
    /// The `goodsId`.
    #[schemars(length(min = 1))]
    pub id: String,
    /// Its name; required when the product is new.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its category; empty by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub category: Option<String>,
    /// ISO 4217 code of its prices; required when the product is new.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub currency: Option<String>,
    /// Its default price, minor units; none by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_price: Option<i64>,
}

/// A device.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a device")]
pub struct FleetDevice {
    /// The `deviceCode`.
    #[schemars(length(min = 1))]
    pub code: String,
    /// Its name; required when the device is new.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The group that owns it; another one moves it. Required when the device is new.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// When a move takes effect: a time or a date; when it is applied by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// Its model; empty by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Its address; empty by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// Whether device pages list it; true by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// Its aisles.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Vec<FleetAisle>>")]
    pub aisle: Option<Vec<Object<FleetAisle>>>,
}

/// An aisle of a device.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "an aisle")]
pub struct FleetAisle {
    /// Identifies the aisle in its device.
    #[schemars(length(min = 1))]
    pub code: String,
    /// The `goodsId` of the product in it.
    pub product: String,
    /// The price asked, minor units of the product's currency.
    pub price: i64,
    /// The price displayed; `price` by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub show_price: Option<i64>,
    /// Items in it.
    #[serde(default)]
    pub stock: i64,
    /// Its capacity.
    #[serde(default)]
    pub capacity: i64,
    /// Its cabinet; `1` by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cabinet: Option<String>,
    /// Its layer; 1 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layer: Option<i64>,
    /// Whether it sells; true by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// Whether it is out of order.
    #[serde(default)]
    pub broken: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_debug_form_of_an_account_has_no_password() {
        let account = r#"{"login_name": "ana", "password": "p", "password_hash": "h"}"#;
        let account: FleetAccount = serde_json::from_str(account).expect("an account");
        assert_eq!(format!("{account:?}"), r#"FleetAccount("ana", ***)"#);
    }

    #[test]
    fn lists_of_a_fleet_have_objects_only() {
        let file = r#"{"group": [{"id": "g", "name": "G"}], "device": [
            {"code": "d", "group": "g", "aisle": [{"code": "1", "product": "p", "price": 5}]},
            {"code": "e", "group": "g"}
        ]}"#;
        let file: FleetFile = serde_json::from_str(file).expect("a fleet");
        let groups: Vec<_> =
            file.group.iter().map(|Object(group)| (&*group.id, group.name.as_deref())).collect();
        assert_eq!(groups, [("g", Some("G"))]);
        let aisles = |at: usize| file.device[at].0.aisle.as_ref().map(Vec::len);
        assert_eq!((file.device.len(), aisles(0), aisles(1)), (2, Some(1), None));
        for (list, line_and_column) in [
            (r#"{"group": [["g", "G"]]}"#, "line 1 column 11"),
            (r#"{"device": [{"code": "d", "group": "g", "aisle": [["1"]]}]}"#, "line 1 column 50"),
        ] {
            let error = serde_json::from_str::<FleetFile>(list).expect_err("no object").to_string();
            assert!(error.starts_with("invalid type: sequence, expected an object"), "{error}");
            assert!(error.ends_with(line_and_column), "{error}");
        }
    }
}
