//! `kiosque import rates FILE`: exchange rates as CSV with the columns date, currency and
//! usd_per_unit. They apply to sales already stored, too.

use kiosque_testkit::{SUMMARY_PATH, TREND_PATH};
use serde_json::json;

use crate::KIOSQUE;
use crate::fleet::{fleet, order_with};

const RATES: &str = "date,currency,usd_per_unit\n2026-01-01,EUR,1.25\n2026-01-03,EUR,2\n";

/// An error anywhere is named with its line, and nothing is imported. A rate that may be mistyped,
/// and a last one without a line end, which may be cut off, are warned of.
#[test]
fn rates_are_taken_in_and_replaced() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "Europe/Paris");
    let mut shown = String::new();
    for rates in [
        format!("{RATES}2026-01-04,EUR,1,25\n2026-01-05,XX,1\n"),
        RATES.to_owned(),
        RATES.replace(",2\n", ",3\n"),
        RATES.replace("1.25", "12500"),
        RATES.replace("5\n2026-01-03,EUR,2\n", ""),
    ] {
        sandbox.file("rates.csv", rates);
        shown.push_str(&sandbox.transcript(&[&["import", "rates", "rates.csv"]]));
    }
    insta::assert_snapshot!(shown);
}

/// DASH-11, DASH-12: rates that are loaded late count from then on; without a rate an amount is in
/// no sum.
#[test]
fn rates_that_are_loaded_late_count_at_once() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "Europe/Paris");
    let sold = |id: &str, day: &str| {
        let time = format!("2026-01-{day} 12:00:00");
        let paid = format!("\"tradeStartTime\":\"{time}\",\"payEndTime\":\"{time}\"");
        order_with(id, "\"tradeStartTime\":\"2026-01-02 03:04:05\"", &paid)
    };
    let orders = [sold("o1", "01"), sold("o2", "02"), sold("o3", "03")].join("\n");
    sandbox.import(orders);
    let server = sandbox.serve();
    let (mut caller, token) = server.log_in("walker");
    // From midnight of the first to midnight of the fourth, in Paris. DASH-8: days are calendar
    // days of the zone.
    let (start, end) = (1_767_222_000_000_i64, 1_767_481_200_000_i64);
    let body = json!({ "startTimestamp": start, "endTimestamp": end }).to_string();
    let mut ask = |path: &str| caller.call(path, Some(&token), &body).success().clone();

    let before = ask(SUMMARY_PATH);
    assert_eq!(before["unconvertedOrders"], json!(3), "{before}");
    assert_eq!(before["kpiList"][0]["value"], json!("0.00"));

    let rates = sandbox.file("rates.csv", RATES);
    sandbox.run(&["import", "rates", &rates]).success();
    let after = ask(SUMMARY_PATH);
    assert_eq!(after["unconvertedOrders"], json!(0), "{after}");
    assert_eq!(after["kpiList"][0]["value"], json!("11.25"));
    let trend = ask(TREND_PATH);
    let amounts: Vec<f64> =
        trend.as_array().unwrap().iter().map(|day| day["amount"].as_f64().unwrap()).collect();
    // DASH-13: half a cent is rounded to even: 2.50 EUR are 3.125 dollars. The sum is exact.
    assert_eq!(amounts, [3.12, 3.12, 5.0]);
}
