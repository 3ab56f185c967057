//! Devices of a fleet: their stored rows, aisles and owners, and the changes of these.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use kiosque_contract::ChangeCounts;
use kiosque_model::fleet::{Aisle, DeviceEntry, EntryKind, Fleet};
use kiosque_model::{DeviceNo, GroupNo, UnixMs};

use super::groups::Groups;
use super::ownership::{self, Move, OwnersChange, Period};
use super::products::Products;
use super::{FleetError, lists_of, next_number};
use crate::cooperative::yield_if_due;
use crate::db::Read;
use crate::error::Error;
use crate::metadata;
use crate::sql::{Value, distinct, numbers, row, statements};

row! {
    /// A device.
    #[derive(Clone, PartialEq)]
    pub(crate) struct DeviceRow {
        pub(crate) device_no: DeviceNo,
        pub(crate) device_code: String,
        pub(crate) device_name: String,
        pub(crate) device_model: String,
        pub(crate) address: String,
        pub(crate) enabled: bool,
        pub(crate) created_at_ms: UnixMs,
        pub(crate) total_curr_stock: i64,
    }
    for Period { group_no, group_id, since }
    for Aisle {
        code, goods_id, price, show_price, stock, capacity, cabinet, layer, enabled, broken,
    }
}

statements! {
    DEVICES_BY_CODE() -> DeviceRow = "select d.device_no, d.device_code, d.device_name,
            d.device_model, d.address, d.enabled, d.created_at_ms, d.total_curr_stock
        from {rows r: code text} cross join devices d where d.device_code = r.code";
    NEXT_DEVICE() -> i64 = "select coalesce(max(device_no), 0) + 1 from devices";
    PERIODS_OF_DEVICES() -> (DeviceNo, Period) = "select o.device_no, o.group_no, g.group_id,
            o.since_ms as since
        from {rows r: device bigint} cross join device_owners o
        join groups g on g.group_no = o.group_no
        where o.device_no = r.device order by o.device_no, o.since_ms";
    AISLES_OF_DEVICES() -> (DeviceNo, Aisle) = "select a.device_no, a.aisle_code as code,
            a.goods_id, a.price, a.show_price, a.curr_stock as stock, a.max_stock as capacity,
            a.cabinet_code as cabinet, a.layer, a.enabled, a.broken
        from {rows r: device bigint} cross join aisles a
        where a.device_no = r.device order by a.device_no, a.position";
    /// The devices of the rows with orders from their `since_ms` to now.
    ORDERS_SINCE(group_no, now_ms) -> DeviceNo = "select distinct o.device_no
        from {each r: device bigint, since_ms bigint} cross join orders o
        where o.group_no = $group_no and o.device_no = r.device
            and o.trade_start_ms >= r.since_ms and o.trade_start_ms <= $now_ms";
}

/// The stored devices of a fleet's entries.
pub(super) struct Devices {
    by_code: HashMap<String, StoredDevice>,
    /// The number of the next new device.
    next: i64,
}

struct StoredDevice {
    row: DeviceRow,
    periods: Vec<Period>,
    /// In order; only read if the entry has aisles.
    aisles: Vec<Aisle>,
}

/// A move that must not take effect before orders that its device has in the group.
pub(super) struct LateMove {
    code: String,
    device: DeviceNo,
    group: GroupNo,
    group_id: String,
    since: UnixMs,
}

impl LateMove {
    /// Returns the error to report if there are such orders.
    fn message(&self) -> String {
        format!(
            "device {}: since: group {} has orders that started at or after it; \
             a move takes effect after them",
            self.code, self.group_id
        )
    }
}

impl Devices {
    /// Reads every device that has an entry in a fleet.
    pub(super) async fn read(read: &Read<'_>, fleet: &Fleet) -> Result<Devices, Error> {
        let codes = distinct(fleet.devices.iter().map(|entry| entry.code.as_str()));
        let rows: Vec<DeviceRow> = read.all_of(&DEVICES_BY_CODE, &codes, &[]).await?;
        let next = match codes.is_empty() {
            true => 0,
            // Heartbeats in the memory of a server have the numbers of deleted devices.
            false => {
                let next = next_number(read, &NEXT_DEVICE).await?;
                next.max(metadata::last(read, metadata::DELETED_DEVICES).await? + 1)
            }
        };
        let keys = numbers(rows.iter().map(|row| row.device_no));
        let mut periods = periods_of(read, &keys).await?;
        let with_aisles = fleet.devices.iter().filter(|entry| entry.aisles.is_some());
        let with_aisles: HashSet<&str> = with_aisles.map(|entry| entry.code.as_str()).collect();
        let known = rows.iter().filter(|row| with_aisles.contains(row.device_code.as_str()));
        let keys = numbers(known.map(|row| row.device_no));
        let mut aisles = aisles_of(read, &keys).await?;
        let stored = rows.into_iter().map(|row| {
            let periods = periods.remove(&row.device_no).unwrap_or_default();
            let aisles = aisles.remove(&row.device_no).unwrap_or_default();
            (row.device_code.clone(), StoredDevice { row, periods, aisles })
        });
        Ok(Devices { by_code: stored.collect(), next })
    }

    /// Returns whether a device is stored.
    pub(super) fn contains(&self, code: &str) -> bool {
        self.by_code.contains_key(code)
    }

    /// Returns the moves of a fleet to a time in the past.
    pub(super) fn late_moves(
        &self,
        entries: &[DeviceEntry],
        groups: &Groups,
        now: UnixMs,
    ) -> Vec<LateMove> {
        let late = entries.iter().filter_map(|entry| {
            let stored = self.by_code.get(entry.code.as_str())?;
            let (moving, since) = (wanted_move(entry, groups)?, entry.since?);
            let owner = moving.follows_orders_of(&stored.periods, now)?;
            Some(LateMove {
                code: entry.code.as_str().to_owned(),
                device: stored.row.device_no,
                group: owner.group_no,
                group_id: owner.group_id.clone(),
                since,
            })
        });
        late.collect()
    }
}

/// Returns the periods of devices, by their starts.
pub(crate) async fn periods_of(
    read: &Read<'_>,
    devices: &[[Value<'_>; 1]],
) -> Result<HashMap<DeviceNo, Vec<Period>>, Error> {
    lists_of(read, &PERIODS_OF_DEVICES, devices).await
}

/// Returns the aisles of devices, in order for each device.
pub(crate) async fn aisles_of(
    read: &Read<'_>,
    devices: &[[Value<'_>; 1]],
) -> Result<HashMap<DeviceNo, Vec<Aisle>>, Error> {
    lists_of(read, &AISLES_OF_DEVICES, devices).await
}

/// Returns the errors of moves to a time that is not after the stored orders, by device code.
/// Orders dated in the future do not count.
pub(super) async fn errors_of_late_moves(
    read: &Read<'_>,
    late_moves: &[LateMove],
    now: UnixMs,
) -> Result<HashMap<String, String>, Error> {
    let mut by_group: BTreeMap<GroupNo, Vec<&LateMove>> = BTreeMap::new();
    for late in late_moves {
        by_group.entry(late.group).or_default().push(late);
    }
    let mut errors = HashMap::new();
    for (group, moves) in by_group {
        let rows: Vec<[Value<'_>; 2]> =
            moves.iter().map(|late| [late.device.into(), late.since.into()]).collect();
        let found: Vec<DeviceNo> =
            read.all_of(&ORDERS_SINCE, &rows, &[group.into(), now.into()]).await?;
        let found: HashSet<DeviceNo> = found.into_iter().collect();
        let refused = moves.into_iter().filter(|late| found.contains(&late.device));
        errors.extend(refused.map(|late| (late.code.clone(), late.message())));
    }
    Ok(errors)
}

/// Returns the move that an entry requests, if its group is known.
fn wanted_move<'a>(entry: &DeviceEntry, groups: &'a Groups) -> Option<Move<'a>> {
    Some(Move { to: groups.get(entry.group.as_ref()?)?, since: entry.since })
}

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
