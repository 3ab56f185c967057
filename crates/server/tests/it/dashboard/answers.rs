//! Whole answers, with sales and without.

use kiosque_testkit::{
    AISLE_PATH, BEST_PATH, BY_DEVICE_PATH, ONLINE_PATH, PROFILE_PATH, SUMMARY_PATH, TREND_PATH,
    TestRequest, TestServer, dashboard_paths, snapshot,
};
use serde_json::json;

use super::ask;
use crate::catalog;

/// The server of all snapshots, with a session in `harbour`, and a rate for euros but none for
/// krónur.
async fn open() -> (TestServer, String) {
    let (server, token) = catalog::open_to_ops().await;
    server.set_rates(&[("EUR", "2026-01-01", "1.085"), ("EUR", "2026-03-02", "1.1")]).await;
    (server, token)
}

/// DASH-14: the fields of a summary. DASH-15, DASH-16: its KPIs and their formats. DASH-2: the
/// default range.
#[tokio::test]
async fn a_summary() {
    let (server, token) = open().await;
    let summary = snapshot(&ask(&server, &token, SUMMARY_PATH, &json!({})).await);
    insta::assert_snapshot!("a_summary", summary);
    let chinese = TestRequest::to(SUMMARY_PATH).token(&token).locale("zh-CN").send(&server).await;
    insta::assert_snapshot!("a_summary_in_chinese", snapshot(&chinese));
}

/// DASH-17: the fields and the ranking. DASH-18: prices. FMT-5: null where there is no rate.
#[tokio::test]
async fn a_best_selling_product() {
    let (server, token) = open().await;
    let best = snapshot(&ask(&server, &token, BEST_PATH, &json!({})).await);
    insta::assert_snapshot!("a_best_selling_product", best);
}

/// DASH-20: the fields and the order. DASH-12: a device whose sales have no rate.
#[tokio::test]
async fn sales_by_device() {
    let (server, token) = open().await;
    let by_device = snapshot(&ask(&server, &token, BY_DEVICE_PATH, &json!({})).await);
    insta::assert_snapshot!("sales_by_device", by_device);
}

/// DASH-21: a row for every day that the range touches, with zeros where there are no sales.
#[tokio::test]
async fn a_sales_trend() {
    let (server, token) = open().await;
    let since_a_thursday = json!({ "startTimestamp": server.now().0 - 4 * 86_400_000 });
    let trend = snapshot(&ask(&server, &token, TREND_PATH, &since_a_thursday).await);
    insta::assert_snapshot!("a_sales_trend", trend);
}

/// DASH-22: devices, cabinets, layers and aisles in their order. DASH-23: prices in minor units of
/// the product's currency.
#[tokio::test]
async fn a_device_aisle_hierarchy() {
    let (server, token) = open().await;
    server.apply(HIERARCHY).await.unwrap();
    let aisles = snapshot(&ask(&server, &token, AISLE_PATH, &json!({})).await);
    insta::assert_snapshot!("a_device_aisle_hierarchy", aisles);
}

/// Cabinets and layers in no order, prices in three currencies.
const HIERARCHY: &str = r#"
    [[product]]
    id = "P-3"
    name = "お茶"
    currency = "JPY"
    default_price = 160
    [[product]]
    id = "P-4"
    name = "Dates"
    currency = "KWD"
    [[device]]
    code = "H-2"
    [[device.aisle]]
    code = "2-1"
    product = "P-3"
    price = 160
    show_price = 150
    stock = 1
    capacity = 6
    cabinet = "B"
    layer = 2
    [[device.aisle]]
    code = "1-2"
    product = "P-1"
    price = 240
    capacity = 6
    cabinet = "B"
    broken = true
    [[device.aisle]]
    code = "9"
    product = "P-4"
    price = 1250
    stock = 2
    capacity = 2
    cabinet = "A"
    layer = 10
    enabled = false
    [[device.aisle]]
    code = "1-1"
    product = "P-1"
    price = 250
    capacity = 6
    cabinet = "B"
"#;

/// DASH-24: the device records of all devices.
#[tokio::test]
async fn a_device_profile() {
    let (server, token) = open().await;
    let profile = snapshot(&ask(&server, &token, PROFILE_PATH, &json!({})).await);
    insta::assert_snapshot!("a_device_profile", profile);
}

/// DASH-25: the counts and the list.
#[tokio::test]
async fn online_devices() {
    let (server, token) = open().await;
    let online = snapshot(&ask(&server, &token, ONLINE_PATH, &json!({})).await);
    insta::assert_snapshot!("online_devices", online);
}

/// DASH-19, DASH-20, DASH-22, DASH-24, DASH-25: the shapes without results. DASH-16: KPIs of
/// nothing.
#[tokio::test]
async fn a_group_without_devices_has_the_empty_shape_of_each_function() {
    let (server, _) = open().await;
    let token = server.log_in("new").await.token;
    let mut answers = Vec::new();
    for path in dashboard_paths().chain([ONLINE_PATH]) {
        let reply = ask(&server, &token, path, &json!({})).await;
        let function = path.rsplit('/').next().unwrap();
        answers.push(format!("{function}\n{}", snapshot(&reply)));
    }
    insta::assert_snapshot!("the_empty_shapes", answers.join("\n\n"));
}

/// DASH-19, DASH-20, DASH-21: the same shapes when there are devices and no sales in the range,
/// which ends by default. DASH-15: its devices are online as in any other range.
#[tokio::test]
async fn a_range_without_sales_has_the_empty_shapes() {
    let (server, token) = open().await;
    let range = json!({ "startTimestamp": server.now().0 });
    for (path, data) in
        [(BEST_PATH, json!(null)), (BY_DEVICE_PATH, json!([])), (TREND_PATH, json!([]))]
    {
        assert_eq!(*ask(&server, &token, path, &range).await.data(), data, "{path}");
    }
    let summary = ask(&server, &token, SUMMARY_PATH, &range).await;
    for (code, value) in [("onlineDeviceCount", "1"), ("onlineRate", "33.3%")] {
        assert_eq!(super::kpi(&summary, code), value, "{code}");
    }
}
