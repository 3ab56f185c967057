//! A range of sales: which of its days are taken as they are kept, and which stretches are counted
//! from their orders.

use kiosque_model::sales::{Rate, Rates, Sold as SoldGoods, Totals, Turnover};
use kiosque_model::{Currency, Day, DeviceNo, UnixMs, Zone};

use super::cache::DaySum;
use super::{Grain, ReportQuery};
use crate::Error;
use crate::db::{Bound, Cost, Decision};
use crate::orders::record::sale::sale_of;
use crate::scoped_query::HintedGroup;
use crate::sql::{Row, Value, statements};

statements! {
    DAYS = "select orders, items, amount, refund, shipped, failed, currency, day,
            first_sale_at_ms, last_sale_at_ms
        from sales_by_day where group_no = $1 and day >= $2 and day <= $3 order by day";
    /// Of every currency that something was sold in: what holds from the first day to the last.
    RATES = "select r.currency, r.day, r.usd_per_unit_e12 from (
            select distinct currency from sales_by_day
            where group_no = $1 and day >= $2 and day <= $3
        ) sold join rates r on r.currency = sold.currency
        where r.day <= $3 and r.day >= coalesce(
            (select max(day) from rates where currency = sold.currency and day <= $2), $2)
        order by r.currency, r.day";
    DEVICE_DAYS = "select orders, items, amount, refund, shipped, failed, currency, day, device_no
        from sales_by_device where group_no = $1 and day >= $2 and day <= $3";
    DAYS_OF_DEVICES = "select s.orders, s.items, s.amount, s.refund, s.shipped, s.failed,
            s.currency, s.day, s.device_no
        from {rows r: day bigint, code text}
        cross join ledger l cross join sales_by_device s
        where l.group_no = $3 and l.device_code = r.code
            and s.group_no = $3 and s.day = r.day and s.device_no = l.device_no";
    PRODUCT_DAYS = "select items, amount, goods_id, currency, day, device_no
        from sales_by_product where group_no = $1 and day >= $2 and day <= $3";
    PRODUCTS_OF_DEVICES = "select s.items, s.amount, s.goods_id, s.currency, s.day, s.device_no
        from {rows r: day bigint, code text}
        cross join ledger l cross join sales_by_product s
        where l.group_no = $3 and l.device_code = r.code
            and s.group_no = $3 and s.day = r.day and s.device_no = l.device_no";
    /// The sales of part of a day, unless the whole of the day's sales lie in the range.
    SALES = "select o.device_no, o.sale_at_ms, o.head, o.lines
        from (
            select 1 as cut from sales_by_day
            where group_no = $1 and day = $2 and (first_sale_at_ms < $3 or last_sale_at_ms >= $4)
            limit 1
        ) c cross join orders o
        where o.group_no = $1 and o.sale_at_ms >= $5 and o.sale_at_ms < $6";
}

/// Days that are read where they are asked for; more go to a thread for long work.
const DAYS_IN_PLACE_MAX: i64 = 100;
/// Days of devices that are looked up one by one; above that, all devices of the days are read.
const LOOKED_UP_MAX: usize = 4_000;

/// The sums of a day in one currency, as they are kept.
struct KeptDay {
    day: Day,
    currency: Currency,
    totals: Totals,
    first_sale: UnixMs,
    last_sale: UnixMs,
}

/// Part of a day, to be counted from its orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PartialDay {
    day: Day,
    start: UnixMs,
    end: UnixMs,
}

/// What a range of sales is made of, as far as it has been read.
#[derive(Default)]
pub(super) struct Range {
    kept: Vec<KeptDay>,
    /// Those that are not taken as they are kept: at most the first and the last.
    cut: Vec<Day>,
    currencies: Vec<Currency>,
    /// Of every currency in it.
    pub(super) rates: Rates,
}

/// What was sold on a day.
#[derive(Clone, Copy)]
pub(super) struct Sold<'a> {
    /// By whom; nobody's number where all devices are taken together.
    pub(super) device: DeviceNo,
    pub(super) day: Day,
    pub(super) currency: Currency,
    /// What; empty where all goods are taken together.
    pub(super) goods_id: &'a str,
    /// Of goods, their items and their amount alone.
    pub(super) totals: Totals,
}

/// One of the statements that a range is read with.
#[derive(Clone, Copy)]
pub(super) enum Part {
    Days(Day, Day),
    Rates(Day, Day),
    DeviceDays(Day, Day),
    ProductDays(Day, Day),
    Sales(StretchAsked),
}

/// A stretch that is asked about, in case that the sales of its day lie on both sides.
#[derive(Clone, Copy)]
pub(super) struct StretchAsked(PartialDay);

/// Every day that has an instant in the range. Some zones once left a whole day out.
pub(super) fn days_touched(zone: &Zone, start: UnixMs, end: UnixMs) -> Vec<Day> {
    if start >= end {
        return Vec::new();
    }
    let mut days = Vec::new();
    let (mut day, last) = (zone.day_of(start), zone.day_of(end.plus_ms(-1)));
    while day < last {
        if zone.start_of(day) < zone.start_of(day.next()) {
            days.push(day);
        }
        day = day.next();
    }
    days.push(last);
    days
}

/// How the sales of a view are read.
pub(super) struct Plan {
    /// The first and the last day of the range; `None` when it is empty, or no sales are asked for.
    pub(super) span: Option<(Day, Day)>,
    /// The statements, in their order.
    pub(super) parts: Vec<Part>,
    pub(super) cost: Cost,
}

impl Plan {
    pub(super) fn of(view: &ReportQuery, grain: Grain) -> Plan {
        let Some((first, last)) = span(view).filter(|_| grain != Grain::None) else {
            let cost = if grain == Grain::Day { Cost::Inline } else { Cost::Blocking };
            return Plan { span: None, parts: Vec::new(), cost };
        };
        let mut parts = vec![Part::Days(first, last), Part::Rates(first, last)];
        match grain {
            Grain::Day if view.ask.devices.is_empty() => {}
            Grain::None => {}
            Grain::Day | Grain::Device => parts.push(Part::DeviceDays(first, last)),
            Grain::Product => parts.push(Part::ProductDays(first, last)),
        }
        let stretches = stretches(view, (first, last));
        let cost = match grain {
            Grain::Day => cost(view, (first, last), &stretches),
            _ => Cost::Blocking,
        };
        parts.extend(stretches.into_iter().map(|cut| Part::Sales(StretchAsked(cut))));
        Plan { span: Some((first, last)), parts, cost }
    }
}

/// How long it may take to read sums by day: a range that ends now has nothing to count in its last
/// day but what is dated ahead.
fn cost(view: &ReportQuery, (first, last): (Day, Day), stretches: &[PartialDay]) -> Cost {
    let counts = stretches.iter().any(|cut| cut.end < view.now || cut.start == view.ask.start);
    let is_long = last.0 - first.0 >= DAYS_IN_PLACE_MAX || !view.ask.devices.is_empty();
    match (is_long, counts) {
        (true, _) => Cost::Blocking,
        (false, true) => Cost::Unknown,
        (false, false) => Cost::Inline,
    }
}

fn span(view: &ReportQuery) -> Option<(Day, Day)> {
    let (start, end) = (view.ask.start, view.ask.end);
    (start < end).then(|| (view.zone.day_of(start), view.zone.day_of(end.plus_ms(-1))))
}

/// The parts of days that the range has only a part of: its first, its last, or both.
fn stretches(view: &ReportQuery, (first, last): (Day, Day)) -> Vec<PartialDay> {
    let mut days = vec![first, last];
    days.dedup();
    let cut = days.into_iter().filter_map(|day| {
        let (begins, ends) = (view.zone.start_of(day), view.zone.start_of(day.next()));
        let (start, end) = (view.ask.start.max(begins), view.ask.end.min(ends));
        (start > begins || end < ends).then_some(PartialDay { day, start, end })
    });
    cut.collect()
}

impl Part {
    pub(super) fn bind<'a>(&self, view: &'a ReportQuery, group: HintedGroup) -> Bound<'a> {
        let of = |first: &Day, last: &Day| [group.into(), first.0.into(), last.0.into()];
        match self {
            Part::Days(first, last) => Bound::new(&DAYS, of(first, last)),
            Part::Rates(first, last) => Bound::new(&RATES, of(first, last)),
            Part::DeviceDays(first, last) => match looked_up(view, *first, *last) {
                Some(rows) => Bound::new(&DAYS_OF_DEVICES, [group.into()]).with_rows(rows),
                None => Bound::new(&DEVICE_DAYS, of(first, last)),
            },
            Part::ProductDays(first, last) => match looked_up(view, *first, *last) {
                Some(rows) => Bound::new(&PRODUCTS_OF_DEVICES, [group.into()]).with_rows(rows),
                None => Bound::new(&PRODUCT_DAYS, of(first, last)),
            },
            Part::Sales(StretchAsked(cut)) => {
                let (start, end) = (view.ask.start, view.ask.end);
                let times = [start, end, cut.start, cut.end].map(|at| Value::Int(at.0));
                let [start, end, cut_start, cut_end] = times;
                let day = cut.day.0.into();
                Bound::new(&SALES, [group.into(), day, start, end, cut_start, cut_end])
            }
        }
    }

    /// A stretch is counted only if there are sales on both sides of it, and that takes long.
    pub(super) fn decide(&self, range: &Range) -> Decision {
        match self {
            Part::Sales(StretchAsked(cut)) if range.is_cut(cut.day) => Decision::RunBlocking,
            Part::Sales(_) => Decision::Skip,
            _ => Decision::Run,
        }
    }

    /// Takes a row, and passes on what was sold, if the device is shown.
    pub(super) fn on_row(
        &self,
        view: &ReportQuery,
        grain: Grain,
        range: &mut Range,
        row: &Row<'_>,
        shows: impl Fn(DeviceNo) -> bool,
        mut sold: impl FnMut(&Range, Sold<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        match self {
            Part::Days(..) => range.keep(view, row),
            Part::Rates(..) => range.rate(row),
            Part::DeviceDays(..) => {
                let (day, device) = (Day(row.int(7)?), DeviceNo(row.int(8)?));
                if range.is_cut(day) || !shows(device) {
                    return Ok(());
                }
                let (currency, totals) = (range.known(row.text(6)?)?, totals(row)?);
                sold(range, Sold { device, day, currency, goods_id: "", totals })
            }
            Part::ProductDays(..) => {
                let (day, device) = (Day(row.int(4)?), DeviceNo(row.int(5)?));
                if range.is_cut(day) || !shows(device) {
                    return Ok(());
                }
                let (goods_id, currency) = (row.text(2)?, range.known(row.text(3)?)?);
                let totals = of_goods(row.int(0)?, row.int(1)?);
                sold(range, Sold { device, day, currency, goods_id, totals })
            }
            Part::Sales(StretchAsked(cut)) => {
                let device = DeviceNo(row.int(0)?);
                if !shows(device) {
                    return Ok(());
                }
                let sale = sale_of(row.bytes(2)?, row.bytes(3)?, UnixMs(row.int(1)?))?;
                let (day, currency) = (cut.day, sale.currency);
                if grain != Grain::Product {
                    let totals = sale.totals();
                    return sold(range, Sold { device, day, currency, goods_id: "", totals });
                }
                sale.goods.iter().try_for_each(|SoldGoods { goods_id, items, amount, .. }| {
                    let totals = of_goods(*items, amount.0);
                    sold(range, Sold { device, day, currency, goods_id, totals })
                })
            }
        }
    }
}

/// Each day of each device that is asked about, while they are few.
fn looked_up(view: &ReportQuery, first: Day, last: Day) -> Option<Vec<Vec<Value<'_>>>> {
    let days = usize::try_from(last.0 - first.0 + 1).unwrap_or(usize::MAX);
    let devices = &view.ask.devices;
    if devices.is_empty() || days.saturating_mul(devices.len()) > LOOKED_UP_MAX {
        return None;
    }
    let mut codes: Vec<&str> =
        devices.iter().filter_map(|code| code.as_ref().ok()).map(|code| code.as_str()).collect();
    // A device that is named twice sold once.
    codes.sort_unstable();
    codes.dedup();
    let of_day = |day: i64| codes.iter().map(move |code| vec![day.into(), (*code).into()]);
    Some((first.0..=last.0).flat_map(of_day).collect())
}

impl Range {
    /// A day whose sales do not all lie in the range is counted as far as they do.
    fn keep(&mut self, view: &ReportQuery, row: &Row<'_>) -> Result<(), Error> {
        let (day, currency) = (Day(row.int(7)?), self.known(row.text(6)?)?);
        let (first_sale, last_sale) = (UnixMs(row.int(8)?), UnixMs(row.int(9)?));
        if first_sale < view.ask.start || last_sale >= view.ask.end {
            self.cut.push(day);
        }
        self.kept.push(KeptDay { day, currency, totals: totals(row)?, first_sale, last_sale });
        Ok(())
    }

    fn rate(&mut self, row: &Row<'_>) -> Result<(), Error> {
        let (currency, day, parts) = (self.known(row.text(0)?)?, Day(row.int(1)?), row.int(2)?);
        let rate = Rate::from_parts(parts);
        let rate = rate.ok_or_else(|| Error::Data(format!("{currency} on {day}: rate {parts}")))?;
        self.rates.add(currency, day, rate);
        Ok(())
    }

    fn is_cut(&self, day: Day) -> bool {
        self.cut.contains(&day)
    }

    /// What each day came to, whether it is taken whole or not.
    pub(super) fn days(&self) -> Result<Vec<DaySum>, Error> {
        let mut days: Vec<DaySum> = Vec::new();
        for of_day in self.kept.chunk_by(|one, next| one.day == next.day) {
            let Some(first) = of_day.first() else { continue };
            let (day, turnover) = (first.day, Turnover::default());
            let (first_sale, last_sale) = (first.first_sale, first.last_sale);
            let mut sum = DaySum { day, turnover, first_sale, last_sale };
            for kept in of_day {
                sum.turnover.add(&self.rates, day, kept.currency, kept.totals)?;
                sum.first_sale = sum.first_sale.min(kept.first_sale);
                sum.last_sale = sum.last_sale.max(kept.last_sale);
            }
            days.push(sum);
        }
        Ok(days)
    }

    /// The currency of a code, looked up once: there are few, and most rows have the same.
    fn known(&mut self, code: &str) -> Result<Currency, Error> {
        if let Some(known) = self.currencies.iter().find(|known| known.code() == code) {
            return Ok(*known);
        }
        let new = currency(code)?;
        self.currencies.push(new);
        Ok(new)
    }
}

fn totals(row: &Row<'_>) -> Result<Totals, Error> {
    Ok(Totals {
        orders: row.int(0)?,
        items: row.int(1)?,
        amount: row.int(2)?,
        refund: row.int(3)?,
        shipped: row.int(4)?,
        failed: row.int(5)?,
    })
}

fn of_goods(items: i64, amount: i64) -> Totals {
    Totals { items, amount, ..Totals::default() }
}

pub(super) fn currency(code: &str) -> Result<Currency, Error> {
    Currency::parse(code).map_err(|fault| Error::Data(fault.to_string()))
}
