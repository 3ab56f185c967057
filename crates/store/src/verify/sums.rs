//! Recounts the sums of sales from the orders, one day of a group at a time, so that memory is
//! bounded by the sums of one day.

use std::collections::{BTreeMap, BTreeSet};

use kiosque_model::sales::Sale;
use kiosque_model::{Day, DeviceNo, UnixMs, Zone};

use super::{Group, Verified};
use crate::db::Read;
use crate::dictionaries;
use crate::error::Error;
use crate::fleet::products_by_id;
use crate::record::dictionaries::Dictionaries;
use crate::record::sale::{Recorded, ZONE_CHANGE_MAX_MS, day_by_other_rules};
use crate::record::sale_figures;
use crate::record::stored::{StoredOrder, order_columns};
use crate::sql::{Row, distinct, statements};
use crate::sums::device_block::{BlockSums, each_device, each_product, each_seller};
use crate::sums::{BlockDay, BlockRow, DayRow, NO_SALE, Sums, figures, names_in};

statements! {
    DAYS_WITH_SUMS(group_no) -> Day = "select day from sales_by_day where group_no = $group_no
        union select day from sales_by_device where group_no = $group_no";
    NEXT_SALE(group_no, from_ms) -> UnixMs = "select sale_at_ms from orders
        where group_no = $group_no and sale_at_ms >= $from_ms
        order by sale_at_ms limit 1";
    SALES(group_no, start_ms, end_ms) -> StoredOrder<'_> = concat!(
        "select ", order_columns!(), "
        from orders o
        where o.group_no = $group_no and o.sale_at_ms >= $start_ms and o.sale_at_ms < $end_ms");
    UNSOLD_ORDERS(group_no) -> StoredOrder<'_> = concat!(
        "select ", order_columns!(), "
        from orders o where o.group_no = $group_no and o.sale_at_ms is null");
    SUMS_BY_DAY(group_no, day) -> DayRow<'_> = "select day, currency, orders, items, amount,
            refund, shipped, failed, first_sale_at_ms, last_sale_at_ms
        from sales_by_day where group_no = $group_no and day = $day";
    SUMS_BY_DEVICE(group_no, day) -> BlockRow<'_> = "select day, device_block, currency,
            devices, products
        from sales_by_device where group_no = $group_no and day = $day";
    GOODS_NAMES(group_no) -> (String, (UnixMs, String)) = "select goods_id, sale_at_ms,
            goods_name
        from goods_names where group_no = $group_no";
    REFUNDING(group_no) -> i64 = "select refunding from group_changes
        where group_no = $group_no";
    DEVICE_CODES() -> (DeviceNo, String) = "select device_no, device_code from devices";
}

/// The key of a sum within a day of a group, of the day, a device, a product of a block, or a
/// product of a device: the device, the `goodsId`, the device block and the currency. Absent parts
/// are `None`.
type SumKey = (Option<DeviceNo>, Option<String>, Option<i64>, String);

/// The figures of sums, in the order in which they are stored.
type SumTable = BTreeMap<SumKey, Vec<i64>>;

/// The context of a recount.
struct Recount<'a> {
    read: &'a Read<'a>,
    group: &'a Group,
    zone: &'a Zone,
    dictionaries: &'a Dictionaries,
    codes: BTreeMap<DeviceNo, String>,
}

/// Compares the sums of a group with its orders, and checks each order.
pub(super) async fn check(
    read: &Read<'_>,
    group: &Group,
    zone: &Zone,
    verified: &mut Verified,
) -> Result<(), Error> {
    // Not the ones that this process knows: the stored ones are checked.
    let dictionaries = &Dictionaries::default();
    dictionaries::load(read, dictionaries).await?;
    let codes = read.all(&DEVICE_CODES, &[]).await?.into_iter().collect();
    Recount { read, group, zone, dictionaries, codes }.run(verified).await
}

impl Recount<'_> {
    async fn run(&self, verified: &mut Verified) -> Result<(), Error> {
        self.check_unsold_orders(verified).await?;
        let group = [self.group.number.into()];
        let stored = self.read.all(&DAYS_WITH_SUMS, &group).await?;
        let mut days: BTreeSet<Day> = stored.into_iter().collect();
        self.add_days_with_sales(&mut days).await?;
        let names = self.read.all::<(String, _)>(&GOODS_NAMES, &group).await?.into_iter();
        let names = names.map(|(goods_id, named)| (goods_id, Some(named)));
        verified.names = names.collect();
        for day in days {
            let checked = self.check_day(day, verified).await;
            verified.note_damage(&format!("group {}, {day}", self.group.id), checked)?;
        }
        self.check_names(verified).await?;
        // Known once the orders of all days are read.
        for (day, difference) in std::mem::take(&mut verified.of_sums) {
            match verified.days_by_other_rules.contains(&day) {
                true => verified.by_other_rules.push(difference),
                false => verified.differences.push(difference),
            }
        }
        self.check_refunding(verified).await
    }

    /// Checks that each name is of a sale, and that goods that sales name and that are no product
    /// have a name.
    async fn check_names(&self, verified: &mut Verified) -> Result<(), Error> {
        let id = &self.group.id;
        // An order with a difference may be a sale that gives a name.
        if verified.differences.is_empty() {
            for (goods_id, named) in std::mem::take(&mut verified.names) {
                let Some((at, name)) = named.filter(|(at, _)| *at != NO_SALE) else { continue };
                verified.differences.push(format!(
                    "group {id}: {goods_id} is named {name:?} by a sale at {}, and no such sale is \
                     stored",
                    at.rfc3339()
                ));
            }
        }
        let goods = std::mem::take(&mut verified.goods_without_name);
        let ids = distinct(goods.iter().map(String::as_str));
        let products = products_by_id(self.read, &ids).await?;
        verified.differences.extend(
            goods.iter().filter(|goods_id| !products.contains_key(*goods_id)).map(|goods_id| {
                format!("group {id}: sales name {goods_id}, and no name of it is stored")
            }),
        );
        Ok(())
    }

    /// Compares the number of orders that are being refunded.
    async fn check_refunding(&self, verified: &mut Verified) -> Result<(), Error> {
        let group = [self.group.number.into()];
        let stored = self.read.one::<i64>(&REFUNDING, &group).await?;
        let (stored, counted) = (stored.unwrap_or_default(), verified.refunding);
        if stored != counted {
            let id = &self.group.id;
            verified.differences.push(format!(
                "group {id}: {stored} orders are counted as being refunded, {counted} are"
            ));
        }
        Ok(())
    }

    /// Checks that an order that is not a sale by its columns is not one by its record either.
    async fn check_unsold_orders(&self, verified: &mut Verified) -> Result<(), Error> {
        self.read
            .each(&UNSOLD_ORDERS, &[self.group.number.into()], |row| {
                if let Some((order, _, recorded)) = self.read_order(row, verified)? {
                    let error = unsold_error(&order, &recorded);
                    verified.differences.extend(error.map(|error| self.name(&order, error)));
                }
                Ok(())
            })
            .await
    }

    /// Returns an order, the text of its record, and what that says, compared with the device and
    /// the trade start of the order. One that cannot be read is reported.
    fn read_order<'r>(
        &self,
        row: &'r Row<'_>,
        verified: &mut Verified,
    ) -> Result<Option<(StoredOrder<'r>, Vec<u8>, Recorded)>, Error> {
        let order: StoredOrder<'_> = match row.read() {
            Ok(order) => order,
            Err(error) if error.is_damage() => {
                let id = &self.group.id;
                verified.differences.push(format!("group {id}: an order cannot be read: {error}"));
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        verified.refunding += i64::from(sale_figures::is_refunding(order.sale));
        let text = order.text(self.dictionaries);
        let read = text.and_then(|text| Ok((Recorded::read(&text)?, text)));
        let (recorded, text) = match read {
            Ok(read) => read,
            Err(error) => {
                verified.differences.push(self.name(&order, error.reason()));
                return Ok(None);
            }
        };
        verified.last_arrival = verified.last_arrival.max(order.arrival_no.unwrap_or(0));
        let device = &recorded.device_code;
        if self.codes.get(&order.device_no).is_some_and(|code| code != device) {
            let error = format!("its record says device {device}");
            verified.differences.push(self.name(&order, error));
        }
        let (start, recorded_start) = (order.trade_start_ms, &recorded.trade_start_time);
        if let Some(error) = time_error("its trade started", start, recorded_start, self.zone) {
            self.report(&order, error, verified);
        }
        Ok(Some((order, text, recorded)))
    }

    /// Reports an error of an order. Returns the day of the recorded time if other rules of the
    /// zone explain it.
    fn report(
        &self,
        order: &StoredOrder<'_>,
        (error, day): OrderError,
        verified: &mut Verified,
    ) -> Option<Day> {
        let differences = match day {
            Some(_) => &mut verified.by_other_rules,
            None => &mut verified.differences,
        };
        differences.push(self.name(order, error));
        day
    }

    /// Returns a difference of an order.
    fn name(&self, order: &StoredOrder<'_>, error: String) -> String {
        let device = self.describe_device(order.device_no);
        format!("group {}, device {device}, order {}: {error}", self.group.id, order.order_id)
    }

    async fn add_days_with_sales(&self, days: &mut BTreeSet<Day>) -> Result<(), Error> {
        let mut from = UnixMs(i64::MIN);
        let next = async |from: UnixMs| {
            let params = [self.group.number.into(), from.into()];
            self.read.one::<UnixMs>(&NEXT_SALE, &params).await
        };
        while let Some(at) = next(from).await? {
            let day = self.zone.day_of(at);
            days.insert(day);
            from = self.zone.start_of(day.next());
        }
        Ok(())
    }

    async fn check_day(&self, day: Day, verified: &mut Verified) -> Result<(), Error> {
        let sums = self.recount(day, verified).await?;
        let name = format!("group {}, {day}", self.group.id);
        let params = [self.group.number.into(), day.into()];
        let (mut by_day, mut by_device) = (SumTable::new(), SumTable::new());
        let mut wrong_bounds = Vec::new();
        self.read
            .each(&SUMS_BY_DAY, &params, |row| {
                let row: DayRow<'_> = row.read()?;
                by_day.insert(day_key(row.currency), figures(row.totals).to_vec());
                wrong_bounds.extend(self.bounds_error(&name, &sums, &row));
                Ok(())
            })
            .await?;
        self.read
            .each(&SUMS_BY_DEVICE, &params, |row| add_stored(&mut by_device, &row.read()?))
            .await?;
        for (stored, counted) in
            [(by_day, counted_by_day(&sums)), (by_device, counted_by_device(&sums))]
        {
            verified.sums += counted.len();
            self.compare(day, &name, &stored, &counted, verified);
        }
        verified.of_sums.extend(wrong_bounds.into_iter().map(|error| (day, error)));
        Ok(())
    }

    /// Returns the sums of a day's orders, and checks that each is a sale at the time in its
    /// record. An unreadable order is reported, and not counted.
    async fn recount(&self, day: Day, verified: &mut Verified) -> Result<Sums, Error> {
        let mut sums = Sums::default();
        let group = self.group.number;
        let (start, end) = (self.zone.start_of(day), self.zone.start_of(day.next()));
        self.read
            .each(&SALES, &[group.into(), start.into(), end.into()], |row| {
                let Some((order, text, recorded)) = self.read_order(row, verified)? else {
                    return Ok(());
                };
                let sale = match order.sale(&text) {
                    Ok(sale) => sale,
                    Err(error) => {
                        verified.differences.push(self.name(&order, error.reason()));
                        return Ok(());
                    }
                };
                sums.count(self.zone, order.device_no, &sale);
                verified.find_names_of(&sale);
                let error = sale_error(&order, &sale, &recorded, self.zone);
                let by_other_rules = error.and_then(|error| self.report(&order, error, verified));
                if let Some(recorded) = by_other_rules.filter(|recorded| *recorded != day) {
                    verified.days_by_other_rules.extend([recorded, day]);
                }
                Ok(())
            })
            .await?;
        Ok(sums)
    }

    /// Checks that no sale is outside of the stored bounds, which may be loose, and that the bounds
    /// are within their day, which other rules of the zone move by at most a day.
    fn bounds_error(&self, name: &str, sums: &Sums, stored: &DayRow<'_>) -> Option<String> {
        let DayRow { day, currency, first_sale_at_ms: first, last_sale_at_ms: last, .. } = *stored;
        let moved_ms = if *self.zone == Zone::utc() { 0 } else { ZONE_CHANGE_MAX_MS };
        let start = self.zone.start_of(day).plus_ms(-moved_ms);
        let end = self.zone.start_of(day.next()).plus_ms(moved_ms);
        let sold = sums.by_day.iter().find(|((_, sold_in), _)| *sold_in == currency);
        let contains_sales = sold.is_none_or(|(_, sum)| first <= sum.first && sum.last <= last);
        (!contains_sales || first < start || last >= end).then(|| {
            format!(
                "{name}: {currency}: {} to {} are no bounds of its sales",
                first.rfc3339(),
                last.rfc3339()
            )
        })
    }

    /// Compares the stored sums with the recounted ones. A row of zeros equals a missing row.
    fn compare(
        &self,
        day: Day,
        name: &str,
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
                let difference = format!(
                    "{name}: {}: {} is stored, its orders add up to {}",
                    self.describe(key),
                    text(stored),
                    text(counted)
                );
                verified.of_sums.push((day, difference));
            }
        }
    }

    fn describe(&self, (device, goods_id, block, currency): &SumKey) -> String {
        let device = device.map(|device| self.describe_device(device));
        let block = block.map(|block| format!("device block {block}"));
        let parts = [device, goods_id.clone(), block, Some(currency.clone())];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }

    fn describe_device(&self, device: DeviceNo) -> String {
        self.codes.get(&device).cloned().unwrap_or_else(|| format!("unknown device {}", device.0))
    }
}

impl Verified {
    /// Finds the stored names of a sale's goods.
    fn find_names_of(&mut self, sale: &Sale) {
        for (goods_id, name) in names_in(sale) {
            match self.names.get_mut(goods_id) {
                Some(named) => {
                    named.take_if(|(at, stored)| *at == sale.at && stored == name);
                }
                None => {
                    self.goods_without_name.insert(goods_id.to_owned());
                }
            }
        }
    }
}

/// Returns the problem of an order that is not a sale according to its columns.
fn unsold_error(order: &StoredOrder<'_>, recorded: &Recorded) -> Option<String> {
    match &recorded.paid_at {
        Some(time) => Some(format!("was paid at {time} and counts as no sale")),
        None if order.sale != sale_figures::packed(None, recorded.states) => {
            Some("its states do not match its record".to_owned())
        }
        None => None,
    }
}

/// The problem of an order. If other rules of the zone explain it, the day of the recorded time.
type OrderError = (String, Option<Day>);

/// Returns the problem of an order that is this sale according to its columns.
fn sale_error(
    order: &StoredOrder<'_>,
    sale: &Sale,
    recorded: &Recorded,
    zone: &Zone,
) -> Option<OrderError> {
    let paid_at = recorded.paid_at.as_deref().unwrap_or("none");
    match time_error("counts as a sale", sale.at, paid_at, zone) {
        Some(error @ (_, None)) => Some(error),
        _ if order.sale != sale_figures::packed(Some(sale), recorded.states) => {
            Some(("the figures of its sale do not match its record".to_owned(), None))
        }
        error => error,
    }
}

/// Compares a time with the local time in the record.
fn time_error(what: &str, at: UnixMs, recorded: &str, zone: &Zone) -> Option<OrderError> {
    let expected = zone.text(at);
    (recorded != expected).then(|| {
        let error = format!("{what} at {expected}, its record says {recorded}");
        (error, day_by_other_rules(recorded, &expected, zone))
    })
}

fn counted_by_day(sums: &Sums) -> SumTable {
    let by_day = sums.by_day.iter();
    by_day.map(|((_, code), sum)| (day_key(code), figures(sum.totals).to_vec())).collect()
}

fn counted_by_device(sums: &Sums) -> SumTable {
    let mut table = SumTable::new();
    for (BlockDay { block, currency, .. }, BlockSums { devices, products }) in &sums.by_device {
        let currency = || (*currency).to_owned();
        for (device, figures) in devices {
            table.insert((Some(*device), None, None, currency()), figures.to_vec());
        }
        for (goods_id, sellers) in products {
            let mut totals = vec![0, 0];
            for (device, figures) in sellers {
                totals.iter_mut().zip(figures).for_each(|(total, figure)| *total += figure);
                let key = (Some(*device), Some(goods_id.clone()), None, currency());
                table.insert(key, figures.to_vec());
            }
            table.insert((None, Some(goods_id.clone()), Some(*block), currency()), totals);
        }
    }
    table
}

/// Adds the sums of a stored row.
fn add_stored(table: &mut SumTable, row: &BlockRow<'_>) -> Result<(), Error> {
    let BlockRow { device_block: block, currency, devices, products, .. } = *row;
    let currency = || currency.to_owned();
    each_device(devices, block, |device, figures| {
        table.insert((Some(device), None, None, currency()), figures.to_vec());
    })?;
    each_product(products, |product| {
        let goods_id = Some(product.goods_id()?.to_owned());
        let key = (None, goods_id.clone(), Some(block), currency());
        table.insert(key, product.figures.to_vec());
        each_seller(product.sellers, block, |device, figures| {
            table.insert((Some(device), goods_id.clone(), None, currency()), figures.to_vec());
        })
    })
}

fn day_key(currency: &str) -> SumKey {
    (None, None, None, currency.to_owned())
}

#[cfg(test)]
mod tests;
