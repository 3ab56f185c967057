//! The sales of products, and their ranking.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use kiosque_model::sales::{Rate, Rates, Usd};
use kiosque_model::{Currency, Day, DeviceNo, Minor};

use crate::dashboard::filter::Devices;
use crate::error::Error;
use crate::sums::device_set::DeviceSet;

/// Sales of a product.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::dashboard) struct ProductTotals {
    pub(in crate::dashboard) items: i64,
    /// Items with an exchange rate.
    pub(in crate::dashboard) converted_items: i64,
    /// The amount paid for these.
    pub(in crate::dashboard) amount: Usd,
}

impl ProductTotals {
    /// Returns sales in one currency, with a known rate or without one.
    pub(in crate::dashboard) fn of(
        items: i64,
        amount: Minor,
        (currency, rate): (Currency, Option<Rate>),
    ) -> ProductTotals {
        let Some(rate) = rate else {
            return ProductTotals { items, ..ProductTotals::default() };
        };
        let amount = Usd::of(amount, currency, rate);
        ProductTotals { items, converted_items: items, amount }
    }

    pub(in crate::dashboard) fn join(&mut self, other: ProductTotals) {
        self.items += other.items;
        self.converted_items += other.converted_items;
        self.amount = self.amount.plus(other.amount);
    }
}

/// The sales of products, by the bytes of their `goodsId`: sums have each product on each day, and
/// only [`best`] needs texts.
pub(in crate::dashboard) type Products = HashMap<Vec<u8>, SalesOfProduct, RandomState>;

/// Sales of a product, and the devices that sold it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::dashboard) struct SalesOfProduct {
    pub(in crate::dashboard) totals: ProductTotals,
    /// From stored sums, devices are added if there is a filter, or if they were requested.
    pub(in crate::dashboard) devices: DeviceSet,
    pub(super) wants_devices: bool,
}

/// Returns products without sales, whose devices are requested.
pub(in crate::dashboard) fn with_devices(goods: &[&str]) -> Products {
    let asked = || SalesOfProduct { wants_devices: true, ..SalesOfProduct::default() };
    goods.iter().map(|goods_id| (goods_id.as_bytes().to_vec(), asked())).collect()
}

/// The sales of each product in a part of a day: items and amount.
#[derive(Debug)]
pub(in crate::dashboard) struct ProductsInPart {
    pub(in crate::dashboard) day: Day,
    pub(in crate::dashboard) sales: HashMap<(DeviceNo, Currency, String), (i64, i64)>,
}

/// Adds the sales of the selected devices in parts of days.
pub(in crate::dashboard) fn add_parts(
    sales: &mut Products,
    parts: Vec<ProductsInPart>,
    devices: &Devices,
    rates: &Rates,
) {
    for part in parts {
        for ((device, currency, goods_id), (items, amount)) in part.sales {
            if devices.selects(device) {
                let rate = rates.on(currency, part.day);
                let totals = ProductTotals::of(items, Minor(amount), (currency, rate));
                let of_product = sales.entry(goods_id.into_bytes()).or_default();
                of_product.totals.join(totals);
                // A device sold the product if it sold an item of it.
                if totals.items != 0 {
                    of_product.devices.insert(device);
                }
            }
        }
    }
}

/// Returns the `most` best-selling products: by items, then by amount, then by `goodsId`.
pub(in crate::dashboard) fn best(
    sales: Products,
    most: usize,
) -> Result<Vec<(String, SalesOfProduct)>, Error> {
    let mut best: Vec<_> = sales.into_iter().filter(|(_, sales)| sales.totals.items > 0).collect();
    best.sort_unstable_by(|(one_id, one), (other_id, other)| {
        let (one, other) = (one.totals, other.totals);
        // By cents, so that products with equal amounts in the answer are ranked by id.
        let by_amount = || other.amount.cents().cmp(&one.amount.cents());
        other.items.cmp(&one.items).then_with(by_amount).then_with(|| one_id.cmp(other_id))
    });
    best.truncate(most);
    let text = |(goods_id, sales): (Vec<u8>, SalesOfProduct)| match String::from_utf8(goods_id) {
        Ok(goods_id) => Ok((goods_id, sales)),
        Err(error) => Err(Error::Data(format!("the goodsId of a stored sum is no text: {error}"))),
    };
    best.into_iter().map(text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usd(cents: i64) -> Usd {
        Usd::of(Minor(cents), Currency::USD, Rate::ONE)
    }

    /// DASH-17: by items, then by amount, then by `goodsId`; goods without items are not ranked.
    #[test]
    fn goods_are_ranked_by_items_amount_and_id() {
        let goods = [("a", 1, 5), ("d", 2, 5), ("c", 2, 9), ("b", 2, 5), ("e", 0, 99)];
        let sales = goods.map(|(id, items, cents)| {
            let totals = ProductTotals { items, converted_items: items, amount: usd(cents) };
            (id.into(), SalesOfProduct { totals, ..SalesOfProduct::default() })
        });
        let ids = |most| {
            let best = best(sales.clone().into_iter().collect(), most).expect("texts").into_iter();
            best.map(|(id, _)| id).collect::<Vec<_>>()
        };
        assert_eq!(ids(9), ["c", "b", "d", "a"]);
        assert_eq!(ids(2), ["c", "b"]);
    }

    #[test]
    fn parts_of_days_are_those_of_the_selected_devices() {
        let key = |device, id: &str| (DeviceNo(device), Currency::USD, id.to_owned());
        let part = || ProductsInPart {
            day: Day(1),
            sales: HashMap::from([
                (key(1, "p"), (2, 10)),
                (key(2, "p"), (3, 20)),
                (key(2, "q"), (0, 0)),
            ]),
        };
        let sales_of = |devices: &Devices, id: &str| {
            let mut sales = Products::default();
            add_parts(&mut sales, vec![part()], devices, &Rates::default());
            let of_product = sales.get(id.as_bytes());
            of_product
                .map(|sales| (sales.totals.items, sales.totals.amount.cents(), sales.devices.len()))
        };
        assert_eq!(sales_of(&Devices::All, "p"), Some((5, 30, 2)));
        assert_eq!(
            sales_of(&Devices::Some([DeviceNo(1)].into_iter().collect()), "p"),
            Some((2, 10, 1))
        );
        assert_eq!(sales_of(&Devices::All, "q"), Some((0, 0, 0)), "a device that sold no item");
    }
}
