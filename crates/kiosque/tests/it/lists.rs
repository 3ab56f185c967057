//! The commands that show what is stored: a table for people, and JSON for programs.

use kiosque_testkit::Sandbox;
use serde_json::{Value, json};

use crate::KIOSQUE;
use crate::fleet::{fleet, order};

fn sandbox() -> Sandbox {
    let aisle = "[[device.aisle]]\ncode = \"1\"\nproduct = \"cola\"\nprice = 150\nstock = 8\n";
    let sandbox = KIOSQUE.sandbox_with(fleet().with(aisle), "Europe/Paris");
    sandbox.import(order("o1"));
    sandbox
}

fn table(sandbox: &Sandbox, args: &[&str]) -> String {
    let ran = sandbox.run(args).success();
    assert_eq!(ran.stderr, "", "{args:?}");
    ran.stdout
}

fn json(sandbox: &Sandbox, args: &[&str]) -> Value {
    let text = table(sandbox, &[args, &["--output", "json"]].concat());
    assert_eq!(text.lines().count(), 1, "{text}");
    serde_json::from_str(&text).unwrap()
}

#[test]
fn lists_are_tables_for_people() {
    let sandbox = sandbox();
    insta::assert_snapshot!(sandbox.transcript(&[
        &["group", "list"],
        &["account", "list"],
        &["product", "list"],
        &["device", "list"],
        &["device", "list", "--group", "north"],
        &["device", "list", "--group", "south"],
        &["device", "list", "--group", "nowhere"],
        &["device", "show", "D9"],
    ]));
}

#[test]
fn lists_are_json_for_programs() {
    let sandbox = sandbox();
    let groups = json(&sandbox, &["group", "list"]);
    assert_eq!(groups[0]["groupId"], "north");
    assert_eq!((&groups[0]["orderCount"], groups.as_array().unwrap().len()), (&json!(1), 2));
    let accounts = json(&sandbox, &["account", "list"]);
    assert_eq!(accounts[1]["groupIds"], json!(["north", "south"]));
    assert!(!accounts.to_string().contains("argon2"), "{accounts}");
    assert_eq!(json(&sandbox, &["product", "list"])[0]["goodsId"], "cola");
    assert_eq!(json(&sandbox, &["device", "list"])[1]["totalCurrStock"], 8);
    sandbox.create_key(&["till"]);
    let keys = json(&sandbox, &["operator-key", "list"]);
    let same: Value =
        serde_json::from_str(&table(&sandbox, &["operator-key", "list", "--json"])).unwrap();
    assert_eq!((&keys, &keys[0]["name"]), (&same, &json!("till")));
}

#[test]
fn a_device_is_shown_with_its_owners_and_aisles() {
    let sandbox = sandbox();
    let moved = "[[device]]\ncode = \"D2\"\ngroup = \"south\"\nsince = \"2026-02-01\"\n";
    sandbox.apply(moved);
    let shown = table(&sandbox, &["device", "show", "D2"]);
    let (_, shown) = shown.split_once("LAST ACTIVE  -\n").unwrap();
    insta::assert_snapshot!(shown);
    let device = json(&sandbox, &["device", "show", "D2"]);
    assert_eq!((&device["deviceCode"], &device["groupId"]), (&json!("D2"), &json!("south")));
    assert_eq!(device["owners"][0]["sinceTimestamp"], Value::Null);
    assert_eq!(device["aisles"][0]["currStock"], 8);
}

/// With and without a server; counts have their own lines.
#[test]
fn the_status_shows_the_data_the_certificate_and_the_servers() {
    let sandbox = sandbox();
    let before = table(&sandbox, &["status"]);
    let changing = ["version:", "data:", "layout:", "size:"];
    let lasting = before.lines().filter(|line| !changing.iter().any(|name| line.starts_with(name)));
    insta::assert_snapshot!("the_status", lasting.collect::<Vec<_>>().join("\n"));
    let served = sandbox.serve();
    let rates = sandbox.file("rates.csv", "date,currency,usd_per_unit\n2026-01-01,EUR,1.1\n");
    sandbox.run(&["import", "rates", &rates]).success();
    let copy = sandbox.path("copy.db");
    sandbox.run(&["backup", copy.to_str().unwrap()]).success();
    let status = json(&sandbox, &["status"]);
    assert_eq!(status["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!((&status["orderCount"], &status["lastRateDate"]), (&json!(1), &json!("2026-01-01")));
    assert_eq!(status["lastBackup"]["file"], json!(copy));
    assert!(status["certificate"]["notAfterTimestamp"].as_i64() > Some(2_000_000_000_000));
    assert_eq!(status["servers"].as_array().unwrap().len(), 1, "{status}");
    assert_eq!(status["servers"][0]["command"], "serve");
    let shown = table(&sandbox, &["status"]);
    let certificate = shown.lines().find(|line| line.starts_with("certificate:")).unwrap();
    assert!(certificate.contains("valid until 20"), "{shown}");
    assert!(certificate.contains(" Europe/Paris, "), "{shown}");
    let backup = shown.lines().find(|line| line.starts_with("last backup:")).unwrap();
    assert!(backup.contains(" Europe/Paris, 0 minutes ago, 1 order, "), "{shown}");
    let size = shown.lines().find(|line| line.starts_with("size:")).unwrap();
    assert!(size.ends_with("iB") && size.contains("iB, write-ahead log "), "{shown}");
    drop(served);
    assert_eq!(json(&sandbox, &["status"])["servers"], json!([]));
}
