//! The figures of the overview are those that the dashboard answers to integrators.

use kiosque_model::{Day, Zone};
use kiosque_testkit::{
    BEST_PATH, BY_DEVICE_PATH, SUMMARY_PATH, TREND_PATH, TestServer, between, card, grouped,
};
use serde_json::{Value, json};

use super::Browser;
use crate::dashboard::{ask, kpi};

/// Compares the overview of days with the answers about the same days. The token is of an account
/// that may see the group.
pub(crate) async fn check_overview(
    (server, token): (&TestServer, &str),
    browser: &mut Browser,
    group: &str,
    (first, last): (Day, Day),
) {
    let zone: &Zone = server.store.zone();
    let (start, end) = (zone.start_of(first), zone.start_of(last.next()));
    let body = json!({"groupId": group, "startTimestamp": start.0, "endTimestamp": end.0});
    let get = async |path| ask(server, token, path, &body).await;
    let address = format!("/console/?from={first}&to={last}&group={group}");
    let page = browser.get(&address).await;
    assert_eq!(page.status, 200, "{address}: {}", page.text);

    let summary = get(SUMMARY_PATH).await;
    let orders: i64 = kpi(&summary, "orderCount").parse().unwrap();
    let figures = between(&page.text, "<dd class=\"figure\">", "</dd>");
    let figures: Vec<String> = figures.iter().map(|figure| without_tags(figure)).collect();
    let expected = [
        money(kpi(&summary, "salesAmount")),
        grouped(orders),
        money(kpi(&summary, "averageOrderAmount")),
        kpi(&summary, "shipmentSuccessRate").to_owned(),
        kpi(&summary, "onlineRate").to_owned(),
    ];
    assert_eq!(figures, expected, "{address}");

    // Each count leads to the orders that it counts.
    for (link, count) in counts_of_orders(&page.text) {
        assert_eq!(listed(browser, &link).await, count, "{address}: {link}");
    }

    let file = browser.get(&format!("{address}&format=csv")).await;
    assert_eq!(file.headers["content-disposition"], "attachment; filename=\"sales.csv\"");
    let days: Vec<Value> = file.text.lines().skip(1).map(day).collect();
    assert_eq!(Value::from(days), *get(TREND_PATH).await.data(), "{address}");

    let by_device = get(BY_DEVICE_PATH).await;
    let names = by_device.data().as_array().unwrap().iter().take(8);
    let codes: Vec<String> =
        names.map(|device| device["deviceCode"].as_str().unwrap().to_owned()).collect();
    let shown = between(card(&page.text, "by-device"), "href=\"/console/devices/", "\"");
    assert_eq!(shown, codes, "{address}");

    let best = get(BEST_PATH).await;
    // DASH-19: a group without devices has no answer; the console shows its sales.
    if let Some(ranked) = best.data()["rankList"].as_array() {
        let items = ranked.iter().take(8).map(|goods| goods["salesCount"].as_i64().unwrap());
        let items: Vec<String> = items.map(grouped).collect();
        let shown = between(card(&page.text, "products"), "<span class=\"bar-value\">", "<");
        assert_eq!(shown, items, "{address}");
    }
}

/// Returns a row of the file as an element of the sales trend.
fn day(row: &str) -> Value {
    let fields: Vec<&str> = row.split(',').collect();
    let (orders, dollars): (i64, f64) = (fields[1].parse().unwrap(), fields[3].parse().unwrap());
    json!({"label": fields[0], "amount": dollars, "orderCount": orders})
}

/// Returns an amount of the summary as the console shows it.
fn money(text: &str) -> String {
    match text.strip_prefix('-') {
        Some(amount) => format!("−${amount}"),
        None => format!("${text}"),
    }
}

/// Returns a text of a page without its tags.
pub(super) fn without_tags(text: &str) -> String {
    text.split('<').map(|part| part.rsplit('>').next().unwrap_or_default()).collect()
}

/// Returns the addresses of the lists of orders that a page links to, each with the text of the
/// link.
fn counts_of_orders(page: &str) -> Vec<(String, String)> {
    let links = between(page, "href=\"/console/orders?", "</a>").into_iter();
    let links = links.filter_map(|link| link.split_once("\">"));
    let link = |(query, text): (&str, &str)| {
        let digits = text.chars().filter(char::is_ascii_digit).collect();
        (format!("/console/orders?{}", query.replace("&amp;", "&")), digits)
    };
    links.map(link).collect()
}

/// Returns the number of orders of a list, on all of its pages.
async fn listed(browser: &mut Browser, address: &str) -> String {
    let (mut orders, mut next) = (0, Some(address.to_owned()));
    while let Some(address) = next {
        let page = browser.get(&address).await;
        assert_eq!(page.status, 200, "{address}: {}", page.text);
        orders += page.text.matches("<th scope=\"row\">").count();
        let link = between(&page.text, "rel=\"next\" href=\"", "\"").first().copied();
        next = link.map(|link| link.replace("&amp;", "&"));
    }
    orders.to_string()
}
