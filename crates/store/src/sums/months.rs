//! The rows of months: of a device, and of a product. A row is read, changed and written again. No
//! other transaction changes it meanwhile, since each has locked the group.

use std::collections::{BTreeMap, BTreeSet};

use kiosque_model::{Day, DeviceNo, GroupNo};
use tokio::try_join;

use super::{DaySums, Sellers, parse_currency};
use crate::Error;
use crate::db::Write;
use crate::sql::{row, statements};

row! {
    struct DeviceRow<'r> { month: Day, device_no: DeviceNo, currency: &'r str, days: &'r [u8] }
    struct ProductRow<'r> {
        month: Day,
        goods_id: &'r str,
        device_block: i64,
        currency: &'r str,
        days: &'r [u8],
        devices: &'r [u8],
    }
}

statements! {
    DEVICES(group_no) -> DeviceRow<'_> = "select m.month, m.device_no, m.currency, m.days
        from {each r: month bigint, device bigint, currency text} cross join device_months m
        where m.group_no = $group_no and m.month = r.month and m.device_no = r.device
            and m.currency = r.currency";
    SET_DEVICES(group_no) = "insert into device_months
            (group_no, month, device_no, currency, days)
        select g.group_no, r.month, r.device, r.currency, r.days
        from {rows r: month bigint, device bigint, currency text, days bytea}
        cross join group_changes g where g.group_no = $group_no
        on conflict (group_no, month, device_no, currency) do update set days = excluded.days";
    PRODUCTS(group_no) -> ProductRow<'_> = "select m.month, m.goods_id, m.device_block, m.currency,
            m.days, m.devices
        from {each r: month bigint, goods text, block bigint, currency text}
        cross join product_months m
        where m.group_no = $group_no and m.month = r.month and m.goods_id = r.goods
            and m.device_block = r.block and m.currency = r.currency";
    SET_PRODUCTS(group_no) = "insert into product_months
            (group_no, month, goods_id, device_block, currency, days, devices)
        select g.group_no, r.month, r.goods, r.block, r.currency, r.days, r.devices
        from {rows r: month bigint, goods text, block bigint, currency text, days bytea,
            devices bytea}
        cross join group_changes g where g.group_no = $group_no
        on conflict (group_no, month, goods_id, device_block, currency) do update set
            days = excluded.days, devices = excluded.devices";
}

/// The key of a row of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct DeviceMonth {
    pub(crate) month: Day,
    pub(crate) device: DeviceNo,
    pub(crate) currency: &'static str,
}

/// The key of a row of a product, with a block of devices.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ProductMonth {
    pub(crate) month: Day,
    pub(crate) goods_id: String,
    pub(crate) block: i64,
    pub(crate) currency: &'static str,
}

/// The sums of a product in a month.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProductSums {
    /// Items and amount.
    pub(crate) days: DaySums<2>,
    pub(crate) sellers: Sellers,
}

/// Rows as they are stored; `None` where there is none.
#[derive(Debug, Default)]
pub(super) struct StoredMonths {
    devices: BTreeMap<DeviceMonth, Option<DaySums<6>>>,
    products: BTreeMap<ProductMonth, Option<ProductSums>>,
}

impl StoredMonths {
    /// Reads those of these rows that were not read before.
    pub(super) async fn read(
        &mut self,
        write: &Write<'_>,
        group: GroupNo,
        (mut devices, mut products): (BTreeSet<DeviceMonth>, BTreeSet<ProductMonth>),
    ) -> Result<(), Error> {
        let of_group = [group.into()];
        devices.retain(|key| !self.devices.contains_key(key));
        products.retain(|key| !self.products.contains_key(key));
        let of_devices: Vec<_> = devices
            .iter()
            .map(|key| [key.month.into(), key.device.into(), key.currency.into()])
            .collect();
        let of_products: Vec<_> = products
            .iter()
            .map(|key| {
                let (goods, block) = (key.goods_id.as_str().into(), key.block.into());
                [key.month.into(), goods, block, key.currency.into()]
            })
            .collect();
        self.devices.extend(devices.iter().map(|key| (*key, None)));
        self.products.extend(products.iter().map(|key| (key.clone(), None)));
        let StoredMonths { devices, products } = self;
        try_join!(
            biased;
            write.each_of(&DEVICES, &of_devices, &of_group, |row| {
                let DeviceRow { month, device_no: device, currency, days } = row.read()?;
                let currency = parse_currency(currency)?.code();
                let days = DaySums::parse(days, month)?;
                devices.insert(DeviceMonth { month, device, currency }, Some(days));
                Ok(())
            }),
            write.each_of(&PRODUCTS, &of_products, &of_group, |row| {
                let ProductRow { month, goods_id, device_block: block, .. } = row.read()?;
                let ProductRow { currency, days, devices, .. } = row.read()?;
                let currency = parse_currency(currency)?.code();
                let key = ProductMonth { month, goods_id: goods_id.to_owned(), block, currency };
                let days = DaySums::parse(days, month)?;
                let sellers = Sellers::parse(devices, block)?;
                products.insert(key, Some(ProductSums { days, sellers }));
                Ok(())
            }),
        )?;
        Ok(())
    }

    /// Adds sums to the rows of devices, all of which were read.
    pub(super) async fn add_to_devices(
        &self,
        write: &Write<'_>,
        group: GroupNo,
        added: &BTreeMap<DeviceMonth, DaySums<6>>,
    ) -> Result<(), Error> {
        let changed = added.iter().filter(|(_, days)| !days.is_zero()).map(|(key, added)| {
            let mut days = self.devices.get(key).cloned().flatten().unwrap_or_default();
            days.join(added);
            (key, days.bytes(key.month))
        });
        let changed: Vec<_> = changed.collect();
        let rows = changed.iter().map(|(key, days)| {
            let (device, currency) = (key.device.into(), key.currency.into());
            [key.month.into(), device, currency, days.as_slice().into()]
        });
        write.execute_each(&SET_DEVICES, rows, &[group.into()]).await
    }

    /// Adds sums to the rows of products, all of which were read, and removes days of devices.
    pub(super) async fn add_to_products(
        &self,
        write: &Write<'_>,
        group: GroupNo,
        added: &BTreeMap<ProductMonth, ProductSums>,
        removed: &BTreeMap<ProductMonth, Vec<(DeviceNo, Day)>>,
    ) -> Result<(), Error> {
        let changed = added.iter().map(|(key, added)| {
            let stored = self.products.get(key).cloned().flatten().unwrap_or_default();
            let ProductSums { mut days, mut sellers } = stored;
            days.join(&added.days);
            sellers.join(&added.sellers);
            for (device, day) in removed.get(key).into_iter().flatten() {
                sellers.remove(*device, (key.month, *day));
            }
            (key, days.bytes(key.month), sellers.bytes(key.block))
        });
        let changed: Vec<_> = changed.collect();
        let rows = changed.iter().map(|(key, days, devices)| {
            let (goods, block) = (key.goods_id.as_str().into(), key.block.into());
            let (days, devices) = (days.as_slice().into(), devices.as_slice().into());
            [key.month.into(), goods, block, key.currency.into(), days, devices]
        });
        write.execute_each(&SET_PRODUCTS, rows, &[group.into()]).await
    }
}
