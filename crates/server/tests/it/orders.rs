//! List orders.

use kiosque_model::UnixMs;

use crate::fixture::whole;
use crate::harness::{ORDERS_PATH, START_MS, TestServer};
use crate::shop::{self, ask, column};

const DAY_MS: i64 = 86_400_000;

async fn page(server: &TestServer, token: &str, query: &str, body: &str) -> String {
    whole(&ask(server, token, ORDERS_PATH, query, body).await)
}

/// "`data` is a paginated result; read `data.records`"; "`payEndTime`: null when payment has not
/// occurred"; "`payEndDate`: `payEndTime`, or the trade's start while unpaid"; "order without
/// `tradeNo`: `""`; every list record also carries `tradeNoIn`"; "`cardNumber` and `phone` are
/// masked when stored".
#[tokio::test]
async fn a_page_of_orders_is_newest_first() {
    let (server, token) = shop::open_to_ops().await;
    let body = r#"{"deviceCode":"H-1"}"#;
    insta::assert_snapshot!("an_order_page", page(&server, &token, "", body).await);
    let second = page(&server, &token, "current=3&size=1", body).await;
    insta::assert_snapshot!("a_third_order_page", second);
    let past = page(&server, &token, "current=2&size=3", body).await;
    insta::assert_snapshot!("an_order_page_past_the_end", past);
    let far = page(&server, &token, "current=9223372036854775807&size=1000", body).await;
    insta::assert_snapshot!("an_order_page_far_past_the_end", far);
}

/// "Empty `records` can mean no matching orders and is not an authentication failure."
#[tokio::test]
async fn a_device_that_sold_nothing_has_an_empty_page() {
    let (server, token) = shop::open_to_ops().await;
    let empty = page(&server, &token, "", r#"{"deviceCode":"H-2","includeHistory":true}"#).await;
    insta::assert_snapshot!("an_empty_order_page", empty);
}

/// "`includeHistory`: false: current orders; true: also archived historical orders".
#[tokio::test]
async fn history_is_listed_when_it_is_asked_for() {
    let (server, token) = shop::open_to_ops().await;
    server.store.archive(UnixMs(START_MS - DAY_MS)).await.unwrap();
    for (body, ids) in [
        (r#"{"deviceCode":"H-1"}"#, vec!["O-3", "O-2"]),
        (r#"{"deviceCode":"H-1","includeHistory":false}"#, vec!["O-3", "O-2"]),
        (r#"{"deviceCode":"H-1","includeHistory":null}"#, vec!["O-3", "O-2"]),
        (r#"{"deviceCode":"H-1","includeHistory":true}"#, vec!["O-3", "O-2", "O-1"]),
        (r#"{"deviceCode":"H-3"}"#, vec![]),
        (r#"{"deviceCode":"H-3","includeHistory":true}"#, vec!["O-4"]),
    ] {
        let reply = ask(&server, &token, ORDERS_PATH, "", body).await;
        assert_eq!(column(&reply, "orderId"), ids, "{body}");
        assert_eq!(reply.data()["total"], ids.len(), "{body}");
    }
    let body = r#"{"deviceCode":"H-1","includeHistory":true}"#;
    let last = page(&server, &token, "current=3&size=1", body).await;
    insta::assert_snapshot!("an_archived_order", last);
}

/// "More filters: `startTimestamp`, `endTimestamp` (half open, on the trade's start)".
#[tokio::test]
async fn a_span_is_half_open() {
    let (server, token) = shop::open_to_ops().await;
    // O-1 at 09:00 and O-2 at 10:00 the day before, O-3 five minutes ago.
    let (first, second) = (START_MS - DAY_MS - 3_600_000, START_MS - DAY_MS);
    let third = START_MS - 300_000;
    let both = |start: i64, end: i64| format!(r#","startTimestamp":{start},"endTimestamp":{end}"#);
    for (span, ids) in [
        (both(first, third + 1), vec!["O-3", "O-2", "O-1"]),
        (both(first, third), vec!["O-2", "O-1"]),
        (both(first + 1, third), vec!["O-2"]),
        (both(second, second), vec![]),
        (both(second, second + 1), vec!["O-2"]),
        (format!(r#","startTimestamp":{second}"#), vec!["O-3", "O-2"]),
        (format!(r#","endTimestamp":{second},"startTimestamp":null"#), vec!["O-1"]),
        (both(i64::MIN, i64::MAX), vec!["O-3", "O-2", "O-1"]),
        (both(-1, 0), vec![]),
    ] {
        let body = format!(r#"{{"deviceCode":"H-1"{span}}}"#);
        let reply = ask(&server, &token, ORDERS_PATH, "", &body).await;
        assert_eq!(column(&reply, "orderId"), ids, "{body}");
        assert_eq!(reply.data()["total"], ids.len(), "{body}");
    }
    let body = format!(r#"{{"deviceCode":"H-1"{}}}"#, both(first, third + 1));
    let second = page(&server, &token, "current=2&size=2", &body).await;
    insta::assert_snapshot!("a_second_order_page_of_a_span", second);
    let past = page(&server, &token, "current=4&size=1", &body).await;
    insta::assert_snapshot!("an_order_page_of_a_span_past_the_end", past);
    server.store.archive(UnixMs(START_MS - DAY_MS)).await.unwrap();
    let current = ask(&server, &token, ORDERS_PATH, "", &body).await;
    assert_eq!(column(&current, "orderId"), ["O-3", "O-2"], "a span does not bring history back");
}

/// "For order queries a device is in scope of every group that owns it or ever did, each seeing its
/// own orders of it"; "A device that is not enabled leaves device pages and counts; its orders
/// stay".
#[tokio::test]
async fn orders_stay_with_the_group_that_sold() {
    let (server, token) = shop::open_to_ops().await;
    let change = "[[device]]\ncode = \"H-1\"\ngroup = \"station\"\nenabled = false\n";
    server.apply(change).await.unwrap();
    let sold = r#"{"orderId":"O-9","deviceCode":"H-1","currency":"EUR","totalAmount":1,
        "tradeStartTime":"2026-03-02 10:00:00"}"#;
    server.orders(sold.replace('\n', "")).await;
    let body = r#"{"deviceCode":"H-1"}"#;
    let before = ask(&server, &token, ORDERS_PATH, "", body).await;
    assert_eq!(column(&before, "orderId"), ["O-3", "O-2", "O-1"]);
    let token = server.switch(&token, "station").await.token;
    let after = ask(&server, &token, ORDERS_PATH, "", body).await;
    assert_eq!(column(&after, "orderId"), ["O-9"]);
}

/// "unknown body fields, unknown query keys: ignored"; "`current`, `size`: read from the query
/// string only".
#[tokio::test]
async fn what_means_nothing_is_ignored() {
    let (server, token) = shop::open_to_ops().await;
    let plain = ask(&server, &token, ORDERS_PATH, "", r#"{"deviceCode":"H-1"}"#).await.json;
    let extra = r#"{"deviceCode":"H-1","current":2,"size":1,"groupId":"station","orderId":7}"#;
    let same = ask(&server, &token, ORDERS_PATH, "deviceCode=H-2&page=2", extra).await.json;
    assert_eq!(same, plain);
}
