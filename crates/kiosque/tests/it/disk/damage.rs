//! Bytes of the database file that change while nothing runs. An order is answered as it was sent
//! or not at all, each answer with HTTP 200 is JSON, and `verify` names what was noticed.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};

use kiosque_testkit::blocking::Client;
use kiosque_testkit::{
    AISLE_PATH, CHANGES_PATH, DETAIL_PATH, DEVICES_PATH, FleetToml, ONLINE_PATH, ORDERS_PATH,
    OrderLine, Ran, Rng, SERVE, Sandbox, Served, dashboard_paths, runs, seed, sql, wait_until,
};
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::KIOSQUE;
use crate::kill_9::copy_data;

const DEVICES: usize = 6;
const ORDERS: usize = 600;
const SECTOR_BYTES: usize = 512;

/// Undamaged data and its answers.
struct Whole {
    sandbox: Sandbox,
    content: Vec<u8>,
    token: String,
    /// Each order as the list has it, by its trade number.
    orders: BTreeMap<String, Value>,
    answers: Vec<Value>,
    /// The number of entries of each page of the orders or of an index of them that has no pages
    /// below it, by the number of the page.
    entries: BTreeMap<i64, i64>,
}

/// Orders of half a year, two a day of each device, with long and short texts.
fn lines() -> String {
    let mut lines = String::new();
    for at in 0..ORDERS {
        let start = jiff::Timestamp::from_second(1_767_225_600).unwrap();
        let start = start + jiff::SignedDuration::from_hours(7 * i64::try_from(at).unwrap());
        let order = OrderLine::new(format!("K{at}"), format!("D{}", at % DEVICES), start)
            .amount("EUR", 100 + i64::try_from(at).unwrap())
            .with("tradeNo", format!("T{at}"))
            .with("payChannelName", "card ".repeat(at % 40))
            .with("cardNumber", format!("411111111111{at:04}"))
            .with("detailVOList", json!([{"goodsId": format!("g{}", at % 9), "aisleCode": "1"}]));
        let order = if at % 5 == 0 { order } else { order.paid(start) };
        write!(lines, "{order}").unwrap();
    }
    lines
}

/// The calls whose answers are compared as a whole.
fn calls() -> Vec<(String, Value)> {
    let range =
        json!({"startTimestamp": 1_767_139_200_000_i64, "endTimestamp": 1_782_864_000_000_i64});
    let part =
        json!({"startTimestamp": 1_769_000_000_000_i64, "endTimestamp": 1_775_000_000_000_i64});
    let devices = format!("{DEVICES_PATH}?size=100");
    let mut calls = vec![(devices, json!({})), (ONLINE_PATH.to_owned(), json!({}))];
    for path in dashboard_paths() {
        calls.extend([&range, &part].map(|body| (path.to_owned(), body.clone())));
    }
    calls
}

impl Whole {
    fn new() -> Whole {
        let fleet = FleetToml::new()
            .group("north", "North")
            .cheap_account("guest", &["north"])
            .product("g1", "Cola", "EUR");
        let fleet = (0..DEVICES).fold(fleet, |fleet, at| {
            fleet.device(&format!("D{at}"), &format!("Device {at}"), "north").with(
                "[[device.aisle]]\ncode = \"1\"\nproduct = \"g1\"\nprice = 150\nstock = 8\n\
                 capacity = 12",
            )
        });
        let sandbox = KIOSQUE.sandbox_with(fleet, "UTC");
        sandbox.import(lines());
        let rates = "date,currency,usd_per_unit\n2026-01-01,EUR,1.0837\n2026-04-01,EUR,1.12\n";
        let rates = sandbox.file("rates.csv", rates);
        sandbox.run(&["import", "rates", &rates]).success();
        let mut served = sandbox.serve();
        let token = served.connect().log_in("guest", "secret");
        let mut asked = Asked::of(&served, &token, None);
        assert_eq!(asked.failed, 0);
        assert_eq!(asked.found.len(), ORDERS);
        let orders = std::mem::take(&mut asked.found);
        // Other answers depend on the time of the last call of an account.
        let answers = asked.answers.into_iter().map(Option::unwrap).collect();
        served.stop();
        assert!(!sandbox.data().join("kiosque.db-wal").exists());
        let content = fs::read(sandbox.data().join("kiosque.db")).unwrap();
        let entries = entries(&sandbox, &sql("leaves_of_orders"));
        Whole { sandbox, content, token, orders, answers, entries }
    }

    /// Exports the data while a page has the wrong number of entries.
    fn export_with(&self, page: i64, entries: u16) -> Ran {
        let mut content = self.content.clone();
        let count = (usize::try_from(page).unwrap() - 1) * page_bytes(self) + 3;
        content[count..count + 2].copy_from_slice(&entries.to_be_bytes());
        let database = self.sandbox.data().join("kiosque.db");
        fs::write(&database, content).unwrap();
        let exported = self.sandbox.run(&["orders", "export"]);
        fs::write(database, &self.content).unwrap();
        exported
    }
}

/// Reads where the orders are; a page is a leaf if it has entries and no pages below it.
fn entries(sandbox: &Sandbox, pages: &str) -> BTreeMap<i64, i64> {
    let database = Connection::open(sandbox.data().join("kiosque.db")).unwrap();
    let mut pages = database.prepare(pages).unwrap();
    let pages = pages.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    pages.map(Result::unwrap).collect()
}

/// The answers of a server.
#[derive(Default)]
struct Asked {
    /// Answers of [`calls`]; none for a failure.
    answers: Vec<Option<Value>>,
    /// Each order that was answered, from lists, details and the feed.
    found: BTreeMap<String, Value>,
    /// Calls that failed.
    failed: usize,
    /// Failed calls that say that the order does not exist.
    denied: usize,
    /// Failed calls that refuse the token.
    refused: usize,
    /// What no answer may be.
    wrong: Vec<String>,
}

impl Asked {
    /// Asks everything. Orders are compared with the `whole` ones.
    fn of(served: &Served, token: &str, whole: Option<&Whole>) -> Asked {
        let mut asked = Asked::default();
        let mut caller = served.connect();
        for (path, body) in calls() {
            let answer = asked.ask(&mut caller, served, token, &path, &body);
            asked.answers.push(answer);
        }
        for device in 0..DEVICES {
            let body = json!({"deviceCode": format!("D{device}"), "includeHistory": true});
            let pages = ORDERS / DEVICES / 20;
            for page in 1..=pages {
                let path = format!("{ORDERS_PATH}?size=20&current={page}");
                let answer = asked.ask(&mut caller, served, token, &path, &body);
                let records = answer.as_ref().and_then(|answer| answer["records"].as_array());
                if let Some(records) = records
                    && records.len() != 20
                {
                    asked.wrong.push(format!("{path} {body} has {} orders", records.len()));
                }
                for order in records.into_iter().flatten() {
                    asked.take("the list", order, whole);
                }
            }
        }
        for at in 0..ORDERS {
            let body = json!({"tradeNoOut": format!("T{at}")});
            let answer = asked.ask(&mut caller, served, token, DETAIL_PATH, &body);
            if let Some(order) = answer {
                asked.take("a detail", &as_listed(order), whole);
            }
        }
        let mut after = Value::Null;
        loop {
            let body = json!({"after": after, "size": 100});
            let answer = asked.ask(&mut caller, served, token, CHANGES_PATH, &body);
            let Some(records) = answer.as_ref().and_then(|answer| answer["records"].as_array())
            else {
                break;
            };
            for record in records {
                asked.take("the feed", &record["order"], whole);
            }
            if records.is_empty() || answer.as_ref().unwrap()["next"] == after {
                break;
            }
            after = answer.as_ref().unwrap()["next"].clone();
        }
        asked
    }

    /// Returns the data of a call; none for a failure.
    fn ask(
        &mut self,
        caller: &mut Client,
        served: &Served,
        token: &str,
        path: &str,
        body: &Value,
    ) -> Option<Value> {
        // An answer that breaks off ends its connection, and one that is no text panics.
        let call = || caller.try_call(path, Some(token), &body.to_string());
        let reply = match catch_unwind(AssertUnwindSafe(call)) {
            Ok(Ok(reply)) => reply,
            Ok(Err(_)) => {
                *caller = served.connect();
                self.failed += 1;
                return None;
            }
            Err(_) => {
                self.wrong.push(format!("{path} {body}: an answer that is no text"));
                *caller = served.connect();
                return None;
            }
        };
        let code = reply.json["code"].as_i64();
        if code.is_none() {
            self.wrong.push(format!("{path} {body}: {} {}", reply.status, reply.text));
        }
        if (reply.status, code) == (200, Some(200)) {
            return Some(reply.data().clone());
        }
        self.refused += usize::from(code == Some(-4));
        self.denied += usize::from(reply.status == 200);
        self.failed += 1;
        None
    }

    fn take(&mut self, place: &str, order: &Value, whole: Option<&Whole>) {
        let number = order["tradeNo"].as_str().unwrap_or_default().to_owned();
        if whole.is_some_and(|whole| whole.orders.get(&number) != Some(order)) {
            self.wrong.push(format!("{place} has an altered order: {order}"));
        }
        self.found.insert(number, order.clone());
    }
}

/// Returns a detail with the fields that the list has.
fn as_listed(mut order: Value) -> Value {
    let fields = order.as_object_mut().unwrap();
    let lines = fields.remove("detailList").unwrap();
    fields.insert("detailVOList".to_owned(), lines);
    fields.remove("tradeNoOut");
    fields.remove("shipmentErrorList");
    order
}

/// Counts of the places.
#[derive(Debug, Default)]
struct Counts {
    places: usize,
    /// Places where all answers are as before.
    without_effect: usize,
    /// Places where the server does not start.
    not_served: usize,
    /// Places where calls failed.
    failing: usize,
    /// Places where figures or lists differ, and no call fails.
    differing: usize,
    /// Calls whose answer is that an order does not exist.
    denied: usize,
    /// Orders that were answered nowhere, of pages of which that can be said.
    unread: usize,
    /// Places where the session has ended: the digest of its token is another one.
    ended_sessions: usize,
}

/// Changes a byte or a sector, and compares what is served and what `verify` prints.
fn try_place(whole: &Whole, rng: &mut Rng, counts: &mut Counts) -> Vec<String> {
    let mut content = whole.content.clone();
    let at = rng.below(content.len());
    let sector = at / SECTOR_BYTES * SECTOR_BYTES;
    let range = if rng.one_in(2) { at..at + 1 } else { sector..sector + SECTOR_BYTES };
    for byte in &mut content[range.clone()] {
        *byte ^= u8::try_from(1 + rng.below(255)).unwrap();
    }
    let sandbox = KIOSQUE.sandbox();
    copy_data(&whole.sandbox.data(), &sandbox.data());
    fs::write(sandbox.data().join("kiosque.db"), content).unwrap();
    let page = range.start / page_bytes(whole) + 1;
    let wrong = compare(&sandbox, whole, page, counts);
    wrong.iter().map(|wrong| format!("bytes {range:?}: {wrong}")).collect()
}

/// Compares what is served and what `verify` prints with the whole data, of which a page differs.
fn compare(sandbox: &Sandbox, whole: &Whole, page: usize, counts: &mut Counts) -> Vec<String> {
    counts.places += 1;
    let mut wrong = Vec::new();
    let mut has_effect = true;
    if let Some(served) = serve(sandbox) {
        let mut asked = Asked::of(&served, &whole.token, Some(whole));
        if asked.refused > 0 {
            counts.ended_sessions += 1;
            wrong.append(&mut asked.wrong);
            let token = served.connect().log_in("guest", "secret");
            asked = Asked::of(&served, &token, Some(whole));
        }
        wrong.extend(asked.wrong);
        let differs = asked
            .answers
            .iter()
            .zip(&whole.answers)
            .any(|(found, expected)| found.as_ref().is_some_and(|found| found != expected));
        let unread = ORDERS - asked.found.len();
        has_effect = asked.failed > 0 || differs || unread > 0;
        counts.without_effect += usize::from(!has_effect);
        counts.failing += usize::from(asked.failed > 0);
        counts.denied += asked.denied;
        counts.differing += usize::from(asked.failed == 0 && has_effect);
        // A page that has orders, or an index of them, hides no others but the one before, from
        // which a search for more orders with the same trade number continues to the page.
        if let Some(entries) = whole.entries.get(&i64::try_from(page).unwrap()) {
            counts.unread += unread;
            if i64::try_from(unread).unwrap() > *entries + 1 {
                wrong.push(format!("{unread} orders are not served, the page has {entries}"));
            }
        }
        if served.stderr().contains("panicked") {
            wrong.push(served.stderr());
        }
    } else {
        counts.not_served += 1;
    }
    let (altered, is_short) = compare_export(sandbox, whole);
    wrong.extend(altered);
    wrong.extend(is_short.then(|| "the export lacks orders and reports success".to_owned()));
    let verified = sandbox.run(&["verify"]);
    if has_effect && verified.status == 0 {
        wrong.push(format!("verify: {}", verified.stdout));
    }
    wrong
}

fn page_bytes(whole: &Whole) -> usize {
    usize::from(u16::from_be_bytes(whole.content[16..18].try_into().unwrap()))
}

/// Starts a server; none if it says that it cannot.
fn serve(sandbox: &Sandbox) -> Option<Served> {
    let mut served = sandbox.spawn(&SERVE);
    let mut ended = false;
    wait_until("the server serves or ends", || {
        ended = served.has_ended();
        ended
            || served.stdout().contains("/operator/v1\n")
            || served.stderr().contains("/operator/v1\n")
    });
    if ended {
        return None;
    }
    served.wait_for_address();
    Some(served)
}

/// Compares an export with the orders: a line that is there is the line that was. Returns also
/// whether some are missing, and the command reports success.
fn compare_export(sandbox: &Sandbox, whole: &Whole) -> (Vec<String>, bool) {
    let expected = whole.sandbox.run(&["orders", "export"]).success().stdout;
    let expected: BTreeSet<&str> = expected.lines().collect();
    let exported = sandbox.run(&["orders", "export"]);
    let altered = exported.stdout.lines().filter(|line| !expected.contains(line));
    let altered = altered.map(|line| format!("the export has an altered order: {line}")).collect();
    (altered, exported.status == 0 && exported.stdout.lines().count() != ORDERS)
}

#[test]
fn damage_alters_no_order_and_is_named() {
    let (places, seed) = (runs(16, 2_000), seed());
    println!("damage: KIOSQUE_SEED={seed}, {places} places");
    let whole = Whole::new();
    let (mut rng, mut counts) = (Rng::seeded(seed), Counts::default());
    let mut wrong = Vec::new();
    for place in 1..=places {
        wrong.extend(try_place(&whole, &mut rng, &mut counts));
        if place % 100 == 0 || place == places {
            println!("damage: seed {seed}, {counts:?}, {} wrong", wrong.len());
        }
    }
    assert!(wrong.is_empty(), "seed {seed}: {wrong:#?}");
    // One place in three makes a call fail; of a few places, it may be none.
    assert!(places < 100 || counts.failing > 0);
}

/// The test of the test: an order with another amount, which was stored as any change is, is seen
/// in the list, in its detail, in the feed and in the export.
#[test]
fn damage_that_no_checksum_shows_is_seen() {
    let whole = Whole::new();
    let sandbox = KIOSQUE.sandbox();
    copy_data(&whole.sandbox.data(), &sandbox.data());
    let none = compare(&sandbox, &whole, 0, &mut Counts::default());
    // The data is whole, and has no difference for `verify`.
    assert_eq!(none, [""; 0]);
    let other = lines().lines().next().unwrap().replace(":100,", ":101,");
    assert_eq!(sandbox.import(other).counts(), [0, 1, 0, 0]);
    let wrong = compare(&sandbox, &whole, 0, &mut Counts::default());
    for place in ["the list", "a detail", "the feed", "the export"] {
        let said = format!("{place} has an altered order: ");
        assert!(wrong.iter().any(|wrong| wrong.starts_with(&said)), "{place}: {wrong:?}");
    }
}

/// A page that counts fewer entries than it has hides orders from SQLite, which reports no error.
#[test]
fn damage_that_hides_orders_is_named_by_the_export() {
    let whole = Whole::new();
    let expected = whole.sandbox.run(&["orders", "export"]).success().stdout;
    let mut hidden = 0;
    for (page, entries) in &whole.entries {
        let exported = whole.export_with(*page, u16::try_from(entries / 2).unwrap());
        if exported.stdout != expected {
            hidden += 1;
            assert_eq!(exported.status, 1, "page {page}");
            assert!(exported.stderr.contains(": it is missing, and so are all "), "{exported:?}");
        }
    }
    assert!(hidden > 0);
}

/// The same of the pages that name the groups and the devices with orders.
#[test]
fn damage_that_hides_groups_and_devices_is_named_by_the_export() {
    let whole = Whole::new();
    let expected = whole.sandbox.run(&["orders", "export"]).success().stdout;
    let mut hidden = 0;
    for table in ["ledger", "groups"] {
        let pages = sql("leaves_of_orders").replace("'orders'", &format!("'{table}'"));
        for page in entries(&whole.sandbox, &pages).keys() {
            let exported = whole.export_with(*page, 1);
            if exported.stdout != expected {
                hidden += 1;
                assert_eq!(exported.status, 1, "{table}, page {page}: {exported:?}");
                let reason = "orders may be missing from the export, since the lists of groups";
                assert!(exported.stderr.contains(reason), "{}", exported.stderr);
            }
        }
    }
    assert!(hidden > 0);
}

/// The aisles of a device are sent as they are stored.
#[test]
fn damage_of_stored_aisles_is_no_answer() {
    let whole = Whole::new();
    let text = b"\"showName\":";
    let mut content = whole.content.clone();
    let at = content.windows(text.len()).position(|part| part == text).unwrap();
    content[at] = b'x';
    fs::write(whole.sandbox.data().join("kiosque.db"), content).unwrap();
    let served = whole.sandbox.serve();
    let mut caller = served.connect();
    for body in ["{}", r#"{"deviceCodes":["D0","D1","D2","D3","D4","D5"]}"#] {
        match caller.try_call(AISLE_PATH, Some(&whole.token), body) {
            Ok(reply) => assert_eq!((reply.status, reply.code()), (500, 500), "{body}"),
            // An answer that has begun breaks off.
            Err(_) => caller = served.connect(),
        }
    }
}
