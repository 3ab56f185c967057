//! The worked examples of `examples/`, read by the reader and by simpler code.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::*;

fn example(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(path)
}

fn text(path: &str) -> String {
    std::fs::read_to_string(example(path)).expect("a file of the repository")
}

/// The totals of a sales report, computed by simple code.
#[derive(Debug, Default, PartialEq)]
struct Totals {
    orders: usize,
    lines: usize,
    cents: i64,
    devices: BTreeSet<String>,
    products: BTreeSet<String>,
}

/// Reads the report with nothing of the code under test: no mapping, no money, no times.
fn totals_of_simple_code(report: &[u8]) -> Totals {
    let mut totals = Totals::default();
    let mut transactions = BTreeMap::new();
    for row in ::csv::Reader::from_reader(report).deserialize::<BTreeMap<String, String>>() {
        let row = row.expect("a row of text");
        totals.lines += 1;
        totals.devices.insert(row["Device ID"].clone());
        totals.products.insert(row["Product"].clone());
        let (whole, fraction) =
            row["TransTotal"].split_once('.').unwrap_or((&row["TransTotal"], ""));
        let cents: i64 = format!("{whole}{fraction:0<2}").parse().expect("a decimal");
        transactions.insert(row["Transaction"].clone(), cents);
    }
    totals.orders = transactions.len();
    totals.cents = transactions.values().sum();
    totals
}

fn totals(orders: &[JsonOrder]) -> Totals {
    let mut totals = Totals { orders: orders.len(), ..Totals::default() };
    for order in orders {
        totals.cents += order.order["totalAmount"].as_i64().expect("an amount");
        totals.devices.insert(order.order["deviceCode"].as_str().expect("a code").to_owned());
        for line in order.order["detailVOList"].as_array().expect("lines") {
            totals.lines += 1;
            totals.products.insert(line["goodsName"].as_str().expect("a name").to_owned());
        }
    }
    totals
}

fn sales_report(report: &[u8]) -> ReadResult {
    let zone = Zone::named("America/New_York").expect("a known zone");
    let got = outcome_in(&zone, &mapping(&text("sales-report/mapping.toml")), report);
    assert_eq!(got.reasons(), Vec::<&str>::new());
    assert_eq!(totals(&got.orders), totals_of_simple_code(report));
    got
}

#[test]
fn the_sales_reports_sample_equals_totals_of_simple_code() {
    let report = std::fs::read(example("sales-report/sample.csv")).expect("a file");
    let got = sales_report(&report);
    assert_eq!((got.orders.len(), totals(&got.orders).lines), (22, 29));

    let order = &got.orders[1];
    assert_eq!(order.lines, [3, 4]);
    assert_eq!(order.order["orderId"], "20450053839");
    assert_eq!(order.order["payEndTime"], "2024-03-04T05:00:00.000Z");
    assert_eq!(order.order["totalAmount"], 375);
    assert_eq!(order.order["payChannelName"], "Cash");
    assert!(!order.order.contains_key("shipmentTime"));
    let device = order.device.clone().expect("a device").expect("a group");
    assert_eq!(device.name.as_deref(), Some("Station Hall x22 - South"));
    assert_eq!(device.address.as_deref(), Some("Station Hall"));

    let unlinked = got.orders.iter().find(|order| order.lines == [18]).expect("line 18");
    let line = &unlinked.order["detailVOList"][0];
    assert_eq!(line["goodsId"], "unnamed");
    assert_eq!(line["goodsName"], "");
    assert_eq!(line["aisleCode"], "131");
    assert_eq!(line["goodsPrice"], 300);
    let unnamed = &unlinked.products[0];
    assert_eq!((unnamed.id.as_str(), unnamed.name.as_deref()), ("unnamed", Some("")));
    assert_eq!(unnamed.default_price, None);
}

#[test]
fn the_coffee_machines_sample_is_read_to_the_cent() {
    let report = std::fs::read(example("coffee-machine/sample.csv")).expect("a file");
    let mapping = mapping(&text("coffee-machine/mapping.toml"));
    let got = outcome_in(&Zone::utc(), &mapping, report.as_slice());
    assert_eq!(got.reasons(), Vec::<&str>::new());
    assert_eq!(
        got.left_out,
        [("Zahlung is \"Service\"".to_owned(), 2), ("Datum is \"Summe\"".to_owned(), 1)]
    );
    assert_eq!(got.orders.len(), 38);
    // The report's own last row.
    let cents: i64 = got.orders.iter().filter_map(|o| o.order["totalAmount"].as_i64()).sum();
    assert_eq!(cents, 6350);

    let first = &got.orders[0].order;
    assert_eq!(got.orders[0].first_line, 3);
    assert_eq!(first["orderId"], "foyer 02.11.2026 07:19:18.865");
    assert_eq!(first["tradeStartTime"], "2026-11-02T06:19:18.865Z");
    assert_eq!(first["payChannelName"], "card");
    assert_eq!(first["shipmentStatus"], 1);
    assert_eq!(first["detailVOList"][0]["goodsId"], "Verlängerter");
    let failed: Vec<&Value> = got
        .orders
        .iter()
        .filter(|order| order.order["shipmentStatus"] == 3)
        .map(|order| &order.order["detailVOList"][0]["shipmentFailDesc"])
        .collect();
    assert_eq!(failed, ["Becher fehlt", "Bohnen leer; Behälter prüfen"]);
}

#[test]
fn the_real_sales_report_is_read_whole() {
    let Some(path) = std::env::var_os("KIOSQUE_SALES_REPORT") else {
        assert!(std::env::var("CI").as_deref() != Ok("true"), "KIOSQUE_SALES_REPORT is not set");
        eprintln!("not tested: KIOSQUE_SALES_REPORT names no sales report");
        return;
    };
    let report = std::fs::read(path).expect("the report that KIOSQUE_SALES_REPORT names");
    let got = sales_report(&report);
    let totals = totals(&got.orders);
    assert_eq!(totals.orders, 9_116);
    assert_eq!(totals.lines, 9_617);
    assert_eq!(totals.devices.len(), 5);
    assert_eq!(totals.products.len(), 185);
    assert!(totals.products.contains(""));

    // Three rows have no list price, and every product can be created all the same.
    let ids: BTreeSet<&str> = got
        .orders
        .iter()
        .flat_map(|order| order.products.iter().map(|product| product.id.as_str()))
        .collect();
    assert_eq!(ids.len(), 185);
}
