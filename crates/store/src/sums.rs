//! Sums of sales: by day, and by device and product of a day. The transaction that changes an order
//! adds the difference to them, so that they always equal a recount.

pub(crate) mod device_block;
pub(crate) mod device_set;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::Range;

use kiosque_model::sales::{Sale, Totals};
use kiosque_model::{Currency, Day, DeviceNo, GroupNo, UnixMs, Zone};
use tokio::try_join;

use crate::db::{Bound, Reading, Write};
use crate::error::Error;
use crate::sql::{Row, Value, row, statements};
use device_block::{BlockSums, StoredBlock, block_of};

row! {
    for Totals { orders, items, amount, refund, shipped, failed }
    /// The sums of a day.
    pub(crate) struct DayRow<'r> {
        pub(crate) day: Day,
        pub(crate) currency: &'r str,
        pub(crate) totals: Totals,
        pub(crate) first_sale_at_ms: UnixMs,
        pub(crate) last_sale_at_ms: UnixMs,
    }
    /// The sums of the devices of a block on a day.
    pub(crate) struct BlockRow<'r> {
        pub(crate) day: Day,
        pub(crate) device_block: i64,
        pub(crate) currency: &'r str,
        pub(crate) devices: &'r [u8],
        pub(crate) products: &'r [u8],
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
    DEVICES(group_no) -> BlockRow<'_> = "select s.day, s.device_block, s.currency, s.devices,
            s.products
        from {each r: day bigint, block bigint, currency text} cross join sales_by_device s
        where s.group_no = $group_no and s.day = r.day and s.device_block = r.block
            and s.currency = r.currency";
    SET_DEVICES(group_no) = "insert into sales_by_device
            (group_no, day, device_block, currency, devices, products)
        select g.group_no, r.day, r.block, r.currency, r.devices, r.products
        from {rows r: day bigint, block bigint, currency text, devices bytea, products bytea}
        cross join group_changes g where g.group_no = $group_no
        on conflict (group_no, day, device_block, currency) do update set
            devices = excluded.devices, products = excluded.products";
    NAME_GOODS(group_no) = "insert into goods_names as total
            (group_no, goods_id, goods_name, sale_at_ms)
        select g.group_no, r.goods, r.name, r.sale_ms
        from {rows r: goods text, name text, sale_ms bigint}
        cross join group_changes g where g.group_no = $group_no
        on conflict (group_no, goods_id) do update set
            goods_name = excluded.goods_name, sale_at_ms = excluded.sale_at_ms
        where excluded.sale_at_ms > total.sale_at_ms
            or (excluded.sale_at_ms = total.sale_at_ms and excluded.goods_name > total.goods_name)";
    TAKE_BACK_NAMES(group_no, no_sale_ms) = "update goods_names set sale_at_ms = $no_sale_ms
        from {rows r: goods text, name text, sale_ms bigint}
        where goods_names.group_no = $group_no and goods_names.goods_id = r.goods
            and goods_names.goods_name = r.name and goods_names.sale_at_ms = r.sale_ms";
}

/// The sum of a day, and bounds of the times of its sales.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DayTotals {
    pub(crate) totals: Totals,
    pub(crate) first: UnixMs,
    pub(crate) last: UnixMs,
}

/// The key of the sums of the devices of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct BlockDay {
    pub(crate) day: Day,
    pub(crate) block: i64,
    pub(crate) currency: &'static str,
}

/// The time of a sale, a name that it gives, and the device and sequence number of its order.
type NameInSale = (UnixMs, String, (DeviceNo, i64));

/// An accumulator of a transaction's changes to a group, so that each row is written once.
#[derive(Debug, Default)]
pub(crate) struct Sums {
    pub(crate) by_day: BTreeMap<(Day, &'static str), DayTotals>,
    /// The sums by device and by product.
    pub(crate) by_device: BTreeMap<BlockDay, BlockSums>,
    /// The names that sales give to goods.
    names: BTreeMap<String, BTreeSet<NameInSale>>,
    /// Goods, the names that sales no longer give them, and the times of these sales.
    taken_names: BTreeSet<(String, String, UnixMs)>,
    /// The rows that were read; empty for absent rows.
    stored: BTreeMap<BlockDay, StoredBlock>,
    /// The day of the last sale, and its times.
    cached_day: Option<(Day, Range<UnixMs>)>,
}

/// The stored time of a name that no sale gives any more: that of any sale is later.
pub(crate) const NO_SALE: UnixMs = UnixMs(i64::MIN);

impl Sums {
    /// Reads the rows that sales will change. Others are read when they are written, which takes
    /// one more round trip.
    pub(crate) fn of_stored<'s>(
        group: GroupNo,
        zone: &Zone,
        sales: impl Iterator<Item = (DeviceNo, &'s Sale)>,
    ) -> Reading<Sums> {
        let mut sums = Sums::default();
        let keys = sales.map(|(device, sale)| {
            let day = sums.day_of(zone, sale.at);
            BlockDay { day, block: block_of(device), currency: sale.currency.code() }
        });
        let keys = keys.collect();
        let rows = sums.unread(keys);
        Bound::new(&DEVICES, [group.into()]).with_rows(rows).fold(sums, Sums::add_stored)
    }

    /// Reads the rows that were not read before.
    async fn read(
        &mut self,
        write: &Write<'_>,
        group: GroupNo,
        keys: BTreeSet<BlockDay>,
    ) -> Result<(), Error> {
        let rows = self.unread(keys);
        write.each_of(&DEVICES, &rows, &[group.into()], |row| self.add_stored(row)).await
    }

    /// Returns the keys that were not read before, as the rows of a bulk statement. Those without a
    /// row count as read.
    fn unread(&mut self, mut keys: BTreeSet<BlockDay>) -> Vec<[Value<'static>; 3]> {
        keys.retain(|key| !self.stored.contains_key(key));
        self.stored.extend(keys.iter().map(|key| (*key, StoredBlock::default())));
        keys.iter().map(BlockDay::values).collect()
    }

    fn add_stored(&mut self, row: &Row<'_>) -> Result<(), Error> {
        let BlockRow { day, device_block: block, currency, devices, products } = row.read()?;
        let currency = Currency::parse(currency)?.code();
        let stored = StoredBlock { devices: devices.to_owned(), products: products.to_owned() };
        self.stored.insert(BlockDay { day, block, currency }, stored);
        Ok(())
    }

    /// Adds a sale to the sums of its day, its device and its goods.
    pub(crate) fn count(&mut self, zone: &Zone, device: DeviceNo, sale: &Sale) {
        let day = self.day_of(zone, sale.at);
        self.count_on(day, device, sale, 1);
    }

    /// Adds a sale to the sums of a day, multiplied by `times`: 1 adds it, -1 removes it.
    pub(crate) fn count_on(&mut self, day: Day, device: DeviceNo, sale: &Sale, times: i64) {
        let currency = sale.currency.code();
        let totals = sale.totals();
        let empty = DayTotals { totals: Totals::default(), first: sale.at, last: sale.at };
        let of_day = self.by_day.entry((day, currency)).or_insert(empty);
        of_day.totals.add(totals, times);
        if times > 0 {
            of_day.first = of_day.first.min(sale.at);
            of_day.last = of_day.last.max(sale.at);
        }
        let key = BlockDay { day, block: block_of(device), currency };
        let of_block = self.by_device.entry(key).or_default();
        of_block.add_device(device, figures(totals).map(|figure| times * figure));
        for goods in &sale.goods {
            let figures = [times * goods.items, times * goods.amount.0];
            of_block.add_product(device, &goods.goods_id, figures);
        }
    }

    /// Records the names that a sale gives to its goods, except for empty ones. The names of
    /// received sales are of goods that are not products of the fleet.
    pub(crate) fn record_goods_names(&mut self, order: (DeviceNo, i64), sale: &Sale) {
        for (goods_id, name) in names_in(sale) {
            let names = self.names.entry(goods_id.to_owned()).or_default();
            names.insert((sale.at, name.to_owned(), order));
        }
    }

    /// Takes back the names that a stored sale gave, and its new version, if it still is a sale,
    /// does not give at the same time. Such a name remains until a sale gives the goods one: to
    /// find the sale before it could take reading every order. Both versions have the names that
    /// are stored.
    pub(crate) fn correct_goods_names(
        &mut self,
        order: (DeviceNo, i64),
        old: &Sale,
        new: Option<&Sale>,
    ) {
        let same_time = new.filter(|new| new.at == old.at);
        let kept: HashSet<_> = same_time.into_iter().flat_map(names_in).collect();
        let mut is_corrected = false;
        for named @ (goods_id, name) in names_in(old) {
            if kept.contains(&named) {
                continue;
            }
            is_corrected = true;
            if let Some(names) = self.names.get_mut(goods_id) {
                names.remove(&(old.at, name.to_owned(), order));
            }
            self.taken_names.insert((goods_id.to_owned(), name.to_owned(), old.at));
        }
        // The lines that were given without a name keep the stored one.
        if let Some(new) = new.filter(|_| is_corrected) {
            self.record_goods_names(order, new);
        }
    }

    /// Returns the day of a time. The last day is cached, since most sales of a batch share it.
    fn day_of(&mut self, zone: &Zone, at: UnixMs) -> Day {
        match &self.cached_day {
            Some((day, times)) if times.contains(&at) => *day,
            _ => {
                let day = zone.day_of(at);
                self.cached_day = Some((day, zone.start_of(day)..zone.start_of(day.next())));
                day
            }
        }
    }

    /// Adds the sums to the tables. The statements are pipelined.
    pub(crate) async fn write(&mut self, write: &Write<'_>, group: GroupNo) -> Result<(), Error> {
        self.read(write, group, self.by_device.keys().copied().collect()).await?;
        try_join!(
            biased;
            self.write_days(write, group),
            self.write_names(write, group),
            self.write_devices(write, group),
        )?;
        Ok(())
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

    async fn write_devices(&self, write: &Write<'_>, group: GroupNo) -> Result<(), Error> {
        let none = StoredBlock::default();
        let sums = self.by_device.iter().map(|(key, sums)| {
            let BlockDay { day, block, currency } = key;
            let added = sums.added_to(self.stored.get(key).unwrap_or(&none), *block);
            let added = added.map_err(|error| match error {
                Error::Data(error) => Error::Data(format!(
                    "group number {}, {day}, device block {block}, {currency}: {error}; run \
                     `kiosque verify`",
                    group.0
                )),
                other => other,
            })?;
            Ok((key, added))
        });
        let sums = sums.collect::<Result<Vec<_>, Error>>()?;
        let rows = sums.iter().map(|(key, StoredBlock { devices, products })| {
            let [day, block, currency] = key.values();
            [day, block, currency, devices.as_slice().into(), products.as_slice().into()]
        });
        write.execute_each(&SET_DEVICES, rows, &[group.into()]).await
    }

    async fn write_names(&self, write: &Write<'_>, group: GroupNo) -> Result<(), Error> {
        let taken = self.taken_names.iter().map(|(goods_id, name, at)| {
            [goods_id.as_str().into(), name.as_str().into(), (*at).into()]
        });
        write.execute_each(&TAKE_BACK_NAMES, taken, &[group.into(), NO_SALE.into()]).await?;
        let latest = self.names.iter().filter_map(|(goods_id, names)| {
            let (at, name, _) = names.last()?;
            Some([goods_id.as_str().into(), name.as_str().into(), (*at).into()])
        });
        write.execute_each(&NAME_GOODS, latest, &[group.into()]).await
    }
}

impl BlockDay {
    fn values(&self) -> [Value<'static>; 3] {
        [self.day.into(), self.block.into(), self.currency.into()]
    }
}

/// Returns the goods of a sale that have a name, each with it.
pub(crate) fn names_in(sale: &Sale) -> impl Iterator<Item = (&str, &str)> {
    let goods = sale.goods.iter();
    let named = goods.filter_map(|sold| Some((sold.goods_id.as_str(), sold.name.as_deref()?)));
    named.filter(|(_, name)| !name.is_empty())
}

/// Returns the figures of a sum, in the order of their columns in every table.
pub(crate) fn figures(sum: Totals) -> [i64; 6] {
    [sum.orders, sum.items, sum.amount, sum.refund, sum.shipped, sum.failed]
}

/// Returns the sum of figures that are stored in this order.
pub(crate) fn totals_of([orders, items, amount, refund, shipped, failed]: [i64; 6]) -> Totals {
    Totals { orders, items, amount, refund, shipped, failed }
}
