//! The changes of an apply.

use std::collections::BTreeSet;

use kiosque_contract::DatedMove;
use kiosque_contract::inventory::ProductItem;
use kiosque_model::{DeviceNo, GroupNo, UnixMs};

use super::accounts::ChangedAccount;
use super::devices::ChangedDevice;
use super::stored_devices::LateMove;
use crate::accounts::GroupRow;
use crate::change_counts::Changed;

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
}
