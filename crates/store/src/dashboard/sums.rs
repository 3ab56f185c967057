//! The sums of sales of a range by day: stored sums of whole days, and the sales of partial days,
//! which are counted from their orders.

use kiosque_model::sales::{Rate, Rates, Totals, Turnover};
use kiosque_model::{Currency, Day, DeviceNo, Minor, UnixMs};

use super::day_totals::DayTotal;
use super::product_totals::ProductTotals;
use super::range::{PartialDay, Range};
use super::{ProductSum, Sales, SalesBy};
use crate::Error;
use crate::db::Bound;
use crate::orders::record::dictionaries::Dictionaries;
use crate::orders::record::stored::{StoredOrder, order_columns};
use crate::scoped_query::HintedGroup;
use crate::sql::{Row, Value, row, statements};
use crate::sums::{TotalsRow, parse_currency};

row! {
    pub(super) struct DayRow<'r> {
        day: Day,
        currency: &'r str,
        totals: TotalsRow,
        first_sale_at_ms: UnixMs,
        last_sale_at_ms: UnixMs,
    }
    pub(super) struct RateRow<'r> { currency: &'r str, day: Day, usd_per_unit_e12: i64 }
    /// Begins with the device, by which a row can be skipped.
    struct ProductDayRow<'r> {
        device_no: DeviceNo,
        day: Day,
        goods_id: &'r str,
        currency: &'r str,
        items: i64,
        amount: i64,
    }
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
        ), $first_day)
        order by r.currency, r.day";
    /// A day with sales outside of the range.
    PARTIAL(group_no, day, start_ms, end_ms) -> Day = "select day from sales_by_day
        where group_no = $group_no and day = $day
            and (first_sale_at_ms < $start_ms or last_sale_at_ms >= $end_ms) limit 1";
    PRODUCTS_OF(group_no, first_day, last_day) -> ProductDayRow<'_> = "select s.device_no, s.day,
            s.goods_id, s.currency, s.items, s.amount
        from {rows r: code text} cross join ledger l cross join sales_by_day d
        cross join sales_by_product s
        where l.group_no = $group_no and l.device_code = r.code
            and d.group_no = $group_no and d.day >= $first_day and d.day <= $last_day
            and s.group_no = $group_no and s.day = d.day and s.device_no = l.device_no
            and s.currency = d.currency";
    /// No rows if all sales of the day lie in the range.
    PARTIAL_DAY(
        group_no, day, range_start_ms, range_end_ms, part_start_ms, part_end_ms
    ) -> StoredOrder<'_> = concat!(
        "select ", order_columns!("o"), "
        from (
            select 1 as is_partial from sales_by_day
            where group_no = $group_no and day = $day
                and (first_sale_at_ms < $range_start_ms or last_sale_at_ms >= $range_end_ms)
            limit 1
        ) c cross join orders o
        where o.group_no = $group_no
            and o.sale_at_ms >= $part_start_ms and o.sale_at_ms < $part_end_ms");
}

/// The sums and rates of a range.
#[derive(Default)]
pub(super) struct SumRows {
    days: Vec<DayInCurrency>,
    /// Days with sales outside of the range: at most its first day and its last day.
    partial: Vec<Day>,
    /// A cache of parsed currencies: there are few, and most rows have the same.
    currencies: Vec<Currency>,
    rates: Rates,
}

struct DayInCurrency {
    day: Day,
    currency: Currency,
    totals: Totals,
    first_sale: UnixMs,
    last_sale: UnixMs,
}

pub(super) fn bind_days(range: &Range, group: HintedGroup) -> Bound<'static> {
    Bound::new(&DAYS, days_of(range, group))
}

pub(super) fn bind_rates(range: &Range, group: HintedGroup) -> Bound<'static> {
    Bound::new(&RATES, days_of(range, group))
}

pub(super) fn bind_partial(part: &PartialDay, range: &Range, group: HintedGroup) -> Bound<'static> {
    let params = [group.into(), part.day.into(), range.start.into(), range.end.into()];
    Bound::new(&PARTIAL, params)
}

/// Binds the sales of each product of the devices of a filter.
pub(super) fn bind_products_of<'a>(
    codes: Vec<Vec<Value<'a>>>,
    range: &Range,
    group: HintedGroup,
) -> Bound<'a> {
    Bound::new(&PRODUCTS_OF, days_of(range, group)).with_rows(codes)
}

pub(super) fn bind_partial_day(
    part: &PartialDay,
    range: &Range,
    group: HintedGroup,
) -> Bound<'static> {
    let PartialDay { day, start, end } = *part;
    let (range_start, range_end) = (range.start.into(), range.end.into());
    let params = [group.into(), day.into(), range_start, range_end, start.into(), end.into()];
    Bound::new(&PARTIAL_DAY, params)
}

fn days_of(range: &Range, group: HintedGroup) -> [Value<'static>; 3] {
    [group.into(), range.first_day.into(), range.last_day.into()]
}

impl SumRows {
    pub(super) fn add_day(&mut self, row: &DayRow<'_>, range: Option<&Range>) -> Result<(), Error> {
        let (day, currency, totals) = (row.day, self.currency(row.currency)?, row.totals.totals());
        let (first_sale, last_sale) = (row.first_sale_at_ms, row.last_sale_at_ms);
        if range.is_some_and(|range| first_sale < range.start || last_sale >= range.end) {
            self.partial.push(day);
        }
        self.days.push(DayInCurrency { day, currency, totals, first_sale, last_sale });
        Ok(())
    }

    pub(super) fn add_rate(&mut self, row: &RateRow<'_>) -> Result<(), Error> {
        let RateRow { currency, day, usd_per_unit_e12: parts } = *row;
        let currency = self.currency(currency)?;
        let rate = Rate::from_parts(parts);
        let rate = rate.ok_or_else(|| Error::Data(format!("{currency} on {day}: rate {parts}")))?;
        self.rates.add(currency, day, rate);
        Ok(())
    }

    pub(super) fn add_partial(&mut self, day: Day) {
        self.partial.push(day);
    }

    pub(super) const fn rates(&self) -> &Rates {
        &self.rates
    }

    /// Reads the sums of a product of a device on a day, unless the day is partial.
    pub(super) fn on_product_day(
        &mut self,
        row: &Row<'_>,
        selects: impl Fn(DeviceNo) -> bool,
        mut on_sales: impl FnMut(&Sales<'_>),
    ) -> Result<(), Error> {
        if !selects(row.read()?) {
            return Ok(());
        }
        let ProductDayRow { device_no, day, goods_id, currency, items, amount } = row.read()?;
        if self.is_partial(day) {
            return Ok(());
        }
        let currency = self.currency(currency)?;
        let rate = self.rates.on(currency, day);
        let totals = ProductTotals::of((items, Minor(amount)), (currency, rate))?;
        let sold_by = (items != 0).then_some(device_no);
        on_sales(&Sales::OfProduct(ProductSum { goods_id, totals, sold_by }));
        Ok(())
    }

    /// Reads an order of a partial day: one sum, or one of each product.
    pub(super) fn on_partial_day(
        &mut self,
        day: Day,
        sales_by: SalesBy,
        (row, dictionaries): (&Row<'_>, &Dictionaries),
        selects: impl Fn(DeviceNo) -> bool,
        mut on_sales: impl FnMut(&Sales<'_>),
    ) -> Result<(), Error> {
        let order: StoredOrder<'_> = row.read()?;
        let device = order.device_no;
        if !selects(device) {
            return Ok(());
        }
        let sale = order.sale(dictionaries)?;
        let currency = (sale.currency, self.rates.on(sale.currency, day));
        if sales_by != SalesBy::Product {
            let mut turnover = Turnover::default();
            turnover.add(currency, sale.totals())?;
            on_sales(&Sales::OfDevice { device, day: Some(day), turnover });
            return Ok(());
        }
        for goods in &sale.goods {
            let totals = ProductTotals::of((goods.items, goods.amount), currency)?;
            let sold_by = (goods.items != 0).then_some(device);
            on_sales(&Sales::OfProduct(ProductSum { goods_id: &goods.goods_id, totals, sold_by }));
        }
        Ok(())
    }

    /// Returns whether all sales of a day lie in the range.
    pub(super) fn is_whole(&self, day: Day, range: &Range) -> bool {
        range.first_day <= day && day <= range.last_day && !self.is_partial(day)
    }

    /// Returns whether some sales of a day lie outside of the range.
    pub(super) fn is_partial(&self, day: Day) -> bool {
        self.partial.contains(&day)
    }

    /// Returns the total of each day with sales, partial days included as whole days.
    pub(super) fn days(&self) -> Result<Vec<DayTotal>, Error> {
        let mut totals: Vec<DayTotal> = Vec::new();
        for sums in self.days.chunk_by(|one, next| one.day == next.day) {
            let Some(first) = sums.first() else { continue };
            let (day, turnover) = (first.day, Turnover::default());
            let (first_sale, last_sale) = (first.first_sale, first.last_sale);
            let mut total = DayTotal { day, turnover, first_sale, last_sale };
            for sum in sums {
                let rate = self.rates.on(sum.currency, day);
                total.turnover.add((sum.currency, rate), sum.totals)?;
                total.first_sale = total.first_sale.min(sum.first_sale);
                total.last_sale = total.last_sale.max(sum.last_sale);
            }
            totals.push(total);
        }
        Ok(totals)
    }

    pub(super) fn currency(&mut self, code: &str) -> Result<Currency, Error> {
        if let Some(known) = self.currencies.iter().find(|known| known.code() == code) {
            return Ok(*known);
        }
        let new = parse_currency(code)?;
        self.currencies.push(new);
        Ok(new)
    }
}
