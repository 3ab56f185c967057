//! The dashboard functions. Money is dollars, summed exactly and rounded half-even once, here.

mod aisles;
mod kpi;

use kiosque_contract::{
    BestSellingProduct, DeviceSales, OnlineDevice, OnlineDevices, ProductSales, Summary, TrendDay,
};
use kiosque_model::{DeviceCode, GroupId, Refusal};
use kiosque_store::{DashboardQuery, Device};

use crate::answer::{Data, Failure};
use crate::call::{Call, after_session};
use crate::devices;
use crate::records::Records;

/// The length of `rankList` (DASH-17).
const RANKED_MAX: usize = 10;

/// `POST …/kioskDashboard/summary`
pub(crate) async fn summary(call: Call<'_>) -> Result<Data, Failure> {
    let (app, now, locale) = (call.app, call.now, call.locale());
    let presented = call.presented(Refusal::TokenInvalid)?;
    let asked = asked(call);
    let ask = after_session(app, now, &presented, asked).await?;

    let (start, end) = (ask.start, ask.end);
    let summary = app.store.summary(&presented, now, app.online_since(now), ask).await?;
    Data::of(&Summary {
        start_timestamp: start.0,
        end_timestamp: end.0,
        time_zone: app.store.zone().name().into(),
        currency: "USD".into(),
        kpi_list: kpi::list(&summary, locale),
        unconverted_orders: summary.turnover.unconverted_orders,
    })
}

/// `POST …/kioskDashboard/bestSellingProduct`
pub(crate) async fn best_selling_product(call: Call<'_>) -> Result<Data, Failure> {
    let (app, now) = (call.app, call.now);
    let presented = call.presented(Refusal::TokenInvalid)?;
    let asked = asked(call);
    let ask = after_session(app, now, &presented, asked).await?;

    let ranked = app.store.best_sellers(&presented, now, ask, RANKED_MAX).await?;
    let rank_list: Vec<ProductSales> = ranked.into_iter().map(product_sales).collect();
    match rank_list.first().cloned() {
        Some(best) => Data::of(&BestSellingProduct { best, rank_list }),
        None => Ok(Data::null()),
    }
}

/// `POST …/kioskDashboard/salesByDevice`
pub(crate) async fn sales_by_device(call: Call<'_>) -> Result<Data, Failure> {
    let (app, now) = (call.app, call.now);
    let presented = call.presented(Refusal::TokenInvalid)?;
    let asked = asked(call);
    let ask = after_session(app, now, &presented, asked).await?;

    let mut sold = app.store.sales_by_device(&presented, now, ask).await?;
    sold.sort_unstable_by(|one, other| {
        // By what is told: amounts that look the same are the same.
        let by_amount = other.turnover.amount.cents().cmp(&one.turnover.amount.cents());
        by_amount.then_with(|| one.code.cmp(&other.code))
    });
    let told = sold.into_iter().map(|sold| DeviceSales {
        device_code: sold.code,
        device_name: sold.name,
        order_count: sold.turnover.orders,
        sales_count: sold.turnover.items,
        sales_amount: dollars(sold.turnover.amount.cents()),
    });
    Data::of(&told.collect::<Vec<_>>())
}

/// `POST …/kioskDashboard/salesTrend`
pub(crate) async fn sales_trend(call: Call<'_>) -> Result<Data, Failure> {
    let (app, now) = (call.app, call.now);
    let presented = call.presented(Refusal::TokenInvalid)?;
    let asked = asked(call);
    let ask = after_session(app, now, &presented, asked).await?;

    let days = app.store.sales_trend(&presented, now, ask).await?;
    let told = days.into_iter().map(|(day, turnover)| TrendDay {
        label: day.to_string(),
        amount: dollars(turnover.amount.cents()),
        order_count: turnover.orders,
    });
    Data::of(&told.collect::<Vec<_>>())
}

/// `POST …/kioskDashboard/deviceAisle`
pub(crate) async fn device_aisle(call: Call<'_>) -> Result<Data, Failure> {
    let (app, now) = (call.app, call.now);
    let presented = call.presented(Refusal::TokenInvalid)?;
    let asked = asked(call);
    let ask = after_session(app, now, &presented, asked).await?;

    Data::of(&app.store.device_aisles(&presented, now, ask, aisles::place).await?)
}

/// `POST …/kioskDashboard/deviceProfile`
pub(crate) async fn device_profile(call: Call<'_>) -> Result<Data, Failure> {
    let (app, now) = (call.app, call.now);
    let presented = call.presented(Refusal::TokenInvalid)?;
    let asked = asked(call);
    let ask = after_session(app, now, &presented, asked).await?;

    let online = app.online_since(now);
    let collect = move |records: &mut Records, device: Device<'_>| {
        records.put(|json| serde_json::to_writer(json, &devices::record(device, online)))
    };
    let records = app.store.device_profile(&presented, now, ask, collect).await?;
    Ok(Data::profile(records.in_order()))
}

/// `POST …/kioskDashboard/onlineDevices`, which takes no body.
pub(crate) async fn online_devices(call: Call<'_>) -> Result<Data, Failure> {
    let (app, now) = (call.app, call.now);
    let presented = call.presented(Refusal::TokenInvalid)?;
    let ask = DashboardQuery { group: None, devices: Vec::new(), start: now, end: now };

    let online = app.online_since(now);
    let collect = move |list: &mut Vec<OnlineDevice>, device: Device<'_>| {
        list.push(OnlineDevice {
            device_code: device.code.to_owned(),
            device_name: device.name.to_owned(),
            is_online: i64::from(online.holds(device.last_active)),
            last_active_timestamp: device.last_active.map(|last| last.0),
        });
        Ok(())
    };
    let list = app.store.device_profile(&presented, now, ask, collect).await?;
    let total_count = i64::try_from(list.len()).unwrap_or(i64::MAX);
    let online_count = list.iter().map(|device| device.is_online).sum();
    let offline_count = total_count - online_count;
    Data::of(&OnlineDevices { total_count, online_count, offline_count, list })
}

/// The filters that all functions share.
fn asked(call: Call<'_>) -> Result<DashboardQuery, Refusal> {
    let (app, now) = (call.app, call.now);
    let limits = &app.settings.limits;
    let mut form = call.form()?;
    let (start, end) = form.range(app.store.zone(), now, limits.dashboard_days_max);
    let group = form.text("groupId").map(GroupId::parse);
    let devices = form.texts("deviceCodes", limits.device_codes_max);
    let devices = devices.into_iter().map(DeviceCode::parse).collect();
    form.finish(Some(DashboardQuery { group, devices, start, end }))
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

/// Cents as JSON writes dollars: the nearest number, which is written with two decimals at most.
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
