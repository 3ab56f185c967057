//! Commands whose output is not read to its end, as by `head`.

use std::fs::File;
use std::io;
use std::process::Command;

use kiosque_testkit::Ran;

use crate::KIOSQUE;
use crate::fleet::{fleet, order};

/// Runs a command whose stdout is a pipe without a reader.
pub(crate) fn without_reader(command: &mut Command) -> Ran {
    let (reader, writer) = io::pipe().unwrap();
    drop(reader);
    Ran::of(command.stdout(writer))
}

/// Runs a command whose stdout is a full disk.
pub(crate) fn on_full_disk(command: &mut Command) -> Ran {
    let full = File::options().write(true).open("/dev/full").unwrap();
    Ran::of(command.stdout(full))
}

/// A command that prints to a closed pipe does its work and ends quietly.
#[test]
fn a_command_ends_quietly_when_its_output_is_not_read() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "UTC");
    let fleet = sandbox.file("again.toml", fleet());
    let orders = sandbox.file("orders.ndjson", order("o1"));
    let rates = sandbox.file("rates.csv", "date,currency,usd_per_unit\n2026-01-01,EUR,1.25\n");
    let backup = sandbox.path("backup.db");
    sandbox.create_key(&["feed"]);
    let commands: &[&[&str]] = &[
        &["init", "--timezone", "UTC"],
        &["apply", &fleet],
        &["apply", &fleet, "--dry-run"],
        &["import", "orders", &orders],
        &["import", "rates", &rates],
        &["import", "list"],
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

/// A message that cannot be written ends no command: an import stores and counts all of its lines.
#[test]
fn a_command_does_its_work_when_its_messages_are_not_read() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "UTC");
    let fleet = sandbox.file("again.toml", fleet());
    let lines = [order("o1"), "\nnonsense".repeat(100)].concat();
    let orders = sandbox.file("orders.ndjson", lines);
    let backup = sandbox.path("backup.db");
    let silent = |args: &[&str]| {
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        Ran::of(sandbox.command(args).stderr(writer))
    };
    let imported = silent(&["import", "orders", &orders]);
    assert_eq!((imported.status, imported.counts()), (1, [1, 0, 0, 100]));
    for command in [
        &["apply", &fleet, "--dry-run"][..],
        &["apply", &fleet],
        &["verify"],
        &["backup", backup.to_str().unwrap()],
    ] {
        silent(command).success();
    }
}

/// Output that cannot be written is a failure, and named as such; so is help.
#[test]
fn output_that_cannot_be_written_is_a_failure() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "UTC");
    sandbox.import(order("o1"));
    for args in [
        &["status"][..],
        &["orders", "export"],
        &["orders", "export", "--output", "csv"],
        &["--help"],
        &["remote", "call", "--help"],
        &["--version"],
    ] {
        let ran = on_full_disk(&mut sandbox.command(args));
        let reason = "kiosque: cannot write to standard output: No space left on device\n";
        assert_eq!((ran.status, &*ran.stderr), (1, reason), "{args:?}");
    }
}

/// A key is shown once alone: a command that cannot show it fails, and says what to do.
#[test]
fn a_key_that_cannot_be_printed_is_to_be_revoked() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "UTC");
    let create = |name| sandbox.command(&["operator-key", "create", name]);
    for (name, ran) in
        [("pipe", without_reader(&mut create("pipe"))), ("full", on_full_disk(&mut create("full")))]
    {
        let reason =
            format!("kiosque: the key {name} cannot be printed; revoke it, and create another one");
        assert_eq!(ran.status, 1, "{ran:?}");
        assert!(ran.stderr.starts_with(&reason), "{ran:?}");
        sandbox.run(&["operator-key", "revoke", name]).success();
    }
}

/// An import whose counts cannot be printed fails, and is recorded as the import that it was.
#[test]
fn an_import_whose_result_cannot_be_printed_is_recorded() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "UTC");
    let orders = sandbox.file("orders.ndjson", order("o1"));
    let rates = sandbox.file("rates.csv", "date,currency,usd_per_unit\n2026-01-01,EUR,1.25\n");
    for (kind, file, event) in
        [("orders", &orders, "ordersImported"), ("rates", &rates, "ratesImported")]
    {
        let ran = on_full_disk(&mut sandbox.command(&["import", kind, file]));
        assert_eq!(ran.status, 1, "{ran:?}");
        assert_eq!(sandbox.trail_entries(event), 1, "{event}");
    }
    let listed = sandbox.run(&["import", "list"]).success().stdout;
    assert!(!listed.contains("running") && !listed.contains("interrupted"), "{listed}");
}
