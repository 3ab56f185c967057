//! What needs attention, and the aisles to refill.

use kiosque_testkit::{FleetToml, OrderLine, TestServer, between, card, sql};

use super::{Browser, signed_in_with};
use crate::operator::fleet;

/// Returns an aisle of the last device.
fn aisle(code: &str, stock: i64, keys: &str) -> String {
    format!(
        "[[device.aisle]]\ncode = \"{code}\"\nproduct = \"cola\"\nprice = 100\nstock = {stock}\n\
         capacity = 20\n{keys}"
    )
}

/// `D1` has an empty and a full aisle, `D2` a broken one, and `D3` nothing that is wrong.
fn stocked() -> FleetToml {
    FleetToml::new()
        .group("g1", "One")
        .group("g2", "Two")
        .account("ops", &["g1", "g2"])
        .product("cola", "Cola", "EUR")
        .device("D1", "Lobby", "g1")
        .with(&aisle("A1", 0, ""))
        .with(&aisle("A2", 20, ""))
        .device("D2", "Platform", "g2")
        .with(&aisle("B1", 3, "broken = true\n"))
        .device("D3", "Hall", "g1")
        .with(&aisle("C1", 7, ""))
}

/// Returns a sale of `D3`, five minutes before the time of the server on that day.
fn sale(id: &str, day: &str, count: i64, pay_status: i64) -> String {
    let lines = serde_json::json!([{"goodsId": "cola", "count": count, "salePrice": 100}]);
    OrderLine::new(id, "D3", format!("{day} 09:55:00"))
        .amount("EUR", 100 * count)
        .paid(format!("{day} 09:55:20"))
        .with("payStatus", pay_status)
        .with("detailVOList", lines)
        .to_string()
}

fn listed(page: &str) -> Vec<&str> {
    between(page, "href=\"/console/devices/", "\"")
}

#[tokio::test]
async fn each_count_leads_to_what_it_counts() {
    let server = TestServer::start(stocked()).await;
    server.import_valid(sale("o1", "2026-03-02", 1, 3) + &sale("o2", "2026-03-02", 1, 1)).await;
    let mut browser = Browser::with_rights(&server, "read").await;
    let overview = browser.get("/console/").await.text;
    let attention = card(&overview, "attention");
    let lines = between(attention, "<li><a href=\"", "</span></a>");
    let lines: Vec<(&str, &str)> = lines
        .iter()
        .map(|line| {
            let (path, rest) = line.split_once('"').unwrap();
            (path, rest.rsplit_once('>').unwrap().1)
        })
        .collect();
    let devices = "/console/devices?needs=";
    // There is no exchange rate and, of files, no backup.
    let failed_checks = if server.store.engine().is_file() { "2" } else { "1" };
    let expected = [
        ("/console/service".to_owned(), failed_checks),
        (format!("{devices}silent"), "2"),
        (format!("{devices}broken"), "1"),
        (format!("{devices}empty"), "1"),
        ("/console/orders?payment=refunding".to_owned(), "1"),
    ];
    let expected: Vec<(&str, &str)> =
        expected.iter().map(|(path, count)| (path.as_str(), *count)).collect();
    assert_eq!(lines, expected, "{attention}");
    for (needs, codes) in [("silent", &["D1", "D2"][..]), ("broken", &["D2"]), ("empty", &["D1"])] {
        let page = browser.get(&format!("{devices}{needs}")).await.text;
        assert_eq!(listed(card(&page, "devices")), codes, "{needs}");
    }
    let of_g2 = browser.get(&format!("{devices}silent&group=g2")).await.text;
    assert_eq!(listed(card(&of_g2, "devices")), ["D2"]);
    assert_eq!(browser.get(&format!("{devices}nothing")).await.status, 400);
    let refunds = browser.get("/console/orders?payment=refunding").await.text;
    assert_eq!(between(&refunds, "href=\"/console/orders/g1/", "\""), ["o1"]);
}

/// Each page, also one that refuses or follows a form, marks the service while a check is not ok,
/// for keys that may see it. The mark is absent if the checks cannot be read.
#[tokio::test]
async fn the_navigation_marks_a_service_with_failed_checks() {
    let (server, mut browser) = signed_in_with(fleet(), "read").await;
    let mark = |page: &str| between(page, "<span class=\"mark\">", "</span>").join(" ");
    // There is no exchange rate for the orders and, of files, no backup.
    let [both, one] = match server.store.engine().is_file() {
        true => ["2 to check", "1 to check"],
        false => ["1 to check", ""],
    };
    assert_eq!(mark(&browser.get("/console/orders").await.text), one);
    server.import_valid(OrderLine::new("o1", "D1", "2026-03-01 09:00:00").to_string()).await;
    assert_eq!(mark(&browser.get("/console/orders").await.text), both);
    for (path, status) in [("nothing", 404), ("audit", 403), ("orders?after=1", 400)] {
        let page = browser.get(&format!("/console/{path}")).await;
        assert_eq!((page.status, mark(&page.text).as_str()), (status, both), "{path}");
    }
    let lead = server.create_key_named("lead", "read,keys").await;
    let mut creator = Browser::signed_in(&server, &lead).await;
    let create = [("action", "create"), ("name", "reader"), ("may", "read")];
    let page = creator.post("/console/keys", &create).await;
    assert_eq!((page.status, mark(&page.text).as_str()), (200, both));
    server.set_rates(&[("EUR", "2026-01-01", "1.1")]).await;
    assert_eq!(mark(&browser.get("/console/devices").await.text), one);
    // Only the page of the service counts what is stored.
    server.data.execute(&sql("set_totals_aside"));
    for (path, status) in [("service", 503), ("devices", 200), ("intake", 200)] {
        let page = browser.get(&format!("/console/{path}")).await;
        assert_eq!((page.status, mark(&page.text).as_str()), (status, one), "{path}");
    }
    server.data.execute(&sql("set_rates_aside"));
    let page = browser.get("/console/devices").await;
    assert_eq!((page.status, mark(&page.text).as_str()), (200, ""));
    let keeper = server.create_key_named("keeper", "keys").await;
    let mut browser = Browser::signed_in(&server, &keeper).await;
    assert_eq!(mark(&browser.get("/console/keys").await.text), "");
}

/// Exchange rates are needed as soon as there are orders, which may be in any currency.
#[tokio::test]
async fn exchange_rates_are_checked_once_there_are_orders() {
    let (server, mut browser) = signed_in_with(fleet(), "read").await;
    let mut check = async || {
        let page = browser.get("/console/service").await.text;
        between(card(&page, "checks"), "<li>", "</li>")[3].to_owned()
    };
    let unneeded = "<span class=\"badge good\">ok</span> No exchange rates are needed: there are \
                    no orders";
    assert_eq!(check().await, unneeded);
    server.import_valid(OrderLine::new("o1", "D1", "2026-03-01 09:00:00").to_string()).await;
    let missing = "<span class=\"badge warning\">to check</span> No exchange rates\
                   <p class=\"note\">If there are sales in currencies other than US dollars, \
                   import rates with “kiosque import rates”: sums in dollars leave out sales \
                   without a rate.</p>";
    assert_eq!(check().await, missing);
    server.set_rates(&[("EUR", "2026-01-01", "1.1")]).await;
    let until = "<span class=\"badge good\">ok</span> Latest exchange rates: 2026-01-01";
    assert_eq!(check().await, until);
}

#[tokio::test]
async fn the_aisles_that_run_out_first_are_first() {
    let server = TestServer::start(stocked()).await;
    server.import_valid(sale("o1", "2026-03-01", 2, 1) + &sale("o2", "2026-03-02", 9, 1)).await;
    let mut browser = Browser::with_rights(&server, "read").await;
    let csv = browser.get("/console/refill?format=csv").await.text;
    let expected = "device_code,device_name,aisle_code,goods_id,goods_name,stock,capacity,\
                    sold_a_day,days_left\r\n\
                    D1,Lobby,A1,cola,Cola,0,20,0.0,0.0\r\n\
                    D3,Hall,C1,cola,Cola,7,20,2.0,3.5\r\n\
                    D1,Lobby,A2,cola,Cola,20,20,0.0,\r\n";
    assert_eq!(csv, expected, "the sales of today do not count");
    let page = browser.get("/console/refill?group=g1").await.text;
    let refill = card(&page, "refill");
    assert_eq!(listed(refill), ["D1", "D3", "D1"]);
    assert!(refill.contains("empty") && refill.contains("no sales"), "{refill}");
    // A best seller leads to the aisles with it.
    let products = browser.get("/console/?days=7").await.text;
    let link = between(card(&products, "products"), "<a href=\"", "\"");
    assert_eq!(link, ["/console/refill?product=cola"]);
    for (product, count) in [("cola", 3), ("co", 0)] {
        let page = browser.get(&format!("/console/refill?product={product}")).await.text;
        assert_eq!(listed(card(&page, "refill")).len(), count, "{product}");
        assert_eq!(page.contains("No aisle that sells has this product."), count == 0, "{page}");
        let path = format!("/console/refill?product={product}&amp;format=csv");
        assert!(page.contains(&path), "{page}");
        let csv = browser.get(&path.replace("&amp;", "&")).await.text;
        assert_eq!(csv.lines().count(), count + 1, "{csv}");
    }
    let none = browser.get("/console/refill?group=g2").await.text;
    assert!(card(&none, "refill").contains("No aisle sells"), "{none}");
}

/// Sales that were imported for a device that is new here are divided by the days since the first.
#[tokio::test]
async fn imported_sales_of_a_new_device_are_those_of_several_days() {
    let server = TestServer::start(stocked()).await;
    let days = ["2026-02-26", "2026-02-28", "2026-03-01"];
    let sales = days.map(|day| sale(day, day, 2, 1));
    server.import_valid(sales.concat()).await;
    let mut browser = Browser::with_rights(&server, "read").await;
    let csv = browser.get("/console/refill?format=csv").await.text;
    // Six in the four days before today.
    assert!(csv.contains("D3,Hall,C1,cola,Cola,7,20,1.5,4.6\r\n"), "{csv}");
}
