//! Recounts the sums of sales from the orders, one day of a group at a time, so that memory is
//! bounded by the sums of one day.

use std::collections::{BTreeMap, BTreeSet};

use kiosque_model::{Day, DeviceNo, GroupNo, UnixMs, Zone};

use super::Verified;
use crate::Error;
use crate::db::Read;
use crate::record::RecordShape;
use crate::sql::{Sql, statements};
use crate::sums::{SaleChange, SumKey, SumTable, Sums};

statements! {
    GROUPS = "select group_no, group_id from groups order by group_no";
    DAYS_WITH_SUMS = "select day from sales_by_day where group_no = $1
        union select day from sales_by_device where group_no = $1
        union select day from sales_by_product where group_no = $1";
    NEXT_SALE = "select sale_at_ms from orders where group_no = $1 and sale_at_ms >= $2
        order by sale_at_ms limit 1";
    SALES = "select device_no, sale_at_ms, head, lines, order_id from orders
        where group_no = $1 and sale_at_ms >= $2 and sale_at_ms < $3";
    UNSOLD_ORDERS = "select g.group_id, o.order_id, o.head, o.lines
        from orders o join groups g on g.group_no = o.group_no where o.sale_at_ms is null";
    SUMS_BY_DAY = "select cast(null as bigint), cast(null as text), currency, orders, items, amount,
            refund, shipped, failed
        from sales_by_day where group_no = $1 and day = $2";
    BOUNDS = "select currency, first_sale_at_ms, last_sale_at_ms
        from sales_by_day where group_no = $1 and day = $2";
    SUMS_BY_DEVICE = "select device_no, cast(null as text), currency, orders, items, amount,
            refund, shipped, failed
        from sales_by_device where group_no = $1 and day = $2";
    SUMS_BY_PRODUCT = "select device_no, goods_id, currency, items, amount
        from sales_by_product where group_no = $1 and day = $2";
    DEVICE_CODES = "select device_no, device_code from devices";
}

/// The statements that read the three tables, and how many values a sum of each has.
static TABLES: [(&Sql, usize); 3] =
    [(&SUMS_BY_DAY, 6), (&SUMS_BY_DEVICE, 6), (&SUMS_BY_PRODUCT, 2)];

/// Device codes by device number.
type DeviceCodes = BTreeMap<DeviceNo, String>;

/// The context of a recount.
pub(super) struct Recount<'a> {
    pub(super) read: &'a Read<'a>,
    pub(super) zone: &'a Zone,
    pub(super) shape: &'a dyn RecordShape,
}

impl Recount<'_> {
    pub(super) async fn run(&self, verified: &mut Verified) -> Result<(), Error> {
        self.check_unsold_orders(verified).await?;
        let codes = self
            .read
            .all(&DEVICE_CODES, &[], |row| Ok((DeviceNo(row.int(0)?), row.text(1)?.to_owned())))
            .await?;
        let codes: DeviceCodes = codes.into_iter().collect();
        let groups = self
            .read
            .all(&GROUPS, &[], |row| Ok((GroupNo(row.int(0)?), row.text(1)?.to_owned())))
            .await?;
        for (group, id) in groups {
            let stored = self
                .read
                .all(&DAYS_WITH_SUMS, &[group.0.into()], |row| Ok(Day(row.int(0)?)))
                .await?;
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
                if let Some(time) = self.shape.sale_time(row.bytes(2)?, row.bytes(3)?)? {
                    let (group, order) = (row.text(0)?, row.text(1)?);
                    verified.differences.push(format!(
                        "group {group}, order {order}: was paid at {time} and counts as no sale"
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
            self.read.one(&NEXT_SALE, &[group.0.into(), from.0.into()], |row| row.int(0)).await
        };
        while let Some(at) = next(from).await? {
            let day = self.zone.day_of(UnixMs(at));
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
        let params = [group.0.into(), day.0.into()];
        for ((sql, values), counted) in TABLES.into_iter().zip(sums.tables()) {
            verified.sums += counted.len();
            let stored = self
                .read
                .all(sql, &params, |row| {
                    let key = SumKey {
                        device: row.maybe_int(0)?.map(DeviceNo),
                        goods_id: row.maybe_text(1)?.map(str::to_owned),
                        currency: row.text(2)?.to_owned(),
                    };
                    let values = (3..3 + values).map(|column| row.int(column));
                    Ok((key, values.collect::<Result<Vec<i64>, Error>>()?))
                })
                .await?;
            compare(&name, codes, &stored.into_iter().collect(), &counted, verified);
        }
        self.check_bounds(group, day, &name, &sums, verified).await
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
            .each(&SALES, &[group.0.into(), start.0.into(), end.0.into()], |row| {
                let (device, at) = (DeviceNo(row.int(0)?), UnixMs(row.int(1)?));
                let recorded = self.shape.sale_time(row.bytes(2)?, row.bytes(3)?)?;
                if recorded.as_deref() != Some(self.zone.text(at).as_str()) {
                    verified.differences.push(format!(
                        "group {group_id}, order {}: counts as a sale at {}, its record says {}",
                        row.text(4)?,
                        self.zone.text(at),
                        recorded.as_deref().unwrap_or("none"),
                    ));
                }
                let sale = self.shape.sale(row.bytes(2)?, row.bytes(3)?, at)?;
                sums.count(self.zone, (group, device), &sale, SaleChange::Added);
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
            .each(&BOUNDS, &[group.0.into(), day.0.into()], |row| {
                let (currency, first, last) =
                    (row.text(0)?, UnixMs(row.int(1)?), UnixMs(row.int(2)?));
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
