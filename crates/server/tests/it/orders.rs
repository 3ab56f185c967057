//! List orders.

use kiosque_model::UnixMs;
use kiosque_testkit::{ORDERS_PATH, START_MS, TestServer, snapshot};

use crate::catalog::{self, ask, column};

const DAY_MS: i64 = 86_400_000;

async fn page(server: &TestServer, token: &str, query: &str, body: &str) -> String {
    snapshot(&ask(server, token, ORDERS_PATH, query, body).await)
}

/// ORD-2: the orders are in `data.records`. ORD-3: newest first. ORD-7, ORD-8: the fields of an
/// order and of a line. ORD-10: `tradeNo` without a number. ORD-11: `tradeNoIn`. ORD-12:
/// `payEndDate` while unpaid. FMT-4: masks. PAGE-6: pages past the end.
#[tokio::test]
async fn a_page_of_orders_is_newest_first() {
    let (server, token) = catalog::open_to_ops().await;
    let body = r#"{"deviceCode":"H-1"}"#;
    insta::assert_snapshot!("an_order_page", page(&server, &token, "", body).await);
    let second = page(&server, &token, "current=3&size=1", body).await;
    insta::assert_snapshot!("a_third_order_page", second);
    let past = page(&server, &token, "current=2&size=3", body).await;
    insta::assert_snapshot!("an_order_page_past_the_end", past);
}

/// ORD-2: a device without orders has an empty page, which is no failure.
#[tokio::test]
async fn a_device_that_sold_nothing_has_an_empty_page() {
    let (server, token) = catalog::open_to_ops().await;
    let empty = page(&server, &token, "", r#"{"deviceCode":"H-2","includeHistory":true}"#).await;
    insta::assert_snapshot!("an_empty_order_page", empty);
}

/// ORD-4: archived orders are listed and counted with `includeHistory`. ORD-5: archived is a
/// beginning of the list in the order of arrival.
#[tokio::test]
async fn history_is_listed_on_request() {
    let (server, token) = catalog::open_to_ops().await;
    server.store.upkeep().archive(UnixMs(START_MS - DAY_MS), server.now()).await.unwrap();
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

/// ORD-1, ORD-6: a time span on the start of the trade is half open, and either end may be absent.
#[tokio::test]
async fn a_span_is_half_open() {
    let (server, token) = catalog::open_to_ops().await;
    // O-1 started at 09:00 and O-2 at 10:00 the day before, O-3 five minutes ago.
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
    server.store.upkeep().archive(UnixMs(START_MS - DAY_MS), server.now()).await.unwrap();
    let current = ask(&server, &token, ORDERS_PATH, "", &body).await;
    assert_eq!(column(&current, "orderId"), ["O-3", "O-2"], "a span does not bring history back");
}
