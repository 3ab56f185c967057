//! Recounts the sums of sales from the orders, a day of a group at a time, so that it needs no more
//! memory than one day has rows.

use std::collections::{BTreeMap, BTreeSet};

use kiosque_model::{Day, DeviceNo, GroupNo, UnixMs, Zone};

use super::Verified;
use crate::Error;
use crate::db::Read;
use crate::record::RecordShape;
use crate::sql::{Sql, statements};
use crate::sums::{Change, Report, SumOf, Sums};

statements! {
    GROUPS = "select group_no, group_id from groups order by group_no";
    KEPT_DAYS = "select day from sales_by_day where group_no = $1
        union select day from sales_by_device where group_no = $1
        union select day from sales_by_product where group_no = $1";
    NEXT_SALE = "select sale_at_ms from orders where group_no = $1 and sale_at_ms >= $2
        order by sale_at_ms limit 1";
    SALES = "select device_no, sale_at_ms, head, lines, order_id from orders
        where group_no = $1 and sale_at_ms >= $2 and sale_at_ms < $3";
    NO_SALES = "select g.group_id, o.order_id, o.head, o.lines
        from orders o join groups g on g.group_no = o.group_no where o.sale_at_ms is null";
    OF_DAY = "select cast(null as bigint), cast(null as text), currency, orders, items, amount,
            refund, shipped, failed
        from sales_by_day where group_no = $1 and day = $2";
    BOUNDS = "select currency, first_sale_at_ms, last_sale_at_ms
        from sales_by_day where group_no = $1 and day = $2";
    OF_DEVICE = "select device_no, cast(null as text), currency, orders, items, amount,
            refund, shipped, failed
        from sales_by_device where group_no = $1 and day = $2";
    OF_PRODUCT = "select device_no, goods_id, currency, items, amount
        from sales_by_product where group_no = $1 and day = $2";
    DEVICE_CODES = "select device_no, device_code from devices";
}

/// The three grains, and how many figures a sum of each has.
static GRAINS: [(&Sql, usize); 3] = [(&OF_DAY, 6), (&OF_DEVICE, 6), (&OF_PRODUCT, 2)];

/// Devices by their number.
type Codes = BTreeMap<DeviceNo, String>;

/// What is recounted with.
pub(super) struct Recount<'a> {
    pub(super) read: &'a Read<'a>,
    pub(super) zone: &'a Zone,
    pub(super) shape: &'a dyn RecordShape,
}

impl Recount<'_> {
    pub(super) async fn run(&self, verified: &mut Verified) -> Result<(), Error> {
        self.no_sales(verified).await?;
        let codes = self
            .read
            .all(&DEVICE_CODES, &[], |row| Ok((DeviceNo(row.int(0)?), row.text(1)?.to_owned())))
            .await?;
        let codes: Codes = codes.into_iter().collect();
        let groups = self
            .read
            .all(&GROUPS, &[], |row| Ok((GroupNo(row.int(0)?), row.text(1)?.to_owned())))
            .await?;
        for (group, id) in groups {
            let kept =
                self.read.all(&KEPT_DAYS, &[group.0.into()], |row| Ok(Day(row.int(0)?))).await?;
            let mut days: BTreeSet<Day> = kept.into_iter().collect();
            self.days_with_sales(group, &mut days).await?;
            for day in days {
                self.day(group, &id, day, &codes, verified).await?;
            }
        }
        Ok(())
    }

    /// An order that is no sale by its columns must be none by its record.
    async fn no_sales(&self, verified: &mut Verified) -> Result<(), Error> {
        self.read
            .each(&NO_SALES, &[], |row| {
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

    async fn days_with_sales(&self, group: GroupNo, days: &mut BTreeSet<Day>) -> Result<(), Error> {
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

    async fn day(
        &self,
        group: GroupNo,
        group_id: &str,
        day: Day,
        codes: &Codes,
        verified: &mut Verified,
    ) -> Result<(), Error> {
        let sums = self.counted(group, group_id, day, verified).await?;
        let name = format!("group {group_id}, {day}");
        let params = [group.0.into(), day.0.into()];
        for ((sql, figures), counted) in GRAINS.into_iter().zip(sums.figures()) {
            verified.sums += counted.len();
            let kept = self
                .read
                .all(sql, &params, |row| {
                    let of = SumOf {
                        device: row.maybe_int(0)?.map(DeviceNo),
                        goods_id: row.maybe_text(1)?.map(str::to_owned),
                        currency: row.text(2)?.to_owned(),
                    };
                    let figures = (3..3 + figures).map(|column| row.int(column));
                    Ok((of, figures.collect::<Result<Vec<i64>, Error>>()?))
                })
                .await?;
            compare(&name, codes, &kept.into_iter().collect(), &counted, verified);
        }
        self.bounds(group, day, &name, &sums, verified).await
    }

    /// The sums of a day's orders, each of which must be a sale at the time that it says.
    async fn counted(
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
                let told = self.shape.sale_time(row.bytes(2)?, row.bytes(3)?)?;
                if told.as_deref() != Some(self.zone.text(at).as_str()) {
                    verified.differences.push(format!(
                        "group {group_id}, order {}: counts as a sale at {}, its record says {}",
                        row.text(4)?,
                        self.zone.text(at),
                        told.as_deref().unwrap_or("none"),
                    ));
                }
                let sale = self.shape.sale(row.bytes(2)?, row.bytes(3)?, at)?;
                sums.count(self.zone, (group, device), &sale, Change::Comes);
                Ok(())
            })
            .await?;
        Ok(sums)
    }

    /// Bounds are loose, but no sale lies outside of them, and they never outside of their day.
    async fn bounds(
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
                let holds =
                    counted.get(currency).is_none_or(|sold| first <= sold.0 && sold.1 <= last);
                if !holds || first < start || last >= end {
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

/// A row whose figures are all nothing is as good as none.
fn compare(name: &str, codes: &Codes, kept: &Report, counted: &Report, verified: &mut Verified) {
    let is_nothing = |figures: &&Vec<i64>| figures.iter().all(|figure| *figure == 0);
    let keys: BTreeSet<&SumOf> = kept.keys().chain(counted.keys()).collect();
    for key in keys {
        let of = |sums: &Report| sums.get(key).filter(|figures| !is_nothing(figures)).cloned();
        let (kept, counted) = (of(kept), of(counted));
        if kept != counted {
            let told = |figures: Option<Vec<i64>>| {
                figures.map_or("nothing".to_owned(), |figures| format!("{figures:?}"))
            };
            verified.differences.push(format!(
                "{name}: {}: {} is kept, its orders come to {}",
                in_words(key, codes),
                told(kept),
                told(counted)
            ));
        }
    }
}

fn in_words(of: &SumOf, codes: &Codes) -> String {
    let device = of.device.map(|device| {
        codes.get(&device).cloned().unwrap_or_else(|| format!("unknown device {}", device.0))
    });
    let parts = [device, of.goods_id.clone(), Some(of.currency.clone())];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}
