//! The owners of devices over time, and the counts of their ledgers.

use std::collections::HashMap;

use kiosque_contract::inventory::DeviceLedger;
use kiosque_model::{DeviceNo, GroupNo, UnixMs};

use crate::activity::Activity;
use crate::db::Read;
use crate::error::Error;
use crate::fleet::{Period, periods_of};
use crate::sql::{Value, row, statements};

row! {
    struct LedgerRow { device_no: DeviceNo, group_no: GroupNo, ledger: DeviceLedger }
    for DeviceLedger { group_id, order_count, archived_count, last_active_timestamp }
}

statements! {
    LEDGERS() -> LedgerRow = "select d.device_no, l.group_no, g.group_id,
            l.last_seq - l.first_seq + 1 as order_count,
            l.archived_seq - l.first_seq + 1 as archived_count,
            l.last_active_ms as last_active_timestamp
        from {rows r: device bigint} cross join devices d cross join ledger l
        join groups g on g.group_no = l.group_no
        where d.device_no = r.device and l.device_code = d.device_code
        order by d.device_no, l.since_ms";
}

/// The periods and the ledgers of a device, by their starts.
#[derive(Default)]
pub(super) struct DevicePeriods {
    pub(super) all: Vec<Period>,
    /// A ledger belongs to an owner, even if it owned the device twice, or to a group that keeps
    /// orders of a period that was replaced.
    pub(super) ledgers: Vec<(GroupNo, DeviceLedger)>,
}

/// Returns the periods and the ledgers of devices.
pub(super) async fn device_periods(
    read: &Read<'_>,
    devices: &[[Value<'_>; 1]],
    activity: &Activity,
) -> Result<HashMap<DeviceNo, DevicePeriods>, Error> {
    let periods = periods_of(read, devices).await?.into_iter();
    let periods = periods.map(|(device, all)| (device, DevicePeriods { all, ..<_>::default() }));
    let mut periods: HashMap<DeviceNo, DevicePeriods> = periods.collect();
    for row in read.all_of(&LEDGERS, devices, &[]).await? {
        let LedgerRow { device_no, group_no, mut ledger } = row;
        let last_active = ledger.last_active_timestamp.map(UnixMs);
        let last_active = activity.merged((group_no, device_no), last_active);
        ledger.last_active_timestamp = last_active.map(|at| at.0);
        periods.entry(device_no).or_default().ledgers.push((group_no, ledger));
    }
    Ok(periods)
}

impl DevicePeriods {
    /// Returns the owner at a time. The first one owns all earlier time.
    pub(super) fn owner_at(&self, at: UnixMs) -> Option<&str> {
        let latest = self.all.iter().rev().find(|period| period.since <= at);
        latest.or(self.all.first()).map(|period| period.group_id.as_str())
    }
}
