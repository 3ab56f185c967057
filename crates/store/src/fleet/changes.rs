//! The changes of an apply.

use std::collections::BTreeSet;

use kiosque_contract::inventory::ProductItem;
use kiosque_contract::{AuditDetails, ChangedEntry, DatedMove, FleetCounts};
use kiosque_model::{DeviceNo, GroupNo, UnixMs};

use super::accounts::ChangedAccount;
use super::devices::{ChangedDevice, LateMove};
use crate::accounts::GroupRow;
use crate::change_counts::Changed;

/// Maximum number of entries that the audit trail has of an apply.
const ENTRIES_MAX: usize = 100;

/// The changes of an apply, which determine every row that it writes.
pub(crate) struct FleetChanges<'a> {
    pub(super) groups: Vec<Changed<GroupRow>>,
    pub(crate) products: Vec<Changed<ProductItem>>,
    pub(super) accounts: Vec<ChangedAccount<'a>>,
    pub(crate) devices: Vec<ChangedDevice<'a>>,
    /// Moves that depend on the stored orders.
    pub(super) late_moves: Vec<LateMove>,
}

impl FleetChanges<'_> {
    /// Returns the groups whose device counts change, now or later, because a device is new, moves,
    /// or is enabled or disabled.
    pub(crate) fn groups_of_devices(&self) -> BTreeSet<GroupNo> {
        let toggled = self.devices.iter().filter(|device| device.is_toggled());
        let owners = self.devices.iter().filter_map(|device| device.owners.as_ref());
        let toggled = toggled.flat_map(|device| device.groups.iter().copied());
        toggled.chain(owners.flat_map(|change| change.groups())).collect()
    }

    /// Returns the devices whose elements in the hierarchy of aisles change.
    pub(super) fn devices_with_new_aisles(&self) -> BTreeSet<DeviceNo> {
        let changed = self.devices.iter();
        let changed = changed.filter(|device| device.has_new_row() || device.aisles.is_some());
        changed.map(|device| device.number).collect()
    }

    /// Returns the stored products whose name or currency changes.
    pub(super) fn relabeled_products(&self) -> impl Iterator<Item = &str> {
        let relabeled = self.products.iter().filter(|product| product.is_relabeled());
        relabeled.map(|product| product.new.goods_id.as_str())
    }

    /// Returns whether caches of owners and of product names become outdated.
    pub(super) fn changes_owners_or_names(&self) -> bool {
        self.devices.iter().any(|device| device.owners.is_some())
            || self.products.iter().any(Changed::is_renamed)
    }

    /// Returns the groups whose lists show a changed device, now or later, or a new name of the
    /// group. Relabeled products are in lists of further groups.
    pub(super) fn groups_with_new_lists(&self) -> BTreeSet<GroupNo> {
        let of_devices = self.devices.iter();
        let of_devices = of_devices.flat_map(|device| device.present_groups.iter().copied());
        of_devices.chain(self.groups.iter().filter_map(Changed::renamed)).collect()
    }

    /// Returns the moves of stored devices that take effect at a time other than now.
    pub(super) fn dated_moves(&self, now: UnixMs) -> Vec<DatedMove> {
        let moved = self.devices.iter().filter(|device| device.old.is_some());
        let moves = moved.flat_map(|device| {
            let added = device.owners.iter().flat_map(|owners| owners.added());
            added.map(|(period, _)| DatedMove {
                device_code: device.code.to_owned(),
                group_id: period.group_id.clone(),
                since_timestamp: period.since.0,
            })
        });
        moves.filter(|one| one.since_timestamp != now.0).collect()
    }

    /// Returns the counts and the changed entries of an apply, moves of devices first.
    pub(super) fn audit_details(&self, counts: FleetCounts) -> AuditDetails {
        let (moved, others): (Vec<_>, Vec<_>) =
            self.devices.iter().partition(|device| is_move(device));
        let groups = self
            .groups
            .iter()
            .map(|group| entry("group", &group.new.group_id, group.old.is_none()));
        let accounts = self
            .accounts
            .iter()
            .map(|one| entry("account", one.name.as_str(), one.account.old.is_none()));
        let products =
            self.products.iter().map(|one| entry("product", &one.new.goods_id, one.old.is_none()));
        let moved = moved.into_iter().map(device_entry);
        let all = moved.chain(groups).chain(accounts).chain(products);
        let mut all = all.chain(others.into_iter().map(device_entry));
        let entries = all.by_ref().take(ENTRIES_MAX).collect();
        let more = all.count();
        AuditDetails {
            fleet: Some(counts),
            entries,
            more_entries: Some(more).filter(|more| *more > 0),
            ..AuditDetails::default()
        }
    }
}

fn is_move(device: &ChangedDevice<'_>) -> bool {
    device.old.is_some() && device.owners.is_some()
}

fn entry(kind: &'static str, id: &str, is_new: bool) -> ChangedEntry {
    ChangedEntry {
        kind: kind.into(),
        id: id.to_owned(),
        change: if is_new { "created" } else { "changed" }.into(),
        from_group_id: None,
        group_id: None,
        since_timestamp: None,
    }
}

fn device_entry(device: &ChangedDevice<'_>) -> ChangedEntry {
    let mut entry = entry("device", device.code, device.old.is_none());
    let Some(owners) = &device.owners else { return entry };
    let owner = owners.new.last();
    entry.group_id = owner.map(|period| period.group_id.clone());
    if is_move(device) {
        entry.change = "moved".into();
        // A planned move that is cancelled comes from its own group.
        let before = owners.ended().map(|(period, _)| period);
        let before = before.filter(|period| Some(&period.group_id) != entry.group_id.as_ref());
        entry.from_group_id = before.or(owners.old.last()).map(|period| period.group_id.clone());
        entry.since_timestamp = owner.map(|period| period.since.0);
    }
    entry
}
