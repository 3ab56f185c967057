//! The sums of sales of a range by day: stored sums of whole days, and the sales of partial days,
//! which are counted from their orders.

use std::collections::HashMap;
use std::sync::Arc;

use kiosque_model::sales::{Rate, Rates};
use kiosque_model::{Day, DeviceNo};

use super::figures::days::{DayTotals, PartOfDay};
use super::figures::device_sums::Currencies;
use super::figures::products::ProductsInPart;
use super::range::{PartialDay, Range};
use crate::db::{Bound, Reading};
use crate::error::Error;
use crate::rates::RateRow;
use crate::record::dictionaries::Dictionaries;
use crate::record::sale_figures::SaleFigures;
use crate::record::stored::{StoredOrder, order_columns};
use crate::scoped::HintedGroup;
use crate::sql::{Row, Sql, Value, statements};
use crate::sums::DayRow;

/// Selects columns of the sales `o` of a part of a day; no rows if all sales of the day are in the
/// range.
macro_rules! sales_in_part {
    ($($columns:tt)*) => {
        concat!(
            "select ",
            $($columns)*,
            " from (
                select 1 as is_partial from sales_by_day
                where group_no = $group_no and day = $day
                    and (first_sale_at_ms < $range_start_ms or last_sale_at_ms >= $range_end_ms)
                limit 1
            ) c cross join orders o
            where o.group_no = $group_no
                and o.sale_at_ms >= $part_start_ms and o.sale_at_ms < $part_end_ms"
        )
    };
}

statements! {
    DAYS(group_no, first_day, last_day) -> DayRow<'_> = "select day, currency, orders, items,
            amount, refund, shipped, failed, first_sale_at_ms, last_sale_at_ms
        from sales_by_day
        where group_no = $group_no and day >= $first_day and day <= $last_day order by day";
    /// The rates of every currency with sales: the one on the first day, and all later ones.
    RATES(group_no, first_day, last_day) -> RateRow<'_> = "select r.currency, r.day,
            r.usd_per_unit_e12
        from (
            select distinct currency from sales_by_day
            where group_no = $group_no and day >= $first_day and day <= $last_day
        ) sold join rates r on r.currency = sold.currency
        where r.day <= $last_day and r.day >= coalesce((
            select max(day) from rates where currency = sold.currency and day <= $first_day
        ), $first_day)";
    /// A day with sales outside of the range.
    PARTIAL(group_no, day, start_ms, end_ms) -> Day = "select day from sales_by_day
        where group_no = $group_no and day = $day
            and (first_sale_at_ms < $start_ms or last_sale_at_ms >= $end_ms) limit 1";
    /// The index of sale times has all columns.
    SALES_IN_PART(
        group_no, day, range_start_ms, range_end_ms, part_start_ms, part_end_ms
    ) -> (DeviceNo, &[u8]) = sales_in_part!("o.device_no, o.sale");
    /// The orders, for the products of their lines.
    ORDERS_IN_PART(
        group_no, day, range_start_ms, range_end_ms, part_start_ms, part_end_ms
    ) -> StoredOrder<'_> = sales_in_part!(order_columns!());
}

/// Reads the exchange rates of a range, then the sums of each of its days, with partial days as
/// whole days.
pub(super) fn days(range: &Range, group: HintedGroup) -> Reading<DayTotals> {
    let rates = bind_rates(range, group);
    let rates = rates.fold(DayTotals::default(), |days: &mut DayTotals, row: &Row<'_>| {
        add_rate(&mut days.rates, &mut days.currencies, row)
    });
    let sums = Bound::new(&DAYS, days_of(range, group));
    rates.then(sums, |days: &mut DayTotals, row: &Row<'_>| days.add(row.read()?))
}

/// Binds the exchange rates of a range.
pub(super) fn bind_rates(range: &Range, group: HintedGroup) -> Bound {
    Bound::new(&RATES, days_of(range, group))
}

/// Adds a row of [`bind_rates`].
pub(super) fn add_rate(
    rates: &mut Rates,
    currencies: &mut Currencies,
    row: &Row<'_>,
) -> Result<(), Error> {
    let RateRow { currency, day, usd_per_unit_e12: parts } = row.read()?;
    let currency = currencies.parse(currency)?;
    let rate = Rate::from_parts(parts);
    let rate = rate.ok_or_else(|| Error::Data(format!("{currency} on {day}: rate {parts}")))?;
    rates.add(currency, day, rate);
    Ok(())
}

/// Binds the look-up of a partial day that has sales outside of the range.
pub(super) fn bind_partial(part: &PartialDay, range: &Range, group: HintedGroup) -> Bound {
    let params = [group.into(), part.day.into(), range.start.into(), range.end.into()];
    Bound::new(&PARTIAL, params)
}

/// Reads the sales of each device in the range on a partial day, if some sales of the day are
/// outside of the range.
pub(super) fn parts(range: &Range, group: HintedGroup) -> Vec<Reading<PartOfDay>> {
    let part = |part: &PartialDay| {
        let mut currencies = Currencies::default();
        let rows = PartOfDay { day: part.day, by_device: HashMap::default() };
        let add = move |part: &mut PartOfDay, row: &Row<'_>| {
            let (device_no, sale) = row.read()?;
            let SaleFigures { currency, totals } = SaleFigures::read(sale)?;
            let currency = currencies.parse(currency)?;
            part.by_device.entry((device_no, currency)).or_default().add(totals, 1);
            Ok(())
        };
        bind_part(&SALES_IN_PART, part, range, group).fold(rows, add)
    };
    range.partial_days.iter().map(part).collect()
}

/// Reads the sales of each product in the range on a partial day, if some sales of the day are
/// outside of the range.
pub(super) fn products_in_parts(
    range: &Range,
    group: HintedGroup,
    dictionaries: &Arc<Dictionaries>,
) -> Vec<Reading<ProductsInPart>> {
    let part = |part: &PartialDay| {
        let dictionaries = Arc::clone(dictionaries);
        let rows = ProductsInPart { day: part.day, sales: HashMap::new() };
        let add = move |part: &mut ProductsInPart, row: &Row<'_>| {
            let order: StoredOrder<'_> = row.read()?;
            let sale = order.sale(&order.text(&dictionaries)?)?;
            for goods in sale.goods {
                let of_product = (order.device_no, sale.currency, goods.goods_id);
                let (items, amount) = part.sales.entry(of_product).or_default();
                *items += goods.items;
                *amount += goods.amount.0;
            }
            Ok(())
        };
        bind_part(&ORDERS_IN_PART, part, range, group).fold(rows, add)
    };
    range.partial_days.iter().map(part).collect()
}

fn bind_part(
    statement: &'static Sql,
    part: &PartialDay,
    range: &Range,
    group: HintedGroup,
) -> Bound {
    let PartialDay { day, start, end } = *part;
    let (range_start, range_end) = (range.start.into(), range.end.into());
    let params = [group.into(), day.into(), range_start, range_end, start.into(), end.into()];
    Bound::new(statement, params)
}

/// Fails for a device that has sales, and no ledger with its name: the data is damaged.
pub(super) fn check_named(unnamed: Option<DeviceNo>) -> Result<(), Error> {
    match unnamed {
        Some(device) => Err(Error::Data(format!("device {} has sales and no name", device.0))),
        None => Ok(()),
    }
}

fn days_of(range: &Range, group: HintedGroup) -> [Value<'static>; 3] {
    [group.into(), range.first_day.into(), range.last_day.into()]
}
