//! The list of orders, and the search of every page.

use kiosque_testkit::{OrderLine, SWITCH_PATH, TestServer, between, card};

use super::{Browser, signed_in_with};
use crate::operator::fleet;

/// A server whose day is 2026-03-02, with orders of two groups, and a browser.
async fn fixture() -> (TestServer, Browser) {
    let server = TestServer::start(fleet()).await;
    let order = |id: &str, device: &str, start: &str| {
        OrderLine::new(id, device, format!("2026-03-{start}")).amount("USD", 940)
    };
    let orders = [
        order("sold", "D1", "02 08:00:00").paid("2026-03-02 08:00:09").with("shipmentStatus", 1),
        order("failed", "D1", "02 08:00:00").paid("2026-03-02 08:01:00").with("shipmentStatus", 3),
        order("partial", "D2", "01 10:00:00").paid("2026-03-01 10:00:01").with("shipmentStatus", 4),
        // Its trade started the day before.
        order("late", "D2", "01 23:59:59").paid("2026-03-02 00:00:01").with("shipmentStatus", 3),
        order("unpaid", "D1", "01 12:00:00").with("shipmentStatus", 3).with("tradeNo", "T-7"),
    ];
    server.import_valid(orders.map(|order| order.to_string()).concat()).await;
    let browser = Browser::with_rights(&server, "read").await;
    (server, browser)
}

/// Returns the ids of the orders that a page lists.
async fn ids(browser: &mut Browser, query: &str) -> Vec<String> {
    let page = browser.get(&format!("/console/orders?{query}")).await;
    assert_eq!(page.status, 200, "{query}: {}", page.text);
    let links = between(&page.text, "<th scope=\"row\"><a href=\"", "</a>");
    links.into_iter().map(|link| link.split('>').nth(1).unwrap().to_owned()).collect()
}

#[tokio::test]
async fn orders_are_listed_by_state_and_day_without_a_device() {
    let (_server, mut browser) = fixture().await;
    for (query, expected) in [
        ("", &["failed", "sold", "late", "unpaid", "partial"][..]),
        ("shipment=failed", &["failed", "late", "unpaid"]),
        ("shipment=failed%2Cpartial&payment=paid", &["failed", "late", "partial"]),
        ("payment=unpaid", &["unpaid"]),
        ("payment=paid,refunding,refunded&from=2026-03-02", &["failed", "sold", "late"]),
        ("from=2026-03-01&to=2026-03-01", &["unpaid", "partial"]),
        ("to=2026-03-01", &["unpaid", "partial"]),
        ("shipment=success&group=g1", &["sold"]),
        ("group=g2", &["late", "partial"]),
        ("shipment=failed&device=D1", &["failed", "unpaid"]),
        ("device=D2&from=2026-03-02", &["late"]),
    ] {
        assert_eq!(ids(&mut browser, query).await, expected, "{query}");
    }
    for wrong in ["shipment=lost", "payment=paid,", "after=1.2", "range=7d", "limit=5"] {
        assert_eq!(browser.get(&format!("/console/orders?{wrong}")).await.status, 400, "{wrong}");
    }
    let page = browser.get("/console/orders?card=1234").await.text;
    assert!(page.contains("enter its code") && !page.contains("<table"), "{page}");
    let page = browser.get("/console/orders?payment=unpaid").await.text;
    let texts: Vec<&str> = between(&page, "data-name=\"", "</td>");
    assert_eq!(texts, ["Paid\">0.00 USD", "Price\">9.40 USD"]);
    let list = card(&page, "orders");
    let headings = between(list, "<th scope=\"col\"", "</th>").len();
    assert_eq!(list.matches("<td").count() + 1, headings, "{list}");
    assert!(list.contains("<td class=\"wide\">One</td>"), "{list}");
    assert!(list.contains("<option value=\"unpaid\" selected>"), "{list}");
}

/// A day at one end of the list leaves the other end open, however far it is.
#[tokio::test]
async fn days_of_orders_are_open_at_an_end_that_is_not_given() {
    let server = TestServer::start(fleet()).await;
    let order = |id: &str, start: &str| OrderLine::new(id, "D1", start).amount("USD", 940);
    let orders = [order("ahead", "2026-03-03 01:00:00"), order("old", "2001-03-02 08:00:00")];
    server.import_valid(orders.map(|order| order.to_string()).concat()).await;
    let mut browser = Browser::with_rights(&server, "read").await;
    for (query, expected) in [
        ("from=2026-03-01", &["ahead"][..]),
        ("to=2026-03-02", &["old"]),
        ("from=2001-03-01", &["ahead", "old"]),
        ("from=2001-03-01&to=2026-03-03", &["ahead", "old"]),
    ] {
        let mut found = ids(&mut browser, query).await;
        found.sort();
        assert_eq!(found, expected, "{query}");
    }
    let wrong = browser.get("/console/orders?from=2026-03-03&to=2026-03-02").await;
    assert_eq!(wrong.status, 400, "{}", wrong.text);
}

/// Of the orders with a number, the other fields select before the limit; the page and its file say
/// that there may be more, and the search of every page leads to them.
#[tokio::test]
async fn a_number_that_many_orders_have_is_searched_whole() {
    const MORE: &str = "More orders may match than these. A device, a group or days narrow the \
                        search.";
    let (server, mut browser) = fixture().await;
    let numbered = |id: String, device: &str, start: &str| {
        OrderLine::new(id, device, format!("2026-03-{start}")).with("tradeNo", "T-9")
    };
    let many = |at: usize| numbered(format!("n{at}"), "D1", &format!("02 08:00:{at}")).to_string();
    let first = numbered("first".to_owned(), "D2", "01 07:00:00")
        .paid("2026-03-01 07:00:01")
        .with("shipmentStatus", 3)
        .with("cardNumber", "**** 1234");
    server.import_valid((10..59).map(many).collect::<String>() + &first.to_string()).await;
    let all: Vec<String> = (10..59).rev().map(|at| format!("n{at}")).collect();
    let all = [all, vec!["first".to_owned()]].concat();
    assert_eq!(ids(&mut browser, "q=T-9").await, all);
    assert!(!browser.get("/console/orders?q=T-9").await.text.contains(MORE));
    server.import_valid(many(59)).await;
    let latest = [&["n59".to_owned()][..], &all[..49]].concat();
    assert_eq!(ids(&mut browser, "q=T-9").await, latest);
    for query in ["q=T-9", "q=T-9&from=2026-03-01"] {
        let page = browser.get(&format!("/console/orders?{query}")).await.text;
        assert!(page.contains(&format!("<p class=\"note\">{MORE}</p>")), "{query}: {page}");
    }
    let file = browser.get("/console/orders?q=T-9&format=csv").await.text;
    let rows: Vec<&str> = file.lines().collect();
    assert_eq!((rows.len(), rows[51]), (52, &*format!("\"{MORE}\",,,,,,,,,,")));
    for query in ["device=D2", "group=g2", "shipment=failed", "to=2026-03-01", "card=1234"] {
        assert_eq!(ids(&mut browser, &format!("q=T-9&{query}")).await, ["first"], "{query}");
        let path = format!("/console/orders?q=T-9&{query}&format=csv");
        assert_eq!(browser.get(&path).await.text.lines().count(), 2, "{query}");
    }
    for device in ["D9", ".."] {
        let page = browser.get(&format!("/console/orders?q=T-9&device={device}")).await.text;
        assert!(page.contains("There is no device with this code."), "{device}: {page}");
    }
    let page = browser.get("/console/search?q=T-9").await.text;
    let hits = card(&page, "hits");
    assert_eq!(between(hits, "href=\"/console/orders/", "\"").len(), 20, "{hits}");
    let links = between(hits, "<p class=\"more\"><a href=\"", "</a>");
    assert_eq!(links, ["/console/orders?q=T-9\">More orders with this number"]);
}

#[tokio::test]
async fn a_search_leads_to_the_only_hit_or_lists_all() {
    let (server, mut browser) = fixture().await;
    let token = server.log_in("ops").await.token;
    let refused = server.call(SWITCH_PATH, Some(&token), "{}").await;
    let request = &refused.headers["x-request-id"];
    server.store.trail().write_refused().await.unwrap();
    for (text, path) in [
        ("D1", "/console/devices/D1"),
        ("d2", "/console/devices/D2"),
        ("sold", "/console/orders/g1/sold"),
        ("T-7", "/console/orders/g1/unpaid"),
        ("oid:late", "/console/orders/g2/late"),
        ("ops", "/console/integrators/account?name=ops"),
        ("op", "/console/integrators/account?name=ops"),
        (request.as_str(), &format!("/console/integrators?request={request}")),
    ] {
        let reply = browser.get(&format!("/console/search?q={text}")).await;
        assert_eq!(reply.status, 303, "{text}: {}", reply.text);
        assert_eq!(reply.headers["location"], path, "{text}");
        assert_eq!(browser.get(path).await.status, 200, "{path}");
    }
    let several = browser.get("/console/search?q=D").await;
    let links = between(card(&several.text, "hits"), "href=\"", "\"");
    assert_eq!(links, ["/console/devices/D1", "/console/devices/D2"]);
    for text in ["", "nothing", "%00", "%3Cb%3E", "%FF"] {
        let none = browser.get(&format!("/console/search?q={text}")).await;
        assert_eq!(none.status, 200, "{text}");
        assert!(card(&none.text, "hits").contains("Nothing matches."), "{text}: {}", none.text);
    }
    // A key that may not read has no search, and no field for it.
    let key = server.create_key("audit").await;
    let mut auditor = Browser::signed_in(&server, &key).await;
    assert_eq!(auditor.get("/console/search?q=D1").await.status, 403);
    assert!(!auditor.get("/console/audit").await.text.contains("/console/search"));
}

/// A device is found by its code, and shown once, although more devices than are listed have the
/// text in their codes, and come before it.
#[tokio::test]
async fn a_search_for_a_code_finds_its_device() {
    let codes = (10..31).map(|number| format!("AZ{number}"));
    let fleet = codes.fold(fleet(), |fleet, code| fleet.device(&code, "Hall", "g1"));
    let fleet = fleet.device("C1", "AZ10", "g1").device("Z", "Last", "g2");
    let (_server, mut browser) = signed_in_with(fleet, "read").await;
    let found = browser.get("/console/search?q=Z").await;
    assert_eq!(found.status, 303, "{}", found.text);
    assert_eq!(found.headers["location"], "/console/devices/Z");
    let both = browser.get("/console/search?q=AZ10").await.text;
    let links = between(card(&both, "hits"), "href=\"", "\"");
    assert_eq!(links, ["/console/devices/AZ10", "/console/devices/C1"]);
}

/// The hits are the first 20 accounts that begin with the text; a link leads to the others.
#[tokio::test]
async fn a_search_shows_that_there_are_more_accounts() {
    for (count, more) in [(20, None), (21, Some("/console/integrators?after=clerk20"))] {
        let names = (1..=count).map(|number| format!("clerk{number:02}"));
        let fleet = names.fold(fleet(), |fleet, name| fleet.account(&name, &["g1"]));
        let (_server, mut browser) = signed_in_with(fleet, "read").await;
        let page = browser.get("/console/search?q=clerk").await.text;
        let hits = card(&page, "hits");
        assert_eq!(between(hits, "/console/integrators/account?name=", "\"").len(), 20, "{hits}");
        let links = between(hits, "<p class=\"more\"><a href=\"", "</p>");
        let expected = more.map(|more| format!("{more}\">More accounts that begin with clerk</a>"));
        assert_eq!(links, expected.as_deref().into_iter().collect::<Vec<_>>(), "{count}");
        if let Some(more) = more {
            let page = browser.get(more).await.text;
            let others =
                between(card(&page, "accounts"), "/console/integrators/account?name=", "\"");
            assert_eq!(others, ["clerk21", "ops"]);
        }
    }
}

/// A group that does not exist is not one without entries.
#[tokio::test]
async fn a_group_that_does_not_exist_is_not_found() {
    let (_server, mut browser) = fixture().await;
    for path in ["", "devices", "orders", "refill"] {
        for (group, status) in [("g2", 200), ("", 200), ("nope", 404), ("%20g2", 404)] {
            for more in ["", "&format=csv"] {
                let address = format!("/console/{path}?group={group}{more}");
                assert_eq!(browser.get(&address).await.status, status, "{address}");
            }
        }
    }
}

/// Ids may begin or end with a space, which addresses have too. What people type is trimmed.
#[tokio::test]
async fn ids_in_addresses_are_exact() {
    let spaced = fleet().group(" g1", "Spaced").device(" D1", "Annex", " g1");
    let server = TestServer::start(spaced).await;
    let order = OrderLine::new("spaced", " D1", "2026-03-02 08:00:00").with("tradeNo", "T-1");
    server.import_valid(order.to_string()).await;
    let mut browser = Browser::with_rights(&server, "read").await;
    for (query, codes) in [
        ("group=%20g1", &["%20D1"][..]),
        ("group=g1", &["D1"]),
        ("after=%20D1", &["D1", "D2"]),
        ("q=+annex+", &["%20D1"]),
    ] {
        let page = browser.get(&format!("/console/devices?{query}")).await;
        assert_eq!(page.status, 200, "{query}: {}", page.text);
        let listed = between(card(&page.text, "devices"), "href=\"/console/devices/", "\"");
        assert_eq!(listed, codes, "{query}");
    }
    for (query, expected) in [
        ("device=%20D1&group=%20g1", &["spaced"][..]),
        ("device=D1", &[]),
        ("q=+T-1+&from=+2026-03-02+", &["spaced"]),
    ] {
        assert_eq!(ids(&mut browser, query).await, expected, "{query}");
    }
}

/// A repeated field is refused like an unknown one; it would select everything.
#[tokio::test]
async fn a_repeated_field_of_an_address_is_refused() {
    let (_server, mut browser) = fixture().await;
    for path in ["", "devices", "orders", "refill"] {
        let page = browser.get(&format!("/console/{path}?group=g1&group=g2")).await;
        assert_eq!(page.status, 400, "{path}: {}", page.text);
        assert!(page.text.contains("The parameter group has a value"), "{path}: {}", page.text);
        let status = browser.get(&format!("/console/{path}?group=g1&%67roup=")).await.status;
        assert_eq!(status, 400, "{path}");
        assert_eq!(browser.get(&format!("/console/{path}?group=g1")).await.status, 200, "{path}");
    }
    for address in ["search?q=D1&q=D2", "integrators?after=a&after=b", "orders?q=1&q=2"] {
        assert_eq!(browser.get(&format!("/console/{address}")).await.status, 400, "{address}");
    }
}

/// Each single day is compared with the same weekday before; today, which has not ended, is shown.
#[tokio::test]
async fn a_day_is_compared_with_the_same_weekday_before() {
    let (server, mut browser) = fixture().await;
    let before = OrderLine::new("before", "D1", "2026-02-22 08:00:00").amount("USD", 470);
    server.import_valid(before.paid("2026-02-22 08:00:00").to_string()).await;
    let yesterday = browser.get("/console/?days=yesterday").await.text;
    for part in ["Yesterday, 2026-03-01", "vs the same weekday, 2026-02-22", "+100%"] {
        assert!(yesterday.contains(part), "{part}: {yesterday}");
    }
    let today = browser.get("/console/?days=1").await.text;
    for part in
        ["Today, 2026-03-02", "the same weekday, 2026-02-23: 0<", "aria-current=\"true\">Today"]
    {
        assert!(today.contains(part), "{part}: {today}");
    }
}
