//! The owners of devices over time, each with the counts of its ledger.

use std::collections::HashMap;

use kiosque_model::{DeviceNo, GroupNo, UnixMs};

use crate::Error;
use crate::activity::Activity;
use crate::db::Read;
use crate::sql::{Value, row, statements};

row! {
    struct PeriodRow {
        device_no: DeviceNo,
        group_no: GroupNo,
        group_id: String,
        since_ms: UnixMs,
        until_ms: UnixMs,
        orders: i64,
        archived: i64,
        last_active_ms: Option<UnixMs>,
    }
}

statements! {
    PERIODS() -> PeriodRow = "select o.device_no, o.group_no, g.group_id, o.since_ms, o.until_ms,
            l.last_seq - l.first_seq + 1 as orders, l.archived_seq - l.first_seq + 1 as archived,
            l.last_active_ms
        from {rows r: device bigint} cross join device_owners o cross join ledger l
        join groups g on g.group_no = o.group_no
        where o.device_no = r.device and l.group_no = o.group_no
            and l.device_code = o.device_code
        order by o.device_no, o.since_ms";
}

/// A period in which a group owns a device, and the counts of the group's ledger. A group that
/// owned the device twice has one ledger.
pub(super) struct Period {
    pub(super) group: GroupNo,
    pub(super) group_id: String,
    pub(super) since: UnixMs,
    pub(super) until: UnixMs,
    pub(super) orders: i64,
    pub(super) archived: i64,
    pub(super) last_active: Option<UnixMs>,
}

/// The periods of a device, the first one first.
#[derive(Default)]
pub(super) struct DevicePeriods {
    pub(super) all: Vec<Period>,
}

/// The periods of some devices.
pub(super) struct Periods(HashMap<DeviceNo, DevicePeriods>);

impl Periods {
    pub(super) async fn read(
        read: &Read<'_>,
        devices: &[[Value<'_>; 1]],
        activity: &Activity,
    ) -> Result<Periods, Error> {
        let mut periods: HashMap<DeviceNo, DevicePeriods> = HashMap::new();
        read.each_of(&PERIODS, devices, &[], |row| {
            let row: PeriodRow = row.read()?;
            let key = (row.group_no, row.device_no);
            periods.entry(row.device_no).or_default().all.push(Period {
                group: row.group_no,
                group_id: row.group_id,
                since: row.since_ms,
                until: row.until_ms,
                orders: row.orders,
                archived: row.archived,
                last_active: activity.merged(key, row.last_active_ms),
            });
            Ok(())
        })
        .await?;
        Ok(Periods(periods))
    }

    pub(super) fn take(&mut self, device: DeviceNo) -> DevicePeriods {
        self.0.remove(&device).unwrap_or_default()
    }
}

impl DevicePeriods {
    /// Returns the owner at a time. The first one owns all earlier time.
    pub(super) fn owner_at(&self, at: UnixMs) -> Option<&str> {
        let latest = self.all.iter().rev().find(|period| period.since <= at);
        latest.or(self.all.first()).map(|period| period.group_id.as_str())
    }

    /// Returns a period of each owner, with the counts of its ledger.
    pub(super) fn ledgers(&self) -> impl Iterator<Item = &Period> {
        self.all.iter().enumerate().filter_map(|(at, period)| {
            let earlier = self.all.get(..at).unwrap_or_default();
            let is_first = earlier.iter().all(|other| other.group_id != period.group_id);
            is_first.then_some(period)
        })
    }
}
