//! The worked examples: each order that is served is compared with the report, which other code
//! reads.

mod console;

use std::collections::{BTreeMap, BTreeSet};

use kiosque_testdb::{Durability, Server};
use kiosque_testkit::{BEST_PATH, BY_DEVICE_PATH, SUMMARY_PATH, Sandbox, TREND_PATH};
use serde_json::{Value, json};

use crate::database::node;
use crate::{KIOSQUE, exports, pages};

/// The path of the real report; `cargo xtask test` sets it.
const SETTING: &str = "KIOSQUE_SALES_REPORT";

/// Returns the path of a file of the examples.
pub(crate) fn example(name: &str) -> String {
    format!("{}/../../examples/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// Returns the path of the real report, which may be absent, but not in CI.
fn report() -> Option<String> {
    let report = std::env::var(SETTING).ok();
    if report.is_none() {
        let said = format!("the sales report is absent: {SETTING} says where it is");
        assert!(std::env::var_os("CI").is_none(), "{said}, and CI skips no test");
        println!("{said}");
    }
    report
}

/// Applies and imports as the example's README says; the account can log in afterwards.
fn brought_in(sandbox: &Sandbox, example_name: &str, zone: &str, report: &str) {
    let fleet = example(&format!("{example_name}/fleet.toml"));
    sandbox.run(&["apply", &fleet, "--timezone", zone]).success();
    let mapping = example(&format!("{example_name}/mapping.toml"));
    // Rejected rows are written next to the report, so this one is a copy.
    let report = sandbox.file("report.csv", std::fs::read(report).unwrap());
    let import = ["import", "orders", &report, "--map", &mapping];
    let ran = sandbox.run(&import).success();
    let [accepted, updated, unchanged, rejected] = ran.counts();
    assert_eq!((updated, unchanged, rejected), (0, 0, 0), "{ran:?}");
    assert_eq!(sandbox.run(&import).success().counts(), [0, 0, accepted, 0]);
    assert!(!sandbox.path("report.csv.rejected.csv").exists());
    assert_eq!(sandbox.verified(), accepted);
}

fn served(sandbox: &Sandbox, account: &str, password: &str) -> (Vec<Value>, Vec<Value>) {
    let served = sandbox.serve();
    let mut caller = served.connect();
    let token = caller.log_in(account, password);
    let devices = pages::devices(&mut caller, &token);
    let orders = pages::all_orders(&mut caller, &token).into_values().flatten().collect();
    (devices, orders)
}

/// Returns the cents of a decimal number of dollars, computed here.
fn cents(dollars: &str) -> i64 {
    let (whole, fraction) = dollars.split_once('.').unwrap_or((dollars, ""));
    whole.parse::<i64>().unwrap() * 100 + format!("{fraction:0<2}").parse::<i64>().unwrap()
}

/// Returns midnight of a date in American notation.
fn midnight(date: &str) -> String {
    let parts: Vec<u32> = date.split('/').map(|part| part.parse().unwrap()).collect();
    format!("{:04}-{:02}-{:02} 00:00:00", parts[2], parts[0], parts[1])
}

type Row = BTreeMap<String, String>;

fn rows(report: &str) -> Vec<Row> {
    let text = std::fs::read_to_string(report).unwrap();
    let mut reader = csv::Reader::from_reader(text.trim_start_matches('\u{feff}').as_bytes());
    reader.deserialize().map(|row| row.unwrap()).collect()
}

/// Returns the orders in the rows, by transaction, as they should be served.
fn expected(rows: &[Row]) -> BTreeMap<String, Value> {
    let mut orders: BTreeMap<String, Value> = BTreeMap::new();
    for row in rows {
        let id = &row["Transaction"];
        let (day, total) = (midnight(&row["TransDate"]), cents(&row["TransTotal"]));
        let order = orders.entry(id.clone()).or_insert_with(|| {
            json!({
                "tradeNo": id, "tradeNoIn": format!("oid:{id}"), "orderId": id,
                "deviceCode": row["Device ID"], "currency": "USD", "totalAmount": total,
                "payAmount": total, "refundAmount": 0, "payStatus": 1, "shipmentStatus": 0,
                "payChannelName": row["Type"], "tradeStartTime": day, "payEndTime": day,
                "payEndDate": day, "shipmentTime": null, "cardNumber": null, "phone": null,
                "detailVOList": [],
            })
        });
        let (name, list) = (row["Product"].trim(), row["MPrice"].as_str());
        let line = json!({
            "goodsId": if name.is_empty() { "unnamed" } else { &row["Product"] },
            "goodsName": row["Product"], "aisleCode": row["RCoil"],
            "count": row["RQty"].parse::<i64>().unwrap(),
            "goodsPrice": cents(if list.is_empty() { &row["RPrice"] } else { list }),
            "salePrice": cents(&row["RPrice"]), "payAmount": cents(&row["LineTotal"]),
            "shipmentStatus": 0, "shipmentErrCode": 0, "shipmentFailDesc": null,
        });
        order["detailVOList"].as_array_mut().unwrap().push(line);
    }
    orders
}

/// How many, and cents.
type Sum = (i64, i64);

/// The sums of the rows of some days.
#[derive(Default)]
struct Sums<'r> {
    /// The orders.
    total: Sum,
    items: i64,
    /// The orders of the days that have some.
    days: BTreeMap<String, Sum>,
    devices: BTreeMap<&'r str, Sum>,
    /// The items.
    goods: BTreeMap<&'r str, Sum>,
}

impl<'r> Sums<'r> {
    fn of(rows: impl Iterator<Item = &'r Row>) -> Sums<'r> {
        let (mut sums, mut orders) = (Sums::default(), BTreeMap::<&str, &Row>::new());
        for row in rows {
            orders.insert(&row["Transaction"], row);
            let count = row["RQty"].parse::<i64>().unwrap();
            sums.items += count;
            let name = if row["Product"].trim().is_empty() { "unnamed" } else { &row["Product"] };
            let sum = sums.goods.entry(name).or_default();
            *sum = (sum.0 + count, sum.1 + cents(&row["LineTotal"]));
        }
        for row in orders.into_values() {
            let total = cents(&row["TransTotal"]);
            for sum in [
                &mut sums.total,
                sums.days.entry(date(row)).or_default(),
                sums.devices.entry(&row["Device ID"]).or_default(),
            ] {
                *sum = (sum.0 + 1, sum.1 + total);
            }
        }
        sums
    }
}

/// Returns the date of a row, as answers have it.
fn date(row: &Row) -> String {
    midnight(&row["TransDate"])[..10].to_owned()
}

/// Compares the dashboard of the report's year with the rows: in sum, by device, by day, and by
/// product.
fn compare_dashboards(sandbox: &Sandbox, rows: &[Row]) {
    let sold = Sums::of(rows.iter());
    let year: i16 = date(&rows[0])[..4].parse().unwrap();
    let first = jiff::civil::date(year, 1, 1);
    let dollars = |cents: i64| json!(cents as f64 / 100.0);
    let served = sandbox.serve();
    let mut caller = served.connect();
    let token = caller.log_in("sales-report", "read-the-report");
    // The year's first midnight in New York, and the next one's.
    let [start, end] = [0, 1].map(|later| {
        let midnight = jiff::civil::date(year + later, 1, 1).in_tz("America/New_York");
        midnight.unwrap().timestamp().as_millisecond()
    });
    let range = json!({"startTimestamp": start, "endTimestamp": end}).to_string();
    let mut dashboard = |path| caller.call(path, Some(&token), &range).success().clone();

    let summary = dashboard(SUMMARY_PATH);
    let kpi = |at: usize| summary["kpiList"][at]["value"].as_str().unwrap().replace(',', "");
    let (orders, sum) = sold.total;
    assert_eq!(kpi(0), format!("{}.{:02}", sum / 100, sum % 100));
    assert_eq!([kpi(1), kpi(2)], [orders, sold.items].map(|count| count.to_string()));
    assert_eq!(summary["unconvertedOrders"], 0);

    let days = first.series(jiff::ToSpan::days(1)).take_while(|date| date.year() == year);
    let days = days.map(|date| {
        let (count, sum) = sold.days.get(&date.to_string()).copied().unwrap_or_default();
        json!({"label": date.to_string(), "amount": dollars(sum), "orderCount": count})
    });
    assert_eq!(dashboard(TREND_PATH), days.collect::<Value>());

    let by_device = dashboard(BY_DEVICE_PATH);
    assert_eq!(by_device.as_array().unwrap().len(), sold.devices.len());
    for of in by_device.as_array().unwrap() {
        let (count, sum) = sold.devices[of["deviceCode"].as_str().unwrap()];
        assert_eq!((&of["orderCount"], &of["salesAmount"]), (&json!(count), &dollars(sum)));
    }

    let mut ranked: Vec<_> = sold.goods.iter().collect();
    ranked.sort_by_key(|(name, (count, sum))| (-count, -sum, *name));
    ranked.truncate(10);
    let ranked = ranked.into_iter().map(|(name, (count, sum))| json!([name, count, dollars(*sum)]));
    let ranked: Vec<Value> = ranked.collect();
    let best = dashboard(BEST_PATH);
    let shown = best["rankList"].as_array().unwrap().iter();
    let shown = shown.map(|of| json!([of["goodsId"], of["salesCount"], of["salesAmount"]]));
    assert_eq!(shown.collect::<Vec<_>>(), ranked);
    assert_eq!(json!([best["goodsId"], best["salesCount"], best["salesAmount"]]), ranked[0]);
    println!("{} items, {sum} cents, best: {}", sold.items, ranked[0]);
}

/// Returns the numbers of the orders, lines, devices, product names and kinds of payment that were
/// compared.
fn compare(sandbox: &Sandbox, report: &str) -> [usize; 5] {
    brought_in(sandbox, "sales-report", "America/New_York", report);
    let (devices, orders) = served(sandbox, "sales-report", "read-the-report");
    let rows = rows(report);
    let mut expected = expected(&rows);
    let (mut lines, mut names) = (0, BTreeSet::new());
    for order in &orders {
        let want = expected.remove(order["orderId"].as_str().unwrap());
        assert_eq!(Some(order), want.as_ref());
        for line in order["detailVOList"].as_array().unwrap() {
            names.insert(line["goodsName"].as_str().unwrap().to_owned());
            lines += 1;
        }
    }
    assert_eq!(expected.len(), 0, "{expected:?}");
    assert_eq!(lines, rows.len());
    assert!(names.contains(""));
    for device in &devices {
        let row = rows.iter().find(|row| row["Device ID"] == device["deviceCode"]).unwrap();
        assert_eq!(device["deviceName"], row["Machine"]);
        assert_eq!(device["address"], row["Location"]);
        assert_eq!(device["groupId"], "vending-route");
    }
    compare_dashboards(sandbox, &rows);
    console::compare(sandbox, &rows);
    let kinds: BTreeSet<_> = orders.iter().map(|order| order["payChannelName"].as_str()).collect();
    [orders.len(), lines, devices.len(), names.len(), kinds.len()]
}

#[test]
fn each_order_of_the_sales_report_is_served() {
    let Some(report) = report() else { return };
    let compared = compare(&KIOSQUE.sandbox(), &report);
    println!("compared {} orders of {} lines with the report", compared[0], compared[1]);
    assert_eq!(compared, [9_116, 9_617, 5, 185, 2]);
}

#[test]
fn each_order_of_the_sample_is_served() {
    let compared = compare(&KIOSQUE.sandbox(), &example("sales-report/sample.csv"));
    assert_eq!(compared[..2], [22, 29]);
    assert_eq!(compared[4], 2);
}

/// The second engine gives the same answers, and its exports, read again, change nothing.
#[test]
fn each_order_of_the_sales_report_is_served_on_postgresql() {
    let report = report().unwrap_or_else(|| example("sales-report/sample.csv"));
    let server = Server::start(Durability::Off).unwrap();
    let node = node(&[&server]);
    compare(&node, &report);
    exports::read_again(&node);
}

/// Returns one row of the coffee machine's export, as it should be served.
fn cup(row: &csv::StringRecord) -> Value {
    let cell = |at: usize| row.get(at).unwrap().trim();
    let price = cell(3).trim_end_matches('€').trim().replace(',', ".");
    let date: Vec<&str> = cell(0).split('.').collect();
    let clock = format!("{:0<8}", format!("{}:00", cell(1)).get(..8).unwrap());
    let start = format!("{}-{}-{} {clock}", date[2], date[1], date[0]);
    let failed = cell(6) == "Fehler";
    let text = |cell: &str| if cell.is_empty() { Value::Null } else { cell.into() };
    let card = cell(5).chars().rev().enumerate();
    let card = card.map(|(at, c)| if at >= 4 && c.is_alphanumeric() { '*' } else { c });
    let card: String = card.collect::<Vec<_>>().into_iter().rev().collect();
    let id = format!("foyer {} {}", cell(0), cell(1));
    json!({
        "tradeNo": "", "tradeNoIn": format!("oid:{id}"), "orderId": id,
        "deviceCode": "coffee-foyer", "currency": "EUR", "totalAmount": cents(&price),
        "payAmount": cents(&price), "refundAmount": 0, "payStatus": 1,
        "shipmentStatus": if failed { 3 } else { 1 },
        "payChannelName": if cell(4) == "Karte" { "card" } else { "cash" },
        "tradeStartTime": start, "payEndTime": start, "payEndDate": start, "shipmentTime": null,
        "cardNumber": text(&card), "phone": null,
        "detailVOList": [{
            "goodsId": cell(2), "goodsName": cell(2), "aisleCode": "", "count": 1,
            "goodsPrice": cents(&price), "salePrice": cents(&price), "payAmount": cents(&price),
            "shipmentStatus": if failed { 3 } else { 1 }, "shipmentErrCode": 0,
            "shipmentFailDesc": text(cell(7)),
        }],
    })
}

#[test]
fn each_order_of_the_coffee_machine_is_served() {
    let report = example("coffee-machine/sample.csv");
    let sandbox = KIOSQUE.sandbox();
    brought_in(&sandbox, "coffee-machine", "Europe/Vienna", &report);
    let (devices, orders) = served(&sandbox, "coffee-machine", "read-the-coffee");
    assert_eq!(devices.len(), 1);
    assert_eq!(devices[0]["deviceName"], "Coffee machine, foyer");
    let text = std::fs::read_to_string(&report).unwrap();
    let (_, text) = text.split_once('\n').unwrap();
    let mut reader = csv::ReaderBuilder::new().delimiter(b';').from_reader(text.as_bytes());
    let rows = reader.records().map(|row| row.unwrap());
    let sold = rows.filter(|row| &row[4] != "Service" && &row[0] != "Summe");
    let mut expected: BTreeMap<String, Value> =
        sold.map(|row| (cup(&row)["orderId"].as_str().unwrap().to_owned(), cup(&row))).collect();
    assert_eq!((orders.len(), expected.len()), (38, 38));
    let mut total = 0;
    for order in &orders {
        let want = expected.remove(order["orderId"].as_str().unwrap());
        assert_eq!(Some(order), want.as_ref());
        total += order["totalAmount"].as_i64().unwrap();
    }
    assert_eq!(total, 6_350);
}

#[test]
fn invalid_rows_of_a_report_are_reported_and_the_rest_is_stored() {
    let sandbox = KIOSQUE.sandbox();
    let fleet = example("coffee-machine/fleet.toml");
    let mapping = example("coffee-machine/mapping.toml");
    sandbox.run(&["apply", &fleet, "--timezone", "Europe/Vienna"]).success();
    let report = "Kaffeeautomat\n\
        Datum;Uhrzeit;Getränk;Preis;Zahlung;Karte;Ausgabe;Hinweis\n\
        02.11.2026;07:19:18.865;Mokka;1,50 €;Karte;4929-0000-1111-2222;ok;\n\
        02.11.2026;07:20;Mokka;1,505 €;Karte;4929-0000-1111-2222;ok;\n\
        31.11.2026;07:21;Mokka;1,50 €;Karte;4929-0000-1111-2222;ok;\n\
        25.10.2026;02:30;Mokka;1,50 €;Karte;4929-0000-1111-2222;ok;\n\
        29.03.2026;02:30;Mokka;1,50 €;Karte;4929-0000-1111-2222;ok;\n\
        02.11.2026;07:22;Mokka;1,50 €;Karte;4929-0000-1111-2222;ok\n\
        02.11.2026;07:23;Mokka;1,50 €;Karte;4929-0000-1111-2222;vielleicht;\n\
        02.11.2026;07:24;Mokka;2,00 €;Service;;ok;\n\
        02.11.2026;07:25;Mokka;1,50 €;Bar;;ok;\n";
    let report = sandbox.file("report.csv", report);
    let ran = sandbox.run(&["import", "orders", &report, "--map", &mapping]).failure();
    assert_eq!(ran.counts(), [2, 0, 0, 6]);
    let said = ran.stderr.replace(sandbox.directory.path().to_str().unwrap(), "DIR");
    let set_aside = sandbox.read("report.csv.rejected.csv");
    insta::assert_snapshot!(format!("{said}\n{set_aside}"));
    crate::bad_lines::check_nowhere(&sandbox, &said, "report.csv");

    // The file is a report for the same mapping, to correct and import again.
    let corrected = set_aside.replace(";1,505 €;", ";1,50 €;").replace(";vielleicht;", ";ok;");
    let corrected = corrected.replace("31.11.2026;", "01.11.2026;");
    let corrected = sandbox.file("corrected.csv", corrected);
    let ran = sandbox.run(&["import", "orders", &corrected, "--map", &mapping]).failure();
    assert_eq!(ran.counts(), [3, 0, 0, 3], "{}", ran.stderr);
    assert!(sandbox.path("corrected.csv.rejected.csv").exists());
}

/// A report of unknown devices ends the import at once, unless its mapping creates them.
#[test]
fn a_report_of_unknown_devices_is_recognized() {
    let sandbox = KIOSQUE.sandbox_with(crate::fleet::fleet(), "Europe/Paris");
    let mapping = "[amount]\nunit = \"minor\"\n[order]\norderId = \"{Id}\"\n\
        deviceCode = \"D9\"\ncurrency = \"EUR\"\ntotalAmount = \"{Total}\"\n\
        tradeStartTime = \"{Time}\"\n";
    let rows: Vec<String> = (1..=1_000).map(|id| format!("{id},5,2026-01-02")).collect();
    sandbox.file("report.csv", format!("Id,Total,Time\n{}\n", rows.join("\n")));
    sandbox.file("creating.toml", format!("{mapping}[create.device]\ngroup = \"north\"\n"));
    sandbox.file("mapping.toml", mapping);
    insta::assert_snapshot!(sandbox.transcript(&[
        &["import", "orders", "report.csv", "--map", "mapping.toml"],
        &["import", "orders", "report.csv", "--map", "creating.toml"],
    ]));
}

/// The group of a device is needed only to create it: an order of a device that exists is imported
/// without one, and an unknown group rejects only the orders of its device.
#[test]
fn a_group_of_a_new_device_rejects_only_orders_of_that_device() {
    let sandbox = KIOSQUE.sandbox_with(crate::fleet::fleet(), "Europe/Paris");
    let mapping = "[amount]\nunit = \"minor\"\n[order]\norderId = \"{Id}\"\n\
        deviceCode = \"{Device}\"\ncurrency = \"EUR\"\ntotalAmount = \"5\"\n\
        tradeStartTime = \"2026-01-02\"\n[create.device]\ngroup = \"{Group}\"\n";
    sandbox.file("mapping.toml", mapping);
    let report = "Id,Device,Group\n1,D1,\n2,D8,nort\n3,D9,north\n4,D9,\n5,D8,\n";
    sandbox.file("report.csv", report);
    let said = sandbox.transcript(&[&["import", "orders", "report.csv", "--map", "mapping.toml"]]);
    insta::assert_snapshot!(said + &sandbox.read("report.csv.rejected.csv"));
}

/// Orders that the checks of an order, or the store, reject are rows of the rejected file, too.
#[test]
fn rejected_orders_of_a_report_are_written_as_its_rows() {
    let sandbox = KIOSQUE.sandbox_with(crate::fleet::fleet(), "Europe/Paris");
    let mapping = "[amount]\nunit = \"minor\"\n[order]\norderId = \"{Id}\"\n\
        deviceCode = \"{Device}\"\ncurrency = \"EUR\"\ntotalAmount = \"{Total}\"\n\
        payAmount = \"{Paid}\"\ntradeStartTime = \"{Time}\"\npayEndTime = \"{Time}\"\n";
    sandbox.file("mapping.toml", mapping);
    let report = "Id,Device,Total,Paid,Time\n1,D1,5,5,2026-01-02\n2,D9,5,5,2026-01-02\n\
        3,D1,5,6,2026-01-02\n";
    sandbox.file("report.csv", report);
    sandbox.file("mine.csv", "kept");
    let import = ["import", "orders", "report.csv", "--map", "mapping.toml"];
    let named = |file| [&import[..], &["--rejected", file]].concat();
    // A file of an earlier import is not replaced, nor one that the user names.
    let said = sandbox.transcript(&[&import, &import, &named("mine.csv"), &named("another.csv")]);
    let rejected = sandbox.read("report.csv.rejected.csv");
    insta::assert_snapshot!(said + &rejected);
    assert_eq!(sandbox.read("report.csv.rejected.csv.1"), rejected);
    assert_eq!(sandbox.read("another.csv"), rejected);
    assert_eq!(sandbox.read("mine.csv"), "kept");
}
