//! The best-selling products.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use kiosque_model::sales::{Rates, Usd};
use kiosque_model::{Currency, Day, DeviceNo, Minor, Presented, UnixMs};

use super::range::{self, Range};
use super::{DashboardAsk, View};
use crate::sql::{Row, statements};
use crate::{Error, Refused, Store};

statements! {
    PRODUCT_DAYS = "select goods_id, items, amount, currency, day, device_no
        from sales_by_product where group_no = $1 and day >= $2 and day <= $3";
    PRODUCTS_OF_DEVICE = "select goods_id, items, amount, currency, day, device_no
        from sales_by_product where group_no = $1 and day = $2 and device_no = $3";
    PRODUCT = "select goods_name, currency, default_price from products where goods_id = $1";
    CAME_AS = "select goods_name from goods_names where group_no = $1 and goods_id = $2";
    ASKED_PRICES = "select a.price, o.device_no
        from device_owners o join aisles a on a.device_no = o.device_no
        where o.group_no = $1 and o.since_ms <= $2 and o.until_ms > $2 and o.listed
            and a.goods_id = $3 and a.enabled
        order by a.price";
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
        presented: &Presented,
        now: UnixMs,
        ask: DashboardAsk,
        most: usize,
    ) -> Result<Vec<ProductSales>, Refused> {
        self.viewed(presented, now, ask, move |view, ask| {
            let range = Range::read(view, ask.start, ask.end)?;
            let mut sold: Vec<(String, Sold)> =
                sold(view, &range)?.into_iter().filter(|(_, sold)| sold.items > 0).collect();
            sold.sort_unstable_by(|(one_id, one), (other_id, other)| {
                // By what is told: amounts that look the same are the same.
                let by = |sold: &Sold| (Reverse(sold.items), Reverse(sold.amount.cents()));
                by(one).cmp(&by(other)).then_with(|| one_id.cmp(other_id))
            });
            sold.truncate(most);
            let told = sold.into_iter().map(|(goods_id, sold)| told(view, goods_id, &sold));
            Ok(told.collect::<Result<_, Error>>()?)
        })
        .await
    }
}

/// Every product that sold, with sums of all its days and devices.
fn sold(view: &View<'_>, range: &Range) -> Result<HashMap<String, Sold>, Error> {
    let mut products: HashMap<String, Sold> = HashMap::new();
    each_product_day(view, range, |goods_id, device, day, currency, (items, amount)| {
        // Most rows are of products that are there already.
        if !products.contains_key(goods_id) {
            products.insert(goods_id.to_owned(), Sold::default());
        }
        let Some(sold) = products.get_mut(goods_id) else { return Ok(()) };
        sold.items += items;
        if let Some(rate) = range.rates.on(currency, day) {
            sold.amount = sold.amount.plus(Usd::of(Minor(amount), currency, rate)?);
            sold.converted_items += items;
        }
        // A row whose items all left again says that nothing was sold.
        if items != 0 {
            sold.devices.insert(device);
        }
        Ok(())
    })?;
    Ok(products)
}

fn each_product_day(
    view: &View<'_>,
    range: &Range,
    mut visit: impl FnMut(&str, DeviceNo, Day, Currency, (i64, i64)) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut each = |row: &Row<'_>| {
        let (device, day) = (DeviceNo(row.int(5)?), Day(row.int(4)?));
        let currency = range::currency(row.text(3)?)?;
        visit(row.text(0)?, device, day, currency, (row.int(1)?, row.int(2)?))
    };
    match (&view.devices, range.whole_span()) {
        (_, None) => {}
        (None, Some((first, last))) => {
            let params = [view.group(), first.0.into(), last.0.into()];
            view.read.each(&PRODUCT_DAYS, &params, &mut each)?;
        }
        (Some(devices), Some(_)) => {
            for day in range.whole_days() {
                for device in devices {
                    let params = [view.group(), day.0.into(), device.0.into()];
                    view.read.each(&PRODUCTS_OF_DEVICE, &params, &mut each)?;
                }
            }
        }
    }
    range.each_sale(view, |device, day, sale| {
        for sold in &sale.goods {
            let sums = (sold.items, sold.amount.0);
            visit(&sold.goods_id, device, day, sale.currency, sums)?;
        }
        Ok(())
    })
}

fn told(view: &View<'_>, goods_id: String, sold: &Sold) -> Result<ProductSales, Error> {
    let product = view.read.one(&PRODUCT, &[goods_id.as_str().into()], |row| {
        let currency = range::currency(row.text(1)?)?;
        Ok((row.text(0)?.to_owned(), currency, Minor(row.int(2)?)))
    })?;
    let mut told = ProductSales {
        items: sold.items,
        amount: sold.amount,
        converted_items: sold.converted_items,
        devices: i64::try_from(sold.devices.len()).unwrap_or(i64::MAX),
        ..ProductSales::default()
    };
    if let Some((name, currency, default_price)) = product {
        told.goods_name = name;
        let today = view.zone.day_of(view.now);
        let rates: Rates = view.rates(&[currency], today, today)?;
        if let Some(rate) = rates.on(currency, today) {
            let asked = asked_price(view, &goods_id)?.unwrap_or(default_price);
            told.price = Some(Usd::of(asked, currency, rate)?);
            told.default_price = Some(Usd::of(default_price, currency, rate)?);
        }
    } else {
        let params = [view.group(), goods_id.as_str().into()];
        let name = view.read.one(&CAME_AS, &params, |row| Ok(row.text(0)?.to_owned()))?;
        told.goods_name = name.unwrap_or_default();
    }
    told.goods_id = goods_id;
    Ok(told)
}

/// The lowest price that a device which is looked at asks now.
fn asked_price(view: &View<'_>, goods_id: &str) -> Result<Option<Minor>, Error> {
    let params = [view.group(), view.now.0.into(), goods_id.into()];
    let prices = view
        .read
        .all(&ASKED_PRICES, &params, |row| Ok((Minor(row.int(0)?), DeviceNo(row.int(1)?))))?;
    let shown = prices.into_iter().find(|(_, device)| view.shows(*device));
    Ok(shown.map(|(price, _)| price))
}
