//! The page of an order shows the stream that it came with.

use std::time::Duration;

use kiosque_testkit::{ORDERS_CALL, TestServer};

use super::Browser;
use crate::operator::{fleet, line};

/// The key and the time belong to the first arrival. Streams of a key begin another arrival every
/// ten minutes.
#[tokio::test]
async fn the_page_of_an_order_shows_the_key_and_the_time_of_its_stream() {
    let server = TestServer::start(fleet()).await;
    let tills = server.create_key_named("tills", "orders").await;
    let backfill = server.create_key_named("backfill", "orders").await;
    let mut browser = Browser::with_rights(&server, "read").await;
    let send = async |key: &str, id: &str, total| {
        let reply = server.call_operator(ORDERS_CALL, Some(key), line(id, total)).await;
        assert_eq!(reply.json["rejectedCount"], 0, "{reply:?}");
    };
    send(&tills, "o1", 100).await;
    send(&backfill, "o2", 100).await;
    server.advance(Duration::from_secs(599));
    send(&tills, "o3", 100).await;
    server.advance(Duration::from_secs(1));
    send(&tills, "o4", 100).await;
    // An update with another key leaves the source.
    send(&backfill, "o1", 200).await;
    server.import_valid(line("o5", 100)).await;
    let mut source = async |id: &str| {
        let page = browser.get(&format!("/console/orders/g1/{id}")).await.text;
        let (_, card) = page.split_once("id=\"source\"").expect(&page);
        card.split("</section>").next().unwrap().to_owned()
    };
    for (id, key, at) in [
        ("o1", "tills", "10:00:00"),
        ("o2", "backfill", "10:00:00"),
        ("o3", "tills", "10:00:00"),
        ("o4", "tills", "10:10:00"),
    ] {
        let card = source(id).await;
        assert!(card.contains(&format!("<dd>{key}</dd>")), "{id}: {card}");
        assert!(card.contains(&format!("2026-03-02 {at}")), "{id}: {card}");
    }
    assert!(source("o5").await.contains("Unknown: it was purged with the audit trail"));
}
