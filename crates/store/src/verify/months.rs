//! Compares the roll-up of each closed month with the sums of its days.

use std::collections::BTreeMap;

use kiosque_model::sales::Turnover;
use kiosque_model::{Day, DeviceNo};

use super::{Group, Verified};
use crate::Error;
use crate::db::Read;
use crate::months::{
    DeviceMonthRow, DeviceRange, MonthBounds, MonthProducts, MonthSums, ProductMonthRow,
    ProductTotals, ProductTotalsRow,
};
use crate::sql::{row, statements};

row! {
    struct DeviceProductRow<'r> {
        device_no: DeviceNo,
        goods_id: String,
        totals: ProductTotalsRow<'r>,
    }
    struct ClosedMonth { first_day: Day, bounds: MonthBounds }
}

statements! {
    /// No month counts after a change by an older program, which deletes no marks.
    CLOSED(group_no) -> ClosedMonth = "select m.first_day, m.first_sale_at_ms, m.last_sale_at_ms
        from sales_months m
        join group_changes g on g.group_no = $group_no and g.months_change_no = g.last_change_no
        where m.group_no = $group_no and m.closed order by m.first_day";
    /// Changes of these months would not delete their marks.
    UNWATCHED(group_no) -> Day = "select m.first_day from sales_months m
        join group_changes g on g.group_no = $group_no
        where m.group_no = $group_no
            and (g.marked_to_day is null or m.first_day > g.marked_to_day)
        order by m.first_day";
    DEVICES(group_no, first_day, after, last) -> DeviceMonthRow<'_> = "select device_no,
            orders, items, amount, refund, unconverted_orders, converted_items, shipped, failed
        from monthly_devices where group_no = $group_no and first_day = $first_day
            and device_no > $after and device_no <= $last";
    DEVICE_PRODUCTS(group_no, first_day, after, last) -> DeviceProductRow<'_> = "select device_no,
            goods_id, items, converted_items, amount
        from monthly_device_products where group_no = $group_no and first_day = $first_day
            and device_no > $after and device_no <= $last";
    PRODUCTS(group_no, first_day) -> ProductMonthRow<'_> = "select goods_id, items,
            converted_items, amount, device_count, devices
        from monthly_products where group_no = $group_no and first_day = $first_day";
}

pub(super) async fn check(
    read: &Read<'_>,
    group: &Group,
    found: &mut Verified,
) -> Result<(), Error> {
    let number = [group.number.into()];
    for month in read.all(&UNWATCHED, &number, |row| row.read::<Day>()).await? {
        found.differences.push(format!(
            "group {}, the month of {month}: it is marked, and changes do not delete the mark",
            group.id
        ));
    }
    let months = read.all(&CLOSED, &number, |row| row.read::<ClosedMonth>()).await?;
    if months.is_empty() {
        return Ok(());
    }
    let ranges = DeviceRange::all_of(read, group.number).await?;
    for ClosedMonth { first_day: month, bounds } in months {
        if bounds != MonthBounds::read(read, group.number, month).await? {
            found.differences.push(format!(
                "group {}, the month of {month}: its bounds are not those of its days",
                group.id
            ));
        }
        let rolled_up = RolledUp { read, group, month };
        for sales in rolled_up.differing(&ranges).await? {
            found.differences.push(format!(
                "group {}, the month of {month}: its sales by {sales} are not those of its days",
                group.id
            ));
        }
    }
    Ok(())
}

/// A closed month.
struct RolledUp<'a> {
    read: &'a Read<'a>,
    group: &'a Group,
    month: Day,
}

impl RolledUp<'_> {
    /// Returns the names of the tables that differ from the days.
    async fn differing(&self, ranges: &[DeviceRange]) -> Result<Vec<&'static str>, Error> {
        let (mut products, mut by_device, mut by_both) = (MonthProducts::default(), false, false);
        for range in ranges {
            let sums = MonthSums::read(self.read, self.group.number, self.month, *range).await?;
            products.add(&sums);
            let (turnovers, totals) = self.stored(*range).await?;
            let counted = sums.devices.iter().map(|(device, month)| (*device, month.turnover));
            by_device |= turnovers != counted.collect();
            let counted = sums.devices.iter().flat_map(|(device, month)| {
                month.products.iter().map(|(goods_id, sold)| ((*device, goods_id.clone()), *sold))
            });
            by_both |= totals != counted.collect();
        }
        let tables = [
            (by_device, "device"),
            (by_both, "device and product"),
            (self.stored_products().await? != Some(products), "product"),
        ];
        Ok(tables.into_iter().filter_map(|(differs, name)| differs.then_some(name)).collect())
    }

    /// Returns the stored sales by device, and by device and product.
    async fn stored(&self, range: DeviceRange) -> Result<(ByDevice, ByDeviceAndProduct), Error> {
        let (group, month) = (self.group.number.into(), self.month.into());
        let params = [group, month, range.after.into(), range.last.into()];
        let devices = self.read.all(&DEVICES, &params, |row| {
            let row: DeviceMonthRow<'_> = row.read()?;
            Ok((row.device_no, row.turnover()?))
        });
        let devices = devices.await?.into_iter().collect();
        let products = self.read.all(&DEVICE_PRODUCTS, &params, |row| {
            let DeviceProductRow { device_no, goods_id, totals } = row.read()?;
            Ok(((device_no, goods_id), totals.totals()?))
        });
        Ok((devices, products.await?.into_iter().collect()))
    }

    /// Returns the stored sales by product; `None` if a number of devices is not that of their set.
    async fn stored_products(&self) -> Result<Option<MonthProducts>, Error> {
        let params = [self.group.number.into(), self.month.into()];
        let products = self.read.all(&PRODUCTS, &params, |row| {
            let row: ProductMonthRow<'_> = row.read()?;
            let devices = row.devices()?.unwrap_or_default();
            if row.device_count.is_some_and(|count| count != devices.len()) {
                return Ok(None);
            }
            Ok(Some((row.goods_id.to_owned(), (row.totals()?, devices))))
        });
        let products: Option<_> = products.await?.into_iter().collect();
        Ok(products.map(MonthProducts))
    }
}

type ByDevice = BTreeMap<DeviceNo, Turnover>;
type ByDeviceAndProduct = BTreeMap<(DeviceNo, String), ProductTotals>;
