//! The best-selling products.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use kiosque_model::sales::{Rate, Usd};
use kiosque_model::{Claim, Currency, DeviceNo, Minor};

use super::sums::parse_currency;
use super::{AnswerContext, DashboardQuery, ProductSum, Report, Request, RowContext, SalesBy};
use crate::db::{Bound, Step};
use crate::scoped_query::HintedGroup;
use crate::sql::{Row, row, statements};
use crate::{Error, Refused, Store};

row! {
    struct ProductRow<'r> {
        goods_id: &'r str,
        goods_name: &'r str,
        currency: &'r str,
        default_price: Minor,
    }
    struct AisleRow<'r> { goods_id: &'r str, price: Minor, device_no: DeviceNo }
    struct NameRow<'r> { goods_id: &'r str, goods_name: &'r str }
    struct RateRow<'r> { currency: &'r str, usd_per_unit_e12: i64 }
}

statements! {
    PRODUCTS() -> ProductRow<'_> = "select goods_id, goods_name, currency, default_price
        from products";
    ENABLED_AISLES(group_no, now_ms) -> AisleRow<'_> = "select a.goods_id, a.price, o.device_no
        from device_owners o join aisles a on a.device_no = o.device_no
        where o.group_no = $group_no and o.since_ms <= $now_ms and o.until_ms > $now_ms
            and o.listed and a.enabled";
    NAMES_OF_SALES(group_no) -> NameRow<'_> = "select goods_id, goods_name from goods_names
        where group_no = $group_no";
    RATES_ON(day) -> RateRow<'_> = "select r.currency, r.usd_per_unit_e12
        from (select distinct currency from products) p
        join rates r on r.currency = p.currency
        where r.day = (
            select max(day) from rates where currency = p.currency and day <= $day
        )";
}

/// The sales of one product.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProductSales {
    /// `goodsId`, of a known product or of other goods.
    pub goods_id: String,
    /// Its present name; of other goods, the name of their latest sale.
    pub goods_name: String,
    /// Items sold.
    pub items: i64,
    /// The amount paid for the items that have an exchange rate.
    pub amount: Usd,
    /// The number of items that have an exchange rate.
    pub converted_items: i64,
    /// The number of devices that sold it.
    pub devices: i64,
    /// The lowest price of an enabled aisle, or the default price when there is none; `None` for
    /// other goods, and without an exchange rate.
    pub price: Option<Usd>,
    /// The default price; `None` for other goods, and without an exchange rate.
    pub default_price: Option<Usd>,
}

impl Store {
    /// Returns the products that sold best: by items, then by amount, then by `goodsId`; at most
    /// `most`.
    ///
    /// # Errors
    /// `TokenInvalid`, `GroupClosed`, `OutOfScope`, or the store failed.
    pub async fn best_sellers(
        &self,
        claim: Claim,
        query: DashboardQuery,
        most: usize,
    ) -> Result<Vec<ProductSales>, Refused> {
        self.report(claim, query, BestSellersReport { most }).await
    }
}

struct BestSellersReport {
    most: usize,
}

/// Sales by `goodsId`, and data of the goods with sales.
#[derive(Default)]
struct ProductRows {
    sales: HashMap<String, SalesOfProduct>,
    products: HashMap<String, Product>,
    lowest_prices: HashMap<String, Minor>,
    names_of_sales: HashMap<String, String>,
    rates_today: HashMap<&'static str, Rate>,
}

#[derive(Default)]
struct SalesOfProduct {
    items: i64,
    amount: Usd,
    converted_items: i64,
    devices: HashSet<DeviceNo>,
}

struct Product {
    name: String,
    currency: Currency,
    default_price: Minor,
}

/// A statement about products.
enum ProductStep {
    Product,
    Aisle,
    NameOfSale,
    RateToday,
}

impl Report for BestSellersReport {
    type Rows = ProductRows;
    type Step = ProductStep;
    type Answer = Vec<ProductSales>;
    const SALES: SalesBy = SalesBy::Product;

    fn on_product(&self, rows: &mut ProductRows, sum: &ProductSum<'_>) {
        // Most sums are of a product that is there already.
        if !rows.sales.contains_key(sum.goods_id) {
            rows.sales.insert(sum.goods_id.to_owned(), SalesOfProduct::default());
        }
        let Some(sales) = rows.sales.get_mut(sum.goods_id) else { return };
        sales.items += sum.items;
        if let Some(amount) = sum.amount {
            sales.amount = sales.amount.plus(amount);
            sales.converted_items += sum.items;
        }
        // Updates of orders can leave a sum of zero items.
        if sum.items != 0 {
            sales.devices.insert(sum.device);
        }
    }

    fn steps<'a>(&'a self, request: &'a Request, group: HintedGroup) -> Vec<Step<'a, ProductStep>> {
        let today = request.zone.day_of(request.now);
        let aisles = Bound::new(&ENABLED_AISLES, [group.into(), request.now.into()]);
        vec![
            Bound::new(&PRODUCTS, []).step(ProductStep::Product),
            aisles.step(ProductStep::Aisle),
            Bound::new(&NAMES_OF_SALES, [group.into()]).step(ProductStep::NameOfSale),
            Bound::new(&RATES_ON, [today.into()]).step(ProductStep::RateToday),
        ]
    }

    fn on_row(
        &self,
        rows: &mut ProductRows,
        step: &ProductStep,
        row: &Row<'_>,
        context: &RowContext<'_>,
    ) -> Result<(), Error> {
        match step {
            ProductStep::Product => rows.add_product(&row.read()?),
            ProductStep::Aisle => {
                let aisle: AisleRow<'_> = row.read()?;
                if context.selects(aisle.device_no) {
                    rows.add_aisle(&aisle);
                }
                Ok(())
            }
            ProductStep::NameOfSale => {
                rows.add_name(&row.read()?);
                Ok(())
            }
            ProductStep::RateToday => rows.add_rate(&row.read()?),
        }
    }

    fn answer(self, mut rows: ProductRows, _: &AnswerContext<'_>) -> Result<Self::Answer, Refused> {
        let sales = std::mem::take(&mut rows.sales);
        let mut sales: Vec<(String, SalesOfProduct)> =
            sales.into_iter().filter(|(_, sales)| sales.items > 0).collect();
        sales.sort_unstable_by(|(one_id, one), (other_id, other)| {
            // By cents, so that equal amounts of the answer are ranked by their ids.
            let by = |sales: &SalesOfProduct| (Reverse(sales.items), Reverse(sales.amount.cents()));
            by(one).cmp(&by(other)).then_with(|| one_id.cmp(other_id))
        });
        sales.truncate(self.most);
        let ranked =
            sales.into_iter().map(|(goods_id, sales)| rows.product_sales(goods_id, &sales));
        Ok(ranked.collect::<Result<_, Error>>()?)
    }
}

impl ProductRows {
    fn add_product(&mut self, row: &ProductRow<'_>) -> Result<(), Error> {
        if self.sales.contains_key(row.goods_id) {
            let (name, default_price) = (row.goods_name.to_owned(), row.default_price);
            let product = Product { name, currency: parse_currency(row.currency)?, default_price };
            self.products.insert(row.goods_id.to_owned(), product);
        }
        Ok(())
    }

    fn add_aisle(&mut self, row: &AisleRow<'_>) {
        if self.sales.contains_key(row.goods_id) {
            let lowest = self.lowest_prices.entry(row.goods_id.to_owned()).or_insert(row.price);
            *lowest = row.price.min(*lowest);
        }
    }

    fn add_name(&mut self, row: &NameRow<'_>) {
        if self.sales.contains_key(row.goods_id) {
            self.names_of_sales.insert(row.goods_id.to_owned(), row.goods_name.to_owned());
        }
    }

    fn add_rate(&mut self, row: &RateRow<'_>) -> Result<(), Error> {
        let currency = parse_currency(row.currency)?;
        let rate = Rate::from_parts(row.usd_per_unit_e12);
        self.rates_today.extend(rate.map(|rate| (currency.code(), rate)));
        Ok(())
    }

    fn product_sales(
        &self,
        goods_id: String,
        sales: &SalesOfProduct,
    ) -> Result<ProductSales, Error> {
        let mut answer = ProductSales {
            items: sales.items,
            amount: sales.amount,
            converted_items: sales.converted_items,
            devices: i64::try_from(sales.devices.len()).unwrap_or(i64::MAX),
            ..ProductSales::default()
        };
        if let Some(Product { name, currency, default_price }) = self.products.get(&goods_id) {
            answer.goods_name.clone_from(name);
            if let Some(rate) = self.rate_today(*currency) {
                let lowest = self.lowest_prices.get(&goods_id).unwrap_or(default_price);
                answer.price = Some(Usd::of(*lowest, *currency, rate)?);
                answer.default_price = Some(Usd::of(*default_price, *currency, rate)?);
            }
        } else if let Some(name) = self.names_of_sales.get(&goods_id) {
            answer.goods_name.clone_from(name);
        }
        answer.goods_id = goods_id;
        Ok(answer)
    }

    fn rate_today(&self, currency: Currency) -> Option<Rate> {
        if currency == Currency::USD {
            return Some(Rate::ONE);
        }
        self.rates_today.get(currency.code()).copied()
    }
}
