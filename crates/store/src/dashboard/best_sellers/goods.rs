//! Names, prices and devices of goods, looked up by their ids.
//!
//! The statements of a report are sent before its ranking is known. So the goods that sold best in
//! an earlier answer are looked up with it, as a hint; if others sold best, the report runs again
//! with those.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard};

use kiosque_locks::lock_ignoring_poison;
use kiosque_model::sales::{Rate, Usd};
use kiosque_model::{Currency, DeviceNo, GroupId, GroupNo, Minor};

use super::super::product_totals::ProductTotals;
use super::super::{DashboardQuery, Request, months};
use super::{ProductSales, SalesOfProduct};
use crate::Error;
use crate::db::{Bound, Step};
use crate::devices::bind_listed_count;
use crate::scoped_query::HintedGroup;
use crate::sql::{Row, Value, row, statements};
use crate::sums::parse_currency;

row! {
    struct ProductRow<'r> {
        goods_id: &'r str,
        goods_name: &'r str,
        currency: &'r str,
        default_price: Option<Minor>,
        usd_per_unit_e12: Option<i64>,
    }
    struct PriceRow<'r> { goods_id: &'r str, price: Minor }
    struct NameRow<'r> { goods_id: &'r str, goods_name: &'r str }
}

statements! {
    /// Products, each with the rate of its currency.
    PRODUCTS(day) -> ProductRow<'_> = "select p.goods_id, p.goods_name, p.currency,
            case when p.default_price = 0 and not p.is_free then null
                else p.default_price end as default_price,
            (
                select t.usd_per_unit_e12 from rates t
                where t.currency = p.currency and t.day <= $day order by t.day desc limit 1
            ) as usd_per_unit_e12
        from {rows r: goods text} cross join products p where p.goods_id = r.goods";
    LOWEST_PRICES(group_no, now_ms) -> PriceRow<'_> = "select a.goods_id, min(a.price) as price
        from {rows r: goods text} cross join device_owners o cross join aisles a
        where o.group_no = $group_no and o.since_ms <= $now_ms and o.until_ms > $now_ms
            and o.listed and a.goods_id = r.goods and a.device_no = o.device_no and a.enabled
        group by a.goods_id";
    PRICES_OF_DEVICES(group_no, now_ms) -> PriceRow<'_> = "select a.goods_id, a.price
        from {rows r: code text} cross join device_owners o cross join aisles a
        where o.group_no = $group_no and o.device_code = r.code
            and o.since_ms <= $now_ms and o.until_ms > $now_ms and o.listed
            and a.device_no = o.device_no and a.enabled";
    NAMES_OF_SALES(group_no) -> NameRow<'_> = "select n.goods_id, n.goods_name
        from {rows r: goods text} cross join goods_names n
        where n.group_no = $group_no and n.goods_id = r.goods";
    VISIBLE_DEVICES(group_no, now_ms) -> DeviceNo = "select o.device_no
        from {rows r: code text} cross join device_owners o
        where o.group_no = $group_no and o.device_code = r.code
            and o.since_ms <= $now_ms and o.until_ms > $now_ms and o.listed";
}

/// Goods that are looked up for one report at most, unless more have just sold best.
const HINTED_MAX: usize = 32;
/// Groups with hints; the hints are cleared when there are more.
const GROUPS_MAX: usize = 10_000;

/// The goods that sold best in the latest answers about each group, the latest first.
#[derive(Debug, Default)]
pub(crate) struct BestSellerHints(Mutex<HashMap<HintKey, Vec<String>>>);

/// A group as the caller names it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum HintKey {
    Selected(GroupNo),
    Filter(GroupId),
}

impl HintKey {
    pub(super) fn of(query: &DashboardQuery, selected: GroupNo) -> HintKey {
        match &query.group {
            Some(Ok(group)) => HintKey::Filter(group.clone()),
            _ => HintKey::Selected(selected),
        }
    }
}

impl BestSellerHints {
    pub(super) fn get(&self, key: &HintKey) -> Vec<String> {
        self.by_group().get(key).cloned().unwrap_or_default()
    }

    /// Puts the goods of an answer in front of the earlier ones.
    pub(super) fn insert(&self, key: HintKey, mut latest: Vec<String>) {
        let mut by_group = self.by_group();
        if by_group.len() >= GROUPS_MAX {
            by_group.clear();
        }
        let hinted = by_group.entry(key).or_default();
        for earlier in hinted.drain(..) {
            if latest.len() < HINTED_MAX && !latest.contains(&earlier) {
                latest.push(earlier);
            }
        }
        *hinted = latest;
    }

    fn by_group(&self) -> MutexGuard<'_, HashMap<HintKey, Vec<String>>> {
        lock_ignoring_poison(&self.0)
    }
}

/// A statement about goods.
pub(super) enum GoodsStep {
    ListedCount,
    VisibleDevice,
    Product,
    Price,
    NameOfSale,
    /// The devices that sold a product in a month, without a filter.
    Seller,
}

/// The names and prices of the goods that are looked up.
#[derive(Default)]
pub(super) struct GoodsRows {
    pub(super) has_visible_device: bool,
    products: HashMap<String, Product>,
    lowest_prices: HashMap<String, Minor>,
    names_of_sales: HashMap<String, String>,
}

struct Product {
    name: String,
    currency: Currency,
    /// `None` if none was given.
    default_price: Option<Minor>,
    /// Today's rate.
    rate: Option<Rate>,
}

/// Returns the statements that look up goods, in the order in which their rows arrive.
pub(super) fn steps<'a>(
    goods: &'a HashSet<String>,
    request: &'a Request,
    group: HintedGroup,
) -> Vec<Step<'a, GoodsStep>> {
    let of_group = [group.into(), request.now.into()];
    let rows: Vec<Vec<Value<'_>>> = goods.iter().map(|id| vec![id.as_str().into()]).collect();
    let count = bind_listed_count(group, request.now).step(GoodsStep::ListedCount);
    let (visible, prices) = match request.codes() {
        None => (count, Bound::new(&LOWEST_PRICES, of_group).with_rows(rows.clone())),
        Some(codes) => {
            let visible = Bound::new(&VISIBLE_DEVICES, of_group).with_rows(codes.clone());
            let prices = Bound::new(&PRICES_OF_DEVICES, of_group).with_rows(codes);
            (visible.step(GoodsStep::VisibleDevice), prices)
        }
    };
    let products = Bound::new(&PRODUCTS, [request.zone.day_of(request.now).into()]);
    let range = request.range.as_ref().filter(|_| request.is_of_all_devices());
    let sellers = range.map(|range| months::bind_sellers(&rows, range, group));
    let names = Bound::new(&NAMES_OF_SALES, [group.into()]);
    let steps = [
        visible,
        products.with_rows(rows.clone()).step(GoodsStep::Product),
        prices.step(GoodsStep::Price),
        names.with_rows(rows).step(GoodsStep::NameOfSale),
    ];
    steps.into_iter().chain(sellers.map(|sellers| sellers.step(GoodsStep::Seller))).collect()
}

impl GoodsRows {
    /// Adds a row of a step.
    pub(super) fn on_row(
        &mut self,
        step: &GoodsStep,
        row: &Row<'_>,
        goods: &HashSet<String>,
    ) -> Result<(), Error> {
        match step {
            GoodsStep::ListedCount => {
                self.has_visible_device = row.read::<i64>()? > 0;
            }
            GoodsStep::VisibleDevice => self.has_visible_device = true,
            GoodsStep::Product => self.add_product(&row.read()?)?,
            GoodsStep::Price => {
                let PriceRow { goods_id, price } = row.read()?;
                if goods.contains(goods_id) {
                    let lowest = self.lowest_prices.entry(goods_id.to_owned()).or_insert(price);
                    *lowest = price.min(*lowest);
                }
            }
            GoodsStep::NameOfSale => {
                let NameRow { goods_id, goods_name } = row.read()?;
                self.names_of_sales.insert(goods_id.to_owned(), goods_name.to_owned());
            }
            // Counted with the sales.
            GoodsStep::Seller => {}
        }
        Ok(())
    }

    fn add_product(&mut self, row: &ProductRow<'_>) -> Result<(), Error> {
        let currency = parse_currency(row.currency)?;
        let rate = match currency {
            Currency::USD => Some(Rate::ONE),
            _ => row.usd_per_unit_e12.and_then(Rate::from_parts),
        };
        let (name, default_price) = (row.goods_name.to_owned(), row.default_price);
        let product = Product { name, currency, default_price, rate };
        self.products.insert(row.goods_id.to_owned(), product);
        Ok(())
    }

    /// Adds the name and the prices of a product to its sales.
    pub(super) fn product_sales(
        &self,
        goods_id: String,
        sales: &SalesOfProduct,
    ) -> Result<ProductSales, Error> {
        let ProductTotals { items, converted_items, amount } = sales.totals;
        let devices = i64::try_from(sales.devices.len()).unwrap_or(i64::MAX);
        let mut answer =
            ProductSales { items, amount, converted_items, devices, ..ProductSales::default() };
        if let Some(product) = self.products.get(&goods_id) {
            answer.goods_name.clone_from(&product.name);
            if let Some(rate) = product.rate {
                let (currency, default_price) = (product.currency, product.default_price);
                let dollars = |price| Usd::of(price, currency, rate);
                let lowest = self.lowest_prices.get(&goods_id).copied().or(default_price);
                answer.price = lowest.map(dollars).transpose()?;
                answer.default_price = default_price.map(dollars).transpose()?;
            }
        } else if let Some(name) = self.names_of_sales.get(&goods_id) {
            answer.goods_name.clone_from(name);
        }
        answer.goods_id = goods_id;
        Ok(answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_goods_are_hinted_first_and_their_number_is_bounded() {
        let (hints, key) = (BestSellerHints::default(), HintKey::Selected(GroupNo(1)));
        let goods = |ids: std::ops::Range<usize>| ids.map(|id| id.to_string()).collect::<Vec<_>>();
        hints.insert(key.clone(), goods(0..20));
        hints.insert(key.clone(), goods(15..30));
        let hinted = hints.get(&key);
        assert_eq!(hinted.len(), 30);
        assert_eq!(hinted[..15], goods(15..30));
        hints.insert(key.clone(), goods(30..40));
        assert_eq!(hints.get(&key).len(), HINTED_MAX);
        assert_eq!(hints.get(&key)[..25], [goods(30..40), goods(15..30)].concat());
        assert_eq!(hints.get(&HintKey::Selected(GroupNo(2))), [""; 0]);
    }
}
