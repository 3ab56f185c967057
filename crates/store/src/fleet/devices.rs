//! Devices of a fleet: the changes of their rows, their aisles and their owners.

use std::collections::{BTreeSet, HashMap};

use kiosque_contract::ChangeCounts;
use kiosque_model::fleet::{Aisle, DeviceEntry, EntryKind};
use kiosque_model::{DeviceNo, GroupNo, UnixMs};

use super::FleetError;
use super::groups::Groups;
use super::ownership::{self, OwnersChange, Period};
use super::products::Products;
use super::stored_devices::{DeviceRow, Devices, StoredDevice, wanted_move};
use crate::cooperative::yield_if_due;

/// A device that an apply creates or changes.
pub(crate) struct ChangedDevice<'a> {
    pub(crate) number: DeviceNo,
    pub(crate) code: &'a str,
    /// `None` for a new device.
    pub(crate) old: Option<DeviceRow>,
    pub(crate) new: DeviceRow,
    /// `None` if they stay.
    pub(crate) owners: Option<OwnersChange>,
    /// `None` if they stay.
    pub(crate) aisles: Option<AislesChange<'a>>,
    /// The groups that own the device, owned it, or will own it.
    pub(crate) groups: BTreeSet<GroupNo>,
    /// The groups that own it now or will own it.
    pub(crate) present_groups: BTreeSet<GroupNo>,
}

/// The aisles of a device before and after an apply.
pub(crate) struct AislesChange<'a> {
    pub(crate) old: Vec<Aisle>,
    pub(crate) new: &'a [Aisle],
}

impl ChangedDevice<'_> {
    /// Returns whether the row of the device changes.
    pub(super) fn has_new_row(&self) -> bool {
        self.old.as_ref() != Some(&self.new)
    }

    /// Returns whether a stored device is enabled or disabled.
    pub(super) fn is_toggled(&self) -> bool {
        self.old.as_ref().is_some_and(|old| old.enabled != self.new.enabled)
    }

    /// Returns whether the device is new or renamed.
    pub(super) fn is_renamed(&self) -> bool {
        self.old.as_ref().is_none_or(|old| old.device_name != self.new.device_name)
    }
}

/// The context in which the entries of devices are planned.
pub(super) struct DevicePlan<'a> {
    pub(super) groups: &'a Groups,
    pub(super) products: &'a Products,
    /// Errors of moves, by device code.
    pub(super) late_moves: HashMap<String, String>,
    pub(super) now: UnixMs,
    pub(super) errors: &'a mut Vec<FleetError>,
}

impl DevicePlan<'_> {
    /// Returns the devices that entries create or change.
    pub(super) fn run<'e>(
        &mut self,
        entries: &'e [DeviceEntry],
        mut devices: Devices,
        counts: &mut ChangeCounts,
    ) -> Vec<ChangedDevice<'e>> {
        let mut changes = Vec::new();
        for entry in entries {
            yield_if_due();
            let stored = devices.by_code.remove(entry.code.as_str());
            let is_new = stored.is_none();
            let change = self.device(entry, stored, DeviceNo(devices.next));
            devices.next += i64::from(is_new);
            let is_changed =
                change.has_new_row() || change.owners.is_some() || change.aisles.is_some();
            match (is_new, is_changed) {
                (true, _) => counts.created += 1,
                (false, true) => counts.changed += 1,
                (false, false) => counts.unchanged += 1,
            }
            if is_changed {
                changes.push(change);
            }
        }
        changes
    }

    /// Returns an entry as a change, which may change nothing.
    fn device<'e>(
        &mut self,
        entry: &'e DeviceEntry,
        stored: Option<StoredDevice>,
        next: DeviceNo,
    ) -> ChangedDevice<'e> {
        let code = entry.code.as_str();
        if stored.is_none() && entry.name.is_none() {
            self.errors.push(FleetError::required(EntryKind::Device, code, &["name"]));
        }
        if stored.is_none() && entry.group.is_none() {
            self.errors.push(FleetError::required(EntryKind::Device, code, &["group"]));
        }
        let new = merged(entry, stored.as_ref().map(|device| &device.row), next, self.now);
        let number = new.device_no;
        let (old, periods, old_aisles) = match stored {
            Some(StoredDevice { row, periods, aisles }) => (Some(row), periods, aisles),
            None => (None, Vec::new(), Vec::new()),
        };
        let mut groups: BTreeSet<GroupNo> = periods.iter().map(|period| period.group_no).collect();
        let mut present_groups: BTreeSet<GroupNo> = ownership::from(&periods, self.now).collect();
        let owners = self.owners(entry, periods);
        let aisles = self.aisles(entry, old_aisles);
        let changed = || owners.iter().flat_map(OwnersChange::groups);
        groups.extend(changed());
        present_groups.extend(changed());
        ChangedDevice { number, code, old, new, owners, aisles, groups, present_groups }
    }

    fn owners(&mut self, entry: &DeviceEntry, old: Vec<Period>) -> Option<OwnersChange> {
        let (code, group) = (entry.code.as_str(), entry.group.as_ref()?);
        let Some(moving) = wanted_move(entry, self.groups) else {
            let error = format!("device {code}: group: no group {group} is known");
            self.errors.push(error.into());
            return None;
        };
        let new = match self.late_moves.remove(code) {
            Some(error) => {
                self.errors.push(error.into());
                return None;
            }
            None => moving.applied_to(&old, self.now),
        };
        match new {
            Ok(new) if new == old => None,
            Ok(new) => Some(OwnersChange { old, new }),
            Err(reason) => {
                self.errors.push(format!("device {code}: {reason}").into());
                None
            }
        }
    }

    fn aisles<'e>(&mut self, entry: &'e DeviceEntry, old: Vec<Aisle>) -> Option<AislesChange<'e>> {
        let new = entry.aisles.as_deref()?;
        for aisle in new.iter().filter(|aisle| !self.products.contains(&aisle.goods_id)) {
            let error = format!(
                "device {}: aisle {}: product: no product {} is known",
                entry.code, aisle.code, aisle.goods_id
            );
            self.errors.push(error.into());
        }
        (old != new).then_some(AislesChange { old, new })
    }
}

/// Returns the row with the fields of an entry, and the old values of fields that it leaves out.
fn merged(entry: &DeviceEntry, old: Option<&DeviceRow>, next: DeviceNo, now: UnixMs) -> DeviceRow {
    let text = |given: &Option<String>, old: Option<&String>| {
        given.clone().or_else(|| old.cloned()).unwrap_or_default()
    };
    let stock = entry.aisles.as_ref().map(|aisles| aisles.iter().map(|aisle| aisle.stock).sum());
    DeviceRow {
        device_no: old.map_or(next, |device| device.device_no),
        device_code: entry.code.as_str().to_owned(),
        device_name: text(&entry.name, old.map(|device| &device.device_name)),
        device_model: text(&entry.model, old.map(|device| &device.device_model)),
        address: text(&entry.address, old.map(|device| &device.address)),
        enabled: entry.enabled.unwrap_or_else(|| old.is_none_or(|device| device.enabled)),
        created_at_ms: old.map_or(now, |device| device.created_at_ms),
        total_curr_stock: stock.unwrap_or_else(|| old.map_or(0, |device| device.total_curr_stock)),
    }
}
