//! The sales of a month, added up from the sums of its days.

use std::collections::BTreeMap;

use kiosque_model::sales::{Rate, Rates, Turnover, Usd};
use kiosque_model::{Currency, Day, DeviceNo, GroupNo, Minor, UnixMs};

use super::DeviceSet;
use crate::Error;
use crate::db::Read;
use crate::sql::{Value, row, statements};
use crate::sums::{TotalsRow, parse_currency};

row! {
    struct RateRow<'r> { currency: &'r str, day: Day, usd_per_unit_e12: i64 }
    struct DeviceDayRow<'r> { day: Day, device_no: DeviceNo, currency: &'r str, totals: TotalsRow }
    struct ProductDayRow<'r> {
        day: Day,
        device_no: DeviceNo,
        goods_id: &'r str,
        currency: &'r str,
        items: i64,
        amount: i64,
    }
}

row! {
    /// Bounds of the times of the sales of a month.
    #[derive(Default, PartialEq, Eq)]
    pub(crate) struct MonthBounds {
        pub(crate) first_sale_at_ms: Option<UnixMs>,
        pub(crate) last_sale_at_ms: Option<UnixMs>,
    }
}

statements! {
    BOUNDS(group_no, first_day, last_day) -> MonthBounds = "select
            min(first_sale_at_ms) as first_sale_at_ms, max(last_sale_at_ms) as last_sale_at_ms
        from sales_by_day
        where group_no = $group_no and day >= $first_day and day <= $last_day";
    DEVICES(group_no) -> DeviceNo = "select device_no from ledger where group_no = $group_no
        order by device_no";
    /// The rate of each currency with sales on each day, from the first day to the last.
    RATES(group_no, first_day, last_day) -> RateRow<'_> = "select d.currency, d.day,
            t.usd_per_unit_e12
        from sales_by_day d join rates t on t.currency = d.currency and t.day = (
            select max(day) from rates where currency = d.currency and day <= d.day
        )
        where d.group_no = $group_no and d.day >= $first_day and d.day <= $last_day
        order by d.day";
    DEVICE_DAYS(group_no, after, last) -> DeviceDayRow<'_> = "select s.day, s.device_no,
            s.currency, s.orders, s.items, s.amount, s.refund, s.shipped, s.failed
        from {rows r: day bigint} cross join sales_by_device s
        where s.group_no = $group_no and s.day = r.day
            and s.device_no > $after and s.device_no <= $last";
    PRODUCT_DAYS(group_no, after, last) -> ProductDayRow<'_> = "select s.day, s.device_no,
            s.goods_id, s.currency, s.items, s.amount
        from {rows r: day bigint} cross join sales_by_product s
        where s.group_no = $group_no and s.day = r.day
            and s.device_no > $after and s.device_no <= $last";
}

/// Devices whose sums are read at a time: some 50,000 rows of a month.
const DEVICES_PER_READ: usize = 100;

/// Devices by their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DeviceRange {
    /// The number before the first one.
    pub(crate) after: DeviceNo,
    pub(crate) last: DeviceNo,
}

/// The sales of a month by device, and by product of a device.
#[derive(Debug, Default)]
pub(crate) struct MonthSums {
    pub(crate) devices: BTreeMap<DeviceNo, DeviceMonth>,
}

/// The sales of a device in a month.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct DeviceMonth {
    pub(crate) turnover: Turnover,
    /// By `goodsId`.
    pub(crate) products: BTreeMap<String, ProductTotals>,
}

/// Sales of a product.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ProductTotals {
    pub(crate) items: i64,
    /// Items with an exchange rate.
    pub(crate) converted_items: i64,
    /// The amount paid for these.
    pub(crate) amount: Usd,
}

/// The sales of a month by product, and the devices that sold each.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct MonthProducts(pub(crate) BTreeMap<String, (ProductTotals, DeviceSet)>);

impl DeviceRange {
    /// Returns ranges that together contain all devices, each with a bounded number of those that
    /// the group owns or owned.
    pub(crate) async fn all_of(read: &Read<'_>, group: GroupNo) -> Result<Vec<Self>, Error> {
        let devices = read.all(&DEVICES, &[group.into()], |row| row.read::<DeviceNo>()).await?;
        let mut after = DeviceNo(i64::MIN);
        let lasts = devices.chunks(DEVICES_PER_READ).filter_map(<[DeviceNo]>::last);
        let mut ranges: Vec<DeviceRange> = lasts
            .map(|last| {
                let range = DeviceRange { after, last: *last };
                after = *last;
                range
            })
            .collect();
        let unbounded = DeviceNo(i64::MAX);
        match ranges.last_mut() {
            Some(range) => range.last = unbounded,
            None => ranges.push(DeviceRange { after, last: unbounded }),
        }
        Ok(ranges)
    }
}

impl MonthSums {
    /// Reads the sales of devices in the month that begins with `first_day`.
    pub(crate) async fn read(
        read: &Read<'_>,
        group: GroupNo,
        first_day: Day,
        devices: DeviceRange,
    ) -> Result<MonthSums, Error> {
        let last_day = first_day.last_of_month();
        let (mut rates, mut sums) = (Rates::default(), MonthSums::default());
        let params = [group.into(), first_day.into(), last_day.into()];
        read.each(&RATES, &params, |row| {
            let RateRow { currency, day, usd_per_unit_e12: parts } = row.read()?;
            let rate = Rate::from_parts(parts);
            let rate =
                rate.ok_or_else(|| Error::Data(format!("{currency} on {day}: rate {parts}")))?;
            rates.add(parse_currency(currency)?, day, rate);
            Ok(())
        })
        .await?;
        let days: Vec<[Value<'_>; 1]> =
            (first_day.0..=last_day.0).map(|day| [day.into()]).collect();
        let params = [group.into(), devices.after.into(), devices.last.into()];
        read.each_of(&DEVICE_DAYS, &days, &params, |row| {
            let DeviceDayRow { day, device_no, currency, totals } = row.read()?;
            let device = sums.devices.entry(device_no).or_default();
            let currency = parse_currency(currency)?;
            Ok(device.turnover.add(&rates, day, currency, totals.totals())?)
        })
        .await?;
        read.each_of(&PRODUCT_DAYS, &days, &params, |row| {
            let ProductDayRow { day, device_no, goods_id, currency, items, amount } = row.read()?;
            let currency = parse_currency(currency)?;
            let sold = ProductTotals::of(items, amount, (currency, rates.on(currency, day)))?;
            sums.devices.entry(device_no).or_default().add(goods_id, sold);
            Ok(())
        })
        .await?;
        Ok(sums)
    }
}

impl MonthBounds {
    /// Returns the bounds of the days of a month.
    pub(crate) async fn read(
        read: &Read<'_>,
        group: GroupNo,
        first_day: Day,
    ) -> Result<MonthBounds, Error> {
        let params = [group.into(), first_day.into(), first_day.last_of_month().into()];
        Ok(read.one(&BOUNDS, &params, |row| row.read()).await?.unwrap_or_default())
    }
}

impl DeviceMonth {
    fn add(&mut self, goods_id: &str, sold: ProductTotals) {
        match self.products.get_mut(goods_id) {
            Some(totals) => totals.join(sold),
            None => {
                self.products.insert(goods_id.to_owned(), sold);
            }
        }
    }
}

impl ProductTotals {
    /// Returns sales in one currency, of which the rate is known or not.
    pub(crate) fn of(
        items: i64,
        amount: i64,
        (currency, rate): (Currency, Option<Rate>),
    ) -> Result<ProductTotals, Error> {
        let Some(rate) = rate else {
            return Ok(ProductTotals { items, ..ProductTotals::default() });
        };
        let amount = Usd::of(Minor(amount), currency, rate)?;
        Ok(ProductTotals { items, converted_items: items, amount })
    }

    pub(crate) fn join(&mut self, other: ProductTotals) {
        self.items += other.items;
        self.converted_items += other.converted_items;
        self.amount = self.amount.plus(other.amount);
    }
}

impl MonthProducts {
    /// Adds the sales of further devices.
    pub(crate) fn add(&mut self, sums: &MonthSums) {
        for (device, month) in &sums.devices {
            for (goods_id, sold) in &month.products {
                if !self.0.contains_key(goods_id) {
                    self.0.insert(goods_id.clone(), Default::default());
                }
                let Some((totals, devices)) = self.0.get_mut(goods_id) else { continue };
                totals.join(*sold);
                // Items of a day are never negative; updates of orders can leave a sum of zero.
                if sold.items != 0 {
                    devices.insert(*device);
                }
            }
        }
    }
}
