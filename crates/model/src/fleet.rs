//! A fleet as an operator tells it: groups, accounts, products, devices and their aisles.
//! `None` means "not named": it stays as it is, or takes its default when the entry is new.

use crate::ids::{DeviceCode, GroupId, LoginName};
use crate::money::{Currency, Minor};
use crate::time::UnixMs;

/// What is to be created or changed; what is not named stays.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fleet {
    /// Groups.
    pub groups: Vec<GroupEntry>,
    /// API accounts.
    pub accounts: Vec<AccountEntry>,
    /// Products.
    pub products: Vec<ProductEntry>,
    /// Devices.
    pub devices: Vec<DeviceEntry>,
}

/// A group of devices.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupEntry {
    /// The `groupId`.
    pub id: GroupId,
    /// Its name; needed when the group is new.
    pub name: Option<String>,
    /// An inactive group cannot be selected; active unless told otherwise.
    pub active: Option<bool>,
}

/// An API account.
#[derive(Clone, Debug, PartialEq)]
pub struct AccountEntry {
    /// What it logs in with.
    pub login_name: LoginName,
    /// Its name for people; the login name unless told otherwise.
    pub display_name: Option<String>,
    /// Its password; needed when the account is new.
    pub password: Option<Password>,
    /// Third-party API access (AUTH-9); off unless given.
    pub third_party_api: Option<bool>,
    /// On unless told otherwise.
    pub enabled: Option<bool>,
    /// Its groups; the first active one is the default.
    pub groups: Option<Vec<GroupId>>,
}

/// A password as a fleet file gives it.
#[derive(Clone, PartialEq, Eq)]
pub enum Password {
    /// In clear; hashed before it is kept.
    Clear(String),
    /// An argon2id hash in PHC form.
    Hash(String),
}

impl std::fmt::Debug for Password {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Password(***)")
    }
}

/// A product.
#[derive(Clone, Debug, PartialEq)]
pub struct ProductEntry {
    /// The `goodsId`.
    pub id: String,
    /// Its name; needed when the product is new, and may be empty.
    pub name: Option<String>,
    /// Its category; empty unless told otherwise.
    pub category: Option<String>,
    /// Needed when the product is new.
    pub currency: Option<Currency>,
    /// Its list price; 0 unless told otherwise.
    pub default_price: Option<Minor>,
}

/// A device.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceEntry {
    /// The `deviceCode`.
    pub code: DeviceCode,
    /// Its name; needed when the device is new.
    pub name: Option<String>,
    /// The group that owns it; needed when the device is new. Another one moves it.
    pub group: Option<GroupId>,
    /// When a move takes effect; when it is applied unless told otherwise.
    pub since: Option<UnixMs>,
    /// Its model; empty unless told otherwise.
    pub model: Option<String>,
    /// Where it stands; empty unless told otherwise.
    pub address: Option<String>,
    /// A device that is not enabled leaves device pages; on unless told otherwise.
    pub enabled: Option<bool>,
    /// Its aisles; when given, they replace all that were there.
    pub aisles: Option<Vec<Aisle>>,
}

/// One aisle of a device.
#[derive(Clone, Debug, PartialEq)]
pub struct Aisle {
    /// Its code, unique in the device.
    pub code: String,
    /// The product in it.
    pub goods_id: String,
    /// The price, in the product's currency.
    pub price: Minor,
    /// The price shown, in the product's currency.
    pub show_price: Minor,
    /// Items in it, as last told.
    pub stock: i64,
    /// Items that fit.
    pub capacity: i64,
    /// The cabinet it is in.
    pub cabinet: String,
    /// The layer it is in.
    pub layer: i64,
    /// Whether it sells.
    pub enabled: bool,
    /// Whether it is broken.
    pub broken: bool,
}
