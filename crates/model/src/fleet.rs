//! The fleet as the operator describes it: groups, accounts, products, devices and their aisles. A
//! field that is `None` keeps its value; in a new entry it takes its default.

use std::fmt;

use strum::IntoStaticStr;

use crate::ids::{DeviceCode, GroupId, LoginName};
use crate::money::{Currency, Minor};
use crate::time::UnixMs;

/// Entries to create or change, each at most once. Entries that it does not contain are unchanged.
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

/// A kind of entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum EntryKind {
    /// A group.
    Group,
    /// An account.
    Account,
    /// A product.
    Product,
    /// A device.
    Device,
}

impl EntryKind {
    /// Returns the name of the list in a fleet file.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// An entry, by its kind and its id, login name or code.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct EntryId {
    /// Its kind.
    pub kind: EntryKind,
    /// Its id, login name or code.
    pub id: String,
}

impl EntryId {
    /// Returns the entry of a kind with an id.
    pub fn new(kind: EntryKind, id: impl Into<String>) -> EntryId {
        EntryId { kind, id: id.into() }
    }
}

/// Formats an entry as in messages: `device K-002`.
impl fmt::Display for EntryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind.name(), self.id)
    }
}

/// A group of devices.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupEntry {
    /// The `groupId`.
    pub id: GroupId,
    /// Name; required when the group is new.
    pub name: Option<String>,
    /// An inactive group cannot be selected; the default is active.
    pub active: Option<bool>,
}

/// An API account.
#[derive(Clone, Debug, PartialEq)]
pub struct AccountEntry {
    /// Login name.
    pub login_name: LoginName,
    /// Display name; the default is the login name.
    pub display_name: Option<String>,
    /// Password; required when the account is new.
    pub password: Option<Password>,
    /// Third-party API access (AUTH-9); the default is off.
    pub third_party_api: Option<bool>,
    /// Whether it may log in; the default is true.
    pub enabled: Option<bool>,
    /// Groups; the first active one is the default.
    pub groups: Option<Vec<GroupId>>,
}

/// A password as given in a fleet file.
#[derive(Clone, PartialEq, Eq)]
pub enum Password {
    /// Plain text, which is hashed before it is stored.
    Clear(String),
    /// An argon2id hash in PHC string format.
    Hash(String),
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password(***)")
    }
}

/// A product.
#[derive(Clone, Debug, PartialEq)]
pub struct ProductEntry {
    /// The `goodsId`.
    pub id: String,
    /// Name; required when the product is new, and may be empty.
    pub name: Option<String>,
    /// Category; the default is empty.
    pub category: Option<String>,
    /// Currency; required when the product is new.
    pub currency: Option<Currency>,
    /// List price; `None` in a new product means unknown.
    pub default_price: Option<Minor>,
}

/// A device.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceEntry {
    /// The `deviceCode`.
    pub code: DeviceCode,
    /// Name; required when the device is new.
    pub name: Option<String>,
    /// Owning group; required when the device is new. Another group moves the device.
    pub group: Option<GroupId>,
    /// Time at which a move takes effect; the default is the time of the apply.
    pub since: Option<UnixMs>,
    /// Model; the default is empty.
    pub model: Option<String>,
    /// Address; the default is empty.
    pub address: Option<String>,
    /// Device pages leave out disabled devices; the default is true.
    pub enabled: Option<bool>,
    /// Aisles; they replace all aisles of the device.
    pub aisles: Option<Vec<Aisle>>,
}

/// An aisle of a device.
#[derive(Clone, Debug, PartialEq)]
pub struct Aisle {
    /// Code, unique in the device.
    pub code: String,
    /// The product in it.
    pub goods_id: String,
    /// Price, in the product's currency.
    pub price: Minor,
    /// Displayed price, in the product's currency.
    pub show_price: Minor,
    /// Number of items, as last reported.
    pub stock: i64,
    /// Largest number of items.
    pub capacity: i64,
    /// Cabinet.
    pub cabinet: String,
    /// Layer.
    pub layer: i64,
    /// Whether it is in use.
    pub enabled: bool,
    /// Whether it is broken.
    pub broken: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_shown_by_its_kind_and_id_and_a_password_is_not() {
        let kinds = [EntryKind::Group, EntryKind::Account, EntryKind::Product, EntryKind::Device];
        let shown = kinds.map(|kind| EntryId::new(kind, "K-2").to_string());
        assert_eq!(shown, ["group K-2", "account K-2", "product K-2", "device K-2"]);
        for password in [Password::Clear("p".to_owned()), Password::Hash("h".to_owned())] {
            assert_eq!(format!("{password:?}"), "Password(***)");
        }
    }
}
