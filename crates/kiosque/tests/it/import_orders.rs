//! `kiosque import orders`: its input, its output, and the data that it leaves alone.

mod cut_line;

use std::process::Stdio;
use std::thread;

use kiosque_testkit::{DETAIL_PATH, ORDERS_PATH, Ran, Sandbox, Served, wait_until};
use serde_json::{Value, json};

use crate::KIOSQUE;
use crate::bad_lines::check_nowhere;
use crate::fleet::{CARD, PHONE, fleet, order, order_with};
use crate::pages;

fn sandbox() -> Sandbox {
    KIOSQUE.sandbox_with(fleet(), "Europe/Paris")
}

fn shown(sandbox: &Sandbox, group: &str, device: &str) -> Vec<Value> {
    let served = sandbox.serve();
    let (mut caller, mut token) = served.log_in("walker");
    if group != "north" {
        token = caller.switch(&token, group);
    }
    pages::orders(&mut caller, &token, device)
}

/// Imports a file and returns what is printed, with the rejected lines, for a snapshot.
fn imported(sandbox: &Sandbox, content: impl AsRef<[u8]>, more: &[&str]) -> String {
    sandbox.file("orders.ndjson", content);
    let shown = sandbox.transcript(&[&[&["import", "orders", "orders.ndjson"], more].concat()]);
    let rejected = sandbox.path("orders.ndjson.rejected.ndjson");
    let lines = std::fs::read_to_string(&rejected).unwrap_or_default();
    // The next import would rename the file.
    let _ = std::fs::remove_file(rejected);
    shown + &lines
}

/// A file without orders is a success, but with `--strict`, and line ends and a byte order mark are
/// no part of an order. An unknown key is warned of once, without control characters, and with
/// `--strict` it rejects its line. A file of another kind is refused at once, with the remedy.
#[test]
fn each_kind_of_file_is_imported_or_refused() {
    let sandbox = sandbox();
    let windows = format!("\u{feff}{}\r\n\r\n{}\r\n{}", order("1"), order("2"), order("3"));
    let with = |id: &str, more: &str| {
        order_with(id, "totalAmount\":250", &format!("totalAmount\":250,{more}")) + "\n"
    };
    let line = "\"goodsId\":\"cola\",\"taste\"";
    let unknown = format!("\"colour\":1,\"detailVOList\":[{{{line}:1}},{{{line}:2}}]");
    let unknown: String = (0..1_200).map(|at| with(&at.to_string(), &unknown)).collect();
    let cleared = with("0", "\"\\u001b[2J\":1") + &with("1", &format!("\"{}\":1", "x".repeat(70)));
    let device = order("2").replace("\"D1\"", "\"\\u001b[2J\"") + "\n";
    let colour = with("1", "\"colour\":1") + &order("2") + "\n";
    let mut shown = String::new();
    for (content, more) in [
        ("", &[][..]),
        ("\n  \n\r\n", &[]),
        ("\u{feff}", &[]),
        ("", &["--strict"]),
        ("\n \n", &["--strict"]),
        (&windows, &[]),
        (&unknown, &[]),
        (&cleared, &[]),
        (&device, &[]),
        (&colour, &["--strict"]),
        ("Id,Total\n1,2\n", &[]),
        ("PK\x03\x04....[Content_Types].xml", &[]),
        (&"nonsense 7\n".repeat(1_000), &[]),
    ] {
        shown.push_str(&imported(&sandbox, content, more));
    }
    // A directory is named before anything is read, and nothing is to be repeated.
    shown.push_str(&sandbox.transcript(&[&["import", "orders", "."]]));
    insta::assert_snapshot!(shown);
    let many: String = (0..150).map(|at| with(&at.to_string(), &format!("\"k{at}\":1"))).collect();
    let warned = imported(&sandbox, many, &[]);
    assert_eq!(warned.matches("warning: unknown key k").count(), 100, "{warned}");
}

#[test]
fn a_dash_reads_standard_input() {
    let sandbox = sandbox();
    let input = format!("{}\nnonsense {CARD}\n", order("1"));
    let ran = sandbox.run_with_input(&["import", "orders", "-"], input.as_bytes());
    let set_aside = sandbox.read("stdin.rejected.ndjson");
    insta::assert_snapshot!(ran.transcript() + &set_aside);
    // Rejected lines of an earlier import are no longer valid.
    sandbox.import(order("1"));
    assert!(!sandbox.path("stdin.rejected.ndjson").exists());
}

/// An order that the store rejects is written as it would be exported: after the cause is removed,
/// it is imported with its instants, milliseconds and numbers, also by a strict import.
#[test]
fn a_rejected_order_is_imported_unchanged_once_its_device_exists() {
    let sandbox = sandbox();
    let twice = "2025-10-26T02:30:00.750+01:00";
    let line = order("1").replace("\"D1\"", "\"D9\"");
    let line = line.replace("2026-01-02 03:04:05", twice);
    assert!(line.contains(twice), "{line}");
    let file = sandbox.file("orders.ndjson", line + "\n");
    assert_eq!(sandbox.run(&["import", "orders", &file]).failure().counts(), [0, 0, 0, 1]);
    let rejected: Value =
        serde_json::from_str(&sandbox.read("orders.ndjson.rejected.ndjson")).unwrap();
    let order = &rejected["order"];
    assert_eq!(order["tradeStartTime"], "2025-10-26T01:30:00.750Z", "{rejected}");
    assert_eq!((&order["tradeNoIn"], &order["payEndDate"]), (&Value::Null, &Value::Null));
    let new = "[[device]]\ncode = \"D9\"\nname = \"Nine\"\ngroup = \"north\"\n";
    let new = sandbox.file("new.toml", new);
    sandbox.run(&["apply", &new]).success();
    let again = sandbox.file("again.ndjson", format!("{order}\n"));
    let ran = sandbox.run(&["import", "orders", &again, "--strict"]).success();
    assert_eq!(ran.counts(), [1, 0, 0, 0], "{}", ran.stderr);
    // The file that was rejected is the same order.
    assert_eq!(sandbox.run(&["import", "orders", &file]).success().counts(), [0, 0, 1, 0]);
}

/// A card or a phone number in the field of another value, or in a key, is quoted in no message and
/// in nothing that is stored; the rejected file, whose lines have it, is for its owner alone.
#[test]
fn a_card_number_in_another_field_is_masked_in_reasons_and_keys() {
    let sandbox = sandbox();
    let (card, phone) = ("5500005555555559", "+86 138-0013-8000");
    let orders = [
        order_with("a", "totalAmount\":250", &format!("totalAmount\":\"{card}\"")),
        order_with("b", "\"EUR\"", &format!("\"{phone}\"")),
        order_with("c", "totalAmount\":250", &format!("totalAmount\":250,\"buyer {card}\":1")),
    ];
    let file = sandbox.file("orders.ndjson", orders.join("\n") + "\n");
    let named = sandbox.path("named.ndjson").display().to_string();
    let by_default = format!("{file}.rejected.ndjson");
    for (more, rejected, set_aside) in
        [(&[][..], &by_default, 2), (&["--strict", "--rejected", named.as_str()], &named, 3)]
    {
        let args = [&["import", "orders", file.as_str()], more].concat();
        let said = sandbox.run(&args).failure();
        assert!(said.stderr.contains("5559"), "{}", said.stderr);
        for secret in [card, phone, "138-0013"] {
            assert!(!said.stderr.contains(secret), "{}", said.stderr);
            for path in sandbox.files_with(secret) {
                assert!(!path.starts_with(sandbox.data()), "{secret} is in {}", path.display());
            }
        }
        let lines = std::fs::read_to_string(rejected).unwrap();
        assert_eq!(lines.lines().count(), set_aside, "{lines}");
        for line in lines.lines() {
            let reason = serde_json::from_str::<Value>(line).unwrap()["reason"].to_string();
            assert!(!reason.contains(card) && !reason.contains("138-0013"), "{reason}");
        }
        assert_eq!(sandbox.mode(rejected), 0o600, "{rejected}");
    }
}

/// A rejected file that cannot be written ends the import, with the number of stored orders, of
/// which an order that the store rejected is none, and the remedy.
#[test]
fn a_rejected_file_that_cannot_be_written_is_reported_with_the_remedy() {
    let sandbox = sandbox();
    let unknown = order_with("2", "\"D1\"", "\"D9\"");
    let file = sandbox.file("orders.ndjson", format!("{}\nnonsense\n{unknown}\n", order("1")));
    std::fs::create_dir(format!("{file}.rejected.ndjson")).unwrap();
    insta::assert_snapshot!(sandbox.transcript(&[
        &["import", "orders", "orders.ndjson"],
        &["import", "orders", "orders.ndjson", "--rejected", "mine"],
    ]));
}

/// Orders of unknown devices are valid lines, which the store would reject one after the other. One
/// order of a known device among the first lines is enough to import the file.
#[test]
fn a_file_of_unknown_devices_is_recognized() {
    let sandbox = sandbox();
    let unknown: String =
        (0..1_000).map(|id| order_with(&id.to_string(), "\"D1\"", "\"D9\"") + "\n").collect();
    let known = order("known") + "\n";
    let shown = imported(&sandbox, format!("{unknown}{known}"), &[]);
    insta::assert_snapshot!(shown);

    // Rejections are printed in part, and written in full.
    let file = sandbox.file("orders.ndjson", known + &unknown);
    let ran = sandbox.run(&["import", "orders", &file]).failure();
    assert_eq!(ran.counts(), [1, 0, 0, 1_000]);
    assert_eq!(ran.stderr.lines().count(), 52);
    assert!(ran.stderr.contains("\n… and 950 more\n"), "{}", ran.stderr);
    assert_eq!(sandbox.read("orders.ndjson.rejected.ndjson").lines().count(), 1_000);
}

#[test]
fn a_repetition_changes_nothing_and_an_update_changes_its_fields() {
    let sandbox = sandbox();
    let lines = "totalAmount\":250,\"tradeNo\":\"T1\",\"tradeNoIn\":\"I1\",\
                 \"detailVOList\":[{\"goodsId\":\"cola\",\"salePrice\":250},{\"goodsId\":\"tea\",\
                 \"goodsName\":\"Tea\"}]";
    let first = order_with("1", "totalAmount\":250", lines);
    let file = sandbox.file("orders.ndjson", format!("{first}\n{}\n", order("2")));
    let again = ["import", "orders", &file];
    assert_eq!(sandbox.run(&again).success().counts(), [2, 0, 0, 0]);
    assert_eq!(sandbox.run(&again).success().counts(), [0, 0, 2, 0]);
    let before = shown(&sandbox, "north", "D1");
    assert_eq!(before[1]["detailVOList"][0]["goodsName"], "Cola");

    // An update is the whole order again; only the internal number and names may be absent.
    let update =
        first.replace("\"tradeNoIn\":\"I1\",", "").replace(",\"goodsName\":\"Tea\"", "").replace(
            "\"totalAmount\":250",
            "\"totalAmount\":260,\"payEndTime\":\"2026-01-02 03:05:00\"",
        );
    let file = sandbox.file("update.ndjson", update);
    let ran = sandbox.run(&["import", "orders", &file]).success();
    assert_eq!(ran.stdout, "0 accepted, 1 updated, 0 unchanged, 0 rejected\nimport 3\n");
    let after = shown(&sandbox, "north", "D1");
    let mut expected = before;
    let changed = expected[1].as_object_mut().unwrap();
    for (name, value) in [
        ("totalAmount", json!(260)),
        ("payAmount", json!(260)),
        ("payStatus", json!(1)),
        ("payEndTime", json!("2026-01-02 03:05:00")),
        ("payEndDate", json!("2026-01-02 03:05:00")),
    ] {
        changed[name] = value;
    }
    assert_eq!(after, expected);
}

#[test]
fn an_update_changes_neither_the_device_nor_the_owning_group() {
    let sandbox = sandbox();
    sandbox.import(format!("{}\n{}", order("1"), order("2")));
    let moved = "[[device]]\ncode = \"D1\"\ngroup = \"south\"\nsince = \"2026-02-01\"\n";
    sandbox.apply(moved);
    let before = shown(&sandbox, "north", "D1");
    let other_device = order_with("1", "D1", "D2");
    let other_owner = order_with("2", "2026-01-02", "2026-02-02");
    let said = imported(&sandbox, format!("{other_device}\n{other_owner}\n"), &[]);
    insta::assert_snapshot!(said);
    assert_eq!(shown(&sandbox, "north", "D1"), before);
    assert_eq!(shown(&sandbox, "south", "D1"), [] as [Value; 0]);
    // A new order of a later time belongs to the new owner.
    sandbox.import(order_with("3", "2026-01-02", "2026-02-02"));
    assert_eq!(shown(&sandbox, "north", "D1"), before);
    assert_eq!(shown(&sandbox, "south", "D1").len(), 1);
    check_nowhere(&sandbox, &said, "orders.ndjson");
}

/// FMT-2: date strings are in the platform's zone. FMT-3: amounts are minor units. ORD-7, ORD-8,
/// ORD-13, ORD-14: every field and status is the reported one. FMT-4: numbers are masked.
#[test]
fn an_imported_order_shows_every_field_in_list_and_detail() {
    let sandbox = sandbox();
    let given = json!({
        "orderId": "O-1", "deviceCode": "D2", "currency": "JPY", "totalAmount": 480,
        "tradeStartTime": "2026-07-01T00:30:00Z", "tradeNo": "T-1", "tradeNoIn": "I-1",
        "payAmount": 450, "refundAmount": 30, "payEndTime": "2026-07-01 02:31:00",
        "shipmentTime": "2026-07-01T02:32:00.999+02:00", "cardNumber": CARD, "phone": PHONE,
        "payStatus": 3, "shipmentStatus": 4, "payChannelName": "card",
        "detailVOList": [{"goodsId": "cola", "aisleCode": "11", "count": 2, "salePrice": 240,
            "goodsPrice": 250, "payAmount": 450, "shipmentStatus": 3, "shipmentErrCode": 17,
            "shipmentFailDesc": "jammed"}],
    });
    sandbox.import(given.to_string());
    let served = sandbox.serve();
    let (mut caller, token) = served.log_in("walker");
    let listed = pages::current_orders(&mut caller, &token, "D2");
    let detail = caller.call(DETAIL_PATH, Some(&token), r#"{"tradeNoOut":"T-1"}"#);
    insta::assert_json_snapshot!(json!({"listed": listed, "detail": detail.success()}));
}

#[test]
fn logins_and_pages_are_served_during_an_import() {
    let sandbox = sandbox();
    let served = sandbox.serve();
    let token = served.connect().log_in("walker", "secret");
    let (mut logins, mut grown, mut imported) = (0, vec![0], 0);
    // However fast an import is: another one, until enough has been seen.
    wait_until("logins and pages are answered during imports", || {
        let seen = during_an_import(&sandbox, &served, &token, imported, &mut grown);
        imported += IMPORTED;
        logins += seen;
        logins >= 3 && grown.len() > 3
    });
    println!("{logins} logins of {logins} succeeded, {} totals were seen", grown.len());
    assert_eq!(pages::orders(&mut served.connect(), &token, "D1").len(), imported);
}

/// Orders of one import.
const IMPORTED: usize = 30_000;

/// Imports orders that are numbered from `first`, adds the totals that pages show meanwhile, and
/// returns how many logins succeeded meanwhile.
fn during_an_import(
    sandbox: &Sandbox,
    served: &Served,
    token: &str,
    first: usize,
    grown: &mut Vec<u64>,
) -> usize {
    let file: String = (first..first + IMPORTED)
        .map(|at| format!("{}\n", order_with(&at.to_string(), "03:04", "04:05")))
        .collect();
    let file = sandbox.file("orders.ndjson", file);
    let mut import = sandbox.command(&["import", "orders", &file]);
    let mut import = import.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let logins = thread::scope(|scope| {
        let guest = scope.spawn(|| {
            let mut caller = served.connect();
            let mut logins = 0;
            while import.try_wait().unwrap().is_none() {
                caller.log_in("guest", "secret");
                logins += 1;
            }
            logins
        });
        let mut caller = served.connect();
        while !guest.is_finished() {
            let total = check_page(&mut caller, token, *grown.last().unwrap());
            if Some(&total) != grown.last() {
                grown.push(total);
            }
        }
        guest.join().unwrap()
    });
    let ran = Ran::from(import.wait_with_output().unwrap()).success();
    assert_eq!(ran.counts(), [IMPORTED, 0, 0, 0]);
    logins
}

/// The second page, while orders arrive: full, without a repetition, newest first, and its total
/// never less than before (PAGE-8).
fn check_page(caller: &mut kiosque_testkit::blocking::Client, token: &str, before: u64) -> u64 {
    let path = format!("{ORDERS_PATH}?current=2&size=100");
    let reply = caller.call(&path, Some(token), r#"{"deviceCode":"D1"}"#);
    let page = reply.success();
    let total = page["total"].as_u64().unwrap();
    assert!(total >= before, "{total} after {before}");
    let ids: Vec<u64> = page["records"]
        .as_array()
        .unwrap()
        .iter()
        .map(|order| order["orderId"].as_str().unwrap().parse().unwrap())
        .collect();
    assert_eq!(ids.len() as u64, total.saturating_sub(100).min(100));
    // All start at the same time, so that their lines decide, and those are dense.
    assert!(ids.windows(2).all(|pair| pair[0] == pair[1] + 1), "{ids:?}");
    assert!(ids.first().is_none_or(|first| first + 101 == total), "{ids:?} of {total}");
    total
}
