//! Compares the rows of a month with the recounted sums of its days.

use std::collections::{BTreeMap, BTreeSet};

use kiosque_model::{Day, DeviceNo, GroupNo};

use super::{DeviceCodes, SumKey, SumTable, compare, describe};
use crate::Error;
use crate::db::Read;
use crate::sql::{row, statements};
use crate::sums::{Sellers, Sums, each_day};
use crate::verify::Verified;

row! {
    struct DeviceRow<'r> { device_no: DeviceNo, currency: &'r str, days: &'r [u8] }
    struct ProductRow<'r> {
        goods_id: &'r str,
        device_block: i64,
        currency: &'r str,
        days: &'r [u8],
        devices: &'r [u8],
    }
}

statements! {
    MONTHS(group_no) -> Day = "select month from device_months where group_no = $group_no
        union select month from product_months where group_no = $group_no";
    DEVICES(group_no, month) -> DeviceRow<'_> = "select device_no, currency, days
        from device_months where group_no = $group_no and month = $month";
    PRODUCTS(group_no, month) -> ProductRow<'_> = "select goods_id, device_block, currency, days,
            devices
        from product_months where group_no = $group_no and month = $month";
}

/// The sums of a month as they are stored, by day.
#[derive(Default)]
pub(super) struct MonthTables {
    devices: BTreeMap<Day, SumTable>,
    products: BTreeMap<Day, SumTable>,
    /// The products that are stored as sold by a device.
    sellers: BTreeMap<Day, BTreeSet<SumKey>>,
}

impl MonthTables {
    /// Returns the first day of each month with rows.
    pub(super) async fn months_of(read: &Read<'_>, group: GroupNo) -> Result<BTreeSet<Day>, Error> {
        Ok(read.all(&MONTHS, &[group.into()], |row| row.read()).await?.into_iter().collect())
    }

    pub(super) async fn read(
        read: &Read<'_>,
        group: GroupNo,
        month: Day,
    ) -> Result<MonthTables, Error> {
        let (params, mut tables) = ([group.into(), month.into()], MonthTables::default());
        let MonthTables { devices, products, sellers } = &mut tables;
        read.each(&DEVICES, &params, |row| {
            let DeviceRow { device_no, currency, days } = row.read()?;
            add_days::<6>(devices, (days, month), &device_key(device_no, currency))
        })
        .await?;
        read.each(&PRODUCTS, &params, |row| {
            let ProductRow { goods_id, device_block, currency, days, devices } = row.read()?;
            add_days::<2>(products, (days, month), &product_key(goods_id, device_block, currency))?;
            for (device, day) in Sellers::parse(devices, device_block)?.days(month) {
                let of_day = sellers.entry(day).or_default();
                of_day.insert(seller_key(device, goods_id, currency));
            }
            Ok(())
        })
        .await?;
        Ok(tables)
    }

    /// Returns the days that the rows have.
    pub(super) fn days(&self) -> impl Iterator<Item = Day> {
        self.devices.keys().chain(self.products.keys()).chain(self.sellers.keys()).copied()
    }

    /// Compares the rows with the recounted sums of one of their days.
    pub(super) fn check_day(
        &self,
        day: Day,
        name: &str,
        sums: &Sums,
        codes: &DeviceCodes,
        verified: &mut Verified,
    ) {
        let (mut devices, mut products) = (SumTable::new(), SumTable::new());
        let mut sellers = BTreeSet::new();
        for (key, days) in sums.by_device() {
            let key = device_key(key.device, key.currency);
            devices.extend(days.iter().map(|(_, figures)| (key.clone(), figures.to_vec())));
        }
        for (key, sums) in sums.by_month() {
            let of_product = product_key(&key.goods_id, key.block, key.currency);
            let figures = sums.days.iter();
            products.extend(figures.map(|(_, figures)| (of_product.clone(), figures.to_vec())));
            let of_devices = sums.sellers.days(key.month);
            sellers.extend(
                of_devices.map(|(device, _)| seller_key(device, &key.goods_id, key.currency)),
            );
        }
        verified.sums += devices.len() + products.len();
        let none = SumTable::new();
        compare(name, codes, self.devices.get(&day).unwrap_or(&none), &devices, verified);
        compare(name, codes, self.products.get(&day).unwrap_or(&none), &products, verified);
        let stored = self.sellers.get(&day).cloned().unwrap_or_default();
        for key in stored.symmetric_difference(&sellers) {
            let fault = match stored.contains(key) {
                true => "the device is stored as a seller, its orders have no items",
                false => "the device is not stored as a seller, its orders have items",
            };
            verified.differences.push(format!("{name}: {}: {fault}", describe(key, codes)));
        }
    }
}

fn add_days<const N: usize>(
    table: &mut BTreeMap<Day, SumTable>,
    (days, month): (&[u8], Day),
    key: &SumKey,
) -> Result<(), Error> {
    each_day(days, month, |day, figures: [i64; N]| {
        table.entry(day).or_default().insert(key.clone(), figures.to_vec());
        Ok(())
    })
}

fn device_key(device: DeviceNo, currency: &str) -> SumKey {
    SumKey { device: Some(device), currency: currency.to_owned(), ..SumKey::default() }
}

fn product_key(goods_id: &str, block: i64, currency: &str) -> SumKey {
    let (goods_id, device_block) = (Some(goods_id.to_owned()), Some(block));
    SumKey { device: None, goods_id, device_block, currency: currency.to_owned() }
}

fn seller_key(device: DeviceNo, goods_id: &str, currency: &str) -> SumKey {
    let (device, goods_id) = (Some(device), Some(goods_id.to_owned()));
    SumKey { device, goods_id, device_block: None, currency: currency.to_owned() }
}
