//! Recounts the sums of sales from the orders, a day of a group at a time, so that it needs no more
//! memory than one day has rows.

use std::collections::{BTreeMap, BTreeSet};

use kiosque_model::{Day, DeviceNo, GroupNo, UnixMs, Zone};

use super::Verified;
use crate::Error;
use crate::db::Read;
use crate::record::{Ready, RecordShape};
use crate::sql::{Sql, statements};
use crate::sums::{Change, Figures, Sums};

statements! {
    GROUPS = "select group_no, group_id from groups order by group_no";
    KEPT_DAYS = "select day from sales_by_day where group_no = $1
        union select day from sales_by_device where group_no = $1
        union select day from sales_by_product where group_no = $1";
    NEXT_SALE = "select sale_at_ms from orders where group_no = $1 and sale_at_ms >= $2
        order by sale_at_ms limit 1";
    SALES = "select device_no, sale_at_ms, shape, head, lines, errors, trade_no, order_id
        from orders where group_no = $1 and sale_at_ms >= $2 and sale_at_ms < $3";
    NO_SALES = "select g.group_id, o.order_id, o.shape, o.head, o.lines, o.errors, o.trade_no
        from orders o join groups g on g.group_no = o.group_no where o.sale_at_ms is null";
    OF_DAY = "select currency, orders, items, amount, refund, shipped, failed
        from sales_by_day where group_no = $1 and day = $2";
    BOUNDS = "select min(first_sale_at_ms), max(last_sale_at_ms)
        from sales_by_day where group_no = $1 and day = $2";
    OF_DEVICE = "select d.device_code || ', ' || s.currency, s.orders, s.items, s.amount, s.refund,
            s.shipped, s.failed
        from sales_by_device s join devices d on d.device_no = s.device_no
        where s.group_no = $1 and s.day = $2";
    OF_PRODUCT = "select d.device_code || ', ' || s.goods_id || ', ' || s.currency,
            s.items, s.amount
        from sales_by_product s join devices d on d.device_no = s.device_no
        where s.group_no = $1 and s.day = $2";
    DEVICE_CODES = "select device_no, device_code from devices";
}

/// The three grains, and how many figures a sum of each has.
static GRAINS: [(&Sql, usize); 3] = [(&OF_DAY, 6), (&OF_DEVICE, 6), (&OF_PRODUCT, 2)];

/// What is recounted with.
pub(super) struct Recount<'a> {
    pub(super) read: &'a Read<'a>,
    pub(super) zone: &'a Zone,
    pub(super) shape: &'a dyn RecordShape,
}

impl Recount<'_> {
    pub(super) fn run(&self, verified: &mut Verified) -> Result<(), Error> {
        self.no_sales(verified)?;
        let codes = self
            .read
            .all(&DEVICE_CODES, &[], |row| Ok((DeviceNo(row.int(0)?), row.text(1)?.to_owned())))?;
        let codes: BTreeMap<DeviceNo, String> = codes.into_iter().collect();
        let groups = self
            .read
            .all(&GROUPS, &[], |row| Ok((GroupNo(row.int(0)?), row.text(1)?.to_owned())))?;
        for (group, id) in groups {
            let kept = self.read.all(&KEPT_DAYS, &[group.0.into()], |row| Ok(Day(row.int(0)?)))?;
            let mut days: BTreeSet<Day> = kept.into_iter().collect();
            self.days_with_sales(group, &mut days)?;
            for day in days {
                self.day(group, &id, day, &codes, verified)?;
            }
        }
        Ok(())
    }

    /// An order that is no sale by its columns must be none by its record.
    fn no_sales(&self, verified: &mut Verified) -> Result<(), Error> {
        self.read.each(&NO_SALES, &[], |row| {
            if let Some(time) = self.shape.sale_time(Ready::of(row, 2)?)? {
                let (group, order) = (row.text(0)?, row.text(1)?);
                verified.differences.push(format!(
                    "group {group}, order {order}: was paid at {time} and counts as no sale"
                ));
            }
            Ok(())
        })
    }

    fn days_with_sales(&self, group: GroupNo, days: &mut BTreeSet<Day>) -> Result<(), Error> {
        let mut from = UnixMs(i64::MIN);
        let next = |from: UnixMs| {
            self.read.one(&NEXT_SALE, &[group.0.into(), from.0.into()], |row| row.int(0))
        };
        while let Some(at) = next(from)? {
            let day = self.zone.day_of(UnixMs(at));
            days.insert(day);
            from = self.zone.start_of(day.next());
        }
        Ok(())
    }

    fn day(
        &self,
        group: GroupNo,
        group_id: &str,
        day: Day,
        codes: &BTreeMap<DeviceNo, String>,
        verified: &mut Verified,
    ) -> Result<(), Error> {
        let mut sums = Sums::default();
        let (start, end) = (self.zone.start_of(day), self.zone.start_of(day.next()));
        let (mut first, mut last) = (i64::MAX, i64::MIN);
        let span = [group.0.into(), start.0.into(), end.0.into()];
        let params = [group.0.into(), day.0.into()];
        self.read.each(&SALES, &span, |row| {
            let (device, at) = (DeviceNo(row.int(0)?), UnixMs(row.int(1)?));
            let ready = Ready::of(row, 2)?;
            let told = self.shape.sale_time(ready)?;
            if told.as_deref() != Some(self.zone.text(at).as_str()) {
                verified.differences.push(format!(
                    "group {group_id}, order {}: counts as a sale at {}, its record says {}",
                    row.text(7)?,
                    self.zone.text(at),
                    told.as_deref().unwrap_or("none"),
                ));
            }
            (first, last) = (first.min(at.0), last.max(at.0));
            let sale = self.shape.sale(ready, at)?;
            sums.count(self.zone, (group, device), &sale, Change::Comes);
            Ok(())
        })?;
        let name = format!("group {group_id}, {day}");
        for ((sql, figures), counted) in GRAINS.into_iter().zip(sums.figures(codes)) {
            verified.sums += counted.len();
            let kept = self.read.all(sql, &params, |row| {
                let figures = (1..=figures).map(|column| row.int(column));
                Ok((row.text(0)?.to_owned(), figures.collect::<Result<Vec<i64>, Error>>()?))
            })?;
            compare(&name, &kept.into_iter().collect(), &counted, verified);
        }
        let bounds = self.read.one(&BOUNDS, &params, |row| {
            Ok(row.maybe_int(0)?.unwrap_or(i64::MAX)..=row.maybe_int(1)?.unwrap_or(i64::MIN))
        })?;
        if first <= last
            && !bounds.is_some_and(|kept| kept.contains(&first) && kept.contains(&last))
        {
            verified.differences.push(format!("{name}: a sale lies outside of its day's bounds"));
        }
        Ok(())
    }
}

/// A row whose figures are all nothing is as good as none.
fn compare(name: &str, kept: &Figures, counted: &Figures, verified: &mut Verified) {
    let is_nothing = |figures: &&Vec<i64>| figures.iter().all(|figure| *figure == 0);
    let keys: BTreeSet<&String> = kept.keys().chain(counted.keys()).collect();
    for key in keys {
        let of = |sums: &Figures| sums.get(key).filter(|figures| !is_nothing(figures)).cloned();
        let (kept, counted) = (of(kept), of(counted));
        if kept != counted {
            let told = |figures: Option<Vec<i64>>| {
                figures.map_or("nothing".to_owned(), |figures| format!("{figures:?}"))
            };
            verified.differences.push(format!(
                "{name}: {key}: {} is kept, its orders come to {}",
                told(kept),
                told(counted)
            ));
        }
    }
}
