//! The best-selling products.

mod goods;

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use kiosque_model::sales::Usd;
use kiosque_model::{Claim, DeviceNo};

use super::product_totals::ProductTotals;
use super::{AnswerContext, DashboardQuery, ProductSum, Report, Request, RowContext, SalesBy};
use crate::db::Step;
use crate::scoped_query::HintedGroup;
use crate::sql::Row;
use crate::{Error, Refused, Store};

pub(super) use goods::ALL;
pub(crate) use goods::BestSellerHints;
use goods::{GoodsRows, GoodsStep, HintKey};

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
    /// `most`. Returns none if no enabled device of the filter is the group's now (DASH-19).
    ///
    /// # Errors
    /// `TokenInvalid`, `GroupClosed`, `OutOfScope`, or the store failed.
    pub async fn best_sellers(
        &self,
        claim: Claim,
        query: DashboardQuery,
        most: usize,
    ) -> Result<Vec<ProductSales>, Refused> {
        let key = HintKey::of(&query, claim.token.group_hint());
        let mut goods: HashSet<String> = self.best_seller_hints.get(&key).into_iter().collect();
        loop {
            let report = BestSellersReport { most, goods: goods.clone() };
            let ranked = self.report(claim.clone(), query.clone(), report).await?;
            let best = ranked.iter().map(|sales| sales.goods_id.clone());
            if ranked.iter().all(|sales| goods.contains(&sales.goods_id)) {
                self.best_seller_hints.insert(key, best.collect());
                return Ok(ranked);
            }
            goods.extend(best);
        }
    }
}

struct BestSellersReport {
    most: usize,
    /// The goods to look up. The answer has no names, prices and devices of others.
    goods: HashSet<String>,
}

#[derive(Default)]
struct ProductRows {
    /// By `goodsId`.
    sales: HashMap<String, SalesOfProduct>,
    goods: GoodsRows,
}

#[derive(Default)]
struct SalesOfProduct {
    totals: ProductTotals,
    devices: HashSet<DeviceNo>,
}

impl Report for BestSellersReport {
    type Rows = ProductRows;
    type Step = GoodsStep;
    type Answer = Vec<ProductSales>;
    const SALES: SalesBy = SalesBy::Product;

    fn on_product(&self, rows: &mut ProductRows, sum: &ProductSum<'_>) {
        // Most sums are of a product that is there already.
        if !rows.sales.contains_key(sum.goods_id) {
            rows.sales.insert(sum.goods_id.to_owned(), SalesOfProduct::default());
        }
        let Some(sales) = rows.sales.get_mut(sum.goods_id) else { return };
        sales.totals.join(sum.totals);
        sales.devices.extend(sum.sold_by);
    }

    fn steps<'a>(&'a self, request: &'a Request, group: HintedGroup) -> Vec<Step<'a, GoodsStep>> {
        goods::steps(&self.goods, request, group)
    }

    fn on_row(
        &self,
        rows: &mut ProductRows,
        step: &GoodsStep,
        row: &Row<'_>,
        context: &RowContext<'_>,
    ) -> Result<(), Error> {
        let (GoodsStep::Seller, Some(range)) = (step, &context.request.range) else {
            return rows.goods.on_row(step, row, &self.goods);
        };
        context.shared.sums.each_seller(row, range, |goods_id, device| {
            if let Some(sales) = rows.sales.get_mut(goods_id) {
                sales.devices.insert(device);
            }
        })
    }

    fn answer(self, rows: ProductRows, _: &AnswerContext<'_>) -> Result<Self::Answer, Refused> {
        let ProductRows { sales, goods } = rows;
        if !goods.has_visible_device {
            return Ok(Vec::new());
        }
        let mut sales: Vec<(String, SalesOfProduct)> =
            sales.into_iter().filter(|(_, sales)| sales.totals.items > 0).collect();
        sales.sort_unstable_by(|(one_id, one), (other_id, other)| {
            // By cents, so that equal amounts of the answer are ranked by their ids.
            let by = |ProductTotals { items, amount, .. }: &ProductTotals| {
                (Reverse(*items), Reverse(amount.cents()))
            };
            by(&one.totals).cmp(&by(&other.totals)).then_with(|| one_id.cmp(other_id))
        });
        sales.truncate(self.most);
        let ranked =
            sales.into_iter().map(|(goods_id, sales)| goods.product_sales(goods_id, &sales));
        Ok(ranked.collect::<Result<_, Error>>()?)
    }
}
