//! The sales of a device on its page, and where a page without sales leads.

use kiosque_testkit::{FleetToml, OrderLine, TestServer, between, card};

use super::figures::without_tags;
use super::{Browser, signed_in_with};
use crate::operator::fleet;

/// Returns a sale of `D1`, ten minutes before the time of the server on that day.
fn sale(id: &str, day: &str, currency: &str, shipment: i64) -> String {
    OrderLine::new(id, "D1", format!("{day} 09:50:00"))
        .amount(currency, 150)
        .paid(format!("{day} 09:50:10"))
        .with("shipmentTime", format!("{day} 09:50:20"))
        .with("shipmentStatus", shipment)
        .to_string()
}

/// Its sales cover all groups that it was in. Each count leads to its orders.
#[tokio::test]
async fn the_page_of_a_device_has_its_sales_and_failures() {
    let server = TestServer::start(fleet()).await;
    let today = server.now();
    let zone = server.store.zone();
    let day = |ago: i64| kiosque_model::Day(zone.day_of(today).0 - ago).to_string();
    server
        .import_valid(
            [
                sale("today", &day(0), "EUR", 1),
                sale("failed", &day(0), "EUR", 4),
                sale("week", &day(6), "USD", 1),
                sale("month", &day(27), "EUR", 1),
                sale("before", &day(28), "EUR", 1),
            ]
            .concat(),
        )
        .await;
    // The orders remain in the group that the device had then.
    let moved = FleetToml::new().group("g2", "Two").device("D1", "Lobby", "g2");
    server.apply(moved.with(&format!("since = \"{} 09:55:00\"\n", day(0)))).await.unwrap();
    let mut browser = Browser::with_rights(&server, "read").await;
    let page = browser.get("/console/devices/D1").await.text;
    let sales = card(&page, "sales");
    let rows = between(sales, "<tr><th scope=\"row\">", "</tr>");
    let rows: Vec<String> =
        rows.iter().map(|row| without_tags(&row.replace("</td>", " | "))).collect();
    assert_eq!(
        rows[..3],
        [
            "Today2 | 3.00 EUR | 1 | ",
            "7 days3 | 3.00 EUR, 1.50 USD | 1 | ",
            "28 days4 | 4.50 EUR, 1.50 USD | 1 | ",
        ],
        "{sales}"
    );
    let links = between(sales, "<a href=\"", "\"");
    assert_eq!(links.len(), 6, "{links:?}");
    for (link, count) in links.iter().zip([2, 1, 3, 1, 4, 1]) {
        let list = browser.get(&link.replace("&amp;", "&")).await.text;
        assert_eq!(between(&list, "href=\"/console/orders/", "\"").len(), count, "{link}");
    }
    let none = browser.get("/console/devices/D2").await.text;
    assert!(card(&none, "sales").contains("No sales in the last 28 days."), "{none}");
}

/// After an import of older orders, the overview of the latest days leads to those with sales.
#[tokio::test]
async fn an_overview_without_sales_leads_to_the_last_ones() {
    let (server, mut browser) = signed_in_with(fleet(), "read").await;
    let last = "These days have no sales. The last sales were on ";
    assert!(!browser.get("/console/").await.text.contains(last), "there are none at all");
    server.import_valid(sale("old", "2025-03-23", "EUR", 1)).await;
    for group in ["", "?group=g1"] {
        let page = browser.get(&format!("/console/{group}")).await.text;
        let said = between(&page, last, "</a>")[0];
        let rest = group.replace('?', "&amp;");
        let expected = format!(
            "2025-03-23. <a href=\"/console/?from=2025-02-24&amp;to=2025-03-23{rest}\">Show the 28 \
             days up to then"
        );
        assert_eq!(said, expected);
    }
    assert!(!browser.get("/console/?group=g2").await.text.contains(last), "it has no sales");
    let then = browser.get("/console/?from=2025-02-24&to=2025-03-23").await.text;
    assert!(!then.contains(last), "these days have some");
}
