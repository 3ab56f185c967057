//! The owners of devices over time, and the counts of their ledgers.

use std::collections::HashMap;

use kiosque_model::{DeviceNo, GroupNo, UnixMs};

use crate::activity::Activity;
use crate::db::Read;
use crate::error::Error;
use crate::sql::{Value, row, statements};

row! {
    struct PeriodRow { device_no: DeviceNo, period: Period }
    /// A period in which a group owns a device.
    pub(super) struct Period {
        pub(super) group_id: String,
        pub(super) since: UnixMs,
        pub(super) until: UnixMs,
    }
    struct LedgerRow { device_no: DeviceNo, ledger: Ledger }
    /// The counts of a ledger, which belongs to an owner, even if it owned the device twice, or to
    /// a group that keeps orders of a period that was replaced.
    pub(super) struct Ledger {
        pub(super) group_no: GroupNo,
        pub(super) group_id: String,
        pub(super) orders: i64,
        pub(super) archived: i64,
        pub(super) last_active: Option<UnixMs>,
    }
}

statements! {
    PERIODS() -> PeriodRow = "select o.device_no, g.group_id, o.since_ms as since,
            o.until_ms as until
        from {rows r: device bigint} cross join device_owners o
        join groups g on g.group_no = o.group_no
        where o.device_no = r.device
        order by o.device_no, o.since_ms";
    LEDGERS() -> LedgerRow = "select d.device_no, l.group_no, g.group_id,
            l.last_seq - l.first_seq + 1 as orders, l.archived_seq - l.first_seq + 1 as archived,
            l.last_active_ms as last_active
        from {rows r: device bigint} cross join devices d cross join ledger l
        join groups g on g.group_no = l.group_no
        where d.device_no = r.device and l.device_code = d.device_code
        order by d.device_no, l.since_ms";
}

/// The periods and the ledgers of a device, by their starts.
#[derive(Default)]
pub(super) struct DevicePeriods {
    pub(super) all: Vec<Period>,
    pub(super) ledgers: Vec<Ledger>,
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
        for PeriodRow { device_no, period } in read.all_of(&PERIODS, devices, &[]).await? {
            periods.entry(device_no).or_default().all.push(period);
        }
        for LedgerRow { device_no, mut ledger } in read.all_of(&LEDGERS, devices, &[]).await? {
            ledger.last_active = activity.merged((ledger.group_no, device_no), ledger.last_active);
            periods.entry(device_no).or_default().ledgers.push(ledger);
        }
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
}
