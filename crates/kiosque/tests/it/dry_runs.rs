//! `--dry-run`: what is printed, and that nothing changes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use kiosque_testkit::{Ran, Sandbox};
use serde_json::Value;

use crate::KIOSQUE;
use crate::fleet::{fleet, order, order_with};
use crate::pages;
use crate::sales_report::example;

/// Returns the content of every file of a sandbox but those that exist while the data is open.
fn files(sandbox: &Sandbox) -> BTreeMap<PathBuf, Vec<u8>> {
    let is_of_open_data =
        |name: &Path| name.ends_with("kiosque.db-wal") || name.ends_with("kiosque.db-shm");
    sandbox.files().into_iter().filter(|(name, _)| !is_of_open_data(name)).collect()
}

/// Runs a command as a dry run, which changes no file.
#[track_caller]
fn dry_run(sandbox: &Sandbox, args: &[&str]) -> Ran {
    let before = files(sandbox);
    let ran = sandbox.run(&[args, &["--dry-run"]].concat());
    let after = files(sandbox);
    assert!(after.keys().eq(before.keys()), "{:?}: {ran:?}", after.keys());
    assert!(after == before, "a file has changed: {ran:?}");
    ran
}

#[test]
fn apply_prints_each_entry_that_would_change() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "UTC");
    let changed = sandbox.file(
        "changed.toml",
        "[[group]]\nid = \"west\"\nname = \"West\"\n\
         [[account]]\nlogin_name = \"walker\"\npassword = \"another secret\"\n\
         [[product]]\nid = \"cola\"\ndefault_price = 150\n\
         [[device]]\ncode = \"D1\"\ngroup = \"south\"\n\
         [[device]]\ncode = \"D2\"\n\
         [[device.aisle]]\ncode = \"1\"\nproduct = \"cola\"\nprice = 150\n",
    );
    let expected = dry_run(&sandbox, &["apply", &changed]).success();
    insta::assert_snapshot!(expected.transcript());
    // The same as what an apply counts, which then leaves nothing to do.
    let ran = sandbox.run(&["apply", &changed]).success();
    assert!(expected.stdout.starts_with(&ran.stdout), "{}", ran.stdout);
    let ran = dry_run(&sandbox, &["apply", &changed]).success();
    assert!(ran.stdout.contains("devices:  0 created, 0 changed, 2 unchanged\nnot in"), "{ran:?}");
}

/// Moves that are planned are cancelled by an entry with the present group, and named with their
/// times.
#[test]
fn apply_names_the_planned_moves_that_it_cancels() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "Europe/Paris");
    let entry = |name: &str, group: &str, since: &str| {
        let text = format!("[[device]]\ncode = \"D1\"\ngroup = \"{group}\"\n{since}");
        sandbox.file(name, text)
    };
    let stays = entry("stays.toml", "north", "");
    let first = entry("first.toml", "south", "since = \"2998-06-01 00:00:00\"\n");
    let second = entry("second.toml", "north", "since = \"2999-06-01 00:00:00\"\n");
    insta::assert_snapshot!(sandbox.transcript(&[
        &["apply", &first, "--dry-run"],
        &["apply", &first],
        &["apply", &stays, "--dry-run"],
        &["apply", &second, "--dry-run"],
        &["apply", &second],
        &["apply", &stays, "--dry-run"],
        &["apply", &stays],
        &["apply", &stays, "--dry-run"],
    ]));
}

/// A device whose code was changed is a second one: the first one is named, and stays. A long list
/// ends with a number.
#[test]
fn apply_names_the_entries_that_the_file_leaves_out() {
    let mut all = fleet();
    for number in 10..21 {
        all = all.device(&format!("K{number}"), "Kiosk", "north");
    }
    let sandbox = KIOSQUE.sandbox_with(all, "UTC");
    let renamed = fleet().to_string().replace("\"D1\"", "\"D4\"");
    let ran = dry_run(&sandbox, &["apply", &sandbox.file("renamed.toml", renamed)]).success();
    let end = "not in this file, and left as they are: devices D1, K10, K11, K12, K13, K14, K15, \
               K16, K17, K18 and 2 more\n";
    assert!(ran.stdout.ends_with(end), "{ran:?}");
    let whole = sandbox.run(&["fleet", "export"]).success().stdout;
    let ran = dry_run(&sandbox, &["apply", &sandbox.file("whole.toml", whole)]).success();
    assert!(!ran.stdout.contains("not in this file"), "{ran:?}");
}

#[test]
fn apply_creates_no_data_in_a_dry_run() {
    let sandbox = KIOSQUE.sandbox();
    let file = sandbox.file("fleet.toml", fleet());
    let ran = dry_run(&sandbox, &["apply", &file, "--timezone", "Europe/Paris"]).success();
    let place = sandbox.data();
    let created = format!("data would be created in {}, time zone Europe/Paris\n", place.display());
    assert!(ran.stdout.starts_with(&created), "{ran:?}");
    assert!(ran.stdout.contains("device D1: created: group north; name \"First\""), "{ran:?}");
    assert!(!place.exists());
    // An error is reported as by an apply.
    let invalid = sandbox.file("invalid.toml", "[[device]]\ncode = \"D9\"\n");
    dry_run(&sandbox, &["apply", &invalid]).failure();
    // Other commands need data.
    let orders = sandbox.file("orders.ndjson", order("1"));
    let ran = dry_run(&sandbox, &["import", "orders", &orders]).failure();
    assert!(ran.stderr.contains("has no data"), "{ran:?}");
    assert!(!place.exists());
}

/// A slip in a mapping shows before it is stored: the devices and products that it would create,
/// and the orders as integrators would see them.
#[test]
fn an_import_shows_what_a_report_would_create() {
    let sandbox = KIOSQUE.sandbox();
    let [fleet, right, sample] = ["fleet.toml", "mapping.toml", "sample.csv"]
        .map(|name| example(&format!("coffee-machine/{name}")));
    sandbox.run(&["apply", &fleet, "--timezone", "Europe/Vienna"]).success();
    let mapping = std::fs::read_to_string(&right).unwrap();
    let slip = sandbox.file("mapping.toml", mapping.replace("\"coffee-foyer\"", "\"cofee-foyer\""));
    let report = sandbox.file("report.csv", std::fs::read(sample).unwrap());
    sandbox.file("report.csv.rejected.csv", "of an earlier run");
    let import = ["import", "orders", &report, "--map", &slip];
    let ran = dry_run(&sandbox, &import).success();
    insta::assert_snapshot!(ran.transcript());
    let accepted = ran.counts()[0];
    // The right mapping, without a dry run: the same counts and orders, of the other device.
    let tried = dry_run(&sandbox, &["import", "orders", &report, "--map", &right]).success();
    let ran = sandbox.run(&["import", "orders", &report, "--map", &right]).success();
    assert_eq!((ran.counts(), accepted), (tried.counts(), ran.counts()[0]));
    let shown: Vec<Value> =
        tried.stdout.lines().skip(6).map(|line| serde_json::from_str(line).unwrap()).collect();
    let served = sandbox.serve();
    let mut caller = served.connect();
    let token = caller.log_in("coffee-machine", "read-the-coffee");
    let stored = pages::orders(&mut caller, &token, "coffee-foyer");
    for order in &shown {
        assert_eq!(order["deviceCode"], "coffee-foyer");
        assert!(stored.contains(order), "{order}\nis not among the stored orders");
    }
    assert_eq!(shown.len(), 3);
    drop(served);
    // Copies the write-ahead log, which the server has left, to the file.
    sandbox.run(&["verify"]).success();
    let again = dry_run(&sandbox, &["import", "orders", &report, "--map", &right]).success();
    assert_eq!(again.counts(), [0, 0, accepted, 0]);
    assert!(!again.stdout.contains("would be created"), "{again:?}");
}

#[test]
fn an_import_of_an_order_file_counts_and_rejects_as_without_a_dry_run() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "Europe/Paris");
    let orders = [
        order("1"),
        "nonsense".to_owned(),
        order_with("2", "EUR", "JPY"),
        order("1"),
        order_with("3", "\"totalAmount\":250", "\"totalAmount\":300,\"colour\":1"),
        order_with("4", "D1", "D9"),
    ];
    sandbox.file("orders.ndjson", orders.join("\n"));
    let ran = dry_run(&sandbox, &["import", "orders", "orders.ndjson"]).failure();
    insta::assert_snapshot!(ran.transcript());
    let stored = sandbox.run(&["import", "orders", "orders.ndjson"]).failure();
    assert_eq!(stored.counts(), ran.counts());
    // A dry run has no id.
    assert!(stored.stdout.ends_with("\nimport 1\n"), "{stored:?}");
}

#[test]
fn rates_are_compared_in_a_dry_run() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "UTC");
    let rates = "date,currency,usd_per_unit\n2026-01-01,EUR,1.25\n2026-01-03,EUR,2\n";
    let file = sandbox.file("rates.csv", rates);
    let ran = dry_run(&sandbox, &["import", "rates", &file]).success();
    assert!(ran.stdout.starts_with("rates: 2 created, 0 changed, 0 unchanged\n"), "{ran:?}");
    assert!(ran.stderr.ends_with("dry run: nothing was stored\n"), "{ran:?}");
    sandbox.run(&["import", "rates", &file]).success();
    let ran = dry_run(&sandbox, &["import", "rates", &file]).success();
    assert!(ran.stdout.starts_with("rates: 0 created, 0 changed, 2 unchanged\n"), "{ran:?}");
}

/// A dry run of a directory that a server serves: its orders and sessions stay.
#[test]
fn a_dry_run_may_run_while_the_server_runs() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "Europe/Paris");
    sandbox.import([order("1"), order("2")].join("\n"));
    let served = sandbox.serve();
    let (mut caller, token) = served.log_in("walker");
    let archive = ["archive", "--before", "2026-06-01", "--dry-run"];
    let ran = sandbox.run(&archive).success();
    assert_eq!(ran.stdout, "would archive 2 orders of 1 device\n");
    assert_eq!(ran.stderr, "dry run: nothing was changed\n");
    assert_eq!(pages::current_orders(&mut caller, &token, "D1").len(), 2);
    let more = sandbox.file("more.ndjson", order("3"));
    let ran = sandbox.run(&["import", "orders", &more, "--dry-run"]).success();
    assert_eq!(ran.counts(), [1, 0, 0, 0]);
    assert_eq!(pages::orders(&mut caller, &token, "D1").len(), 2);
    sandbox.run(&["verify"]).success();
}
