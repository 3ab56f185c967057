//! Groups that differ only in the number of their devices, and a device with many orders.

use std::io::Write;

use serde_json::{Value, json};

use crate::fairness::data::{
    DAY, PRODUCTS, device_code, devices, products, write_many, write_order,
};
use crate::fleet::account;
use crate::options::FairnessSize;
use crate::orders::LAST_TRADE;

/// The group of the device with many orders.
pub(super) const BUSY: &str = "busy";
/// Days of the last month on which each device sells.
const DAYS_OF_SALES: usize = 10;
/// Days of the last month: October 2026.
pub(super) const MONTH_DAYS: i64 = 31;

/// A group with this number of devices.
#[derive(Clone, Debug)]
pub(super) struct Group {
    pub(super) name: String,
    pub(super) devices: usize,
}

/// The largest group, and two that are smaller by a factor of about twenty each.
pub(super) fn groups(size: &FairnessSize) -> Vec<Group> {
    let sizes = [size.large_group / 400, size.large_group / 20, size.large_group];
    let group = |devices: usize| Group { name: format!("of{devices}"), devices };
    sizes.into_iter().map(|devices| group(devices.max(10))).collect()
}

/// The fleet.
pub(super) fn fleet(groups: &[Group]) -> Value {
    let busy = Group { name: BUSY.to_owned(), devices: 1 };
    let all: Vec<&Group> = groups.iter().chain([&busy]).collect();
    let names = all.iter().map(|group| json!({ "id": group.name, "name": group.name }));
    let accounts = all.iter().map(|group| account(&group.name, &[&group.name]));
    let devices = all.iter().flat_map(|group| devices(&group.name, group.devices, "Kiosk"));
    json!({ "group": names.collect::<Vec<_>>(), "product": products(),
        "device": devices.collect::<Vec<_>>(), "account": accounts.collect::<Vec<_>>() })
}

/// Writes the orders.
///
/// # Errors
/// When they cannot be written.
pub(super) fn write_orders(
    groups: &[Group],
    size: &FairnessSize,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    for day in 0..DAYS_OF_SALES {
        let start = LAST_TRADE - DAY * MONTH_DAYS + 3 * DAY * i64::try_from(day)? + DAY / 2;
        for group in groups {
            for device in 0..group.devices {
                let goods = [device, device + day + 1].map(|at| {
                    json!({ "goodsId": format!("p{}", at % PRODUCTS), "count": 1,
                        "payAmount": 500 })
                });
                let code = device_code(&group.name, device);
                write_order(out, &format!("{code}-{day}"), &code, start, &goods)?;
            }
        }
    }
    write_many(out, BUSY, BUSY, size)
}
