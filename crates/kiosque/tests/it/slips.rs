//! Slips that are taken back: orders that were archived, a device that was created by mistake.
//! Imports are listed.

use std::process::Command;

use kiosque_testkit::{Ran, Sandbox};
use serde_json::Value;

use crate::KIOSQUE;
use crate::fleet::{fleet, order, order_with};
use crate::pages;
use crate::shell::take_environment;

fn sandbox() -> Sandbox {
    KIOSQUE.sandbox_with(fleet(), "Europe/Paris")
}

/// ORD-22: an earlier time makes orders current again, while the server runs. That needs `--yes`,
/// is tried by `--dry-run`, and is in the trail.
#[test]
fn an_earlier_time_returns_orders_with_consent() {
    let sandbox = sandbox();
    let days = ["2026-01-01", "2026-01-02", "2026-01-03"];
    let orders: Vec<String> = days.iter().map(|day| order_with(day, "2026-01-02", day)).collect();
    sandbox.import(orders.join("\n"));
    let served = sandbox.serve();
    let (mut caller, token) = served.log_in("walker");
    let mut current = || pages::current_orders(&mut caller, &token, "D1").len();
    sandbox.run(&["archive", "--before", "2026-01-04"]).success();
    assert_eq!(current(), 0);
    let earlier = ["archive", "--before", "2026-01-02"];
    let with = |flag: &'static str| [&earlier[..], &[flag]].concat();
    let mut shown = sandbox.transcript(&[&earlier]);
    assert_eq!(current(), 0);
    shown += &sandbox.transcript(&[&with("--dry-run")]);
    assert_eq!(current(), 0);
    shown += &sandbox.transcript(&[&with("--yes")]);
    assert_eq!(current(), 2);
    insta::assert_snapshot!(shown);
    let trail = sandbox.json(&["audit", "--event", "archived"]);
    let details: Vec<_> = trail.as_array().unwrap().iter().map(|entry| &entry["details"]).collect();
    let figures = |details: &Value| {
        ["orders", "devices", "returnedOrders", "returnedDevices"]
            .map(|name| details[name].as_i64())
    };
    assert_eq!(details.len(), 2, "{trail}");
    assert_eq!(figures(details[0]), [0, 0, 2, 1].map(Some));
    assert_eq!(figures(details[1]), [3, 1, 0, 0].map(Some));
    assert_eq!(details[0]["beforeTimestamp"], 1_767_308_400_000_i64);
    sandbox.run(&["verify"]).success();
}

/// 2062 for 2026 would archive every order.
#[test]
fn archive_refuses_a_time_ahead_of_now() {
    let sandbox = sandbox();
    sandbox.import(order("1"));
    for ahead in ["2999-01-01", "2999-01-01T00:00:00Z"] {
        let ran = sandbox.run(&["archive", "--before", ahead]).failure();
        assert_eq!(ran.stdout, "");
        assert!(ran.stderr.contains("--before: 2999-01-01 0"), "{ran:?}");
        assert!(ran.stderr.contains("is in the future"), "{ran:?}");
    }
    assert!(!sandbox.run(&["audit"]).success().stdout.contains("archived"));
    assert_eq!(sandbox.run(&["archive"]).status, 2);
}

#[test]
fn imports_are_listed_with_user_files_and_counts() {
    let sandbox = sandbox();
    let south = "[[device]]\ncode = \"S1\"\nname = \"Third\"\ngroup = \"south\"\n";
    sandbox.apply(south);
    let orders = [order("1"), order("2"), order_with("3", "D1", "S1"), "nonsense".to_owned()];
    let file = sandbox.file("orders.ndjson", orders.join("\n"));
    let ran = sandbox.run(&["import", "orders", &file]).failure();
    assert_eq!(ran.stdout, "3 accepted, 0 updated, 0 unchanged, 1 rejected\nimport 1\n");
    let rates = sandbox.file("rates.csv", "date,currency,usd_per_unit\n2026-01-01,EUR,1.25\n");
    let ran = sandbox.run(&["import", "rates", &rates]).success();
    assert!(ran.stdout.ends_with("\nimport 2\n"), "{ran:?}");
    let listed = sandbox.json(&["import", "list"]);
    let [second, first] = listed.as_array().unwrap().as_slice() else { panic!("{listed}") };
    assert_eq!((&second["importId"], &first["importId"]), (&"2".into(), &"1".into()));
    assert_eq!(second["details"]["rates"], 1);
    assert_eq!(first["details"]["file"], file.as_str());
    assert_eq!(first["details"]["rejected"], 1);
    let groups = first["details"]["groups"].as_array().unwrap();
    let groups: Vec<_> = groups
        .iter()
        .map(|group| (group["groupId"].as_str(), group["accepted"].as_u64()))
        .collect();
    assert_eq!(groups, [(Some("north"), Some(2)), (Some("south"), Some(1))]);
    assert!(first["endedTimestamp"].as_i64() >= first["startedTimestamp"].as_i64());
    assert!(first["details"]["uid"].is_u64(), "{first}");
    let table = sandbox.run(&["import", "list"]).success().stdout;
    assert_eq!(table.lines().count(), 5, "{table}");
    let first = table.lines().map(str::trim_start).find(|line| line.starts_with('1'));
    assert!(first.is_some_and(|line| line.contains("all 2")), "{table}");
    let trail = sandbox.json(&["audit", "--event", "ordersImported"]);
    assert!(trail.to_string().contains("\"importId\":\"1\""), "{trail}");
    // Neither a list nor a file of another kind is an import.
    let report = sandbox.file("report.csv", "Time,Total\n2026-01-01,3.50\n2026-01-02,3.50\n");
    sandbox.run(&["import", "orders", &report]).failure();
    assert_eq!(sandbox.run(&["import", "list"]).success().stdout, table);
}

#[test]
fn a_device_without_orders_is_deleted() {
    let sandbox = sandbox();
    sandbox.import(order("1"));
    let served = sandbox.serve();
    let (mut caller, token) = served.log_in("walker");
    assert_eq!(pages::devices(&mut caller, &token).len(), 2);
    let ran = sandbox.run_with_input(&["device", "delete", "D2"], b"y\n").failure();
    assert!(ran.stderr.contains("give --yes"), "{ran:?}");
    let refused = sandbox
        .transcript(&[&["device", "delete", "D1", "--yes"], &["device", "delete", "D9", "--yes"]]);
    assert_eq!(pages::devices(&mut caller, &token).len(), 2);
    let deleted = sandbox.transcript(&[&["device", "delete", "D2", "--yes"]]);
    insta::assert_snapshot!(refused + &deleted);
    assert_eq!(pages::devices(&mut caller, &token).len(), 1);
    sandbox.run(&["device", "show", "D2"]).failure();
    let trail = sandbox.run(&["audit", "--event", "deviceDeleted"]).success().stdout;
    assert!(trail.contains("D2"), "{trail}");
    sandbox.run(&["verify"]).success();
}

/// A deletion that is declined on the terminal is not complete, so its exit status is not 0.
#[test]
fn a_deletion_that_is_declined_fails() {
    let sandbox = sandbox();
    let inner = sandbox.command(&["device", "delete", "D2"]);
    let words = [inner.get_program()].into_iter().chain(inner.get_args());
    let words: Vec<String> = words.map(|word| format!("'{}'", word.to_str().unwrap())).collect();
    let line = format!("exec {}", words.join(" "));
    for (answer, status, said) in [
        ("n\n", 1, "kiosque: device D2 was not deleted"),
        ("\n", 1, "kiosque: device D2 was not deleted"),
        ("y\n", 0, "deleted device D2"),
    ] {
        let mut terminal = Command::new("script");
        terminal.args(["--quiet", "--return", "--command", &line, "/dev/null"]);
        take_environment(&mut terminal, &inner);
        let ran = Ran::of_input(&mut terminal, answer.as_bytes());
        assert_eq!(ran.status, status, "{answer:?}: {ran:?}");
        for text in ["Delete device D2, its aisles and its owners? [y/N]", said] {
            assert!(ran.stdout.contains(text), "{answer:?}: {ran:?}");
        }
    }
}
