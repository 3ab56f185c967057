//! `kiosque import rates FILE`: exchange rates as CSV with the columns date, currency and
//! usd_per_unit. They apply to sales that are stored already.

use kiosque_testkit::{Ran, SUMMARY_PATH, Sandbox, TREND_PATH};
use serde_json::json;

use crate::KIOSQUE;
use crate::fleet::{fleet, order_with};

const RATES: &str = "date,currency,usd_per_unit\n2026-01-01,EUR,1.25\n2026-01-03,EUR,2\n";

fn import(sandbox: &Sandbox, rates: impl AsRef<str>) -> Ran {
    let file = sandbox.file("rates.csv", rates.as_ref());
    sandbox.run(&["import", "rates", &file]).success()
}

#[test]
fn rates_are_taken_in_and_replaced() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "Europe/Paris");
    let ran = import(&sandbox, RATES);
    assert_eq!(
        (ran.stdout.as_str(), ran.stderr.as_str()),
        ("rates: 2 created, 0 changed, 0 unchanged\nimport 1\n", "")
    );
    let ran = import(&sandbox, RATES.replace(",2\n", ",3\n"));
    assert_eq!(
        (ran.stdout.as_str(), ran.stderr.as_str()),
        ("rates: 0 created, 1 changed, 1 unchanged\nEUR on 2026-01-03: 2 -> 3\nimport 2\n", "")
    );
}

/// A file that is cut off in the middle of a rate is a valid one with another rate.
#[test]
fn a_last_rate_without_a_line_end_is_warned_of() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "Europe/Paris");
    let ran = import(&sandbox, RATES.strip_suffix("5\n2026-01-03,EUR,2\n").unwrap());
    assert_eq!(ran.stdout, "rates: 1 created, 0 changed, 0 unchanged\nimport 1\n");
    let file = sandbox.path("rates.csv");
    let warning = format!(
        "warning: the last line of {}, 2, has no line end; the file may be cut off\n",
        file.display()
    );
    assert_eq!(ran.stderr, warning);
}

#[test]
fn a_rate_that_may_be_mistyped_is_warned_of() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "Europe/Paris");
    import(&sandbox, RATES);
    let ran = import(&sandbox, RATES.replace("1.25", "12500"));
    assert_eq!(
        ran.stdout,
        "rates: 0 created, 1 changed, 1 unchanged\nEUR on 2026-01-01: 1.25 -> 12500\nimport 2\n"
    );
    assert_eq!(
        ran.stderr,
        "warning: EUR on 2026-01-01: 12500 differs from the previous rate, 1.25 on 2026-01-01, by \
         a factor of more than ten; if it is mistyped, correct it and import it again\n"
    );
}

#[test]
fn a_fault_anywhere_names_its_line_and_nothing_is_imported() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "Europe/Paris");
    let file = sandbox.file("rates.csv", format!("{RATES}2026-01-04,EUR,1,25\n2026-01-05,XX,1\n"));
    let ran = sandbox.run(&["import", "rates", &file]).failure();
    assert_eq!(ran.stdout, "");
    let said = format!(
        "{file}: line 4: has 4 cells, the header has 3\n\
         {file}: line 5: currency: XX is not an ISO 4217 code\nnothing was imported\n"
    );
    assert_eq!(ran.stderr, said);
    let ran = import(&sandbox, RATES);
    assert_eq!(ran.stdout, "rates: 2 created, 0 changed, 0 unchanged\nimport 1\n");
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

    import(&sandbox, RATES);
    let after = ask(SUMMARY_PATH);
    assert_eq!(after["unconvertedOrders"], json!(0), "{after}");
    assert_eq!(after["kpiList"][0]["value"], json!("11.25"));
    let trend = ask(TREND_PATH);
    let amounts: Vec<f64> =
        trend.as_array().unwrap().iter().map(|day| day["amount"].as_f64().unwrap()).collect();
    // DASH-13: half a cent is rounded to even: 2.50 EUR are 3.125 dollars. The sum is exact.
    assert_eq!(amounts, [3.12, 3.12, 5.0]);
}
