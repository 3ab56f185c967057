//! The overview after changes that leave the sums of a day as they were.

use kiosque_testkit::{OrderLine, TestServer, between, card};
use serde_json::json;

use super::{Browser, signed_in_with};
use crate::operator::fleet;

/// An order of a product, of the same time and amount as all others.
fn sold(id: &str, device: &str, product: &str) -> String {
    let start = "2026-03-01 09:00:00";
    let lines = json!([{"goodsId": product, "goodsName": product, "count": 1, "payAmount": 250}]);
    let order = OrderLine::new(id, device, start).amount("USD", 250).paid(start);
    order.with("detailVOList", lines).to_string()
}

/// Returns the best sellers and the devices that the overview of a group lists.
async fn listed(browser: &mut Browser, group: &str) -> (Vec<String>, Vec<String>) {
    let page = browser.get(&format!("/console/?days=7&group={group}")).await.text;
    let texts = |texts: Vec<&str>| texts.into_iter().map(|text| text.trim().to_owned()).collect();
    let products = between(card(&page, "products"), "href=\"/console/refill?product=", "&");
    let devices = between(card(&page, "by-device"), "href=\"/console/devices/", "\"");
    (texts(products), texts(devices))
}

#[tokio::test]
async fn the_overview_shows_an_order_whose_product_has_changed() {
    let (server, mut browser) = signed_in_with(fleet(), "read").await;
    for product in ["tea", "soup", "cake"] {
        server.import_valid(sold("o1", "D1", product)).await;
        let expected = (vec![product.to_owned()], vec!["D1".to_owned()]);
        assert_eq!(listed(&mut browser, "g1").await, expected);
    }
}

#[tokio::test]
async fn groups_with_the_same_sums_have_overviews_of_their_own() {
    let server = TestServer::start(fleet()).await;
    server.import_valid(sold("o1", "D1", "tea") + &sold("o1", "D2", "soup")).await;
    let mut browser = Browser::with_rights(&server, "read").await;
    for _ in 0..2 {
        for (group, product, device) in [("g1", "tea", "D1"), ("g2", "soup", "D2")] {
            let expected = (vec![product.to_owned()], vec![device.to_owned()]);
            assert_eq!(listed(&mut browser, group).await, expected);
        }
    }
}
