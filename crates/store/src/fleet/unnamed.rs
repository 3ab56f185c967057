//! The stored entries that are not in a fleet, which an apply does not change.

use std::collections::HashSet;

use kiosque_model::fleet::{EntryKind, Fleet};

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

/// Returns the entries that are not in a fleet, for each kind that has any.
pub(super) async fn read(read: &Read<'_>, fleet: &Fleet) -> Result<Vec<Unnamed>, Error> {
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
