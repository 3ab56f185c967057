//! The best-selling products.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use kiosque_model::sales::{Rate, Usd};
use kiosque_model::{Claim, Currency, DeviceNo, Minor};

use super::range::{self, Range};
use super::{DashboardQuery, Grain, Report, ReportContext, ReportQuery, RowContext};
use crate::db::{Bound, Step};
use crate::scoped_query::HintedGroup;
use crate::sql::{Row, statements};
use crate::{Error, Refused, Store};

statements! {
    PRODUCTS = "select goods_id, goods_name, currency, default_price from products";
    CAME_AS = "select goods_id, goods_name from goods_names where group_no = $1";
    ASKED_PRICES = "select a.goods_id, a.price, o.device_no
        from device_owners o join aisles a on a.device_no = o.device_no
        where o.group_no = $1 and o.since_ms <= $2 and o.until_ms > $2 and o.listed and a.enabled";
    RATES_ON = "select r.currency, r.usd_per_unit_e12
        from (select distinct currency from products) p
        join rates r on r.currency = p.currency
        where r.day = (select max(day) from rates where currency = p.currency and day <= $1)";
}

/// One product's sales.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProductSales {
    /// `goodsId`; may be one that is no product.
    pub goods_id: String,
    /// Its name now; of goods that are no product, the name of their latest sale.
    pub goods_name: String,
    /// How many were sold.
    pub items: i64,
    /// What was paid for those that have a rate.
    pub amount: Usd,
    /// How many of them that were.
    pub converted_items: i64,
    /// How many devices sold it.
    pub devices: i64,
    /// The lowest price that a device asks for it now, its default price when none does; `None`
    /// without a product or a rate.
    pub price: Option<Usd>,
    /// Its default price; `None` without a product or a rate.
    pub default_price: Option<Usd>,
}

#[derive(Default)]
struct Sold {
    items: i64,
    amount: Usd,
    converted_items: i64,
    devices: HashSet<DeviceNo>,
}

impl Store {
    /// The products that sold best: by items, then by amount, then by `goodsId`; at most `most`.
    ///
    /// # Errors
    /// `TokenInvalid`, `GroupClosed`, `OutOfScope`, or the store failed.
    pub async fn best_sellers(
        &self,
        claim: Claim,
        ask: DashboardQuery,
        most: usize,
    ) -> Result<Vec<ProductSales>, Refused> {
        self.dashboard(claim, ask, ProductFigures { most }).await
    }
}

struct ProductFigures {
    most: usize,
}

/// What is known of products, of those alone that sold.
#[derive(Default)]
struct ProductsSold {
    sold: HashMap<String, Sold>,
    products: HashMap<String, (String, Currency, Minor)>,
    asked_prices: HashMap<String, Minor>,
    came_as: HashMap<String, String>,
    rates_today: HashMap<&'static str, Rate>,
}

/// A statement about products.
enum ProductStep {
    Product,
    AskedPrice,
    Name,
    RateToday,
}

impl Report for ProductFigures {
    type Found = ProductsSold;
    type Step = ProductStep;
    type Answer = Vec<ProductSales>;
    const GRAIN: Grain = Grain::Product;

    fn steps<'a>(
        &'a self,
        view: &'a ReportQuery,
        group: HintedGroup,
    ) -> Vec<Step<'a, ProductStep>> {
        let today = view.zone.day_of(view.now);
        vec![
            Bound::new(&PRODUCTS, []).step(ProductStep::Product),
            Bound::new(&ASKED_PRICES, [group.into(), view.now.into()])
                .step(ProductStep::AskedPrice),
            Bound::new(&CAME_AS, [group.into()]).step(ProductStep::Name),
            Bound::new(&RATES_ON, [today.into()]).step(ProductStep::RateToday),
        ]
    }

    fn on_row(
        &self,
        seen: &RowContext<'_>,
        found: &mut Self::Found,
        step: &ProductStep,
        row: &Row<'_>,
    ) -> Result<(), Error> {
        if let ProductStep::RateToday = step {
            let (currency, parts) = (range::currency(row.text(0)?)?, row.int(1)?);
            found.rates_today.extend(Rate::from_parts(parts).map(|rate| (currency.code(), rate)));
            return Ok(());
        }
        let goods_id = row.text(0)?;
        if !found.sold.contains_key(goods_id) {
            return Ok(());
        }
        let goods_id = goods_id.to_owned();
        match step {
            ProductStep::Product => {
                let currency = range::currency(row.text(2)?)?;
                let product = (row.text(1)?.to_owned(), currency, Minor(row.int(3)?));
                found.products.insert(goods_id, product);
            }
            ProductStep::AskedPrice if seen.shows(DeviceNo(row.int(2)?)) => {
                let price = Minor(row.int(1)?);
                let lowest = found.asked_prices.entry(goods_id).or_insert(price);
                *lowest = price.min(*lowest);
            }
            ProductStep::AskedPrice | ProductStep::RateToday => {}
            ProductStep::Name => {
                found.came_as.insert(goods_id, row.text(1)?.to_owned());
            }
        }
        Ok(())
    }

    fn sold(
        &self,
        found: &mut Self::Found,
        range: &Range,
        part: range::Sold<'_>,
    ) -> Result<(), Error> {
        // Most rows are of products that are there already.
        if !found.sold.contains_key(part.goods_id) {
            found.sold.insert(part.goods_id.to_owned(), Sold::default());
        }
        let Some(sold) = found.sold.get_mut(part.goods_id) else { return Ok(()) };
        let (items, amount) = (part.totals.items, Minor(part.totals.amount));
        sold.items += items;
        if let Some(rate) = range.rates.on(part.currency, part.day) {
            sold.amount = sold.amount.plus(Usd::of(amount, part.currency, rate)?);
            sold.converted_items += items;
        }
        // A row whose items all left again says that nothing was sold.
        if items != 0 {
            sold.devices.insert(part.device);
        }
        Ok(())
    }

    fn answer(self, _: ReportContext<'_>, mut found: Self::Found) -> Result<Self::Answer, Refused> {
        let sold = std::mem::take(&mut found.sold);
        let mut sold: Vec<(String, Sold)> =
            sold.into_iter().filter(|(_, sold)| sold.items > 0).collect();
        sold.sort_unstable_by(|(one_id, one), (other_id, other)| {
            // By what is told: amounts that look the same are the same.
            let by = |sold: &Sold| (Reverse(sold.items), Reverse(sold.amount.cents()));
            by(one).cmp(&by(other)).then_with(|| one_id.cmp(other_id))
        });
        sold.truncate(self.most);
        let told = sold.into_iter().map(|(goods_id, sold)| found.told(goods_id, &sold));
        Ok(told.collect::<Result<_, Error>>()?)
    }
}

impl ProductsSold {
    fn told(&self, goods_id: String, sold: &Sold) -> Result<ProductSales, Error> {
        let mut told = ProductSales {
            items: sold.items,
            amount: sold.amount,
            converted_items: sold.converted_items,
            devices: i64::try_from(sold.devices.len()).unwrap_or(i64::MAX),
            ..ProductSales::default()
        };
        if let Some((name, currency, default_price)) = self.products.get(&goods_id) {
            told.goods_name.clone_from(name);
            if let Some(rate) = self.rate_today(*currency) {
                let asked = self.asked_prices.get(&goods_id).unwrap_or(default_price);
                told.price = Some(Usd::of(*asked, *currency, rate)?);
                told.default_price = Some(Usd::of(*default_price, *currency, rate)?);
            }
        } else if let Some(name) = self.came_as.get(&goods_id) {
            told.goods_name.clone_from(name);
        }
        told.goods_id = goods_id;
        Ok(told)
    }

    fn rate_today(&self, currency: Currency) -> Option<Rate> {
        if currency == Currency::USD {
            return Some(Rate::ONE);
        }
        self.rates_today.get(currency.code()).copied()
    }
}
