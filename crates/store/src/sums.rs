//! Sums of sales: by day, by product of a device and day, and for each month by device and by
//! product, with the figures of each day. The transaction that changes an order adds the difference
//! to them, so that they always equal a recount.

mod days;
mod months;
mod sellers;
mod varint;

use std::collections::{BTreeMap, BTreeSet};

use kiosque_model::sales::{Sale, Totals};
use kiosque_model::{Currency, Day, DeviceNo, GroupNo, UnixMs, Zone};
use tokio::try_join;

use crate::Error;
use crate::db::Write;
use crate::sql::{Sql, Value, row, statements};
pub(crate) use days::{DaySums, each_day};
use months::StoredMonths;
pub(crate) use months::{DeviceMonth, ProductMonth, ProductSums};
pub(crate) use sellers::{Sellers, bits_of, block_of, each_seller};

row! {
    /// The sums of a day.
    pub(crate) struct TotalsRow {
        orders: i64,
        items: i64,
        amount: i64,
        refund: i64,
        shipped: i64,
        failed: i64,
    }
    struct SoldOut<'r> { day: Day, device_no: DeviceNo, goods_id: &'r str, currency: &'r str }
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
    ADD_TO_PRODUCT(group_no) = "insert into sales_by_product as total (group_no, day, device_no,
            goods_id, currency, items, amount)
        select g.group_no, r.day, r.device, r.goods, r.currency, r.items, r.amount
        from {rows r: day bigint, device bigint, goods text, currency text, items bigint,
            amount bigint}
        cross join group_changes g where g.group_no = $group_no
        on conflict (group_no, day, device_no, goods_id, currency) do update set
            items = total.items + excluded.items, amount = total.amount + excluded.amount";
    SOLD_OUT(group_no) -> SoldOut<'_> = "select s.day, s.device_no, s.goods_id, s.currency
        from {each r: day bigint, device bigint, goods text, currency text}
        cross join sales_by_product s
        where s.group_no = $group_no and s.day = r.day and s.device_no = r.device
            and s.goods_id = r.goods and s.currency = r.currency and s.items = 0";
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

/// A product that a device sold on a day in a currency.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ProductDay {
    /// The first day of the month.
    month: Day,
    pub(crate) day: Day,
    pub(crate) device: DeviceNo,
    pub(crate) goods_id: String,
    pub(crate) currency: &'static str,
}

/// An accumulator of the changes of a group by a transaction, so that each row is written once.
#[derive(Debug, Default)]
pub(crate) struct Sums {
    by_day: BTreeMap<(Day, &'static str), DayTotals>,
    by_device: BTreeMap<DeviceMonth, DaySums<6>>,
    /// Items and amount.
    by_product: BTreeMap<ProductDay, [i64; 2]>,
    names: BTreeMap<String, (UnixMs, String)>,
    stored: StoredMonths,
    cached_day: Option<CachedDay>,
}

#[derive(Clone, Copy, Debug)]
struct CachedDay {
    day: Day,
    /// The first day of its month.
    month: Day,
    start: UnixMs,
    end: UnixMs,
}

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
    /// Reads the rows of months that sales will change. Others are read when they are written,
    /// which takes one more round trip.
    pub(crate) async fn read_months<'s>(
        &mut self,
        write: &Write<'_>,
        group: GroupNo,
        zone: &Zone,
        sales: impl Iterator<Item = (DeviceNo, &'s Sale)>,
    ) -> Result<(), Error> {
        let (mut devices, mut products) = (BTreeSet::new(), BTreeSet::new());
        for (device, sale) in sales {
            let (month, currency) = (self.day_of(zone, sale.at).month, sale.currency.code());
            devices.insert(DeviceMonth { month, device, currency });
            let block = block_of(device);
            products.extend(sale.goods.iter().map(|sold| {
                let goods_id = sold.goods_id.clone();
                ProductMonth { month, goods_id, block, currency }
            }));
        }
        self.stored.read(write, group, (devices, products)).await
    }

    /// Adds a sale to the sums of its day, its device and its goods, or removes it.
    pub(crate) fn count(&mut self, zone: &Zone, device: DeviceNo, sale: &Sale, change: SaleChange) {
        let times = match change {
            SaleChange::Added => 1,
            SaleChange::Removed => -1,
        };
        let CachedDay { day, month, .. } = self.day_of(zone, sale.at);
        let currency = sale.currency.code();
        let totals = sale.totals();
        let empty = DayTotals { totals: Totals::default(), first: sale.at, last: sale.at };
        let of_day = self.by_day.entry((day, currency)).or_insert(empty);
        of_day.totals.add(totals, times);
        if change == SaleChange::Added {
            of_day.first = of_day.first.min(sale.at);
            of_day.last = of_day.last.max(sale.at);
        }
        let of_device = self.by_device.entry(DeviceMonth { month, device, currency }).or_default();
        of_device.add(day, figures(totals).map(|figure| times * figure));
        for goods in &sale.goods {
            let goods_id = goods.goods_id.clone();
            let key = ProductDay { month, day, device, goods_id, currency };
            let [items, amount] = self.by_product.entry(key).or_default();
            *items += times * goods.items;
            *amount += times * goods.amount.0;
        }
    }

    /// Records the names of goods that are no product of the fleet. An empty name is not recorded.
    pub(crate) fn record_goods_names(&mut self, sale: &Sale) {
        for goods in &sale.goods {
            let Some(name) = goods.name.as_ref().filter(|name| !name.is_empty()) else { continue };
            let named = (sale.at, name.clone());
            let latest = self.names.entry(goods.goods_id.clone());
            let latest = latest.or_insert_with(|| named.clone());
            if named > *latest {
                *latest = named;
            }
        }
    }

    /// Returns the day of a time. The last day is cached, since most sales of a batch share it.
    fn day_of(&mut self, zone: &Zone, at: UnixMs) -> CachedDay {
        match self.cached_day {
            Some(cached) if cached.start <= at && at < cached.end => cached,
            _ => {
                let day = zone.day_of(at);
                let (start, end) = (zone.start_of(day), zone.start_of(day.next()));
                *self.cached_day.insert(CachedDay { day, month: day.first_of_month(), start, end })
            }
        }
    }

    /// Returns the sums in each currency of an accumulator with one day.
    pub(crate) fn by_day(&self) -> impl Iterator<Item = (&'static str, [i64; 6])> {
        self.by_day.iter().map(|((_, currency), sum)| (*currency, figures(sum.totals)))
    }

    /// Returns the sums by device, for each month.
    pub(crate) const fn by_device(&self) -> &BTreeMap<DeviceMonth, DaySums<6>> {
        &self.by_device
    }

    /// Returns the items and the amount of each product that a device sold on a day.
    pub(crate) const fn by_product(&self) -> &BTreeMap<ProductDay, [i64; 2]> {
        &self.by_product
    }

    /// Returns the sums by product, for each month, and the devices with more items than before.
    pub(crate) fn by_month(&self) -> BTreeMap<ProductMonth, ProductSums> {
        let mut months: BTreeMap<ProductMonth, ProductSums> = BTreeMap::new();
        for (key, sums) in self.by_product.iter().filter(|(_, sums)| **sums != [0, 0]) {
            let of_month = months.entry(key.in_month()).or_default();
            of_month.days.add(key.day, *sums);
            if sums[0] > 0 {
                of_month.sellers.insert(key.device, (key.month, key.day));
            }
        }
        months
    }

    /// Returns the times of the first and the last sale in each currency.
    pub(crate) fn bounds(&self) -> BTreeMap<&'static str, (UnixMs, UnixMs)> {
        self.by_day.iter().map(|((_, currency), sum)| (*currency, (sum.first, sum.last))).collect()
    }

    /// Adds the sums to the tables. The statements are pipelined.
    pub(crate) async fn write(&mut self, write: &Write<'_>, group: GroupNo) -> Result<(), Error> {
        let products = self.by_month();
        let keys = (self.by_device.keys().copied().collect(), products.keys().cloned().collect());
        self.stored.read(write, group, keys).await?;
        try_join!(
            biased;
            self.write_days(write, group),
            self.write_names(write, group),
            self.stored.add_to_devices(write, group, &self.by_device),
            self.write_products_and_months(write, group, &products),
        )?;
        Ok(())
    }

    /// Adds the sums of products, by device and by month. The devices that have sold a product out
    /// are read after the sums were written, which a pipeline does not assure: a statement that the
    /// connection has not prepared yet is sent later than one that it has.
    async fn write_products_and_months(
        &self,
        write: &Write<'_>,
        group: GroupNo,
        months: &BTreeMap<ProductMonth, ProductSums>,
    ) -> Result<(), Error> {
        let of_devices = self.write_products(write, group);
        if self.by_product.values().all(|[items, _]| *items >= 0) {
            let none = BTreeMap::new();
            let of_months = self.stored.add_to_products(write, group, months, &none);
            return try_join!(biased; of_devices, of_months).map(drop);
        }
        of_devices.await?;
        let sold_out = self.sold_out(write, group).await?;
        self.stored.add_to_products(write, group, months, &sold_out).await
    }

    async fn write_days(&self, write: &Write<'_>, group: GroupNo) -> Result<(), Error> {
        let by_day = self.by_day.iter().map(|((day, currency), sum)| {
            let (day, currency) = ((*day).into(), (*currency).into());
            let [orders, items, amount, refund, shipped, failed] =
                figures(sum.totals).map(Value::Int);
            let (first, last) = (sum.first.into(), sum.last.into());
            [day, currency, orders, items, amount, refund, shipped, failed, first, last]
        });
        write.execute_each(&ADD_TO_DAY, by_day, &[group.into()]).await
    }

    async fn write_products(&self, write: &Write<'_>, group: GroupNo) -> Result<(), Error> {
        let changed = self.by_product.iter().filter(|(_, sums)| **sums != [0, 0]);
        let rows = changed.map(|(key, [items, amount])| {
            let [day, device, goods, currency] = key.values();
            [day, device, goods, currency, (*items).into(), (*amount).into()]
        });
        write.execute_each(&ADD_TO_PRODUCT, rows, &[group.into()]).await
    }

    async fn write_names(&self, write: &Write<'_>, group: GroupNo) -> Result<(), Error> {
        let names = self.names.iter().map(|(goods_id, (at, name))| {
            [goods_id.as_str().into(), name.as_str().into(), (*at).into()]
        });
        write.execute_each(&NAME_GOODS, names, &[group.into()]).await
    }

    /// Returns the devices that have fewer items of a product on a day than before, and none now.
    async fn sold_out(
        &self,
        write: &Write<'_>,
        group: GroupNo,
    ) -> Result<BTreeMap<ProductMonth, Vec<(DeviceNo, Day)>>, Error> {
        let fewer = self.by_product.iter().filter(|(_, [items, _])| *items < 0);
        let fewer: Vec<_> = fewer.map(|(key, _)| key.values()).collect();
        let mut sold_out: BTreeMap<_, Vec<_>> = BTreeMap::new();
        write
            .each_of(&SOLD_OUT, &fewer, &[group.into()], |row| {
                let SoldOut { day, device_no: device, goods_id, currency } = row.read()?;
                let (month, goods_id) = (day.first_of_month(), goods_id.to_owned());
                let currency = parse_currency(currency)?.code();
                let key = ProductDay { month, day, device, goods_id, currency };
                sold_out.entry(key.in_month()).or_default().push((device, day));
                Ok(())
            })
            .await?;
        Ok(sold_out)
    }
}

impl ProductDay {
    fn in_month(&self) -> ProductMonth {
        let (month, goods_id) = (self.month, self.goods_id.clone());
        ProductMonth { month, goods_id, block: block_of(self.device), currency: self.currency }
    }

    fn values(&self) -> [Value<'_>; 4] {
        [self.day.into(), self.device.into(), self.goods_id.as_str().into(), self.currency.into()]
    }
}

/// Returns the figures of a sum, in the order in which every table has them.
fn figures(sum: Totals) -> [i64; 6] {
    [sum.orders, sum.items, sum.amount, sum.refund, sum.shipped, sum.failed]
}

/// Returns the sum of figures that are stored in this order.
pub(crate) fn totals_of([orders, items, amount, refund, shipped, failed]: [i64; 6]) -> Totals {
    Totals { orders, items, amount, refund, shipped, failed }
}

/// Every statement of this module and of those below it.
pub(crate) fn all() -> impl Iterator<Item = &'static Sql> {
    [ALL, months::ALL].into_iter().flatten().copied()
}
