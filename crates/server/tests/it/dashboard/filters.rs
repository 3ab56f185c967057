//! The filters of the dashboard functions (DASH-1), and the devices that they include.

use kiosque_model::UnixMs;
use kiosque_testkit::{
    AISLE_PATH, BEST_PATH, BY_DEVICE_PATH, DEVICES_PATH, LOGOUT_PATH, ONLINE_PATH, PROFILE_PATH,
    SUMMARY_PATH, TREND_PATH, TestRequest, TestServer, dashboard_paths,
};
use serde_json::{Value, json};

use super::{ask, kpi};
use crate::catalog;

const DAY_MS: i64 = 86_400_000;

/// Returns a sale of today, of one item.
fn seven_dollars(device: &str, time: &str) -> String {
    let time = format!("2026-03-02 {time}");
    let order = json!({
        "orderId": "O-6", "deviceCode": device, "currency": "USD", "totalAmount": 700,
        "tradeStartTime": time, "payEndTime": time,
        "detailVOList": [{"goodsId": "P-1", "salePrice": 700}],
    });
    order.to_string()
}

fn codes(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|entry| entry["deviceCode"].as_str().unwrap()).collect()
}

/// Returns the device codes of the functions that list devices: sales, aisles and profile.
async fn listed(server: &TestServer, token: &str, body: &Value) -> [Vec<String>; 3] {
    let mut all = Vec::new();
    for path in [BY_DEVICE_PATH, AISLE_PATH, PROFILE_PATH] {
        let reply = ask(server, token, path, body).await;
        let list = if path == PROFILE_PATH { &reply.data()["list"] } else { reply.data() };
        all.push(codes(list).into_iter().map(str::to_owned).collect());
    }
    all.try_into().unwrap()
}

/// DASH-7: `deviceCodes` selects devices, each once.
#[tokio::test]
async fn a_device_filter_counts_each_of_its_devices_once() {
    let (server, token) = catalog::open_to_ops().await;
    for (filter, orders, devices, sold, shown) in [
        (json!(["H-1"]), "2", "1", vec!["H-1"], vec!["H-1"]),
        (json!(["H-1", "H-1", "H-1"]), "2", "1", vec!["H-1"], vec!["H-1"]),
        (json!(["H-2"]), "0", "1", vec![], vec!["H-2"]),
        (json!(["H-3", "H-1", "H-3"]), "3", "2", vec!["H-1", "H-3"], vec!["H-1", "H-3"]),
        // SCOPE-7: not enabled: in the scope, and in no list.
        (json!(["H-4"]), "0", "0", vec![], vec![]),
        (json!([]), "3", "3", vec!["H-1", "H-3"], vec!["H-1", "H-2", "H-3"]),
    ] {
        let body = json!({ "deviceCodes": filter });
        let summary = ask(&server, &token, SUMMARY_PATH, &body).await;
        assert_eq!(kpi(&summary, "orderCount"), orders, "{filter}");
        assert_eq!(kpi(&summary, "deviceCount"), devices, "{filter}");
        let mut lists = listed(&server, &token, &body).await;
        // By amount; neither of them has a rate.
        lists[0].sort();
        assert_eq!(lists, [sold, shown.clone(), shown], "{filter}");
        let trend = ask(&server, &token, TREND_PATH, &body).await;
        let days = trend.data().as_array().unwrap();
        let counted: i64 = days.iter().map(|day| day["orderCount"].as_i64().unwrap()).sum();
        assert_eq!(counted.to_string(), orders, "{filter}");
    }
    let best = ask(&server, &token, BEST_PATH, &json!({"deviceCodes": ["H-3"]})).await;
    assert_eq!(*best.data(), Value::Null);
    let best = ask(&server, &token, BEST_PATH, &json!({"deviceCodes": ["H-1"]})).await;
    assert_eq!(best.data()["goodsId"], "P-1");
}

/// DASH-19: nothing sells best where no device is enabled and present.
#[tokio::test]
async fn without_a_visible_device_nothing_sells_best() {
    let (server, token) = catalog::open_to_ops().await;
    let best = async |body: Value| ask(&server, &token, BEST_PATH, &body).await.data().clone();
    assert_ne!(best(json!({})).await, json!(null));
    server.apply("[[device]]\ncode = \"H-1\"\nenabled = false\n").await.unwrap();
    assert_eq!(best(json!({"deviceCodes": ["H-1"]})).await, json!(null));
    assert_ne!(best(json!({"deviceCodes": ["H-1", "H-3"]})).await, json!(null));
    let rest = "[[device]]\ncode = \"H-2\"\ngroup = \"station\"\n\
                [[device]]\ncode = \"H-3\"\nenabled = false\n";
    server.apply(rest).await.unwrap();
    assert_eq!(best(json!({})).await, json!(null));
    let sold = ask(&server, &token, BY_DEVICE_PATH, &json!({})).await;
    assert_eq!(codes(sold.data()), ["H-1", "H-3"], "the sales are still there");
}

/// DASH-20: a former owner sees the last name that a device had with it.
#[tokio::test]
async fn a_device_that_has_left_has_the_name_that_it_had() {
    let (server, token) = catalog::open_to_ops().await;
    let names = async |group: &str| {
        let body = json!({"groupId": group, "deviceCodes": ["H-1"]});
        let sold = ask(&server, &token, BY_DEVICE_PATH, &body).await;
        sold.data()[0]["deviceName"].as_str().unwrap().to_owned()
    };
    let change = async |more: &str| {
        server.apply(&format!("[[device]]\ncode = \"H-1\"\n{more}\n")).await.unwrap();
        server.advance(std::time::Duration::from_secs(60));
    };
    change("name = \"With the harbour\"").await;
    assert_eq!(names("harbour").await, "With the harbour");
    // A move and a new name at once.
    change("group = \"station\"\nname = \"With the station\"").await;
    server.import_valid(seven_dollars("H-1", "10:01:30")).await;
    assert_eq!(
        [names("harbour").await, names("station").await],
        ["With the harbour", "With the station"]
    );
    change("name = \"Still with the station\"").await;
    assert_eq!(
        [names("harbour").await, names("station").await],
        ["With the harbour", "Still with the station"]
    );
    // A move that is to come: the present owner sees new names until then.
    change("group = \"harbour\"\nsince = \"2026-03-02T11:00:00Z\"").await;
    change("name = \"On its way\"").await;
    assert_eq!(names("station").await, "On its way");
    server.advance(std::time::Duration::from_secs(3_600));
    change("name = \"Back\"").await;
    assert_eq!([names("harbour").await, names("station").await], ["Back", "On its way"]);
    assert_eq!(server.store.upkeep().verify().await.unwrap().differences, [""; 0]);
}

/// SCOPE-7, DASH-15: a device that is not enabled leaves lists and counts, and its sales stay.
/// DASH-20: they are listed.
#[tokio::test]
async fn a_device_that_is_not_enabled_leaves_lists_and_its_sales_stay() {
    let (server, token) = catalog::open_to_ops().await;
    let before = ask(&server, &token, BY_DEVICE_PATH, &json!({})).await;
    server.apply("[[device]]\ncode = \"H-1\"\nenabled = false\n").await.unwrap();
    let summary = ask(&server, &token, SUMMARY_PATH, &json!({})).await;
    for (code, value) in [
        ("orderCount", "3"),
        ("deviceCount", "2"),
        ("onlineDeviceCount", "0"),
        ("onlineRate", "0.0%"),
    ] {
        assert_eq!(kpi(&summary, code), value, "{code}");
    }
    let after = ask(&server, &token, BY_DEVICE_PATH, &json!({})).await;
    assert_eq!(after.text, before.text);
    let online = ask(&server, &token, ONLINE_PATH, &json!({})).await;
    assert_eq!(codes(&online.data()["list"]), ["H-2", "H-3"]);
    for counted in [("totalCount", 2), ("onlineCount", 0), ("offlineCount", 2)] {
        assert_eq!(online.data()[counted.0], counted.1, "{}", counted.0);
    }
    let [_, aisles, profile] = listed(&server, &token, &json!({})).await;
    assert_eq!([aisles, profile], [["H-2", "H-3"], ["H-2", "H-3"]]);
    // DASH-18: its prices no longer count.
    server.set_rates(&[("EUR", "2026-01-01", "1")]).await;
    let dearer = "[[device]]\ncode = \"H-2\"\n\
                  aisle = [{code = \"1\", product = \"P-1\", price = 300}]\n";
    server.apply(dearer).await.unwrap();
    let best = ask(&server, &token, BEST_PATH, &json!({})).await;
    assert_eq!((&best.data()["price"], &best.data()["defaultPrice"]), (&json!(3.0), &json!(2.5)));
}

/// DASH-2, DASH-3, DASH-4: the range is half open, and either end may be absent.
#[tokio::test]
async fn a_range_is_half_open_and_has_defaults_for_its_ends() {
    let (server, token) = catalog::open_to_ops().await;
    let now = server.now().0;
    let month = now - DAY_MS - 10 * 3_600_000;
    // Sold on the 1st at 00:00:03 and 09:00:20, and today at 09:55:30.
    let (first, second, third) = (month + 3_000, month + 32_420_000, now - 270_000);
    let body = |start: Option<i64>, end: Option<i64>| {
        let mut body = json!({});
        for (field, at) in [("startTimestamp", start), ("endTimestamp", end)] {
            if let Some(at) = at {
                body[field] = json!(at);
            }
        }
        body
    };
    let february = month - 28 * DAY_MS;
    for (start, end, orders, range) in [
        (None, None, "3", (month, now)),
        (Some(first), None, "3", (first, now)),
        (Some(first + 1), None, "2", (first + 1, now)),
        (Some(third), None, "1", (third, now)),
        (Some(third + 1), None, "0", (third + 1, now)),
        (Some(now), None, "0", (now, now)),
        (None, Some(third), "2", (month, third)),
        (None, Some(third + 1), "3", (month, third + 1)),
        (None, Some(now + 40 * DAY_MS), "3", (month, now + 40 * DAY_MS)),
        // An end that is given alone, and the last instant before it is in an earlier month.
        (None, Some(month), "0", (february, month)),
        (None, Some(month - 1), "0", (february, month - 1)),
        (None, Some(february), "0", (february - 31 * DAY_MS, february)),
        (Some(first), Some(second), "1", (first, second)),
        (Some(first), Some(second + 1), "2", (first, second + 1)),
        (Some(first + 1), Some(third), "1", (first + 1, third)),
        (Some(second), Some(second), "0", (second, second)),
        (Some(month - DAY_MS), Some(month), "0", (month - DAY_MS, month)),
        (Some(now + 9), Some(now + 10), "0", (now + 9, now + 10)),
        (Some(-5), Some(5), "0", (-5, 5)),
    ] {
        let body = body(start, end);
        let summary = ask(&server, &token, SUMMARY_PATH, &body).await;
        let data = summary.data();
        assert_eq!(data["startTimestamp"], range.0, "{body}");
        assert_eq!(data["endTimestamp"], range.1, "{body}");
        assert_eq!(kpi(&summary, "orderCount"), orders, "{body}");
    }
    // Ends beyond the calendar are ends, too.
    let far = body(None, Some(i64::MIN));
    let data = ask(&server, &token, SUMMARY_PATH, &far).await;
    assert_eq!(data.data()["startTimestamp"], i64::MIN);
    let far = body(Some(i64::MAX - 5), Some(i64::MAX));
    let trend = ask(&server, &token, TREND_PATH, &far).await;
    assert_eq!(trend.data()[0]["label"], "9999-12-31");
    let before = body(Some(UnixMs(0).0 - DAY_MS), Some(DAY_MS));
    let trend = ask(&server, &token, TREND_PATH, &before).await;
    let labels: Vec<_> =
        trend.data().as_array().unwrap().iter().map(|day| day["label"].as_str().unwrap()).collect();
    assert_eq!(labels, ["1969-12-31", "1970-01-01"]);
}

/// REQ-9: null, `""` and an empty list count as absent. REQ-10: unknown fields and query keys are
/// ignored.
#[tokio::test]
async fn empty_fields_change_nothing() {
    let (server, token) = catalog::open_to_ops().await;
    for path in dashboard_paths() {
        let plain = catalog::ask(&server, &token, path, "", "{}").await.text;
        for (query, body) in [
            (
                "",
                r#"{"startTimestamp":null,"endTimestamp":null,"groupId":null,"deviceCodes":null}"#,
            ),
            ("", r#"{"startTimestamp":"","endTimestamp":"","groupId":"","deviceCodes":""}"#),
            ("", r#"{"deviceCodes":[]}"#),
            ("", r#"{"deviceCode":"X","current":0,"other":{"deviceCodes":["X"]}}"#),
            ("current=x&size=0&startTimestamp=7", "{}"),
        ] {
            let reply = catalog::ask(&server, &token, path, query, body).await;
            assert_eq!(reply.text, plain, "{path} {query} {body}");
        }
    }
}

/// REQ-6, DASH-25: Log out and Online devices ignore any body, and Online devices answers for the
/// selected group.
#[tokio::test]
async fn calls_without_a_body_ignore_any() {
    let (server, mut token) = catalog::open_to_ops().await;
    let plain = TestRequest::to(ONLINE_PATH).token(&token).body("").send(&server).await;
    assert_eq!((plain.code(), &plain.data()["totalCount"]), (200, &json!(3)));
    let huge = vec![b'x'; (1 << 20) + 1];
    for body in [
        &b"{}"[..],
        b"null",
        b"[",
        b"[[[[",
        b"{nonsense",
        br#"{"groupId":"station"}"#,
        br#"{"groupId":"nowhere","deviceCodes":["X"],"startTimestamp":"x"}"#,
        br#"{"a":1,"a":2}"#,
        b"\xff\xfe",
        &huge,
    ] {
        let reply = TestRequest::to(ONLINE_PATH).token(&token).body(body).send(&server).await;
        assert_eq!(reply.text, plain.text, "{:.40?}", body);
        let log_out = TestRequest::to(LOGOUT_PATH).query("current=0").token(&token).body(body);
        let reply = log_out.send(&server).await;
        assert_eq!(reply.text, r#"{"code":200,"msg":"success","enMsg":null,"data":null}"#);
        assert_eq!(server.code_of(&token).await, -4);
        token = server.log_in("ops").await.token;
    }
}

/// DEV-6, DASH-15, DASH-25: a device is online while its last activity is at most 10 minutes old,
/// in every function. DEV-7: an order counts at the start of its trade.
#[tokio::test]
async fn a_device_is_online_for_ten_minutes() {
    let (server, token) = catalog::open_to_ops().await;
    // The last trade of H-1 started at 09:55; the clock shows 10:00.
    for (seconds, count, rate) in [(0, 1, "33.3%"), (300, 1, "33.3%"), (1, 0, "0.0%")] {
        server.advance(std::time::Duration::from_secs(seconds));
        let summary = ask(&server, &token, SUMMARY_PATH, &json!({})).await;
        assert_eq!(kpi(&summary, "onlineDeviceCount"), count.to_string());
        assert_eq!(kpi(&summary, "onlineRate"), rate);
        let online = ask(&server, &token, ONLINE_PATH, &json!({})).await;
        assert_eq!(online.data()["onlineCount"], count);
        assert_eq!(online.data()["offlineCount"], 3 - count);
        assert_eq!(online.data()["list"][0]["isOnline"], count);
        let profile = ask(&server, &token, PROFILE_PATH, &json!({})).await;
        assert_eq!(profile.data()["list"][0]["isOnline"], count);
        let online = ask(&server, &token, DEVICES_PATH, &json!({"isOnline": 1})).await;
        let codes = codes(&online.data()["records"]);
        assert_eq!(codes, ["H-1"][..usize::try_from(count).unwrap()]);
    }
}
