//! Names, prices and devices of goods, looked up by id.
//!
//! The statements of a report are sent before its ranking is known. So the best-selling goods of an
//! earlier answer are looked up as a hint; if the ranking has others, the report runs again with
//! those.

use std::sync::Arc;

use kiosque_model::sales::Rate;
use kiosque_model::{Currency, Day, GroupNo, Minor, UnixMs};

use super::super::figures::goods::{Goods, LowestPrices, Product};
use super::super::filter::rows_of;
use crate::cache::Key;
use crate::db::{Bound, Reading};
use crate::devices::bind_listed_count;
use crate::error::Error;
use crate::scoped::HintedGroup;
use crate::sql::{Row, row, statements};
use crate::versions::{Versioned, Versions};
use crate::views::Reports;

row! {
    struct ProductRow<'r> {
        goods_id: &'r str,
        goods_name: &'r str,
        currency: &'r str,
        default_price: Option<Minor>,
        usd_per_unit_e12: Option<i64>,
    }
}

statements! {
    /// Products, each with the rate of its currency.
    PRODUCTS(day) -> ProductRow<'_> = "select p.goods_id, p.goods_name, p.currency, p.default_price,
            (
                select t.usd_per_unit_e12 from rates t
                where t.currency = p.currency and t.day <= $day order by t.day desc limit 1
            ) as usd_per_unit_e12
        from {rows r: goods text} cross join products p where p.goods_id = r.goods";
    /// No prices if the caller knows them in this version.
    LOWEST_PRICES(group_no, now_ms, known_fleet) -> (&str, Minor) = "select
            a.goods_id, min(a.price)
        from {rows r: goods text} cross join device_owners o cross join aisles a
        where (select fleet from group_changes where group_no = $group_no) <> $known_fleet
            and o.group_no = $group_no and o.since_ms <= $now_ms and o.until_ms > $now_ms
            and o.listed and a.goods_id = r.goods and a.device_no = o.device_no and a.enabled
        group by a.goods_id";
    PRICES_OF_DEVICES(group_no, now_ms) -> (&str, Minor) = "select a.goods_id, a.price
        from {each r: code text} cross join device_owners o cross join aisles a
        where o.group_no = $group_no and o.device_code = r.code
            and o.since_ms <= $now_ms and o.until_ms > $now_ms and o.listed
            and a.device_no = o.device_no and a.enabled";
    NAMES_OF_SALES(group_no) -> (String, String) = "select n.goods_id, n.goods_name
        from {rows r: goods text} cross join goods_names n
        where n.group_no = $group_no and n.goods_id = r.goods";
    VISIBLE_DEVICES(group_no, now_ms) -> i64 = "select o.device_no
        from {each r: code text} cross join device_owners o
        where o.group_no = $group_no and o.device_code = r.code
            and o.since_ms <= $now_ms and o.until_ms > $now_ms and o.listed";
}

impl Reports<'_> {
    /// Returns the cached prices of goods in a group, if all are cached.
    pub(super) fn cached_prices(
        self,
        group: HintedGroup,
        ids: &[&str],
        now: UnixMs,
    ) -> Option<Arc<Versioned<LowestPrices>>> {
        let cached = self.0.cache.get::<Versioned<LowestPrices>>(&Key::Prices(group.number()))?;
        let has_all = ids.iter().all(|id| cached.value.contains_key(*id));
        (has_all && cached.versions.is_settled(now)).then_some(cached)
    }

    /// Keeps the cached prices of goods if they are valid. Otherwise caches those that were read,
    /// unless a move of a device is pending.
    pub(super) fn cache_prices(
        self,
        goods: &mut Goods,
        group: GroupNo,
        versions: Versions,
        ids: &[&str],
        now: UnixMs,
    ) {
        goods.cached_prices.take_if(|cached| !cached.versions.has_lists_of(&versions));
        if goods.cached_prices.is_some() || !versions.is_settled(now) {
            return;
        }
        let value: LowestPrices =
            ids.iter().map(|id| ((*id).to_owned(), goods.lowest_price(id))).collect();
        let size = value.keys().map(|id| id.len() + size_of::<(String, Option<Minor>)>()).sum();
        self.0.cache.insert(Key::Prices(group), size, Arc::new(Versioned { versions, value }));
    }
}

/// Reads the names and prices of goods, except for cached prices that are valid. With the codes of
/// a filter, only its devices count for prices, and none are cached.
pub(super) fn of(
    goods: &[&str],
    codes: Option<&[&str]>,
    cached_prices: Option<Arc<Versioned<LowestPrices>>>,
    today: Day,
    now: UnixMs,
    group: HintedGroup,
) -> Reading<Goods> {
    let ids = || rows_of(goods);
    let known = Versions::known_lists(cached_prices.as_deref());
    let products = Bound::new(&PRODUCTS, [today.into()]).with_rows(ids());
    let names = Bound::new(&NAMES_OF_SALES, [group.into()]).with_rows(ids());
    let goods = Reading::of(Goods { cached_prices, ..Goods::default() });
    let goods = match codes {
        None => {
            let params = [group.into(), now.into(), known.into()];
            let prices = Bound::new(&LOWEST_PRICES, params).with_rows(ids());
            let count = |goods: &mut Goods, row: &Row<'_>| {
                goods.devices = row.read()?;
                Ok(())
            };
            goods.then(bind_listed_count(group, now), count).then(prices, add_price)
        }
        Some(codes) => {
            let of_group = || [group.into(), now.into()];
            let of_codes = |sql| Bound::new(sql, of_group()).with_rows(rows_of(codes));
            let count = |goods: &mut Goods, _: &Row<'_>| {
                goods.devices += 1;
                Ok(())
            };
            let goods = goods.then(of_codes(&VISIBLE_DEVICES), count);
            goods.then(of_codes(&PRICES_OF_DEVICES), add_price)
        }
    };
    goods.then(products, add_product).then(names, |goods: &mut Goods, row: &Row<'_>| {
        goods.names_of_sales.extend([row.read::<(String, String)>()?]);
        Ok(())
    })
}

fn add_price(goods: &mut Goods, row: &Row<'_>) -> Result<(), Error> {
    let (goods_id, price): (&str, Minor) = row.read()?;
    match goods.lowest_prices.get_mut(goods_id) {
        Some(lowest) => *lowest = price.min(*lowest),
        None => {
            goods.lowest_prices.insert(goods_id.to_owned(), price);
        }
    }
    Ok(())
}

fn add_product(goods: &mut Goods, row: &Row<'_>) -> Result<(), Error> {
    let row: ProductRow<'_> = row.read()?;
    let currency = Currency::parse(row.currency)?;
    let rate = match currency {
        Currency::USD => Some(Rate::ONE),
        _ => row.usd_per_unit_e12.and_then(Rate::from_parts),
    };
    let (name, default_price) = (row.goods_name.to_owned(), row.default_price);
    let product = Product { name, currency, default_price, rate };
    goods.products.insert(row.goods_id.to_owned(), product);
    Ok(())
}
