//! The names and prices of products that sold best.

use std::collections::HashMap;
use std::sync::Arc;

use kiosque_model::sales::{Rate, Usd};
use kiosque_model::{Currency, Minor};

use super::products::{ProductTotals, SalesOfProduct};
use crate::versions::Versioned;

/// The sales of one product.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProductSales {
    /// The `goodsId`, of a known product or of other goods.
    pub goods_id: String,
    /// Its current name; for other goods, the name in their latest sale.
    pub goods_name: String,
    /// Items sold.
    pub items: i64,
    /// The amount paid for the items that have an exchange rate.
    pub amount: Usd,
    /// The number of items that have an exchange rate.
    pub converted_items: i64,
    /// The number of devices that sold it.
    pub devices: i64,
    /// The lowest price of an enabled aisle, or the default price if there is none; `None` for
    /// other goods, and without an exchange rate.
    pub price: Option<Usd>,
    /// The default price; `None` for other goods, and without an exchange rate.
    pub default_price: Option<Usd>,
}

/// The lowest prices of some goods in a group, `None` if no enabled aisle has a price.
pub(in crate::dashboard) type LowestPrices = HashMap<String, Option<Minor>>;

/// The names and prices of the goods that are looked up, as their rows arrive.
#[derive(Default)]
pub(in crate::dashboard) struct Goods {
    /// The number of enabled devices of the group, or of the filter.
    pub(in crate::dashboard) devices: i64,
    pub(in crate::dashboard) products: HashMap<String, Product>,
    pub(in crate::dashboard) lowest_prices: HashMap<String, Minor>,
    pub(in crate::dashboard) cached_prices: Option<Arc<Versioned<LowestPrices>>>,
    pub(in crate::dashboard) names_of_sales: HashMap<String, String>,
}

pub(in crate::dashboard) struct Product {
    pub(in crate::dashboard) name: String,
    pub(in crate::dashboard) currency: Currency,
    /// `None` if none was given.
    pub(in crate::dashboard) default_price: Option<Minor>,
    /// Today's rate.
    pub(in crate::dashboard) rate: Option<Rate>,
}

impl Goods {
    pub(in crate::dashboard) fn lowest_price(&self, goods_id: &str) -> Option<Minor> {
        match &self.cached_prices {
            Some(cached) => cached.value.get(goods_id).copied().flatten(),
            None => self.lowest_prices.get(goods_id).copied(),
        }
    }

    /// Returns sales of a product with its name and its prices, converted at today's rate.
    pub(in crate::dashboard) fn describe(
        &self,
        (goods_id, sales): (String, SalesOfProduct),
    ) -> ProductSales {
        let ProductTotals { items, converted_items, amount } = sales.totals;
        let devices = sales.devices.len();
        let mut answer =
            ProductSales { items, amount, converted_items, devices, ..ProductSales::default() };
        if let Some(product) = self.products.get(&goods_id) {
            answer.goods_name.clone_from(&product.name);
            if let Some(rate) = product.rate {
                let dollars = |price| Usd::of(price, product.currency, rate);
                let lowest = self.lowest_price(&goods_id).or(product.default_price);
                answer.price = lowest.map(dollars);
                answer.default_price = product.default_price.map(dollars);
            }
        } else if let Some(name) = self.names_of_sales.get(&goods_id) {
            answer.goods_name.clone_from(name);
        }
        answer.goods_id = goods_id;
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// DASH-18: a product without a price in an aisle has its default price, and other goods have
    /// the name of their latest sale and no price.
    #[test]
    fn goods_have_a_name_and_prices_in_dollars() {
        let product = |rate: &str| Product {
            name: "Cola".to_owned(),
            currency: Currency::parse("EUR").expect("a currency"),
            default_price: Some(Minor(200)),
            rate: Rate::parse(rate).ok(),
        };
        let ids = ["aisle", "default", "no rate"];
        let products = ids.into_iter().zip(["2", "2", ""].map(product));
        let goods = Goods {
            products: products.map(|(id, product)| (id.to_owned(), product)).collect(),
            lowest_prices: HashMap::from([("aisle".to_owned(), Minor(150))]),
            names_of_sales: HashMap::from([("other".to_owned(), "Tea".to_owned())]),
            ..Goods::default()
        };
        let of = |id: &str| {
            let sales = goods.describe((id.to_owned(), SalesOfProduct::default()));
            let cents = |price: Option<Usd>| price.map(Usd::cents);
            (sales.goods_name, cents(sales.price), cents(sales.default_price))
        };
        assert_eq!(of("aisle"), ("Cola".to_owned(), Some(300), Some(400)));
        assert_eq!(of("default"), ("Cola".to_owned(), Some(400), Some(400)));
        assert_eq!(of("no rate"), ("Cola".to_owned(), None, None));
        assert_eq!(of("other"), ("Tea".to_owned(), None, None));
        assert_eq!(of("absent"), (String::new(), None, None));
    }
}
