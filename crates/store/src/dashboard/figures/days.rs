//! The sales of days in dollars.

use std::collections::{BTreeMap, HashMap};

use foldhash::fast::RandomState;
use kiosque_model::sales::{Rates, Totals, Turnover};
use kiosque_model::{Currency, Day, DeviceNo, UnixMs, Zone};

use super::device_sums::Currencies;
use crate::dashboard::filter::Devices;
use crate::dashboard::range::Range;
use crate::error::Error;
use crate::sums::DayRow;

/// The sales of a day in all currencies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::dashboard) struct DayTotal {
    pub(in crate::dashboard) day: Day,
    pub(in crate::dashboard) turnover: Turnover,
    /// No sale was before this or after `last_sale`.
    pub(in crate::dashboard) first_sale: UnixMs,
    pub(in crate::dashboard) last_sale: UnixMs,
}

/// The sales of days, as their rows are added.
#[derive(Debug, Default)]
pub(in crate::dashboard) struct DayTotals {
    pub(in crate::dashboard) rates: Rates,
    pub(in crate::dashboard) currencies: Currencies,
    pub(in crate::dashboard) days: Vec<DayTotal>,
}

/// The sales of each device in a part of a day.
#[derive(Debug)]
pub(in crate::dashboard) struct PartOfDay {
    pub(in crate::dashboard) day: Day,
    pub(in crate::dashboard) by_device: HashMap<(DeviceNo, Currency), Totals, RandomState>,
}

impl DayTotal {
    /// Returns whether a range includes the whole day, or a part of it with all of its sales. By
    /// other rules of the time zone, a sale of a whole day may be outside of the range.
    pub(in crate::dashboard) fn is_within(&self, range: &Range) -> bool {
        let is_partial = range.partial_days.iter().any(|part| part.day == self.day);
        !is_partial || range.start <= self.first_sale && self.last_sale < range.end
    }
}

impl DayTotals {
    /// Adds the sales of a day in one currency. Rows are added in the order of their days, after
    /// the exchange rates.
    pub(in crate::dashboard) fn add(&mut self, row: DayRow<'_>) -> Result<(), Error> {
        let day = row.day;
        let currency = self.currencies.parse(row.currency)?;
        let first_sale = row.first_sale_at_ms;
        let last_sale = row.last_sale_at_ms;
        let new = DayTotal { day, turnover: Turnover::default(), first_sale, last_sale };
        let total = match self.days.last_mut() {
            Some(last) if last.day == day => last,
            _ => self.days.push_mut(new),
        };
        total.turnover.add((currency, self.rates.on(currency, day)), row.totals);
        total.first_sale = total.first_sale.min(first_sale);
        total.last_sale = total.last_sale.max(last_sale);
        Ok(())
    }
}

/// Returns the sales of each day, converted at its rates. Also returns, by currency, the number of
/// sales without a rate from `first_day` on.
pub(in crate::dashboard) fn converted(
    sums: &HashMap<(Day, Currency), Totals>,
    rates: &Rates,
    first_day: Day,
) -> (BTreeMap<Day, Turnover>, BTreeMap<String, i64>) {
    let mut days: BTreeMap<Day, Turnover> = BTreeMap::new();
    let mut without_rate = BTreeMap::new();
    for ((day, currency), totals) in sums.iter().filter(|(_, totals)| !totals.is_zero()) {
        let rate = rates.on(*currency, *day);
        days.entry(*day).or_default().add((*currency, rate), *totals);
        if totals.orders != 0 && rate.is_none() && *day >= first_day {
            *without_rate.entry(currency.code().to_owned()).or_default() += totals.orders;
        }
    }
    (days, without_rate)
}

/// Returns the days with all their sales in a range.
pub(in crate::dashboard) fn days_within(
    totals: &[DayTotal],
    range: &Range,
) -> BTreeMap<Day, Turnover> {
    let within = totals.iter().filter(|total| total.is_within(range));
    within.map(|total| (total.day, total.turnover)).collect()
}

/// Visits the sales of each selected device in parts of days.
pub(in crate::dashboard) fn each_in_parts(
    parts: &[PartOfDay],
    devices: &Devices,
    rates: &Rates,
    mut visit: impl FnMut(Day, DeviceNo, &Turnover),
) {
    for part in parts {
        let sales = part.by_device.iter().filter(|((device, _), _)| devices.selects(*device));
        for ((device, currency), totals) in sales {
            let mut turnover = Turnover::default();
            turnover.add((*currency, rates.on(*currency, part.day)), *totals);
            visit(part.day, *device, &turnover);
        }
    }
}

/// Returns the sum of all days.
pub(in crate::dashboard) fn sum(days: &BTreeMap<Day, Turnover>) -> Turnover {
    days.values().fold(Turnover::default(), |mut sum, day| {
        sum.join(day);
        sum
    })
}

/// Returns every day of a range, in order, including days without sales.
pub(in crate::dashboard) fn every_day(
    days: &BTreeMap<Day, Turnover>,
    range: Option<&Range>,
    zone: &Zone,
) -> Vec<(Day, Turnover)> {
    let every = range.map(|range| range.days(zone)).unwrap_or_default();
    every.into_iter().map(|day| (day, days.get(&day).copied().unwrap_or_default())).collect()
}

#[cfg(test)]
mod tests {
    use kiosque_model::sales::Rate;

    use super::*;

    const EUR_RATE: &str = "1.25";

    fn currency(code: &str) -> Currency {
        Currency::parse(code).expect("a currency")
    }

    fn rates() -> Rates {
        let mut rates = Rates::default();
        rates.add(currency("EUR"), Day(2), Rate::parse(EUR_RATE).expect("a rate"));
        rates
    }

    fn totals(orders: i64, amount: i64) -> Totals {
        Totals { orders, items: orders, amount, ..Totals::default() }
    }

    /// Returns days of rows: each has a day, a currency, an amount, and the times of the first and
    /// the last sale.
    fn totals_of_days(rows: &[(i64, &str, i64, (i64, i64))]) -> Vec<DayTotal> {
        let mut days = DayTotals { rates: rates(), ..DayTotals::default() };
        for &(day, currency, amount, (first, last)) in rows {
            let (first_sale_at_ms, last_sale_at_ms) = (UnixMs(first), UnixMs(last));
            let (day, totals) = (Day(day), totals(1, amount));
            let row = DayRow { day, currency, totals, first_sale_at_ms, last_sale_at_ms };
            days.add(row).expect("a currency");
        }
        days.days
    }

    fn range(start: i64, end: i64) -> Range {
        Range::of(UnixMs(start), UnixMs(end), &Zone::utc()).expect("a range")
    }

    fn cents_of(days: &BTreeMap<Day, Turnover>) -> Vec<(i64, i64, i64)> {
        let of = |(day, turnover): (&Day, &Turnover)| {
            (day.0, turnover.amount.cents(), turnover.unconverted_orders)
        };
        days.iter().map(of).collect()
    }

    /// DASH-12: each currency is converted at the rate of its day, and counted separately without
    /// one.
    #[test]
    fn a_day_is_the_sum_of_its_currencies() {
        let rows = [(1, "EUR", 100, (5, 6)), (2, "EUR", 100, (20, 30)), (2, "USD", 50, (10, 25))];
        let days = totals_of_days(&rows);
        let of = |total: &DayTotal| (total.day.0, total.first_sale.0, total.last_sale.0);
        assert_eq!(days.iter().map(of).collect::<Vec<_>>(), [(1, 5, 6), (2, 10, 30)]);
        let days = days_within(&days, &range(0, 1_000));
        assert_eq!(cents_of(&days), [(1, 0, 1), (2, 175, 0)]);
        assert_eq!((sum(&days).amount.cents(), sum(&days).orders), (175, 3));
    }

    #[test]
    fn sales_without_a_rate_are_counted_from_a_day_on() {
        let sums = [(0, "EUR", 1), (1, "EUR", 2), (2, "EUR", 4), (2, "USD", 8), (3, "USD", 0)];
        let sums = sums.map(|(day, code, n)| ((Day(day), currency(code)), totals(n, 100 * n)));
        let of = |first_day| {
            let (days, without_rate) = converted(&sums.into(), &rates(), Day(first_day));
            assert_eq!(cents_of(&days), [(0, 0, 1), (1, 0, 2), (2, 1_300, 0)]);
            without_rate
        };
        assert_eq!(of(1), BTreeMap::from([("EUR".to_owned(), 2)]));
        assert_eq!(of(2), BTreeMap::new());
    }

    /// DASH-4: a day that the range cuts is not included as a whole; its part is counted from its
    /// orders.
    #[test]
    fn a_day_with_sales_outside_of_the_range_is_counted_from_its_part() {
        let days = totals_of_days(&[(0, "USD", 10, (0, 50)), (1, "USD", 20, (100, 150))]);
        let range = range(40, 1_000);
        assert_eq!(cents_of(&days_within(&days, &range)), [(1, 20, 0)]);

        let by_device = [
            ((DeviceNo(1), currency("USD")), totals(1, 3)),
            ((DeviceNo(2), currency("USD")), totals(1, 4)),
        ];
        let part = PartOfDay { day: Day(0), by_device: by_device.into_iter().collect() };
        let in_part = |devices: &Devices| {
            let mut found = Vec::new();
            each_in_parts(std::slice::from_ref(&part), devices, &rates(), |day, device, sales| {
                found.push((day.0, device.0, sales.amount.cents()));
            });
            found.sort_unstable();
            found
        };
        assert_eq!(in_part(&Devices::All), [(0, 1, 3), (0, 2, 4)]);
        assert_eq!(in_part(&Devices::Some([DeviceNo(2)].into_iter().collect())), [(0, 2, 4)]);
    }

    #[test]
    fn every_day_of_a_range_is_listed() {
        const DAY_MS: i64 = 86_400_000;
        let turnover = Turnover { orders: 7, ..Turnover::default() };
        let (range, zone) = (range(0, 2 * DAY_MS), Zone::utc());
        let days = every_day(&BTreeMap::from([(Day(1), turnover)]), Some(&range), &zone);
        assert_eq!(days, [(Day(0), Turnover::default()), (Day(1), turnover)]);
        assert_eq!(every_day(&BTreeMap::new(), None, &zone), []);
    }
}
