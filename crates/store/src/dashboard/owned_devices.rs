//! The enabled devices that a group owns, to be counted.

use kiosque_model::{DeviceNo, GroupNo, UnixMs};

use crate::activity::Activity;
use crate::db::Bound;
use crate::devices::OnlineSince;
use crate::scoped_query::HintedGroup;
use crate::sql::{row, statements};

row! {
    pub(super) struct OwnerRow {
        pub(super) device_no: DeviceNo,
        since_ms: UnixMs,
        until_ms: UnixMs,
    }
    pub(super) struct ActivityRow { device_no: DeviceNo, last_active_ms: Option<UnixMs> }
}

statements! {
    OWNED(group_no, now_ms) -> OwnerRow = "select device_no, since_ms, until_ms from device_owners
        where group_no = $group_no and until_ms > $now_ms and listed";
    LAST_ACTIVE(group_no) -> ActivityRow = "select device_no, last_active_ms from ledger
        where group_no = $group_no";
}

/// The enabled devices that a group owns now or later, with their last activity.
#[derive(Clone, Debug, Default)]
pub(super) struct OwnedDevices {
    periods: Vec<OwnedPeriod>,
    /// Whether the periods are sorted by device, as they are after the last of them.
    is_sorted: bool,
}

/// A period in which the group owns a device.
#[derive(Clone, Copy, Debug)]
struct OwnedPeriod {
    device: DeviceNo,
    since: UnixMs,
    until: UnixMs,
    last_active: Option<UnixMs>,
}

/// Binds the statements for [`OwnedDevices::add_owner`] and [`OwnedDevices::add_activity`]. Two
/// scans: a join would look every device up in the ledger.
pub(super) fn bind(group: HintedGroup, now: UnixMs) -> [Bound<'static>; 2] {
    let owned = Bound::new(&OWNED, [group.into(), now.into()]);
    [owned, Bound::new(&LAST_ACTIVE, [group.into()])]
}

impl OwnedDevices {
    /// Adds a period of ownership.
    pub(super) fn add_owner(&mut self, row: &OwnerRow) {
        let OwnerRow { device_no: device, since_ms: since, until_ms: until } = *row;
        self.periods.push(OwnedPeriod { device, since, until, last_active: None });
    }

    /// Adds the last activity of a device, after all periods.
    pub(super) fn add_activity(&mut self, row: &ActivityRow) {
        if !self.is_sorted {
            self.periods.sort_unstable_by_key(|period| period.device);
            self.is_sorted = true;
        }
        // A device that leaves the group and returns has two periods.
        let start = self.periods.partition_point(|period| period.device < row.device_no);
        let rest = self.periods.iter_mut().skip(start);
        for period in rest.take_while(|period| period.device == row.device_no) {
            period.last_active = row.last_active_ms;
        }
    }

    /// Returns how many devices the group owns now, and how many of them are online.
    pub(super) fn count(
        &self,
        group: GroupNo,
        now: UnixMs,
        activity: &Activity,
        online: OnlineSince,
    ) -> (i64, i64) {
        let is_present = |period: &&OwnedPeriod| period.since <= now && now < period.until;
        let (mut devices, mut online_devices) = (0, 0);
        for period in self.periods.iter().filter(is_present) {
            let last_active = activity.merged((group, period.device), period.last_active);
            devices += 1;
            online_devices += i64::from(online.holds(last_active));
        }
        (devices, online_devices)
    }

    pub(super) fn len(&self) -> usize {
        self.periods.len()
    }
}
