//! The sums of sales of a range by day: stored sums of whole days, and the sales of partial days,
//! which are counted from their orders.

use kiosque_model::sales::{Rate, Rates, Totals, Turnover};
use kiosque_model::{Currency, Day, DeviceNo, UnixMs};

use super::day_totals::DayTotal;
use super::range::{PartialDay, Range};
use super::spans::Spans;
use super::{ProductSum, Sales, SalesBy, SoldBy};
use crate::Error;
use crate::db::Bound;
use crate::devices::CodeFilter;
use crate::months::ProductTotals;
use crate::orders::record::stored::{StoredOrder, order_columns};
use crate::scoped_query::HintedGroup;
use crate::sql::{Row, Sql, Value, row, statements};
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
    pub(super) struct DayRateRow<'r> {
        day: Day,
        currency: &'r str,
        first_sale_at_ms: UnixMs,
        last_sale_at_ms: UnixMs,
        usd_per_unit_e12: Option<i64>,
    }
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
}

/// The beginning of the `from` of a statement about the days from `r.first_day` to `r.last_day`. It
/// has no rows if they are a month that is read as a month. None is after a change by an older
/// program, which deletes no marks. (A condition with a subquery would be evaluated for each day.)
macro_rules! from_unread_days {
    ($columns:literal) => {
        concat!(
            " from {rows r: month bigint, first_day bigint, last_day bigint",
            $columns,
            "} cross join group_changes g
            left join sales_months m on m.group_no = $group_no and m.first_day = r.month
                and m.closed and g.months_change_no = g.last_change_no
                and m.first_sale_at_ms >= $start_ms and m.last_sale_at_ms < $end_ms "
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
        ), $first_day)
        order by r.currency, r.day";
    /// The bounds of days, and the rates on them.
    DAY_RATES(group_no, start_ms, end_ms) -> DayRateRow<'_> = concat!(
        "select d.day, d.currency, d.first_sale_at_ms, d.last_sale_at_ms, (
            select t.usd_per_unit_e12 from rates t
            where t.currency = d.currency and t.day <= d.day order by t.day desc limit 1
        ) as usd_per_unit_e12",
        from_unread_days!(""),
        "cross join sales_by_day d
        where g.group_no = $group_no and m.first_day is null
            and d.group_no = $group_no and d.day >= r.first_day and d.day <= r.last_day
        order by d.day"
    );
    ALL_DEVICES(group_no, start_ms, end_ms) -> DeviceDayRow<'_> = concat!(
        "select s.day, s.device_no, s.currency, s.orders, s.items, s.amount, s.refund, s.shipped,
            s.failed",
        from_unread_days!(""),
        "cross join sales_by_device s
        where g.group_no = $group_no and m.first_day is null
            and s.group_no = $group_no and s.day >= r.first_day and s.day <= r.last_day"
    );
    SOME_DEVICES(group_no, start_ms, end_ms) -> DeviceDayRow<'_> = concat!(
        "select s.day, s.device_no, s.currency, s.orders, s.items, s.amount, s.refund, s.shipped,
            s.failed",
        from_unread_days!(", code text"),
        "cross join ledger l cross join sales_by_day d cross join sales_by_device s
        where g.group_no = $group_no and m.first_day is null
            and l.group_no = $group_no and l.device_code = r.code
            and d.group_no = $group_no and d.day >= r.first_day and d.day <= r.last_day
            and s.group_no = $group_no and s.day = d.day and s.device_no = l.device_no
            and s.currency = d.currency"
    );
    PRODUCTS_OF_ALL_DEVICES(group_no, start_ms, end_ms) -> ProductDayRow<'_> = concat!(
        "select s.day, s.device_no, s.goods_id, s.currency, s.items, s.amount",
        from_unread_days!(""),
        "cross join sales_by_product s
        where g.group_no = $group_no and m.first_day is null
            and s.group_no = $group_no and s.day >= r.first_day and s.day <= r.last_day"
    );
    PRODUCTS_OF_SOME_DEVICES(group_no, start_ms, end_ms) -> ProductDayRow<'_> = concat!(
        "select s.day, s.device_no, s.goods_id, s.currency, s.items, s.amount",
        from_unread_days!(", code text"),
        "cross join ledger l cross join sales_by_day d cross join sales_by_product s
        where g.group_no = $group_no and m.first_day is null
            and l.group_no = $group_no and l.device_code = r.code
            and d.group_no = $group_no and d.day >= r.first_day and d.day <= r.last_day
            and s.group_no = $group_no and s.day = d.day and s.device_no = l.device_no
            and s.currency = d.currency"
    );
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

pub(super) fn bind_day_rates(spans: &Spans, group: HintedGroup) -> Bound<'static> {
    Bound::new(&DAY_RATES, spans.params(group)).with_rows(spans.day_rows())
}

pub(super) fn bind_devices<'a>(
    codes: &'a [CodeFilter],
    spans: &Spans,
    group: HintedGroup,
) -> Bound<'a> {
    bind_sums((&ALL_DEVICES, &SOME_DEVICES), codes, spans, group)
}

pub(super) fn bind_products<'a>(
    codes: &'a [CodeFilter],
    spans: &Spans,
    group: HintedGroup,
) -> Bound<'a> {
    bind_sums((&PRODUCTS_OF_ALL_DEVICES, &PRODUCTS_OF_SOME_DEVICES), codes, spans, group)
}

fn bind_sums<'a>(
    (of_all, of_some): (&'static Sql, &'static Sql),
    codes: &'a [CodeFilter],
    spans: &Spans,
    group: HintedGroup,
) -> Bound<'a> {
    match codes {
        [] => Bound::new(of_all, spans.params(group)).with_rows(spans.day_rows()),
        codes => Bound::new(of_some, spans.params(group)).with_rows(spans.day_rows_of(codes)),
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

    pub(super) fn add_day_rate(
        &mut self,
        row: &DayRateRow<'_>,
        range: &Range,
    ) -> Result<(), Error> {
        let DayRateRow { day, currency, usd_per_unit_e12, .. } = *row;
        if row.first_sale_at_ms < range.start || row.last_sale_at_ms >= range.end {
            self.partial.push(day);
        }
        match usd_per_unit_e12 {
            Some(usd_per_unit_e12) => self.add_rate(&RateRow { currency, day, usd_per_unit_e12 }),
            None => Ok(()),
        }
    }

    /// Reads the sums of a device on a day, unless the day is partial.
    pub(super) fn on_device_day(
        &mut self,
        row: &Row<'_>,
        selects: impl Fn(DeviceNo) -> bool,
        mut on_sales: impl FnMut(&Sales<'_>),
    ) -> Result<(), Error> {
        if !self.counts(&row.read()?, selects) {
            return Ok(());
        }
        let DeviceDayRow { key, currency, totals } = row.read()?;
        let currency = self.currency(currency)?;
        on_sales(&self.device_sales(key, currency, totals.totals())?);
        Ok(())
    }

    /// Reads the sums of a product of a device on a day, unless the day is partial.
    pub(super) fn on_product_day(
        &mut self,
        row: &Row<'_>,
        selects: impl Fn(DeviceNo) -> bool,
        mut on_sales: impl FnMut(&Sales<'_>),
    ) -> Result<(), Error> {
        if !self.counts(&row.read()?, selects) {
            return Ok(());
        }
        let ProductDayRow { key, goods_id, currency, items, amount } = row.read()?;
        let currency = self.currency(currency)?;
        on_sales(&self.product_sales(&key, goods_id, (items, amount, currency))?);
        Ok(())
    }

    /// Reads an order of a partial day: one sum, or one of each product.
    pub(super) fn on_partial_day(
        &mut self,
        day: Day,
        sales_by: SalesBy,
        row: &Row<'_>,
        selects: impl Fn(DeviceNo) -> bool,
        mut on_sales: impl FnMut(&Sales<'_>),
    ) -> Result<(), Error> {
        let order: StoredOrder<'_> = row.read()?;
        let device_no = order.device_no;
        if !selects(device_no) {
            return Ok(());
        }
        let (sale, key) = (order.sale()?, DayOfDevice { day, device_no });
        let currency = sale.currency;
        if sales_by != SalesBy::Product {
            on_sales(&self.device_sales(key, currency, sale.totals())?);
            return Ok(());
        }
        for goods in &sale.goods {
            let sums = (goods.items, goods.amount.0, currency);
            on_sales(&self.product_sales(&key, &goods.goods_id, sums)?);
        }
        Ok(())
    }

    fn device_sales(
        &self,
        key: DayOfDevice,
        currency: Currency,
        totals: Totals,
    ) -> Result<Sales<'static>, Error> {
        let DayOfDevice { day, device_no: device } = key;
        let mut turnover = Turnover::default();
        turnover.add(&self.rates, day, currency, totals)?;
        Ok(Sales::OfDevice { device, day: Some(day), turnover })
    }

    fn product_sales<'a>(
        &self,
        key: &DayOfDevice,
        goods_id: &'a str,
        (items, amount, currency): (i64, i64, Currency),
    ) -> Result<Sales<'a>, Error> {
        let rate = self.rates.on(currency, key.day);
        let totals = ProductTotals::of(items, amount, (currency, rate))?;
        Ok(Sales::OfProduct(ProductSum {
            goods_id,
            totals,
            sold_by: SoldBy::Device(key.device_no),
        }))
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

#[cfg(test)]
mod tests {
    use rusqlite::{Connection, StatementStatus};

    use super::*;

    /// Days with sales, from the first day of 1970 on: two months.
    const DAYS: i64 = 59;

    fn with_sums() -> Connection {
        let connection = Connection::open_in_memory().expect("a database");
        connection.execute_batch(&crate::migrate::texts()).expect("the layout");
        let rows = format!(
            "with recursive sold(day) as (select 0 union all select day + 1 from sold
                where day < {DAYS} - 1)"
        );
        let script = format!(
            "insert into group_changes (group_no, last_change_no) values (1, 0);
            insert into ledger (group_no, device_code, device_no, since_ms, first_seq,
                archived_seq, last_seq) values (1, 'd', 7, 0, 1, 0, 0);
            {rows} insert into sales_by_day select 1, day, 'EUR', 1, 1, 1, 0, 1, 0,
                day * 86400000, day * 86400000 from sold;
            {rows} insert into sales_by_device select 1, day, 7, 'EUR', 1, 1, 1, 0, 1, 0
                from sold;
            {rows} insert into sales_by_product select 1, day, 7, 'p', 'EUR', 1, 1 from sold;"
        );
        connection.execute_batch(&script).expect("sums");
        connection
    }

    /// Returns the rows of a statement about January 1970 and the instructions that it ran.
    fn run(connection: &Connection, sql: &Sql) -> (usize, i32) {
        let text = sql.for_sqlite().expect("a statement");
        let mut statement = connection.prepare(text).expect("a statement");
        let days: [Value<'_>; 3] = [0.into(), 0.into(), 30.into()];
        let code = (sql.bulk_types().expect("types").len() == 4).then_some("d".into());
        let params: [Value<'_>; 3] = [1.into(), 0.into(), (DAYS * 86_400_000).into()];
        let params = days.into_iter().chain(code).chain(params);
        let mut rows = statement.query(rusqlite::params_from_iter(params)).expect("rows");
        let mut count = 0;
        while rows.next().expect("a row").is_some() {
            count += 1;
        }
        drop(rows);
        (count, statement.get_status(StatementStatus::VmStep))
    }

    /// A closed month costs its look-up, however many days it has.
    #[test]
    fn the_days_of_a_closed_month_are_not_visited() {
        let connection = with_sums();
        let statements = [
            &DAY_RATES,
            &ALL_DEVICES,
            &SOME_DEVICES,
            &PRODUCTS_OF_ALL_DEVICES,
            &PRODUCTS_OF_SOME_DEVICES,
        ];
        let mark = |closed: &str, last_ms: i64| {
            let script = format!(
                "insert or replace into sales_months values (1, 0, 1, {closed}, 0, 0, {last_ms})"
            );
            connection.execute_batch(&script).expect("a mark");
        };
        for sql in statements {
            mark("false", 0);
            let (rows, open) = run(&connection, sql);
            assert_eq!(rows, 31, "{}", sql.name);
            mark("true", DAYS * 86_400_000);
            assert_eq!(run(&connection, sql).0, 31, "{}: sales after the range", sql.name);
            mark("true", 0);
            let (rows, closed) = run(&connection, sql);
            assert_eq!(rows, 0, "{}", sql.name);
            assert!(closed * 5 < open, "{}: {closed} instructions, {open} by day", sql.name);
        }
    }
}
