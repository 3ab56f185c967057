//! The stored sums of a day in dollars, converted at the rate of that day.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use kiosque_model::sales::{Rate, Rates, Totals, Turnover};
use kiosque_model::{Currency, Day, DeviceNo, Minor};

use super::products::{ProductTotals, Products};
use crate::dashboard::filter::Devices;
use crate::error::Error;
use crate::sums::device_block::{SIZE, SumsOfDay, each_device, each_product, each_seller};
use crate::sums::totals_of;

/// The sales of devices on the days of a range, as their rows are added.
#[derive(Debug)]
pub(in crate::dashboard) struct DeviceSums<T> {
    days: RangeInclusive<Day>,
    pub(in crate::dashboard) rates: Rates,
    /// Days with sales outside of the range: at most its first day and its last day.
    pub(in crate::dashboard) partial: Vec<Day>,
    pub(in crate::dashboard) currencies: Currencies,
    devices: Devices,
    pub(in crate::dashboard) sales: T,
}

/// The currency and the rate of a row's amounts.
pub(in crate::dashboard) type Conversion = (Currency, Option<Rate>);

/// A cache of parsed currencies: there are few, and most rows have the same.
#[derive(Debug, Default)]
pub(in crate::dashboard) struct Currencies(Vec<Currency>);

impl Currencies {
    pub(in crate::dashboard) fn parse(&mut self, code: &str) -> Result<Currency, Error> {
        if let Some(known) = self.0.iter().find(|known| known.code() == code) {
            return Ok(*known);
        }
        let new = Currency::parse(code)?;
        self.0.push(new);
        Ok(new)
    }

    /// Returns the codes that were parsed.
    pub(in crate::dashboard) fn codes(&self) -> impl Iterator<Item = &'static str> {
        self.0.iter().map(|currency| currency.code())
    }
}

impl<T> DeviceSums<T> {
    pub(in crate::dashboard) fn new(
        days: RangeInclusive<Day>,
        devices: Devices,
        sales: T,
    ) -> DeviceSums<T> {
        DeviceSums {
            days,
            rates: Rates::default(),
            partial: Vec::new(),
            currencies: Currencies::default(),
            devices,
            sales,
        }
    }

    /// Adds a row with `add`, unless sales of its day lie outside of the range.
    pub(in crate::dashboard) fn add<'r>(
        &mut self,
        row: SumsOfDay<'r>,
        add: impl FnOnce(&mut Self, SumsOfDay<'r>, Conversion) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let day = row.day;
        if !self.days.contains(&day) || self.partial.contains(&day) {
            return Ok(());
        }
        let currency = self.currencies.parse(row.currency)?;
        let rate = self.rates.on(currency, day);
        add(self, row, (currency, rate))
    }
}

impl DeviceSums<BTreeMap<Day, Turnover>> {
    /// Adds the devices of a row to its day.
    pub(in crate::dashboard) fn add_to_day(
        &mut self,
        row: SumsOfDay<'_>,
        conversion: Conversion,
    ) -> Result<(), Error> {
        let mut totals = Totals::default();
        each_device(row.sums, row.device_block, |device, figures| {
            if self.devices.selects(device) {
                totals.add(totals_of(figures), 1);
            }
        })?;
        if !totals.is_zero() {
            self.sales.entry(row.day).or_default().add(conversion, totals);
        }
        Ok(())
    }
}

impl DeviceSums<BTreeMap<DeviceNo, Turnover>> {
    /// Adds the devices of a row.
    pub(in crate::dashboard) fn add_devices(
        &mut self,
        row: SumsOfDay<'_>,
        conversion: Conversion,
    ) -> Result<(), Error> {
        let mut new = Vec::new();
        let first = DeviceNo(row.device_block.saturating_mul(SIZE));
        // Both are sorted by device.
        let mut known = self.sales.range_mut(first..).peekable();
        each_device(row.sums, row.device_block, |device, figures| {
            if !self.devices.selects(device) {
                return;
            }
            while known.next_if(|(before, _)| **before < device).is_some() {}
            let turnover = match known.next_if(|(known, _)| **known == device) {
                Some((_, turnover)) => turnover,
                None => &mut new.push_mut((device, Turnover::default())).1,
            };
            turnover.add(conversion, totals_of(figures));
        })?;
        self.sales.extend(new);
        Ok(())
    }
}

impl DeviceSums<Products> {
    /// Adds the products of a row.
    pub(in crate::dashboard) fn add_products(
        &mut self,
        row: SumsOfDay<'_>,
        conversion: Conversion,
    ) -> Result<(), Error> {
        let devices = &self.devices;
        let is_of_all = *devices == Devices::All;
        each_product(row.sums, |product| {
            let [mut items, mut amount] = product.figures;
            if !is_of_all {
                (items, amount) = (0, 0);
                each_seller(product.sellers, row.device_block, |device, of_device| {
                    if devices.selects(device) {
                        items += of_device[0];
                        amount += of_device[1];
                    }
                })?;
                if (items, amount) == (0, 0) {
                    return Ok(());
                }
            }
            // Most sums are of a product that is already present.
            let sales = match self.sales.get_mut(product.id_bytes) {
                Some(sales) => sales,
                None => self.sales.entry(product.id_bytes.to_vec()).or_default(),
            };
            sales.totals.join(ProductTotals::of(items, Minor(amount), conversion));
            if is_of_all && !sales.wants_devices {
                return Ok(());
            }
            each_seller(product.sellers, row.device_block, |device, [items, _]| {
                if items != 0 && devices.selects(device) {
                    sales.devices.insert(device);
                }
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::products::{best, with_devices};
    use super::*;
    use crate::sums::device_block::{BlockSums, StoredBlock};

    const EUR: &str = "EUR";

    /// Returns the sums of the days 0 to 3; the first is partial, and 1 EUR is 2 USD from the third
    /// day on.
    fn sums<T: Default>(filter: &[i64]) -> DeviceSums<T> {
        let devices = match filter {
            [] => Devices::All,
            filter => Devices::Some(filter.iter().map(|device| DeviceNo(*device)).collect()),
        };
        let mut sums = DeviceSums::new(Day(0)..=Day(3), devices, T::default());
        sums.partial.push(Day(0));
        let eur = sums.currencies.parse(EUR).expect("a currency");
        sums.rates.add(eur, Day(2), Rate::parse("2").expect("a rate"));
        sums
    }

    /// Returns the rows of the days 0 to 4: an order of a `p` by each device, and another amount
    /// each day for device 7.
    fn stored() -> Vec<(Day, StoredBlock)> {
        let row = |day: i64| {
            let mut of_day = BlockSums::default();
            for (device, amount) in [(7, 10 + day), (8, 1)] {
                of_day.add_device(DeviceNo(device), [1, 1, amount, 0, 0, 0]);
                of_day.add_product(DeviceNo(device), "p", [1, amount]);
            }
            (Day(day), of_day.added_to(&StoredBlock::default(), 0).expect("sums"))
        };
        (0..5).map(row).collect()
    }

    fn add<T>(
        to: &mut DeviceSums<T>,
        column: impl Fn(&StoredBlock) -> &[u8],
        add: impl Fn(&mut DeviceSums<T>, SumsOfDay<'_>, Conversion) -> Result<(), Error>,
    ) {
        for (day, row) in stored() {
            let row = SumsOfDay { day, device_block: 0, currency: EUR, sums: column(&row) };
            to.add(row, &add).expect("a row");
        }
    }

    /// Days outside of the range and partial days are not counted; each day is converted at its
    /// rate.
    #[test]
    fn whole_days_of_devices_are_converted_at_their_rates() {
        let of = |(day, sales): (&Day, &Turnover)| (day.0, sales.orders, sales.amount.cents());
        for (filter, want) in [
            (&[][..], [(1, 2, 0), (2, 2, 26), (3, 2, 28)]),
            (&[7], [(1, 1, 0), (2, 1, 24), (3, 1, 26)]),
        ] {
            let mut by_day: DeviceSums<BTreeMap<Day, Turnover>> = sums(filter);
            add(&mut by_day, |row| &row.devices, DeviceSums::add_to_day);
            assert_eq!(by_day.sales.iter().map(of).collect::<Vec<_>>(), want, "{filter:?}");
        }
        for (filter, devices) in [(&[][..], &[7, 8][..]), (&[7, 9], &[7])] {
            let mut by_device: DeviceSums<BTreeMap<DeviceNo, Turnover>> = sums(filter);
            add(&mut by_device, |row| &row.devices, DeviceSums::add_devices);
            let found: Vec<i64> = by_device.sales.keys().map(|device| device.0).collect();
            assert_eq!(found, devices);
            let sales = by_device.sales.get(&DeviceNo(7)).copied().unwrap_or_default();
            let figures = (sales.orders, sales.unconverted_orders, sales.amount.cents());
            assert_eq!(figures, (3, 1, 50));
        }
    }

    /// The devices of products are counted if they were requested, or if there is a filter.
    #[test]
    fn a_product_has_the_devices_that_sold_it_on_whole_days() {
        for (filter, goods, want) in [
            (&[][..], &["p", "absent"][..], (6, 4, 54, &[7, 8][..])),
            (&[], &[], (6, 4, 54, &[])),
            (&[8], &[], (3, 2, 4, &[8])),
        ] {
            let mut by_product: DeviceSums<Products> = sums(filter);
            by_product.sales = with_devices(goods);
            add(&mut by_product, |row| &row.products, DeviceSums::add_products);
            let sold = best(by_product.sales, 9).expect("ids");
            let [(goods_id, sales)] = &sold[..] else { panic!("{sold:?}") };
            assert_eq!(goods_id, "p");
            let ProductTotals { items, converted_items, amount } = sales.totals;
            let devices = (0..10).filter(|device| sales.devices.contains(DeviceNo(*device)));
            let devices: Vec<i64> = devices.collect();
            let found = (items, converted_items, amount.cents(), devices.as_slice());
            assert_eq!(found, want, "{filter:?} {goods:?}");
        }
    }

    /// Rows have other devices and products each day, in two blocks: none is added to another.
    #[test]
    fn each_row_adds_to_its_own_devices_and_products() {
        let rows = [
            (1, 0, &[(3, "b"), (5, "d")][..]),
            (1, 1, &[(256, "a"), (300, "d")]),
            (2, 0, &[(1, "a"), (3, "c"), (5, "d"), (9, "e")]),
            (2, 1, &[(300, "b")]),
            (3, 0, &[(2, "b"), (3, "b"), (5, "a")]),
            (3, 1, &[(256, "d"), (257, "d"), (301, "e")]),
        ];
        let mut by_device: DeviceSums<BTreeMap<DeviceNo, Turnover>> = sums(&[]);
        let mut by_product: DeviceSums<Products> = sums(&[]);
        let (mut of_devices, mut of_products) = (BTreeMap::new(), BTreeMap::new());
        for (day, device_block, sold) in rows {
            let mut of_day = BlockSums::default();
            for (items, (device, goods)) in (1..).zip(sold) {
                of_day.add_device(DeviceNo(*device), [1, items, 0, 0, 0, 0]);
                of_day.add_product(DeviceNo(*device), goods, [items, 0]);
                *of_devices.entry(*device).or_insert(0) += items;
                *of_products.entry((*goods).to_owned()).or_insert(0) += items;
            }
            let stored = of_day.added_to(&StoredBlock::default(), device_block).expect("sums");
            let row = |sums| SumsOfDay { day: Day(day), device_block, currency: EUR, sums };
            by_device.add(row(&stored.devices), DeviceSums::add_devices).expect("devices");
            by_product.add(row(&stored.products), DeviceSums::add_products).expect("products");
        }
        let found = by_device.sales.iter().map(|(device, sales)| (device.0, sales.items));
        assert_eq!(found.collect::<BTreeMap<_, _>>(), of_devices);
        let sold = best(by_product.sales, 9).expect("ids").into_iter();
        let found = sold.map(|(goods_id, sales)| (goods_id, sales.totals.items));
        assert_eq!(found.collect::<BTreeMap<_, _>>(), of_products);
    }
}
