//! Slips that are taken back: an archive run, a device that was created by mistake. Imports are
//! listed.

use kiosque_testkit::Sandbox;
use serde_json::Value;

use crate::KIOSQUE;
use crate::fleet::{fleet, order, order_with};
use crate::pages;

fn sandbox() -> Sandbox {
    KIOSQUE.sandbox_with(fleet(), "Europe/Paris")
}

/// ORD-22: the orders of a run that is undone are current again, while the server runs.
#[test]
fn an_archive_run_is_undone() {
    let sandbox = sandbox();
    let days = ["2026-01-01", "2026-01-02", "2026-01-03"];
    let orders: Vec<String> = days.iter().map(|day| order_with(day, "2026-01-02", day)).collect();
    let orders = sandbox.file("orders.ndjson", orders.join("\n"));
    sandbox.run(&["import", "orders", &orders]).success();
    let served = sandbox.serve();
    let mut caller = served.connect();
    let token = caller.log_in("walker", "secret");
    let mut current = || pages::current_orders(&mut caller, &token, "D1").len();
    for (before, run) in [("2026-01-02", 1), ("2026-01-04", 2)] {
        let ran = sandbox.run(&["archive", "--before", before]).success();
        let said = format!("archive run {run}; `kiosque archive --undo {run}` undoes it\n");
        assert!(ran.stdout.ends_with(&said), "{ran:?}");
    }
    assert_eq!(current(), 0);
    let ran = sandbox.run(&["archive", "--undo", "1"]).failure();
    assert!(ran.stderr.contains("undo them first, the last one first"), "{ran:?}");
    assert!(ran.stderr.contains("`kiosque archive --undo 2`"), "{ran:?}");
    let ran = sandbox.run(&["archive", "--undo", "--dry-run"]).success();
    assert!(ran.stdout.ends_with(" would make 2 orders of 1 devices current\n"), "{ran:?}");
    assert_eq!(current(), 0);
    let ran = sandbox.run(&["archive", "--undo"]).success();
    assert!(ran.stdout.starts_with("archive run 2 of "), "{ran:?}");
    assert!(ran.stdout.ends_with(" undone: 2 orders of 1 devices are current\n"), "{ran:?}");
    assert_eq!(current(), 2);
    sandbox.run(&["archive", "--undo", "1"]).success();
    assert_eq!(current(), 3);
    let listed = sandbox.run(&["archive", "--list"]).success().stdout;
    let rows: Vec<Vec<&str>> =
        listed.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!((rows.len(), rows[1][0], rows[2][0]), (3, "2", "1"), "{listed}");
    let trail = sandbox.run(&["audit", "--event", "archiveUndone"]).success().stdout;
    assert_eq!(trail.lines().count(), 3, "{trail}");
    let ran = sandbox.run(&["archive", "--undo"]).failure();
    assert!(ran.stderr.contains("there is no archive run to undo"), "{ran:?}");
    sandbox.run(&["verify"]).success();
}

/// A server repeats its runs every hour, so one that is undone does not stay so by itself.
#[test]
fn undoing_a_run_of_a_server_warns_that_it_repeats_it() {
    let sandbox = sandbox();
    let orders = sandbox.file("orders.ndjson", order("1"));
    sandbox.run(&["import", "orders", &orders]).success();
    let served = sandbox.serve_with(&["--archive-after", "1d"]);
    served.stderr_until("archived");
    let warning = "warning: a server with archive_after has archived orders before ";
    for undo in [&["archive", "--undo", "--dry-run"][..], &["archive", "--undo"]] {
        let ran = sandbox.run(undo).success();
        assert!(ran.stderr.starts_with(warning), "{ran:?}");
        assert!(ran.stderr.contains(" Europe/Paris, and archives these again"), "{ran:?}");
    }
}

/// 2062 for 2026 would archive every order.
#[test]
fn archive_refuses_a_time_ahead_of_now() {
    let sandbox = sandbox();
    let orders = sandbox.file("orders.ndjson", order("1"));
    sandbox.run(&["import", "orders", &orders]).success();
    for ahead in ["2999-01-01", "2999-01-01T00:00:00Z"] {
        let ran = sandbox.run(&["archive", "--before", ahead]).failure();
        assert_eq!(ran.stdout, "");
        assert!(ran.stderr.contains("--before: 2999-01-01 0"), "{ran:?}");
        assert!(ran.stderr.contains("is ahead of now"), "{ran:?}");
    }
    assert!(!sandbox.run(&["audit"]).success().stdout.contains("archived"));
    // One action at a time, and one is required.
    for args in [&["archive"][..], &["archive", "--list", "--before", "2026-01-01"]] {
        assert_eq!(sandbox.run(args).status, 2, "{args:?}");
    }
}

#[test]
fn imports_are_listed_with_user_files_and_counts() {
    let sandbox = sandbox();
    let south = "[[device]]\ncode = \"S1\"\nname = \"Third\"\ngroup = \"south\"\n";
    sandbox.run(&["apply", &sandbox.file("south.toml", south)]).success();
    let orders = [order("1"), order("2"), order_with("3", "D1", "S1"), "nonsense".to_owned()];
    let file = sandbox.file("orders.ndjson", orders.join("\n"));
    let ran = sandbox.run(&["import", "orders", &file]).failure();
    assert_eq!(ran.stdout, "3 accepted, 0 updated, 0 unchanged, 1 rejected\nimport 1\n");
    let rates = sandbox.file("rates.csv", "date,currency,usd_per_unit\n2026-01-01,EUR,1.25\n");
    let ran = sandbox.run(&["import", "rates", &rates]).success();
    assert!(ran.stdout.ends_with("\nimport 2\n"), "{ran:?}");
    let list = ["import", "list", "--output", "json"];
    let listed: Value = serde_json::from_str(&sandbox.run(&list).success().stdout).unwrap();
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
    let trail = sandbox.run(&["audit", "--event", "ordersImported", "--output", "json"]);
    let trail: Value = serde_json::from_str(&trail.success().stdout).unwrap();
    assert!(trail.to_string().contains("\"importId\":\"1\""), "{trail}");
    // Neither a list nor a file of another kind is an import.
    let report = sandbox.file("report.csv", "Time,Total\n2026-01-01,3.50\n2026-01-02,3.50\n");
    sandbox.run(&["import", "orders", &report]).failure();
    assert_eq!(sandbox.run(&["import", "list"]).success().stdout, table);
}

#[test]
fn a_device_without_orders_is_deleted() {
    let sandbox = sandbox();
    let orders = sandbox.file("orders.ndjson", order("1"));
    sandbox.run(&["import", "orders", &orders]).success();
    let served = sandbox.serve();
    let mut caller = served.connect();
    let token = caller.log_in("walker", "secret");
    assert_eq!(pages::devices(&mut caller, &token).len(), 2);
    let ran = sandbox.run_with_input(&["device", "delete", "D2"], b"y\n").failure();
    assert!(ran.stderr.contains("give --yes"), "{ran:?}");
    let ran = sandbox.run(&["device", "delete", "D1", "--yes"]).failure();
    assert!(ran.stderr.contains("device D1 has 1 orders"), "{ran:?}");
    let ran = sandbox.run(&["device", "delete", "D9", "--yes"]).failure();
    assert!(ran.stderr.contains("no device D9 is known"), "{ran:?}");
    assert_eq!(pages::devices(&mut caller, &token).len(), 2);
    let ran = sandbox.run(&["device", "delete", "D2", "--yes"]).success();
    assert_eq!(ran.stdout, "deleted device D2\n");
    assert_eq!(pages::devices(&mut caller, &token).len(), 1);
    sandbox.run(&["device", "show", "D2"]).failure();
    let trail = sandbox.run(&["audit", "--event", "deviceDeleted"]).success().stdout;
    assert!(trail.contains("D2"), "{trail}");
    sandbox.run(&["verify"]).success();
}
