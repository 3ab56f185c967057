//! An order whose record was changed by something else than this program.

use kiosque_testkit::{
    DETAIL_PATH, ORDERS_CALL, ORDERS_PATH, OrderLine, Reply, TestServer, between, card, sql,
};
use serde_json::json;

use crate::catalog;
use crate::console::Browser;

const DAMAGED: &str = "a stored order of this answer is damaged";

async fn orders(server: &TestServer, token: &str, page: u32) -> Reply {
    let path = format!("{ORDERS_PATH}?current={page}&size=1");
    server.call(&path, Some(token), r#"{"deviceCode":"H-1"}"#).await
}

/// ENV-11: a page or a detail that needs the damaged order fails, and never shows altered data. All
/// others are answered. The metrics and the page of the service count the requests that failed.
#[tokio::test]
async fn a_damaged_order_fails_the_requests_that_need_it_and_no_others() {
    let (server, token) = catalog::open_to_ops().await;
    let whole = [orders(&server, &token, 1).await.text, orders(&server, &token, 3).await.text];
    let mut browser = Browser::with_rights(&server, "read").await;
    assert!(!browser.get("/console/service").await.text.contains("damaged order"));

    server.data.tamper(&sql("damage_order").replace("ORDER", "O-2").replace("BY", "1"));
    let page = orders(&server, &token, 2).await;
    let detail = server.call(DETAIL_PATH, Some(&token), r#"{"tradeNoIn":"oid:O-2"}"#).await;
    for reply in [page, detail] {
        assert_eq!((reply.status, reply.code()), (500, 500), "{reply:?}");
        assert!(reply.data().as_str().unwrap().starts_with(DAMAGED), "{reply:?}");
        assert!(!reply.text.contains("O-2"), "{reply:?}");
        // To repeat the request does not help.
        assert_eq!(reply.headers.get("retry-after"), None);
    }
    let again = [orders(&server, &token, 1).await.text, orders(&server, &token, 3).await.text];
    assert_eq!(again, whole);

    let metrics = server.get_operator("/metrics", None).await.text;
    assert!(metrics.contains("kiosque_faults_total{kind=\"damaged_order\"} 2"), "{metrics}");
    let service = browser.get("/console/service").await.text;
    let checks = between(card(&service, "checks"), "<li>", "</li>").concat();
    let failed = ">failed</span> Requests that failed because of a damaged order: 2";
    assert!(checks.contains(failed), "{checks}");
    let found = server.store.upkeep().verify().await.unwrap().differences;
    assert!(found.iter().any(|found| found.contains("O-2")), "{found:?}");
}

/// A batch that has the damaged order again stores all other lines.
#[tokio::test]
async fn a_damaged_order_that_is_sent_again_is_rejected_alone() {
    let (server, token) = catalog::open_to_ops().await;
    server.data.tamper(&sql("damage_order").replace("ORDER", "O-2").replace("BY", "1"));
    let key = server.create_key("orders,read").await;
    let line = |id: &str| OrderLine::new(id, "H-1", "2026-01-02 03:04:05").to_string();
    let body = ["new-1", "O-2", "new-2"].map(line).concat();
    let reply = server.call_operator(ORDERS_CALL, Some(&key), body).await;
    let reason = "orderId: the stored order O-2 is damaged and cannot be updated: its \
                  checksum does not match its columns and its record; `kiosque verify` lists \
                  what is damaged, and a backup may have it undamaged";
    let expected = json!({
        "accepted": 2, "updated": 0, "unchanged": 0, "rejectedCount": 1,
        "rejected": [{"line": 2, "orderId": "O-2", "reason": reason}], "ignoredKeys": [],
    });
    assert_eq!((reply.status, &reply.json), (200, &expected));
    let newest = orders(&server, &token, 1).await;
    assert_eq!(newest.data()["records"][0]["orderId"], "new-2");
}
