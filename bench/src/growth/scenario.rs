//! The reads whose cost is compared between groups.

use kiosque_contract::endpoint::{BestSellingProduct, DeviceAisle, DeviceProfile, Summary};
use kiosque_contract::{DashboardFilter, Endpoint};

use super::data::{Group, MONTH_DAYS};
use crate::calls::device_page;
use crate::client::Call;
use crate::fairness::data::{device_code, last_days};
use crate::rounds::Against;

/// Number of concurrent connections.
pub(super) const CONNECTIONS: usize = 4;
/// Calls of a read, for devices or pages that are spread over the group.
const SPREAD: usize = 16;

/// A list may cost this many times as much as sending its bytes. The cost of any other read must
/// not grow with the devices of a group.
const SENDING_AIM: Against = Against::Sending(3.0);

/// A read of one group.
pub(super) struct Read {
    pub(super) name: &'static str,
    pub(super) against: Against,
    /// The calls, with the session of the group.
    pub(super) calls: fn(&Group, &str) -> anyhow::Result<Vec<Call>>,
}

/// Every read.
pub(super) fn all() -> [Read; 7] {
    let read = |name, against, calls| Read { name, against, calls };
    [
        read("summary of a month", Against::Nothing, |_, token| of_month(Summary::PATH, token)),
        read("device page, any depth", Against::Nothing, device_pages),
        read("profile of a device", Against::Nothing, |group, token| {
            of_devices(DeviceProfile::PATH, group, token)
        }),
        read("aisles of a device", Against::Nothing, |group, token| {
            of_devices(DeviceAisle::PATH, group, token)
        }),
        read("best sellers of a month", Against::Nothing, |_, token| {
            of_month(BestSellingProduct::PATH, token)
        }),
        read("profile of a group", SENDING_AIM, |_, token| of_month(DeviceProfile::PATH, token)),
        read("aisles of a group", SENDING_AIM, |_, token| of_month(DeviceAisle::PATH, token)),
    ]
}

fn of_month(path: &str, token: &str) -> anyhow::Result<Vec<Call>> {
    Ok(vec![Call::new(path, Some(token), &last_days(MONTH_DAYS))?])
}

fn of_devices(path: &str, group: &Group, token: &str) -> anyhow::Result<Vec<Call>> {
    let devices = (0..SPREAD).map(|step| (group.devices - 1) * step / (SPREAD - 1));
    let call = |device| {
        let device_codes = vec![device_code(&group.name, device)];
        let filter = DashboardFilter { device_codes, ..last_days(MONTH_DAYS) };
        Call::new(path, Some(token), &filter)
    };
    devices.map(call).collect()
}

/// Full pages of ten devices, from the first to the last.
fn device_pages(group: &Group, token: &str) -> anyhow::Result<Vec<Call>> {
    let last = group.devices / 10;
    let pages = (0..SPREAD).map(|step| 1 + (last - 1) * step / (SPREAD - 1));
    pages.map(|page| device_page(page, token)).collect()
}
