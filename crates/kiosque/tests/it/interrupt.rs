//! Ctrl-C: a command that stores in steps says how far it is, and exits with 130.

use std::io::Write as _;

use kiosque_testkit::{Sandbox, Served, sql, wait_until};
use serde_json::Value;

use crate::fleet::{fleet, order, orders};
use crate::{KIOSQUE, demo};

fn orders_stored(sandbox: &Sandbox) -> usize {
    usize::try_from(sandbox.json(&["status"])["orderCount"].as_u64().unwrap()).unwrap()
}

fn imports(sandbox: &Sandbox) -> Vec<Value> {
    sandbox.json(&["import", "list"]).as_array().unwrap().clone()
}

/// Returns the actor and the text of each interrupted import in the trail.
fn interruptions(sandbox: &Sandbox) -> Vec<[String; 2]> {
    let trail = sandbox.json(&["audit", "--event", "importInterrupted"]);
    let entries = trail.as_array().unwrap().iter();
    let text = |entry: &Value, key: &str| entry[key].as_str().unwrap().to_owned();
    entries.map(|entry| [text(entry, "actor"), text(entry, "detail")]).collect()
}

/// An import ends after the present transaction, with the exact number of orders that are stored.
#[test]
fn an_import_that_is_interrupted_says_how_much_is_stored() {
    const COUNT: usize = 30_000;
    let sandbox = KIOSQUE.sandbox_with(fleet(), "UTC");
    let orders = sandbox.file("orders.ndjson", orders("o", 0..COUNT));
    let mut import = sandbox.spawn(&["import", "orders", &orders]);
    wait_until("some orders are stored", || orders_stored(&sandbox) > 0);
    import.signal("INT");
    assert_eq!(import.wait().code(), Some(130), "{}", import.stderr());
    let stored = orders_stored(&sandbox);
    assert!((1..COUNT).contains(&stored), "{stored}");
    let said = format!(
        "interrupted: {stored} orders of {orders} are stored; repeat the command to store the \
         others\n"
    );
    assert_eq!((import.stderr_until(&said), import.stdout()), (said, String::new()));
    let [import] = &imports(&sandbox)[..] else { panic!("one import") };
    assert_eq!(
        (import["state"].as_str(), import["endedTimestamp"].is_i64()),
        (Some("interrupted"), true)
    );
    let details = &import["details"];
    assert_eq!((&details["reason"], &details["orders"]), (&"signal".into(), &stored.into()));
    let listed = sandbox.run(&["import", "list"]).success().stdout;
    let end = format!(", {stored} orders stored ");
    assert!(listed.contains("interrupted ") && listed.contains(&end), "{listed}");
    let detail = format!("import 1: signal, {stored} orders stored");
    assert_eq!(interruptions(&sandbox), [["command", &detail]]);
    let ran = sandbox.run(&["import", "orders", &orders]).success();
    assert_eq!(ran.counts(), [COUNT - stored, 0, stored, 0]);
    assert!(ran.took.is_some(), "{ran:?}");
}

/// An import that was killed cannot say that it ended. It is listed as running for a minute at
/// most, and ends in the trail with the next import or while a server runs.
#[test]
fn an_import_that_was_killed_is_listed_as_interrupted() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "UTC");
    let (input, mut lines) = std::io::pipe().unwrap();
    let mut command = sandbox.command(&["import", "orders", "-"]);
    let mut import = Served::spawn(command.stdin(input), &sandbox.certificate());
    drop(command);
    writeln!(lines, "{}", order("o1")).unwrap();
    wait_until("the import has begun", || imports(&sandbox).len() == 1);
    assert_eq!(imports(&sandbox)[0]["state"], "running");
    import.kill_9();
    let table = |sandbox: &Sandbox| sandbox.run(&["import", "list"]).success().stdout;
    assert!(table(&sandbox).contains(" running "), "{}", table(&sandbox));
    drop(sandbox.run_sql(&sql("silence_imports")));
    assert!(table(&sandbox).contains(" interrupted "), "{}", table(&sandbox));
    assert_eq!(imports(&sandbox)[0]["endedTimestamp"], Value::Null);
    let served = sandbox.serve();
    served.stderr_until("ended imports whose processes were lost");
    assert_eq!(interruptions(&sandbox), [["server", "import 1: processLost"]]);
    assert_eq!(imports(&sandbox)[0]["details"]["reason"], "processLost");
    assert!(imports(&sandbox)[0]["endedTimestamp"].is_i64());
    assert!(table(&sandbox).contains(" interrupted 20"), "{}", table(&sandbox));
}

/// An import that waits for its input, or for the lock of the data, ends nevertheless.
#[test]
fn an_import_that_waits_is_interrupted() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "UTC");
    for (signal, status) in [("INT", 130), ("TERM", 143)] {
        let (input, mut lines) = std::io::pipe().unwrap();
        let mut command = sandbox.command(&["import", "orders", "-"]);
        let mut import = Served::spawn(command.stdin(input), &sandbox.certificate());
        drop(command);
        import.wait_for_interrupt_handler();
        let held = (signal == "TERM").then(|| sandbox.run_sql(&sql("hold_writes_sqlite")));
        if held.is_some() {
            writeln!(lines, "{}", order("o1")).unwrap();
            drop(lines);
        }
        import.signal(signal);
        assert_eq!(import.wait().code(), Some(status), "{}", import.stderr());
        let said = "interrupted: at least 0 orders of standard input are stored; repeat the";
        import.stderr_until(said);
        if held.is_none() {
            assert_eq!(imports(&sandbox)[0]["state"], "interrupted");
            assert_eq!(interruptions(&sandbox).len(), 1);
        }
    }
    assert_eq!(orders_stored(&sandbox), 0);
}

/// An import that is still reading a report ends between two rows. It has stored nothing, and is
/// not listed.
#[test]
fn an_import_that_reads_a_report_is_interrupted_between_rows() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "UTC");
    let mapping = sandbox.file(
        "mapping.toml",
        "amount.unit = 'minor'\norder = { orderId = '{Id}', deviceCode = 'D1', currency = 'EUR', \
         totalAmount = '100', tradeStartTime = '2026-03-01' }",
    );
    let (input, mut rows) = std::io::pipe().unwrap();
    let mut command = sandbox.command(&["import", "orders", "-", "--map", &mapping]);
    let mut import = Served::spawn(command.stdin(input), &sandbox.certificate());
    drop(command);
    writeln!(rows, "Id").unwrap();
    import.wait_for_interrupt_handler();
    import.signal("INT");
    // The pipe breaks when the import has ended.
    let written = (0..).take_while(|row| writeln!(rows, "{row}").is_ok()).count();
    assert_eq!(import.wait().code(), Some(130), "{written} rows: {}", import.stderr());
    assert_eq!(imports(&sandbox), [Value::Null; 0]);
    import.stderr_until("interrupted: 0 orders of standard input are stored; repeat the");
}

#[test]
fn an_archive_run_that_is_interrupted_says_what_to_do() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "UTC");
    sandbox.import(order("o1"));
    let held = sandbox.run_sql(&sql("hold_writes_sqlite"));
    let mut archive = sandbox.spawn(&["archive", "--before", "2026-02-01"]);
    archive.wait_for_interrupt_handler();
    archive.signal("INT");
    assert_eq!(archive.wait().code(), Some(130), "{}", archive.stderr());
    archive
        .stderr_until("interrupted: the changes made so far are kept; repeat the command to make");
    drop(held);
    let ran = sandbox.run(&["archive", "--before", "2026-02-01"]).success();
    assert!(ran.stdout.starts_with("archived 1 order of 1 device\n"), "{}", ran.stdout);
}

/// The next demo creates the data again.
#[test]
fn a_demo_that_is_interrupted_while_it_makes_its_data_says_so() {
    let sandbox = KIOSQUE.sandbox();
    let mut first = sandbox.spawn(&demo::FREE_PORTS);
    first.wait_for_interrupt_handler();
    first.signal("INT");
    let status = first.wait();
    // The handler of the server follows; it ends the process with 0.
    if status.code() == Some(130) {
        first.stderr_until("interrupted: the data of the demo is incomplete; the next demo ");
    }
    demo::start(&sandbox, &["--quiet"]).stderr_until("made ");
}
