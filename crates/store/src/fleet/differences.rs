//! The results of a dry run: the entries that an apply creates or changes, field by field, and the
//! stored ones that are not in the fleet, which it does not change.

use std::collections::{HashMap, HashSet};
use std::fmt::{self, Debug, Display};

use kiosque_contract::inventory::ProductItem;
use kiosque_model::UnixMs;
use kiosque_model::fleet::{Aisle, EntryKind, Fleet};

use super::accounts::{Account, ChangedAccount};
use super::changes::FleetChanges;
use super::devices::{AislesChange, ChangedDevice};
use super::ownership::OwnersChange;
use crate::accounts::GroupRow;
use crate::change_counts::Changed;
use crate::db::Read;
use crate::error::Error;
use crate::sql::statements;

statements! {
    GROUP_IDS() -> String = "select group_id from groups";
    LOGIN_NAMES() -> String = "select login_name from accounts";
    GOODS_IDS() -> String = "select goods_id from products";
    DEVICE_CODES() -> String = "select device_code from devices";
}

/// Maximum number of listed ids of a kind.
const LISTED_MAX: usize = 10;

/// An entry of a fleet that an apply creates or changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryDifference {
    /// `group`, `account`, `product` or `device`.
    pub kind: &'static str,
    /// Its id, login name or code.
    pub id: String,
    /// Whether it is created. Then it only has the fields that were given.
    pub is_new: bool,
    /// The change of the owners of a device, if they change.
    pub owner: Option<OwnerDifference>,
    /// The fields that change.
    pub fields: Vec<FieldDifference>,
}

/// A change of the owners of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OwnerDifference {
    /// It gets a new owner.
    New {
        /// The owner until then; `None` for a new device.
        from: Option<String>,
        /// The new owner.
        to: String,
        /// The start of its ownership; `None` for the time of the apply.
        since: Option<UnixMs>,
    },
    /// Planned moves are cancelled, and there is no new one.
    Cancelled {
        /// The groups to which it would move, and when.
        moves: Vec<(String, UnixMs)>,
        /// The last owner.
        stays_with: String,
    },
}

/// A field of an entry. Texts are quoted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldDifference {
    /// Its name in a fleet file, preceded by `aisle` and the code of the aisle if it belongs to
    /// one.
    pub name: String,
    /// The stored value, if there is one that may be shown.
    pub old: Option<String>,
    /// The new value.
    pub new: String,
}

/// The stored entries of a kind that are not in a fleet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unnamed {
    /// The kind.
    pub kind: EntryKind,
    /// The first ids, login names or codes.
    pub first: Vec<String>,
    /// The total number.
    pub count: usize,
}

impl Display for FieldDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.old {
            Some(old) => write!(f, "{} {old} -> {}", self.name, self.new),
            None => write!(f, "{} {}", self.name, self.new),
        }
    }
}

/// Returns the entries that change, in the order of a fleet file.
pub(super) fn of(changes: &FleetChanges<'_>, now: UnixMs) -> Vec<EntryDifference> {
    let groups = changes.groups.iter().map(group);
    let accounts = changes.accounts.iter().map(account);
    let products = changes.products.iter().map(product);
    let devices = changes.devices.iter().map(|changed| device(changed, now));
    groups.chain(accounts).chain(products).chain(devices).collect()
}

/// Returns the entries that are not in a fleet, for each kind that has any.
pub(super) async fn unnamed(read: &Read<'_>, fleet: &Fleet) -> Result<Vec<Unnamed>, Error> {
    let groups = fleet.groups.iter().map(|entry| entry.id.as_str()).collect();
    let accounts = fleet.accounts.iter().map(|entry| entry.login_name.as_str()).collect();
    let products = fleet.products.iter().map(|entry| entry.id.as_str()).collect();
    let devices = fleet.devices.iter().map(|entry| entry.code.as_str()).collect();
    let kinds: [(_, _, HashSet<&str>); 4] = [
        (EntryKind::Group, &GROUP_IDS, groups),
        (EntryKind::Account, &LOGIN_NAMES, accounts),
        (EntryKind::Product, &GOODS_IDS, products),
        (EntryKind::Device, &DEVICE_CODES, devices),
    ];
    let mut all = Vec::new();
    for (kind, stored, named) in kinds {
        let mut ids = read.all::<String>(stored, &[]).await?;
        ids.retain(|id| !named.contains(id.as_str()));
        ids.sort_unstable();
        let count = ids.len();
        ids.truncate(LISTED_MAX);
        all.push(Unnamed { kind, first: ids, count });
    }
    all.retain(|unnamed| unnamed.count > 0);
    Ok(all)
}

/// Compares the fields of an entry, one after the other.
impl EntryDifference {
    fn new(kind: &'static str, id: &str, is_new: bool) -> EntryDifference {
        EntryDifference { kind, id: id.to_owned(), is_new, owner: None, fields: Vec::new() }
    }

    /// Adds a field if it differs. Fields of a new entry that are empty are left out.
    fn field(mut self, name: &str, old: Option<String>, new: String) -> EntryDifference {
        if old.as_ref() != Some(&new) && !(self.is_new && matches!(new.as_str(), "\"\"" | "[]")) {
            self.fields.push(FieldDifference { name: name.to_owned(), old, new });
        }
        self
    }

    fn value<T: Debug>(self, name: &str, old: Option<T>, new: T) -> EntryDifference {
        self.field(name, old.map(|old| format!("{old:?}")), format!("{new:?}"))
    }

    /// Adds a field without its old value.
    fn shown(mut self, name: &str, new: Option<String>) -> EntryDifference {
        let shown = |new| FieldDifference { name: name.to_owned(), old: None, new };
        self.fields.extend(new.map(shown));
        self
    }
}

fn group(changed: &Changed<GroupRow>) -> EntryDifference {
    let (old, new) = (changed.old.as_ref(), &changed.new);
    EntryDifference::new("group", &new.group_id, old.is_none())
        .value("name", old.map(|old| &old.group_name), &new.group_name)
        .value("active", old.map(|old| old.active), new.active)
}

/// Hashes of passwords are not shown.
fn account(changed: &ChangedAccount<'_>) -> EntryDifference {
    let Changed { old, new: Account { row: new, groups, .. } } = &changed.account;
    let old_groups = old.as_ref().map(|old| &old.groups);
    let old = old.as_ref().map(|old| &old.row);
    let has_other_password = old.is_some_and(|old| old.password_hash != new.password_hash);
    EntryDifference::new("account", changed.name.as_str(), old.is_none())
        .value("display_name", old.map(|old| &old.display_name), &new.display_name)
        .shown("password", has_other_password.then(|| "another".to_owned()))
        .value("third_party_api", old.map(|old| old.third_party_api), new.third_party_api)
        .value("enabled", old.map(|old| old.enabled), new.enabled)
        .value("groups", old_groups, groups)
}

fn product(changed: &Changed<ProductItem>) -> EntryDifference {
    let (old, new) = (changed.old.as_ref(), &changed.new);
    let compared = EntryDifference::new("product", &new.goods_id, old.is_none())
        .value("name", old.map(|old| &old.goods_name), &new.goods_name)
        .value("category", old.map(|old| &old.category), &new.category)
        .value("currency", old.map(|old| &old.currency), &new.currency);
    let Some(price) = new.default_price else { return compared };
    let stored = |old: &ProductItem| match old.default_price {
        Some(price) => price.to_string(),
        None => "none".to_owned(),
    };
    compared.field("default_price", old.map(stored), price.to_string())
}

fn device(changed: &ChangedDevice<'_>, now: UnixMs) -> EntryDifference {
    let (old, new) = (changed.old.as_ref(), &changed.new);
    let mut compared = EntryDifference::new("device", changed.code, old.is_none())
        .value("name", old.map(|old| &old.device_name), &new.device_name)
        .value("model", old.map(|old| &old.device_model), &new.device_model)
        .value("address", old.map(|old| &old.address), &new.address)
        .value("enabled", old.map(|old| old.enabled), new.enabled);
    if let Some(aisles) = &changed.aisles {
        compared = all_aisles(compared, aisles);
    }
    let owner = changed.owners.as_ref().and_then(|owners| owner(owners, now));
    EntryDifference { owner, ..compared }
}

fn owner(owners: &OwnersChange, now: UnixMs) -> Option<OwnerDifference> {
    let last = owners.new.last()?;
    if owners.added().next().is_none() {
        let removed = owners.removed().iter();
        let moves = removed.map(|period| (period.group_id.clone(), period.since)).collect();
        return Some(OwnerDifference::Cancelled { moves, stays_with: last.group_id.clone() });
    }
    // Not the last one of before, which may be the target of a planned move that is replaced.
    let from = owners.ended().map(|(period, _)| period.group_id.clone());
    let since = Some(last.since).filter(|since| *since != now);
    Some(OwnerDifference::New { from, to: last.group_id.clone(), since })
}

fn all_aisles(mut compared: EntryDifference, aisles: &AislesChange<'_>) -> EntryDifference {
    let old: HashMap<&str, &Aisle> =
        aisles.old.iter().map(|aisle| (aisle.code.as_str(), aisle)).collect();
    for aisle in aisles.new {
        compared = match old.get(aisle.code.as_str()) {
            Some(old) => changed_aisle(compared, old, aisle),
            None => {
                let Aisle { code, goods_id, price, stock, capacity, .. } = aisle;
                let text = format!("{goods_id} at {}, stock {stock} of {capacity}", price.0);
                compared.shown(&format!("new aisle {code}"), Some(text))
            }
        };
    }
    let new: HashSet<&str> = aisles.new.iter().map(|aisle| aisle.code.as_str()).collect();
    for aisle in aisles.old.iter().filter(|aisle| !new.contains(aisle.code.as_str())) {
        compared = compared.shown(&format!("aisle {}", aisle.code), Some("removed".to_owned()));
    }
    let kept_of_old = aisles.old.iter().filter(|aisle| new.contains(aisle.code.as_str()));
    let kept_of_new = aisles.new.iter().filter(|aisle| old.contains_key(aisle.code.as_str()));
    let has_another_order =
        !kept_of_old.map(|aisle| &aisle.code).eq(kept_of_new.map(|aisle| &aisle.code));
    compared.shown("order of the aisles", has_another_order.then(|| "another".to_owned()))
}

fn changed_aisle(compared: EntryDifference, old: &Aisle, new: &Aisle) -> EntryDifference {
    let name = |field: &str| format!("aisle {} {field}", new.code);
    compared
        .value(&name("product"), Some(&old.goods_id), &new.goods_id)
        .value(&name("price"), Some(old.price.0), new.price.0)
        .value(&name("show_price"), Some(old.show_price.0), new.show_price.0)
        .value(&name("stock"), Some(old.stock), new.stock)
        .value(&name("capacity"), Some(old.capacity), new.capacity)
        .value(&name("cabinet"), Some(&old.cabinet), &new.cabinet)
        .value(&name("layer"), Some(old.layer), new.layer)
        .value(&name("enabled"), Some(old.enabled), new.enabled)
        .value(&name("broken"), Some(old.broken), new.broken)
}

#[cfg(test)]
mod tests {
    use kiosque_model::GroupNo;

    use super::*;
    use crate::fleet::ownership::Period;

    fn periods(periods: &[(&str, i64)]) -> Vec<Period> {
        let period = |&(id, since): &(&str, i64)| {
            let group_no = GroupNo(i64::from(id.as_bytes()[0]));
            Period { group_no, group_id: id.to_owned(), since: UnixMs(since) }
        };
        periods.iter().map(period).collect()
    }

    /// A planned move that is replaced has changed nothing: the device moves from its owner.
    #[test]
    fn a_device_moves_from_the_group_that_owns_it_until_then() {
        for (old, new, moved) in [
            (&[][..], &[("a", 0)][..], (None, "a", Some(0))),
            (&[("a", 0)], &[("a", 0), ("b", 100)], (Some("a"), "b", None)),
            (&[("a", 0), ("b", 900)], &[("a", 0), ("b", 100)], (Some("a"), "b", None)),
            (&[("a", 0), ("b", 900)], &[("a", 0), ("c", 300)], (Some("a"), "c", Some(300))),
            (
                &[("a", 0), ("b", 900)],
                &[("a", 0), ("b", 900), ("c", 901)],
                (Some("b"), "c", Some(901)),
            ),
        ] {
            let change = OwnersChange { old: periods(old), new: periods(new) };
            let (from, to, since) = moved;
            let (from, to) = (from.map(str::to_owned), to.to_owned());
            let expected = OwnerDifference::New { from, to, since: since.map(UnixMs) };
            assert_eq!(owner(&change, UnixMs(100)), Some(expected), "{old:?} to {new:?}");
        }
    }
}
