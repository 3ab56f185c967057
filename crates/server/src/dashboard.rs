//! The dashboard functions (DASH-1 to DASH-28). Money is in dollars, summed exactly and rounded
//! half to even once, here.

mod device_list;
mod kpi;
mod range;

use std::cmp::Reverse;

use futures_util::future::{self, BoxFuture};
use kiosque_contract::{
    BestSellingProduct, DashboardFilter, DeviceAisles, DeviceProfile, DeviceSales, Endpoint,
    NoBody, OnlineDevices, ProductSales, Summary, TrendDay, endpoint,
};
use kiosque_listener::Content;
use kiosque_model::refusal::{Violation, ViolationKind};
use kiosque_model::{Claim, DeviceCode, GroupId, Refusal};
use kiosque_store::DashboardQuery;

use crate::answer::Data;
use crate::call::{Call, Caller, Received, Validate};
use crate::failure::Failure;
use crate::request::Violations;
use device_list::DeviceList;

/// The length of `rankList` (DASH-17).
const RANKED_MAX: usize = 10;

/// Returns the outcome of the handler of a path. Every function of the dashboard has a line here;
/// any other path is 404.
pub(crate) fn route<'a>(call: Received<'a>, path: &str) -> BoxFuture<'a, Result<Content, Failure>> {
    match path {
        endpoint::Summary::ROUTE => Box::pin(call.answer(endpoint::Summary, summary)),
        endpoint::BestSellingProduct::ROUTE => {
            Box::pin(call.answer(endpoint::BestSellingProduct, best_selling_product))
        }
        endpoint::SalesByDevice::ROUTE => {
            Box::pin(call.answer(endpoint::SalesByDevice, sales_by_device))
        }
        endpoint::SalesTrend::ROUTE => Box::pin(call.answer(endpoint::SalesTrend, sales_trend)),
        endpoint::DeviceAisle::ROUTE => Box::pin(call.answer(endpoint::DeviceAisle, device_aisle)),
        endpoint::DeviceProfile::ROUTE => {
            Box::pin(call.answer(endpoint::DeviceProfile, device_profile))
        }
        endpoint::OnlineDevices::ROUTE => {
            Box::pin(call.answer(endpoint::OnlineDevices, online_devices))
        }
        _ => Box::pin(future::ready(Err(Failure::not_found()))),
    }
}

impl Validate for DashboardFilter {
    fn validate(&self, call: &Call<'_>, violations: &mut Violations) {
        let limits = &call.app.settings.limits;
        range::validate(self, call, limits.dashboard_days_max, violations);
        if self.device_codes.len() > limits.device_codes_max {
            violations.add("deviceCodes", ViolationKind::TooMany(limits.device_codes_max));
        }
    }
}

/// Returns the query of a filter.
fn query(call: &Call<'_>, filter: DashboardFilter) -> DashboardQuery {
    let (start, end) = range::of(&filter, call.app.store.zone(), call.now);
    DashboardQuery {
        group: filter.group_id.map(GroupId::parse),
        devices: filter.device_codes.into_iter().map(DeviceCode::parse).collect(),
        start,
        end,
    }
}

/// Returns the call, the claim and the query of a request to a function that sums the sales of its
/// devices, unless that is too much work (DASH-26).
async fn sales_query<'a>(
    Caller { call, claim, .. }: Caller<'a>,
    filter: DashboardFilter,
) -> Result<(Call<'a>, Claim, DashboardQuery), Failure> {
    let store = &call.app.store;
    let work_max = call.app.settings.limits.dashboard_work_max;
    let query = query(&call, filter);
    let devices = i64::try_from(query.devices.len()).unwrap_or(i64::MAX);
    let days = range::days((query.start, query.end), store.zone());
    if devices.saturating_mul(days) > work_max {
        // As for any other violation, the session is proven first (REQ-1).
        store.sessions().prove(claim).await?;
        let violation =
            Violation { field: "startTimestamp", kind: ViolationKind::TooMuchWork(work_max) };
        return Err(Refusal::Invalid(vec![violation]).into());
    }
    Ok((call, claim, query))
}

/// `POST …/kioskDashboard/summary`
async fn summary(
    caller: Caller<'_>,
    filter: DashboardFilter,
) -> Result<Data<Summary<'static>>, Failure> {
    let (call, claim, query) = sales_query(caller, filter).await?;
    let store = &call.app.store;
    let (start, end) = (query.start, query.end);
    let online = call.app.online_since(call.now);
    let summary = store.reports().summary(claim, online, query).await?;
    Data::of(&Summary {
        start_timestamp: start.0,
        end_timestamp: end.0,
        time_zone: store.zone().name().to_owned().into(),
        currency: "USD".into(),
        kpi_list: kpi::list(&summary, call.locale()),
        unconverted_orders: summary.turnover.unconverted_orders,
    })
}

/// `POST …/kioskDashboard/bestSellingProduct`
async fn best_selling_product(
    caller: Caller<'_>,
    filter: DashboardFilter,
) -> Result<Data<Option<BestSellingProduct>>, Failure> {
    let (call, claim, query) = sales_query(caller, filter).await?;
    let ranked = call.app.store.reports().best_sellers(claim, query, RANKED_MAX).await?;
    let rank_list: Vec<ProductSales> = ranked.into_iter().map(product_sales).collect();
    let best = rank_list.first().cloned();
    Data::of(&best.map(|best| BestSellingProduct { best, rank_list }))
}

/// `POST …/kioskDashboard/salesByDevice`
async fn sales_by_device(
    caller: Caller<'_>,
    filter: DashboardFilter,
) -> Result<Data<Vec<DeviceSales>>, Failure> {
    let (call, claim, query) = sales_query(caller, filter).await?;
    let account = claim.token.account_hint();
    let mut sales = call.app.store.reports().sales_by_device(claim, query).await?;
    // By the rounded amounts: amounts that look equal are equal.
    sales.sort_by_cached_key(|sales| (Reverse(sales.turnover.amount.cents()), sales.code.clone()));
    let sales = sales.into_iter().map(|sales| DeviceSales {
        device_code: sales.code,
        device_name: sales.name,
        order_count: sales.turnover.orders,
        sales_count: sales.turnover.items,
        sales_amount: dollars(sales.turnover.amount.cents()),
    });
    let sales: Vec<DeviceSales> = sales.collect();
    let json = serde_json::to_vec(&sales).map_err(|error| Failure::internal(&error))?;
    call.app.large_answers.admit_whole(account, json)
}

/// `POST …/kioskDashboard/salesTrend`
async fn sales_trend(
    caller: Caller<'_>,
    filter: DashboardFilter,
) -> Result<Data<Vec<TrendDay>>, Failure> {
    let (call, claim, query) = sales_query(caller, filter).await?;
    let days = call.app.store.reports().sales_trend(claim, query).await?;
    let days = days.into_iter().map(|(day, turnover)| TrendDay {
        label: day.to_string(),
        amount: dollars(turnover.amount.cents()),
        order_count: turnover.orders,
    });
    Data::of(&days.collect())
}

/// `POST …/kioskDashboard/deviceAisle`
async fn device_aisle(
    caller: Caller<'_>,
    filter: DashboardFilter,
) -> Result<Data<Vec<DeviceAisles>>, Failure> {
    let query = query(&caller.call, filter);
    device_list::answer(caller, query, DeviceList::Aisles).await
}

/// `POST …/kioskDashboard/deviceProfile`
async fn device_profile(
    caller: Caller<'_>,
    filter: DashboardFilter,
) -> Result<Data<DeviceProfile<'static>>, Failure> {
    let query = query(&caller.call, filter);
    device_list::answer(caller, query, DeviceList::Profile).await
}

/// `POST …/kioskDashboard/onlineDevices`
async fn online_devices(
    caller: Caller<'_>,
    _: NoBody,
) -> Result<Data<OnlineDevices<'static>>, Failure> {
    let now = caller.call.now;
    let query = DashboardQuery { group: None, devices: Vec::new(), start: now, end: now };
    device_list::answer(caller, query, DeviceList::Online).await
}

fn product_sales(sales: kiosque_store::ProductSales) -> ProductSales {
    let average = sales.amount.cents_each(sales.converted_items);
    ProductSales {
        goods_id: sales.goods_id,
        goods_name: sales.goods_name,
        price: sales.price.map(|price| dollars(price.cents())),
        default_price: sales.default_price.map(|price| dollars(price.cents())),
        average_price: (sales.converted_items > 0).then(|| dollars(average)),
        sales_count: sales.items,
        sales_amount: dollars(sales.amount.cents()),
        device_count: sales.devices,
    }
}

/// Returns cents as dollars: the nearest number, which JSON writes with at most two decimals.
fn dollars(cents: i64) -> f64 {
    cents as f64 / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// DASH-9: dollars are JSON numbers with at most two decimals.
        #[test]
        fn dollars_have_two_decimals_at_most(cents in -1_000_000_000_000_i64..1_000_000_000_000) {
            let text = serde_json::to_string(&dollars(cents)).expect("a number");
            let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
            prop_assert!(fraction.len() <= 2, "{}", text);
            prop_assert_eq!(format!("{whole}{fraction:0<2}").parse::<i64>().ok(), Some(cents));
        }
    }
}
