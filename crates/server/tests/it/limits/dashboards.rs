//! The limits of dashboard filters.

use kiosque_contract::EndpointInfo;
use kiosque_testkit::{SUMMARY_PATH, TREND_PATH, TestRequest, TestServer, dashboards};
use serde_json::json;

use crate::catalog;

const DAY_MS: i64 = 86_400_000;

/// DASH-6: a range at the limit, and one millisecond longer.
#[tokio::test]
pub(super) async fn a_range_is_as_long_as_its_limit() {
    let (server, token) = TestServer::start_for_ops_with(catalog::fleet(), |settings| {
        settings.limits.dashboard_days_max = 3
    })
    .await;
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

/// DASH-2, DASH-3, DASH-6: no limit excludes the range of a request without a start, which is not
/// longer than a month.
#[tokio::test]
async fn a_range_without_a_start_is_within_every_limit() {
    let (server, token) = TestServer::start_for_ops_with(catalog::fleet(), |settings| {
        settings.limits.dashboard_days_max = 1
    })
    .await;
    let now = server.now().0;
    let month = now - DAY_MS - 10 * 3_600_000;
    let ask = async |body: serde_json::Value| {
        server.call(SUMMARY_PATH, Some(&token), &body.to_string()).await
    };
    for (body, from, until) in [
        (json!({}), month, now),
        (json!({ "endTimestamp": month }), month - 28 * DAY_MS, month),
        (json!({ "endTimestamp": month + 31 * DAY_MS }), month, month + 31 * DAY_MS),
    ] {
        let reply = ask(body).await;
        let range = ["startTimestamp", "endTimestamp"].map(|end| reply.success()[end].as_i64());
        assert_eq!(range, [Some(from), Some(until)]);
    }
    for (body, said) in [
        (
            json!({ "startTimestamp": month }),
            "startTimestamp must not be more than 1 days before now, the default end",
        ),
        (
            json!({ "endTimestamp": month + 31 * DAY_MS + 1 }),
            "startTimestamp must not be more than 31 days before endTimestamp",
        ),
    ] {
        let reply = ask(body).await;
        assert_eq!((reply.code(), reply.data()), (-1, &json!([said])));
    }
}

/// DASH-7: as many device codes as the limit, and one more.
#[tokio::test]
pub(super) async fn a_filter_names_as_many_devices_as_its_limit() {
    let (server, token) = TestServer::start_for_ops_with(catalog::fleet(), |settings| {
        settings.limits.device_codes_max = 2
    })
    .await;
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

/// DASH-26: the sales of as many devices on as many days as the limit are summed, and not of one
/// device more. Functions about devices alone have no such limit.
#[tokio::test]
pub(super) async fn sales_of_devices_are_summed_up_to_a_limit() {
    let (server, token) = TestServer::start_for_ops_with(catalog::fleet(), |settings| {
        settings.limits.dashboard_work_max = 6
    })
    .await;
    let end = server.now().0;
    let body = |codes: &[&str]| {
        let start = end - 2 * DAY_MS;
        json!({ "deviceCodes": codes, "startTimestamp": start, "endTimestamp": end }).to_string()
    };
    let (most, more) = (body(&["H-1", "H-2"]), body(&["H-1", "H-2", "H-3"]));
    // The entries of the calls say which functions the rule is about.
    let (sums, lists): (Vec<&EndpointInfo>, Vec<_>) =
        dashboards().partition(|one| one.rules.contains("DASH-26"));
    assert!(!sums.is_empty() && !lists.is_empty());
    for EndpointInfo { path, .. } in sums {
        assert_eq!(server.call(path, Some(&token), &most).await.code(), 200, "{path}");
        let reply = server.call(path, Some(&token), &more).await;
        assert_eq!(reply.code(), -1, "{path}: {reply:?}");
        let violation = "startTimestamp must be later: deviceCodes × days must be at most 6";
        assert_eq!(reply.data(), &json!([violation]));
        assert_eq!(server.call(path, Some("no token"), &more).await.code(), -4, "{path}");
        // Without a filter there is no such limit.
        assert_eq!(server.call(path, Some(&token), &body(&[])).await.code(), 200, "{path}");
    }
    for EndpointInfo { path, .. } in lists {
        assert_eq!(server.call(path, Some(&token), &more).await.code(), 200, "{path}");
    }
    let ask = TestRequest::to(SUMMARY_PATH).token(&token).body(more).locale("zh-CN");
    let violation = "startTimestamp 过早：deviceCodes × 天数不能超过 6";
    assert_eq!(ask.send(&server).await.data(), &json!([violation]));
}
