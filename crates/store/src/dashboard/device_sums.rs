//! The sales of devices and of products on the days of a range, after the exchange rates for
//! converting them.

use std::collections::BTreeMap;

use kiosque_model::sales::{Totals, Turnover};
use kiosque_model::{Day, DeviceNo, GroupNo};

use super::figures::device_sums::{Conversion, DeviceSums};
use super::figures::products::{Products, with_devices};
use super::filter::Devices;
use super::range::Range;
use super::sums;
use crate::db::{Bound, Read, Reading};
use crate::error::Error;
use crate::scoped::HintedGroup;
use crate::sql::{Row, Sql, Value, statements};
use crate::sums::device_block::{SumsOfDay, block_of, each_device};
use crate::sums::totals_of;

statements! {
    DEVICES(group_no, first_day, last_day) -> SumsOfDay<'_> = "select day, device_block, currency,
            devices as sums
        from sales_by_device
        where group_no = $group_no and day >= $first_day and day <= $last_day";
    PRODUCTS(group_no, first_day, last_day) -> SumsOfDay<'_> = "select day, device_block, currency,
            products as sums
        from sales_by_device
        where group_no = $group_no and day >= $first_day and day <= $last_day";
    DEVICES_OF(group_no, first_day, last_day) -> SumsOfDay<'_> = "select s.day, s.device_block,
            s.currency, s.devices as sums
        from {each r: block bigint} cross join sales_by_day d cross join sales_by_device s
        where d.group_no = $group_no and d.day >= $first_day and d.day <= $last_day
            and s.group_no = $group_no and s.day = d.day and s.device_block = r.block
            and s.currency = d.currency";
    PRODUCTS_OF(group_no, first_day, last_day) -> SumsOfDay<'_> = "select s.day, s.device_block,
            s.currency, s.products as sums
        from {each r: block bigint} cross join sales_by_day d cross join sales_by_device s
        where d.group_no = $group_no and d.day >= $first_day and d.day <= $last_day
            and s.group_no = $group_no and s.day = d.day and s.device_block = r.block
            and s.currency = d.currency";
}

/// Reads the sales of devices by day, except on partial days.
pub(super) fn by_day(
    devices: &Devices,
    range: &Range,
    group: HintedGroup,
) -> Reading<DeviceSums<BTreeMap<Day, Turnover>>> {
    read(devices, range, group, &DEVICES, &DEVICES_OF, BTreeMap::new(), DeviceSums::add_to_day)
}

/// Reads the sales of each device, except on partial days.
pub(super) fn by_device(
    devices: &Devices,
    range: &Range,
    group: HintedGroup,
) -> Reading<DeviceSums<BTreeMap<DeviceNo, Turnover>>> {
    read(devices, range, group, &DEVICES, &DEVICES_OF, BTreeMap::new(), DeviceSums::add_devices)
}

/// Reads the sales of each product, except on partial days, and which devices sold some goods.
pub(super) fn by_product(
    devices: &Devices,
    goods: &[&str],
    range: &Range,
    group: HintedGroup,
) -> Reading<DeviceSums<Products>> {
    read(
        devices,
        range,
        group,
        &PRODUCTS,
        &PRODUCTS_OF,
        with_devices(goods),
        DeviceSums::add_products,
    )
}

/// Visits the sales of one device in a group, by day and currency.
pub(super) async fn each_day_of_device(
    read: &Read<'_>,
    device: DeviceNo,
    group: GroupNo,
    (first_day, last_day): (Day, Day),
    mut visit: impl FnMut(Day, &str, Totals),
) -> Result<(), Error> {
    let block = [[Value::Int(block_of(device))]];
    let days = [group.into(), first_day.into(), last_day.into()];
    read.each_of(&DEVICES_OF, &block, &days, |row| {
        let SumsOfDay { day, device_block, currency, sums } = row.read()?;
        each_device(sums, device_block, |of, figures| {
            if of == device {
                visit(day, currency, totals_of(figures));
            }
        })
    })
    .await
}

/// Adds a row of sums, with the conversion of its amounts.
type AddRow<T> = fn(&mut DeviceSums<T>, SumsOfDay<'_>, Conversion) -> Result<(), Error>;

/// Reads the exchange rates, then the sums with the statement for all devices or the one for some.
fn read<T: Send + 'static>(
    devices: &Devices,
    range: &Range,
    group: HintedGroup,
    of_all: &'static Sql,
    of_some: &'static Sql,
    sales: T,
    add: AddRow<T>,
) -> Reading<DeviceSums<T>> {
    let mut sums =
        Reading::of(DeviceSums::new(range.first_day..=range.last_day, devices.clone(), sales));
    for part in &range.partial_days {
        let add_partial = |sums: &mut DeviceSums<T>, row: &Row<'_>| {
            sums.partial.push(row.read()?);
            Ok(())
        };
        sums = sums.then(sums::bind_partial(part, range, group), add_partial);
    }
    let days = [group.into(), range.first_day.into(), range.last_day.into()];
    let statement = match devices {
        Devices::All => Bound::new(of_all, days),
        Devices::Some(devices) => {
            let blocks = devices.blocks().map(|block| vec![Value::Int(block)]);
            Bound::new(of_some, days).with_rows(blocks)
        }
    };
    sums.then(sums::bind_rates(range, group), |sums: &mut DeviceSums<T>, row: &Row<'_>| {
        sums::add_rate(&mut sums.rates, &mut sums.currencies, row)
    })
    .then(statement, move |sums: &mut DeviceSums<T>, row: &Row<'_>| sums.add(row.read()?, add))
}
