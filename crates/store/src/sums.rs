//! Sums of sales in three tables: by (group, day, currency), by device, and by product of a device.
//! The transaction that changes an order adds the difference to them, so that they always equal a
//! recount.

use std::collections::BTreeMap;

use kiosque_model::sales::{Sale, Totals};
use kiosque_model::{Currency, Day, DeviceNo, GroupNo, UnixMs, Zone};
use tokio::try_join;

use crate::Error;
use crate::db::Write;
use crate::sql::{Value, row, statements};

row! {
    /// The sums of a row by day or by device.
    pub(crate) struct TotalsRow {
        orders: i64,
        items: i64,
        amount: i64,
        refund: i64,
        shipped: i64,
        failed: i64,
    }
}

statements! {
    ADD_TO_DAY(group_no) = "insert into sales_by_day as total (group_no, day, currency, orders,
            items, amount, refund, shipped, failed, first_sale_at_ms, last_sale_at_ms)
        select g.group_no, r.day, r.currency, r.orders, r.items, r.amount, r.refund, r.shipped,
            r.failed, r.first_ms, r.last_ms
        from {rows r: day bigint, currency text, orders bigint, items bigint, amount bigint,
            refund bigint, shipped bigint, failed bigint, first_ms bigint, last_ms bigint}
        cross join group_changes g where g.group_no = $group_no
        on conflict (group_no, day, currency) do update set
            orders = total.orders + excluded.orders, items = total.items + excluded.items,
            amount = total.amount + excluded.amount, refund = total.refund + excluded.refund,
            shipped = total.shipped + excluded.shipped, failed = total.failed + excluded.failed,
            first_sale_at_ms = case when excluded.first_sale_at_ms < total.first_sale_at_ms
                then excluded.first_sale_at_ms else total.first_sale_at_ms end,
            last_sale_at_ms = case when excluded.last_sale_at_ms > total.last_sale_at_ms
                then excluded.last_sale_at_ms else total.last_sale_at_ms end";
    ADD_TO_DEVICE(group_no) = "insert into sales_by_device as total (group_no, day, device_no,
            currency, orders, items, amount, refund, shipped, failed)
        select g.group_no, r.day, r.device, r.currency, r.orders, r.items, r.amount, r.refund,
            r.shipped, r.failed
        from {rows r: day bigint, device bigint, currency text, orders bigint, items bigint,
            amount bigint, refund bigint, shipped bigint, failed bigint}
        cross join group_changes g where g.group_no = $group_no
        on conflict (group_no, day, device_no, currency) do update set
            orders = total.orders + excluded.orders, items = total.items + excluded.items,
            amount = total.amount + excluded.amount, refund = total.refund + excluded.refund,
            shipped = total.shipped + excluded.shipped, failed = total.failed + excluded.failed";
    ADD_TO_PRODUCT(group_no) = "insert into sales_by_product as total (group_no, day, device_no,
            goods_id, currency, items, amount)
        select g.group_no, r.day, r.device, r.goods, r.currency, r.items, r.amount
        from {rows r: day bigint, device bigint, goods text, currency text, items bigint,
            amount bigint}
        cross join group_changes g where g.group_no = $group_no
        on conflict (group_no, day, device_no, goods_id, currency) do update set
            items = total.items + excluded.items, amount = total.amount + excluded.amount";
    NAME_GOODS(group_no) = "insert into goods_names as total
            (group_no, goods_id, goods_name, sale_at_ms)
        select g.group_no, r.goods, r.name, r.sale_ms
        from {rows r: goods text, name text, sale_ms bigint}
        cross join group_changes g where g.group_no = $group_no
        on conflict (group_no, goods_id) do update set
            goods_name = excluded.goods_name, sale_at_ms = excluded.sale_at_ms
        where excluded.sale_at_ms > total.sale_at_ms
            or (excluded.sale_at_ms = total.sale_at_ms and excluded.goods_name > total.goods_name)";
}

/// The sum of a day, and bounds of the times of its sales.
#[derive(Clone, Copy, Debug)]
struct DayTotals {
    totals: Totals,
    first: UnixMs,
    last: UnixMs,
}

/// Items and amount of a product.
type ProductTotals = (i64, i64);

/// An accumulator of the changes of a transaction, so that each row is written once.
#[derive(Debug, Default)]
pub(crate) struct Sums {
    by_day: BTreeMap<(GroupNo, Day, &'static str), DayTotals>,
    by_device: BTreeMap<(GroupNo, Day, DeviceNo, &'static str), Totals>,
    by_product: BTreeMap<(GroupNo, Day, DeviceNo, String, &'static str), ProductTotals>,
    names: BTreeMap<(GroupNo, String), (UnixMs, String)>,
    cached_day: Option<(Day, UnixMs, UnixMs)>,
}

/// The key of a sum within a day of a group. Columns that its table does not have are `None`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SumKey {
    pub(crate) device: Option<DeviceNo>,
    pub(crate) goods_id: Option<String>,
    pub(crate) currency: String,
}

/// The sums of one table, their values in the order of its columns.
pub(crate) type SumTable = BTreeMap<SumKey, Vec<i64>>;

/// Whether a sale is added to the sums or removed from them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SaleChange {
    Added,
    Removed,
}

impl TotalsRow {
    pub(crate) fn totals(&self) -> Totals {
        let TotalsRow { orders, items, amount, refund, shipped, failed } = *self;
        Totals { orders, items, amount, refund, shipped, failed }
    }
}

/// Parses a stored currency.
pub(crate) fn parse_currency(code: &str) -> Result<Currency, Error> {
    Currency::parse(code).map_err(|fault| Error::Data(fault.to_string()))
}

impl Sums {
    /// Adds a sale to the sums of its day, its device and its goods, or removes it.
    pub(crate) fn count(
        &mut self,
        zone: &Zone,
        (group, device): (GroupNo, DeviceNo),
        sale: &Sale,
        change: SaleChange,
    ) {
        let times = match change {
            SaleChange::Added => 1,
            SaleChange::Removed => -1,
        };
        let day = self.day_of(zone, sale.at);
        let currency = sale.currency.code();
        let totals = sale.totals();
        let empty = DayTotals { totals: Totals::default(), first: sale.at, last: sale.at };
        let of_day = self.by_day.entry((group, day, currency)).or_insert(empty);
        of_day.totals.add(totals, times);
        if change == SaleChange::Added {
            of_day.first = of_day.first.min(sale.at);
            of_day.last = of_day.last.max(sale.at);
        }
        self.by_device.entry((group, day, device, currency)).or_default().add(totals, times);
        for goods in &sale.goods {
            let key = (group, day, device, goods.goods_id.clone(), currency);
            let of_product = self.by_product.entry(key).or_default();
            of_product.0 += times * goods.items;
            of_product.1 += times * goods.amount.0;
        }
    }

    /// Records the names of goods that are no product of the fleet. An empty name is not recorded.
    pub(crate) fn record_goods_names(&mut self, group: GroupNo, sale: &Sale) {
        for goods in &sale.goods {
            let Some(name) = goods.name.as_ref().filter(|name| !name.is_empty()) else { continue };
            let named = (sale.at, name.clone());
            let latest = self.names.entry((group, goods.goods_id.clone()));
            let latest = latest.or_insert_with(|| named.clone());
            if named > *latest {
                *latest = named;
            }
        }
    }

    /// Returns the day of a time. The last day is cached, since most sales of a batch share it.
    fn day_of(&mut self, zone: &Zone, at: UnixMs) -> Day {
        match self.cached_day {
            Some((day, start, end)) if start <= at && at < end => day,
            _ => {
                let day = zone.day_of(at);
                self.cached_day = Some((day, zone.start_of(day), zone.start_of(day.next())));
                day
            }
        }
    }

    /// Returns the sums by day, by device and by product of an accumulator with one day of one
    /// group.
    pub(crate) fn tables(&self) -> [SumTable; 3] {
        let columns = |sum: &Totals| {
            vec![sum.orders, sum.items, sum.amount, sum.refund, sum.shipped, sum.failed]
        };
        let of = |device: Option<DeviceNo>, goods_id: Option<&String>, currency: &str| SumKey {
            device,
            goods_id: goods_id.cloned(),
            currency: currency.to_owned(),
        };
        let of_day = self.by_day.iter();
        let of_day = of_day.map(|((.., currency), sum)| (of(None, None, currency), &sum.totals));
        let of_device = self.by_device.iter();
        let of_device =
            of_device.map(|((.., device, currency), sum)| (of(Some(*device), None, currency), sum));
        let of_product = self.by_product.iter().map(|((.., device, goods_id, currency), sum)| {
            (of(Some(*device), Some(goods_id), currency), vec![sum.0, sum.1])
        });
        [
            of_day.map(|(of, sum)| (of, columns(sum))).collect(),
            of_device.map(|(of, sum)| (of, columns(sum))).collect(),
            of_product.collect(),
        ]
    }

    /// Returns the times of the first and the last sale in each currency.
    pub(crate) fn bounds(&self) -> BTreeMap<&'static str, (UnixMs, UnixMs)> {
        self.by_day.iter().map(|((.., currency), sum)| (*currency, (sum.first, sum.last))).collect()
    }

    /// Returns the days of an accumulator with one group.
    pub(crate) fn days(&self) -> impl Iterator<Item = Day> {
        self.by_day.keys().map(|(_, day, _)| *day)
    }

    /// Adds the sums to the tables, group by group.
    pub(crate) async fn write(&self, write: &Write<'_>) -> Result<(), Error> {
        let mut groups: Vec<GroupNo> = self.by_day.keys().map(|(group, ..)| *group).collect();
        groups.extend(self.names.keys().map(|(group, _)| *group));
        groups.sort_unstable();
        groups.dedup();
        for group in groups {
            self.write_group(write, group).await?;
        }
        Ok(())
    }

    async fn write_group(&self, write: &Write<'_>, group: GroupNo) -> Result<(), Error> {
        let of = [group.into()];
        let by_day = self.by_day.iter().filter(|((owner, ..), _)| *owner == group);
        let by_day = by_day.map(|((_, day, currency), sum)| {
            let (day, currency) = ((*day).into(), (*currency).into());
            let [orders, items, amount, refund, shipped, failed] = values(sum.totals);
            let (first, last) = (sum.first.into(), sum.last.into());
            [day, currency, orders, items, amount, refund, shipped, failed, first, last]
        });
        let by_device = self.by_device.iter().filter(|((owner, ..), _)| *owner == group);
        let by_device = by_device.filter(|(_, sum)| !sum.is_zero());
        let by_device = by_device.map(|((_, day, device, currency), sum)| {
            let (day, device, currency) = ((*day).into(), (*device).into(), (*currency).into());
            let [orders, items, amount, refund, shipped, failed] = values(*sum);
            [day, device, currency, orders, items, amount, refund, shipped, failed]
        });
        let by_product = self.by_product.iter().filter(|((owner, ..), _)| *owner == group);
        let by_product = by_product.filter(|(_, sum)| **sum != (0, 0));
        let by_product = by_product.map(|((_, day, device, goods_id, currency), sum)| {
            let (day, device) = ((*day).into(), (*device).into());
            let (goods_id, currency) = (goods_id.as_str().into(), (*currency).into());
            [day, device, goods_id, currency, sum.0.into(), sum.1.into()]
        });
        let names = self.names.iter().filter(|((owner, _), _)| *owner == group);
        let names = names.map(|((_, goods_id), (at, name))| {
            [goods_id.as_str().into(), name.as_str().into(), (*at).into()]
        });
        try_join!(
            biased;
            write.execute_each(&ADD_TO_DAY, by_day, &of),
            write.execute_each(&ADD_TO_DEVICE, by_device, &of),
            write.execute_each(&ADD_TO_PRODUCT, by_product, &of),
            write.execute_each(&NAME_GOODS, names, &of),
        )?;
        Ok(())
    }
}

/// Returns the columns of a sum, in the order in which every table has them.
fn values(sum: Totals) -> [Value<'static>; 6] {
    [sum.orders, sum.items, sum.amount, sum.refund, sum.shipped, sum.failed].map(Value::Int)
}
