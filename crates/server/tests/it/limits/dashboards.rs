//! The limits of dashboard filters.

use kiosque_testkit::{SUMMARY_PATH, TREND_PATH, TestServer};
use serde_json::json;

use crate::catalog;

const DAY_MS: i64 = 86_400_000;

/// DASH-6: a range at the limit, and one millisecond longer.
#[tokio::test]
pub(super) async fn a_range_is_as_long_as_its_limit() {
    let server =
        TestServer::start_with(catalog::fleet(), |settings| settings.limits.dashboard_days_max = 3)
            .await;
    let token = server.log_in("ops").await.token;
    let ask = async |days_ms: i64| {
        let end = server.now().0;
        let body = json!({ "startTimestamp": end - days_ms, "endTimestamp": end });
        server.call(TREND_PATH, Some(&token), &body.to_string()).await
    };
    assert_eq!(ask(3 * DAY_MS).await.data().as_array().map(Vec::len), Some(4));
    let reply = ask(3 * DAY_MS + 1).await;
    assert_eq!(reply.code(), -1, "{reply:?}");
    let said = "startTimestamp must not be more than 3 days before endTimestamp";
    assert_eq!(reply.data(), &json!([said]));
}

/// DASH-7: as many device codes as the limit, and one more.
#[tokio::test]
pub(super) async fn a_filter_names_as_many_devices_as_its_limit() {
    let server =
        TestServer::start_with(catalog::fleet(), |settings| settings.limits.device_codes_max = 2)
            .await;
    let token = server.log_in("ops").await.token;
    let ask = async |codes: &[&str]| {
        let body = json!({ "deviceCodes": codes });
        server.call(SUMMARY_PATH, Some(&token), &body.to_string()).await
    };
    assert_eq!(ask(&[]).await.code(), 200);
    assert_eq!(ask(&["H-1", "H-1"]).await.code(), 200);
    let reply = ask(&["H-1"; 3]).await;
    assert_eq!(reply.code(), -1, "{reply:?}");
    assert_eq!(reply.data(), &json!(["deviceCodes must have at most 2 entries"]));
}
