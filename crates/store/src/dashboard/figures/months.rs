//! The figures of each day in a row of a month, in dollars: each day is converted with the rate of
//! that day.

use std::collections::{BTreeMap, HashMap};

use kiosque_model::sales::{Rate, Rates, Turnover};
use kiosque_model::{Currency, Day, DeviceNo, Minor};

use super::products::{ProductTotals, SalesOfProduct};
use crate::Error;
use crate::dashboard::range::Range;
use crate::sums::{bits_of, each_day, each_seller, parse_currency, totals_of};

/// The sales of months in a range, as their rows are added.
#[derive(Debug)]
pub(in crate::dashboard) struct Months<T> {
    range: Range,
    pub(in crate::dashboard) rates: Rates,
    /// Days with sales outside of the range: at most its first day and its last day.
    pub(in crate::dashboard) partial: Vec<Day>,
    pub(in crate::dashboard) currencies: Currencies,
    pub(in crate::dashboard) sales: T,
}

/// A cache of parsed currencies: there are few, and most rows have the same.
#[derive(Debug, Default)]
pub(in crate::dashboard) struct Currencies(Vec<Currency>);

impl Currencies {
    pub(in crate::dashboard) fn parse(&mut self, code: &str) -> Result<Currency, Error> {
        if let Some(known) = self.0.iter().find(|known| known.code() == code) {
            return Ok(*known);
        }
        let new = parse_currency(code)?;
        self.0.push(new);
        Ok(new)
    }
}

impl<T: Default> Months<T> {
    pub(in crate::dashboard) fn new(range: Range) -> Months<T> {
        let (rates, currencies) = (Rates::default(), Currencies::default());
        Months { range, rates, partial: Vec::new(), currencies, sales: T::default() }
    }
}

impl<T> Months<T> {
    /// Returns whether all sales of a day lie in the range.
    fn is_whole(&self, day: Day) -> bool {
        self.range.first_day <= day && day <= self.range.last_day && !self.partial.contains(&day)
    }

    /// Visits the figures of the whole days of the range in a month. Days in a row that are alike
    /// by `key` are summed.
    fn each_whole_day<const N: usize, K: Copy + PartialEq>(
        &self,
        (month, days): (Day, &[u8]),
        key: impl Fn(Day) -> K,
        mut visit: impl FnMut(K, [i64; N]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut sum: Option<(K, [i64; N])> = None;
        each_day(days, month, |day, figures| {
            if !self.is_whole(day) {
                return Ok(());
            }
            let key = key(day);
            match &mut sum {
                Some((of, sums)) if *of == key => {
                    sums.iter_mut().zip(figures).for_each(|(sum, figure)| *sum += figure);
                }
                sum => {
                    if let Some((key, sums)) = sum.replace((key, figures)) {
                        visit(key, sums)?;
                    }
                }
            }
            Ok(())
        })?;
        sum.map_or(Ok(()), |(key, sums)| visit(key, sums))
    }
}

impl Months<BTreeMap<Day, Turnover>> {
    /// Adds the days of a month of a device.
    pub(in crate::dashboard) fn add_days(
        &mut self,
        (month, days): (Day, &[u8]),
        currency: Currency,
    ) -> Result<(), Error> {
        let mut sales = std::mem::take(&mut self.sales);
        self.each_whole_day(
            (month, days),
            |day| day,
            |day, figures| {
                let rate = self.rates.on(currency, day);
                sales.entry(day).or_default().add((currency, rate), totals_of(figures))?;
                Ok(())
            },
        )?;
        self.sales = sales;
        Ok(())
    }
}

impl Months<BTreeMap<DeviceNo, Turnover>> {
    /// Adds a month of a device.
    pub(in crate::dashboard) fn add_device(
        &mut self,
        device: DeviceNo,
        (month, days): (Day, &[u8]),
        currency: Currency,
    ) -> Result<(), Error> {
        let (rates, mut turnover) = (self.rates.of(currency), Turnover::default());
        self.each_whole_day(
            (month, days),
            |day| rates.on(day),
            |rate: Option<Rate>, figures| {
                turnover.add((currency, rate), totals_of(figures))?;
                Ok(())
            },
        )?;
        self.sales.entry(device).or_default().join(&turnover);
        Ok(())
    }
}

impl Months<HashMap<String, SalesOfProduct>> {
    /// Adds a month of a product.
    pub(in crate::dashboard) fn add_product(
        &mut self,
        goods_id: &str,
        (month, days): (Day, &[u8]),
        currency: Currency,
    ) -> Result<(), Error> {
        let (rates, mut totals) = (self.rates.of(currency), ProductTotals::default());
        self.each_whole_day(
            (month, days),
            |day| rates.on(day),
            |rate, [items, amount]| {
                totals.join(ProductTotals::of((items, Minor(amount)), (currency, rate))?);
                Ok(())
            },
        )?;
        SalesOfProduct::change(&mut self.sales, goods_id, |sales| sales.totals.join(totals));
        Ok(())
    }

    /// Adds a day of a product that a device sold, unless some of its sales lie outside of the
    /// range.
    pub(in crate::dashboard) fn add_product_of_device(
        &mut self,
        (device, goods_id): (DeviceNo, &str),
        day: Day,
        currency: Currency,
        (items, amount): (i64, Minor),
    ) -> Result<(), Error> {
        if self.is_whole(day) {
            let totals =
                ProductTotals::of((items, amount), (currency, self.rates.on(currency, day)))?;
            SalesOfProduct::change(&mut self.sales, goods_id, |sales| sales.add(totals, device));
        }
        Ok(())
    }

    /// Adds the devices of a block that sold a product on a whole day of the range.
    pub(in crate::dashboard) fn add_sellers(
        &mut self,
        goods_id: &str,
        month: Day,
        (block, devices): (i64, &[u8]),
    ) -> Result<(), Error> {
        let whole = bits_of(month, |day| self.is_whole(day));
        let Some(sales) = self.sales.get_mut(goods_id) else { return Ok(()) };
        each_seller(devices, block, |device, days| {
            if days & whole != 0 {
                sales.devices.insert(device);
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use kiosque_model::{UnixMs, Zone};

    use super::*;
    use crate::sums::{DaySums, Sellers};

    const DAY_MS: i64 = 86_400_000;
    const EUR: &str = "EUR";

    /// Returns the months of the days 0 to 3, of which the first is partial; 1 EUR is 2 USD from
    /// the third day on.
    fn months<T: Default>() -> Months<T> {
        let range = Range::of(UnixMs(1), UnixMs(4 * DAY_MS), &Zone::utc()).expect("a range");
        let mut months = Months::new(range);
        months.partial.push(Day(0));
        let eur = months.currencies.parse(EUR).expect("a currency");
        months.rates.add(eur, Day(2), Rate::parse("2").expect("a rate"));
        months
    }

    /// Returns the stored figures of the days 0 to 4.
    fn stored<const N: usize>(figures: impl Fn(i64) -> [i64; N]) -> Vec<u8> {
        let mut days = DaySums::default();
        (0..5).for_each(|day| days.add(Day(day), figures(day)));
        days.bytes(Day(0))
    }

    fn of_device() -> Vec<u8> {
        stored(|day| [1, 1, 10 + day, 0, 0, 0])
    }

    /// Days outside of the range are not counted, nor partial ones; each has the rate of its day.
    #[test]
    fn whole_days_of_a_device_are_converted_at_their_rates() {
        let mut by_day: Months<BTreeMap<Day, Turnover>> = months();
        let eur = by_day.currencies.parse(EUR).expect("a currency");
        by_day.add_days((Day(0), &of_device()), eur).expect("days");
        let of = |(day, sales): (&Day, &Turnover)| (day.0, sales.orders, sales.amount.cents());
        let days: Vec<_> = by_day.sales.iter().map(of).collect();
        assert_eq!(days, [(1, 1, 0), (2, 1, 24), (3, 1, 26)]);

        let mut by_device: Months<BTreeMap<DeviceNo, Turnover>> = months();
        by_device.add_device(DeviceNo(7), (Day(0), &of_device()), eur).expect("a month");
        let sales = by_device.sales.get(&DeviceNo(7)).copied().unwrap_or_default();
        let figures = (sales.orders, sales.unconverted_orders, sales.amount.cents());
        assert_eq!(figures, (3, 1, 50));
    }

    #[test]
    fn a_product_has_the_devices_that_sold_it_on_whole_days() {
        let mut months: Months<HashMap<String, SalesOfProduct>> = months();
        let eur = months.currencies.parse(EUR).expect("a currency");
        let bytes = stored(|day| [1, 10 + day]);
        months.add_product("p", (Day(0), &bytes), eur).expect("a month");
        let mut sellers = Sellers::default();
        for (device, day) in [(1, 0), (2, 1), (3, 4)] {
            sellers.insert(DeviceNo(device), (Day(0), Day(day)));
        }
        for goods_id in ["p", "absent"] {
            months.add_sellers(goods_id, Day(0), (0, &sellers.bytes(0))).expect("devices");
        }
        let sales = months.sales.get("p").cloned().unwrap_or_default();
        assert_eq!(sales.devices, [DeviceNo(2)].into());
        let ProductTotals { items, converted_items, amount } = sales.totals;
        assert_eq!((items, converted_items, amount.cents()), (3, 2, 50));
        assert_eq!(months.sales.len(), 1);

        for day in [0, 2] {
            let of_device = (DeviceNo(9), "q");
            months.add_product_of_device(of_device, Day(day), eur, (1, Minor(5))).expect("a day");
        }
        let sales = months.sales.get("q").cloned().unwrap_or_default();
        assert_eq!((sales.totals.items, sales.totals.amount.cents()), (1, 10));
        assert_eq!(sales.devices, [DeviceNo(9)].into());
    }
}
