//! Recounts the sums of sales from the orders, one day of a group at a time, so that memory is
//! bounded by the sums of one day.

use std::collections::{BTreeMap, BTreeSet};

use kiosque_model::{Day, DeviceNo, GroupNo, UnixMs, Zone};

use super::Verified;
use crate::Error;
use crate::db::Read;
use crate::orders::record::sale::{sale_of, sale_time};
use crate::sql::{Row, row, statements};
use crate::sums::{SaleChange, SumKey, SumTable, Sums};

row! {
    struct GroupRow { group_no: GroupNo, group_id: String }
    struct SaleRow<'r> {
        device_no: DeviceNo,
        sale_at_ms: UnixMs,
        head: &'r [u8],
        lines: &'r [u8],
        order_id: &'r str,
    }
    struct UnsoldOrder<'r> {
        group_id: &'r str,
        order_id: &'r str,
        head: &'r [u8],
    }
    struct SumRow {
        device_no: Option<DeviceNo>,
        currency: String,
        orders: i64,
        items: i64,
        amount: i64,
        refund: i64,
        shipped: i64,
        failed: i64,
    }
    struct ProductSumRow {
        device_no: DeviceNo,
        goods_id: String,
        currency: String,
        items: i64,
        amount: i64,
    }
    struct BoundsRow<'r> {
        currency: &'r str,
        first_sale_at_ms: UnixMs,
        last_sale_at_ms: UnixMs,
    }
    struct DeviceCode { device_no: DeviceNo, device_code: String }
}

statements! {
    GROUPS() -> GroupRow = "select group_no, group_id from groups order by group_no";
    DAYS_WITH_SUMS(group_no) -> Day = "select day from sales_by_day where group_no = $group_no
        union select day from sales_by_device where group_no = $group_no
        union select day from sales_by_product where group_no = $group_no";
    NEXT_SALE(group_no, from_ms) -> UnixMs = "select sale_at_ms from orders
        where group_no = $group_no and sale_at_ms >= $from_ms
        order by sale_at_ms limit 1";
    SALES(group_no, start_ms, end_ms) -> SaleRow<'_> = "select device_no, sale_at_ms, head, lines,
            order_id
        from orders
        where group_no = $group_no and sale_at_ms >= $start_ms and sale_at_ms < $end_ms";
    UNSOLD_ORDERS() -> UnsoldOrder<'_> = "select g.group_id, o.order_id, o.head
        from orders o join groups g on g.group_no = o.group_no where o.sale_at_ms is null";
    SUMS_BY_DAY(group_no, day) -> SumRow = "select cast(null as bigint) as device_no, currency,
            orders, items, amount, refund, shipped, failed
        from sales_by_day where group_no = $group_no and day = $day";
    BOUNDS(group_no, day) -> BoundsRow<'_> = "select currency, first_sale_at_ms, last_sale_at_ms
        from sales_by_day where group_no = $group_no and day = $day";
    SUMS_BY_DEVICE(group_no, day) -> SumRow = "select device_no, currency,
            orders, items, amount, refund, shipped, failed
        from sales_by_device where group_no = $group_no and day = $day";
    SUMS_BY_PRODUCT(group_no, day) -> ProductSumRow = "select device_no, goods_id, currency, items,
            amount
        from sales_by_product where group_no = $group_no and day = $day";
    DEVICE_CODES() -> DeviceCode = "select device_no, device_code from devices";
}

/// Device codes by device number.
type DeviceCodes = BTreeMap<DeviceNo, String>;

/// The context of a recount.
pub(super) struct Recount<'a> {
    pub(super) read: &'a Read<'a>,
    pub(super) zone: &'a Zone,
}

impl Recount<'_> {
    pub(super) async fn run(&self, verified: &mut Verified) -> Result<(), Error> {
        self.check_unsold_orders(verified).await?;
        let codes = self
            .read
            .all(&DEVICE_CODES, &[], |row| {
                let DeviceCode { device_no, device_code } = row.read()?;
                Ok((device_no, device_code))
            })
            .await?;
        let codes: DeviceCodes = codes.into_iter().collect();
        let groups = self.read.all(&GROUPS, &[], |row| row.read::<GroupRow>()).await?;
        for GroupRow { group_no: group, group_id: id } in groups {
            let stored = self.read.all(&DAYS_WITH_SUMS, &[group.into()], |row| row.read()).await?;
            let mut days: BTreeSet<Day> = stored.into_iter().collect();
            self.add_days_with_sales(group, &mut days).await?;
            for day in days {
                self.check_day(group, &id, day, &codes, verified).await?;
            }
        }
        Ok(())
    }

    /// Checks that an order that is no sale by its columns is none by its record either.
    async fn check_unsold_orders(&self, verified: &mut Verified) -> Result<(), Error> {
        self.read
            .each(&UNSOLD_ORDERS, &[], |row| {
                let UnsoldOrder { group_id, order_id, head } = row.read()?;
                if let Some(time) = sale_time(head)? {
                    verified.differences.push(format!(
                        "group {group_id}, order {order_id}: was paid at {time} and counts as no \
                         sale"
                    ));
                }
                Ok(())
            })
            .await
    }

    async fn add_days_with_sales(
        &self,
        group: GroupNo,
        days: &mut BTreeSet<Day>,
    ) -> Result<(), Error> {
        let mut from = UnixMs(i64::MIN);
        let next = async |from: UnixMs| {
            let params = [group.into(), from.into()];
            self.read.one(&NEXT_SALE, &params, |row| row.read::<UnixMs>()).await
        };
        while let Some(at) = next(from).await? {
            let day = self.zone.day_of(at);
            days.insert(day);
            from = self.zone.start_of(day.next());
        }
        Ok(())
    }

    async fn check_day(
        &self,
        group: GroupNo,
        group_id: &str,
        day: Day,
        codes: &DeviceCodes,
        verified: &mut Verified,
    ) -> Result<(), Error> {
        let sums = self.recount(group, group_id, day, verified).await?;
        let name = format!("group {group_id}, {day}");
        let stored = self.stored_tables(group, day).await?;
        for (stored, counted) in stored.iter().zip(sums.tables()) {
            verified.sums += counted.len();
            compare(&name, codes, stored, &counted, verified);
        }
        self.check_bounds(group, day, &name, &sums, verified).await
    }

    /// Returns the stored sums of a day by day, by device and by product.
    async fn stored_tables(&self, group: GroupNo, day: Day) -> Result<[SumTable; 3], Error> {
        let params = [group.into(), day.into()];
        let sum = |row: &Row<'_>| Ok(row.read::<SumRow>()?.entry());
        let product_sum = |row: &Row<'_>| Ok(row.read::<ProductSumRow>()?.entry());
        Ok([
            self.read.all(&SUMS_BY_DAY, &params, sum).await?.into_iter().collect(),
            self.read.all(&SUMS_BY_DEVICE, &params, sum).await?.into_iter().collect(),
            self.read.all(&SUMS_BY_PRODUCT, &params, product_sum).await?.into_iter().collect(),
        ])
    }

    /// Returns the sums of a day's orders, and checks that each is a sale at the time in its
    /// record.
    async fn recount(
        &self,
        group: GroupNo,
        group_id: &str,
        day: Day,
        verified: &mut Verified,
    ) -> Result<Sums, Error> {
        let mut sums = Sums::default();
        let (start, end) = (self.zone.start_of(day), self.zone.start_of(day.next()));
        self.read
            .each(&SALES, &[group.into(), start.into(), end.into()], |row| {
                let SaleRow { device_no, sale_at_ms: at, head, lines, order_id } = row.read()?;
                let recorded = sale_time(head)?;
                if recorded.as_deref() != Some(self.zone.text(at).as_str()) {
                    verified.differences.push(format!(
                        "group {group_id}, order {order_id}: counts as a sale at {}, its record \
                         says {}",
                        self.zone.text(at),
                        recorded.as_deref().unwrap_or("none"),
                    ));
                }
                let sale = sale_of(head, lines, at)?;
                sums.count(self.zone, (group, device_no), &sale, SaleChange::Added);
                Ok(())
            })
            .await?;
        Ok(sums)
    }

    /// Checks that no sale lies outside of the stored bounds, which may be loose, and that the
    /// bounds lie within their day.
    async fn check_bounds(
        &self,
        group: GroupNo,
        day: Day,
        name: &str,
        sums: &Sums,
        verified: &mut Verified,
    ) -> Result<(), Error> {
        let (start, end) = (self.zone.start_of(day), self.zone.start_of(day.next()));
        let counted = sums.bounds();
        self.read
            .each(&BOUNDS, &[group.into(), day.into()], |row| {
                let BoundsRow { currency, first_sale_at_ms: first, last_sale_at_ms: last } =
                    row.read()?;
                let contains_sales =
                    counted.get(currency).is_none_or(|sold| first <= sold.0 && sold.1 <= last);
                if !contains_sales || first < start || last >= end {
                    verified.differences.push(format!(
                        "{name}: {currency}: {} to {} are no bounds of its sales",
                        first.0, last.0
                    ));
                }
                Ok(())
            })
            .await
    }
}

impl SumRow {
    fn entry(self) -> (SumKey, Vec<i64>) {
        let SumRow { device_no: device, currency, orders, items, amount, refund, shipped, failed } =
            self;
        let key = SumKey { device, goods_id: None, currency };
        (key, vec![orders, items, amount, refund, shipped, failed])
    }
}

impl ProductSumRow {
    fn entry(self) -> (SumKey, Vec<i64>) {
        let ProductSumRow { device_no, goods_id, currency, items, amount } = self;
        let key = SumKey { device: Some(device_no), goods_id: Some(goods_id), currency };
        (key, vec![items, amount])
    }
}

/// Compares the stored sums with the recounted ones. A row of zeros equals a missing row.
fn compare(
    name: &str,
    codes: &DeviceCodes,
    stored: &SumTable,
    counted: &SumTable,
    verified: &mut Verified,
) {
    let is_zero = |values: &&Vec<i64>| values.iter().all(|value| *value == 0);
    let keys: BTreeSet<&SumKey> = stored.keys().chain(counted.keys()).collect();
    for key in keys {
        let of = |sums: &SumTable| sums.get(key).filter(|values| !is_zero(values)).cloned();
        let (stored, counted) = (of(stored), of(counted));
        if stored != counted {
            let text = |values: Option<Vec<i64>>| {
                values.map_or("nothing".to_owned(), |values| format!("{values:?}"))
            };
            verified.differences.push(format!(
                "{name}: {}: {} is stored, its orders add up to {}",
                describe(key, codes),
                text(stored),
                text(counted)
            ));
        }
    }
}

fn describe(key: &SumKey, codes: &DeviceCodes) -> String {
    let device = key.device.map(|device| {
        codes.get(&device).cloned().unwrap_or_else(|| format!("unknown device {}", device.0))
    });
    let parts = [device, key.goods_id.clone(), Some(key.currency.clone())];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}
