//! Commands whose output is not read to its end, as by `head`.

use std::io;
use std::process::Command;

use kiosque_testkit::Ran;

use crate::KIOSQUE;
use crate::fleet::{fleet, order};

/// Runs a command whose stdout is a pipe without a reader.
fn without_reader(command: &mut Command) -> Ran {
    let (reader, writer) = io::pipe().unwrap();
    drop(reader);
    Ran::of(command.stdout(writer))
}

/// A command that prints to a closed pipe does its work and ends quietly.
#[test]
fn a_command_ends_quietly_when_its_output_is_not_read() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "UTC");
    let fleet = sandbox.file("again.toml", fleet());
    let orders = sandbox.file("orders.ndjson", order("o1"));
    let rates = sandbox.file("rates.csv", "date,currency,usd_per_unit\n2026-01-01,EUR,1.25\n");
    let backup = sandbox.path("backup.db");
    let commands: &[&[&str]] = &[
        &["init", "--timezone", "UTC"],
        &["apply", &fleet],
        &["apply", &fleet, "--dry-run"],
        &["import", "orders", &orders],
        &["import", "rates", &rates],
        &["import", "list"],
        &["operator-key", "create", "feed"],
        &["operator-key", "revoke", "feed"],
        &["archive", "--before", "2026-01-01"],
        &["orders", "export"],
        &["fleet", "export"],
        &["status"],
        &["device", "list", "--output", "json"],
        &["verify"],
        &["backup", backup.to_str().unwrap()],
    ];
    for command in commands {
        let ran = without_reader(&mut sandbox.command(command)).success();
        assert!(!ran.stderr.contains("pipe"), "{command:?}: {ran:?}");
    }
    assert!(backup.exists());
    for command in [
        &["completions", "bash"][..],
        &["config", "print"],
        &["openapi", "--operator"],
        &["schema", "--citus"],
    ] {
        let ran = without_reader(KIOSQUE.command().args(command)).success();
        assert_eq!(ran.stderr, "", "{command:?}");
    }
}
