//! The sums of sales of a range: stored sums of whole days, and the sales of partial days, which
//! are counted from their orders.

use kiosque_model::sales::{Rate, Rates, Totals, Turnover, Usd};
use kiosque_model::{Currency, Day, DeviceNo, Minor, UnixMs};

use super::SalesBy;
use super::cache::DayTotal;
use super::range::{PartialDay, Range};
use crate::Error;
use crate::db::Bound;
use crate::devices::CodeFilter;
use crate::orders::record::sale::sale_of;
use crate::scoped_query::HintedGroup;
use crate::sql::{Row, Value, row, statements};

row! {
    struct TotalsRow {
        orders: i64,
        items: i64,
        amount: i64,
        refund: i64,
        shipped: i64,
        failed: i64,
    }
    pub(super) struct DayRow<'r> {
        day: Day,
        currency: &'r str,
        totals: TotalsRow,
        first_sale_at_ms: UnixMs,
        last_sale_at_ms: UnixMs,
    }
    pub(super) struct RateRow<'r> { currency: &'r str, day: Day, usd_per_unit_e12: i64 }
    /// The first columns of the rows below, by which a row can be skipped.
    struct DayOfDevice { day: Day, device_no: DeviceNo }
    struct DeviceDayRow<'r> { key: DayOfDevice, currency: &'r str, totals: TotalsRow }
    struct ProductDayRow<'r> {
        key: DayOfDevice,
        goods_id: &'r str,
        currency: &'r str,
        items: i64,
        amount: i64,
    }
    struct SaleRow<'r> {
        device_no: DeviceNo,
        sale_at_ms: UnixMs,
        head: &'r [u8],
        lines: &'r [u8],
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
    ALL_DEVICES(group_no, first_day, last_day) -> DeviceDayRow<'_> = "select day, device_no,
            currency, orders, items, amount, refund, shipped, failed
        from sales_by_device
        where group_no = $group_no and day >= $first_day and day <= $last_day";
    SOME_DEVICES(group_no) -> DeviceDayRow<'_> = "select s.day, s.device_no,
            s.currency, s.orders, s.items, s.amount, s.refund, s.shipped, s.failed
        from {rows r: day bigint, code text}
        cross join ledger l cross join sales_by_device s
        where l.group_no = $group_no and l.device_code = r.code
            and s.group_no = $group_no and s.day = r.day and s.device_no = l.device_no";
    PRODUCTS_OF_ALL_DEVICES(group_no, first_day, last_day) -> ProductDayRow<'_> = "select day,
            device_no, goods_id, currency, items, amount
        from sales_by_product
        where group_no = $group_no and day >= $first_day and day <= $last_day";
    PRODUCTS_OF_SOME_DEVICES(group_no) -> ProductDayRow<'_> = "select s.day,
            s.device_no, s.goods_id, s.currency, s.items, s.amount
        from {rows r: day bigint, code text}
        cross join ledger l cross join sales_by_product s
        where l.group_no = $group_no and l.device_code = r.code
            and s.group_no = $group_no and s.day = r.day and s.device_no = l.device_no";
    /// No rows if all sales of the day lie in the range.
    PARTIAL_DAY(
        group_no, day, range_start_ms, range_end_ms, part_start_ms, part_end_ms
    ) -> SaleRow<'_> = "select o.device_no, o.sale_at_ms, o.head, o.lines
        from (
            select 1 as is_partial from sales_by_day
            where group_no = $group_no and day = $day
                and (first_sale_at_ms < $range_start_ms or last_sale_at_ms >= $range_end_ms)
            limit 1
        ) c cross join orders o
        where o.group_no = $group_no
            and o.sale_at_ms >= $part_start_ms and o.sale_at_ms < $part_end_ms";
}

/// Days of devices that are looked up one by one; for more, the sums of all devices are read.
const LOOK_UPS_MAX: usize = 4_000;

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

/// Sales of a device on a day, in one currency.
pub(super) struct Sum<'a> {
    pub(super) device: DeviceNo,
    pub(super) day: Day,
    /// Empty for the sales of all products.
    pub(super) goods_id: &'a str,
    /// Only items and amount for the sales of one product.
    pub(super) totals: Totals,
    currency: Currency,
    rates: &'a Rates,
}

pub(super) fn bind_days(range: &Range, group: HintedGroup) -> Bound<'static> {
    Bound::new(&DAYS, days_of(range, group))
}

pub(super) fn bind_rates(range: &Range, group: HintedGroup) -> Bound<'static> {
    Bound::new(&RATES, days_of(range, group))
}

pub(super) fn bind_devices<'a>(
    codes: &'a [CodeFilter],
    range: &Range,
    group: HintedGroup,
) -> Bound<'a> {
    match look_ups(codes, range) {
        Some(rows) => Bound::new(&SOME_DEVICES, [group.into()]).with_rows(rows),
        None => Bound::new(&ALL_DEVICES, days_of(range, group)),
    }
}

pub(super) fn bind_products<'a>(
    codes: &'a [CodeFilter],
    range: &Range,
    group: HintedGroup,
) -> Bound<'a> {
    match look_ups(codes, range) {
        Some(rows) => Bound::new(&PRODUCTS_OF_SOME_DEVICES, [group.into()]).with_rows(rows),
        None => Bound::new(&PRODUCTS_OF_ALL_DEVICES, days_of(range, group)),
    }
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

/// Returns each day of each device of a filter, unless they are too many or the filter is empty.
fn look_ups<'a>(codes: &'a [CodeFilter], range: &Range) -> Option<Vec<Vec<Value<'a>>>> {
    let days = usize::try_from(range.day_count()).unwrap_or(usize::MAX);
    if codes.is_empty() || days.saturating_mul(codes.len()) > LOOK_UPS_MAX {
        return None;
    }
    let codes = codes.iter().filter_map(|code| code.as_ref().ok());
    let mut codes: Vec<&str> = codes.map(|code| code.as_str()).collect();
    // The sales of a repeated code count once.
    codes.sort_unstable();
    codes.dedup();
    let of_day = |day: i64| codes.iter().map(move |code| vec![day.into(), (*code).into()]);
    Some((range.first_day.0..=range.last_day.0).flat_map(of_day).collect())
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

    /// Reads the sums of a device on a day, unless the day is partial.
    pub(super) fn on_device_day(
        &mut self,
        row: &Row<'_>,
        selects: impl Fn(DeviceNo) -> bool,
        mut on_sum: impl FnMut(&Sum<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if !self.counts(&row.read()?, selects) {
            return Ok(());
        }
        let DeviceDayRow { key, currency, totals } = row.read()?;
        let DayOfDevice { day, device_no: device } = key;
        let (currency, totals) = (self.currency(currency)?, totals.totals());
        on_sum(&Sum { device, day, goods_id: "", totals, currency, rates: &self.rates })
    }

    /// Reads the sums of a product of a device on a day, unless the day is partial.
    pub(super) fn on_product_day(
        &mut self,
        row: &Row<'_>,
        selects: impl Fn(DeviceNo) -> bool,
        mut on_sum: impl FnMut(&Sum<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if !self.counts(&row.read()?, selects) {
            return Ok(());
        }
        let ProductDayRow { key, goods_id, currency, items, amount } = row.read()?;
        let DayOfDevice { day, device_no: device } = key;
        let (currency, totals) = (self.currency(currency)?, product_totals(items, amount));
        on_sum(&Sum { device, day, goods_id, totals, currency, rates: &self.rates })
    }

    /// Reads an order of a partial day: one sum, or one of each product.
    pub(super) fn on_partial_day(
        &mut self,
        day: Day,
        sales_by: SalesBy,
        row: &Row<'_>,
        selects: impl Fn(DeviceNo) -> bool,
        mut on_sum: impl FnMut(&Sum<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let SaleRow { device_no: device, sale_at_ms, head, lines } = row.read()?;
        if !selects(device) {
            return Ok(());
        }
        let sale = sale_of(head, lines, sale_at_ms)?;
        let (currency, rates) = (sale.currency, &self.rates);
        if sales_by != SalesBy::Product {
            let totals = sale.totals();
            return on_sum(&Sum { device, day, goods_id: "", totals, currency, rates });
        }
        sale.goods.iter().try_for_each(|goods| {
            let (goods_id, totals) =
                (goods.goods_id.as_str(), product_totals(goods.items, goods.amount.0));
            on_sum(&Sum { device, day, goods_id, totals, currency, rates })
        })
    }

    /// Returns whether the stored sum of a device on a day counts as it is.
    fn counts(&self, key: &DayOfDevice, selects: impl Fn(DeviceNo) -> bool) -> bool {
        !self.is_partial(key.day) && selects(key.device_no)
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
                total.turnover.add(&self.rates, day, sum.currency, sum.totals)?;
                total.first_sale = total.first_sale.min(sum.first_sale);
                total.last_sale = total.last_sale.max(sum.last_sale);
            }
            totals.push(total);
        }
        Ok(totals)
    }

    fn currency(&mut self, code: &str) -> Result<Currency, Error> {
        if let Some(known) = self.currencies.iter().find(|known| known.code() == code) {
            return Ok(*known);
        }
        let new = parse_currency(code)?;
        self.currencies.push(new);
        Ok(new)
    }
}

impl Sum<'_> {
    /// Returns the sum in dollars.
    pub(super) fn turnover(&self) -> Result<Turnover, Error> {
        let mut turnover = Turnover::default();
        turnover.add(self.rates, self.day, self.currency, self.totals)?;
        Ok(turnover)
    }

    /// Returns the amount in dollars; `None` without an exchange rate.
    pub(super) fn amount(&self) -> Result<Option<Usd>, Error> {
        let Some(rate) = self.rates.on(self.currency, self.day) else { return Ok(None) };
        Ok(Some(Usd::of(Minor(self.totals.amount), self.currency, rate)?))
    }
}

impl TotalsRow {
    fn totals(&self) -> Totals {
        let TotalsRow { orders, items, amount, refund, shipped, failed } = *self;
        Totals { orders, items, amount, refund, shipped, failed }
    }
}

fn product_totals(items: i64, amount: i64) -> Totals {
    Totals { items, amount, ..Totals::default() }
}

/// Parses a stored currency.
pub(super) fn parse_currency(code: &str) -> Result<Currency, Error> {
    Currency::parse(code).map_err(|fault| Error::Data(fault.to_string()))
}
