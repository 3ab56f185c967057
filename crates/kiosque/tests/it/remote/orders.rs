//! Orders and changes: all of them, once.

use std::collections::BTreeSet;
use std::process::Command;

use kiosque_testkit::{ORDERS_PATH, OrderLine, Ran, sql};
use serde_json::{Value, json};

use super::{PASSWORD, Place};
use crate::closed_output::{on_full_disk, without_reader};
use crate::shell::take_environment;

/// The last line of a walk that `--limit` has cut in the first device.
const CUT: &str = "N-1: cut by --limit; there are more orders\n";

/// Returns the number of orders that the server counts for devices of `north`, archived or not.
fn counted(place: &Place, history: bool) -> usize {
    let mut client = place.server.connect();
    let token = client.log_in("ops", PASSWORD);
    let token = client.switch(&token, "north");
    let total = |device: &str| {
        let body = json!({"deviceCode": device, "includeHistory": history}).to_string();
        let reply = client.call(ORDERS_PATH, Some(&token), &body);
        usize::try_from(reply.success()["total"].as_u64().unwrap()).unwrap()
    };
    ["N-1", "N-2"].map(total).iter().sum()
}

fn ids(ndjson: &str) -> Vec<String> {
    let id = |line: &str| {
        let order: Value = serde_json::from_str(line).unwrap();
        order["orderId"].as_str().unwrap().to_owned()
    };
    ndjson.lines().map(id).collect()
}

/// ORD-3, ORD-4, PAGE-8: as many orders as the server counts, over several pages, each once.
#[test]
fn all_orders_of_a_group_are_printed() {
    let place = Place::with_orders(1_203);
    place.import("N-2", 7);
    place.import("S-1", 3);
    place.sandbox.run(&["archive", "--before", "2026-03-10"]).success();
    let (all, current) = (counted(&place, true), counted(&place, false));
    assert!(current < all && all == 1_210, "{current} of {all}");
    let args = ["orders", "--all-devices", "--output", "ndjson"];
    for (more, count) in [(&["--history"][..], all), (&[], current)] {
        let ran = place.run(&[&args[..], more].concat()).success();
        let ids = ids(&ran.stdout);
        assert_eq!((ids.len(), ids.iter().collect::<BTreeSet<_>>().len()), (count, count));
        assert!(
            ran.stderr.ends_with(&format!("{count} orders of 2 devices, complete\n")),
            "{ran:?}"
        );
    }
    let limited = place.run(&[&args[..], &["--history", "--limit", "600"]].concat()).success();
    assert_eq!(limited.stdout.lines().count(), 600);
    assert_eq!(limited.stderr, CUT);
    // A limit that is not exceeded cuts nothing.
    let of_both = ["orders", "--device", "N-2", "N-1", "--history", "--output", "json"];
    for (limit, ends) in [("1210", "1210 orders of 2 devices, complete\n"), ("7", CUT)] {
        let ran = place.run(&[&of_both[..], &["--limit", limit]].concat()).success();
        let orders: Vec<Value> = serde_json::from_str(&ran.stdout).unwrap();
        assert_eq!(orders.len().to_string(), limit);
        assert!(ran.stderr.starts_with("N-2: 7 orders, complete, sha256 "), "{ran:?}");
        assert!(ran.stderr.ends_with(ends), "{ran:?}");
    }
}

/// ORD-3: the newest of one device and of all, by the start of the trade; a late one is among them.
#[test]
fn the_newest_orders_are_printed() {
    let place = Place::logged_in();
    place.import("N-1", 9);
    let line = |id: &str, day: u32| {
        OrderLine::new(id, "N-2", format!("2026-03-{day:02} 12:00:00")).to_string()
    };
    place.sandbox.import(line("b", 5) + &line("c", 8));
    place.sandbox.import(line("late", 1));
    let print = |more: &[&str]| {
        let args = ["orders", "--output", "ndjson"];
        let ran = place.run(&[&args[..], more].concat()).success();
        assert!(!ran.stderr.contains("complete"), "{ran:?}");
        ids(&ran.stdout).join(" ")
    };
    assert_eq!(print(&["--device", "N-1", "--latest", "2"]), "N-1-8 N-1-7");
    assert_eq!(print(&["--device", "N-2", "--latest", "2"]), "c late");
    let twice = ["--device", "N-1", "--device", "N-1", "--latest", "3"];
    assert_eq!(print(&twice), "N-1-8 N-1-7 N-1-6", "a device that is named twice");
    assert_eq!(print(&["--all-devices", "--latest", "3"]), "N-1-8 c N-1-7");
    let until = ["--all-devices", "--latest", "2", "--until", "2026-03-06"];
    assert_eq!(print(&until), "b N-1-4");
    assert_eq!(print(&["--all-devices", "--latest", "1000"]).split(' ').count(), 12);
    place.sandbox.run(&["archive", "--before", "2026-04-01"]).success();
    assert_eq!(print(&["--device", "N-1", "--latest", "1"]), "");
    assert_eq!(print(&["--device", "N-1", "--latest", "1", "--history"]), "N-1-8");
}

/// No more is requested than is printed, and one more.
#[test]
fn a_limit_asks_for_no_large_page() {
    let place = Place::with_orders(9);
    let args = ["orders", "--device", "N-1", "--limit", "1", "--output", "ndjson", "--explain"];
    let ran = place.run(&args).success();
    assert_eq!(ids(&ran.stdout), ["N-1-0"]);
    assert!(ran.stderr.contains("&size=2 ") && !ran.stderr.contains("size=500"), "{ran:?}");
    assert!(ran.stderr.ends_with(CUT), "{ran:?}");
}

/// A command without devices names both ways to give them.
#[test]
fn orders_are_those_of_named_devices_or_of_all() {
    let place = Place::new();
    let ran = place.run(&["orders"]);
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.contains("<--device <CODE>...|--all-devices>"), "{ran:?}");
}

/// ORD-6: a date is one of the platform's zone, unless a zone is given.
#[test]
fn a_span_is_one_of_the_platforms_zone() {
    let place = Place::logged_in();
    let starts = ["2026-03-02 00:30:00", "2026-03-02 09:00:00"];
    let line = |at: usize| OrderLine::new(format!("o{at}"), "N-1", starts[at]).to_string();
    place.sandbox.import(line(0) + &line(1));
    let print = |more: &[&str]| {
        let args = ["orders", "--device", "N-1", "--columns", "orderId,tradeStartTime"];
        place.run(&[&args[..], more].concat()).success().stdout
    };
    let both = "orderId  tradeStartTime\no0       2026-03-02 00:30:00\n\
                o1       2026-03-02 09:00:00\n";
    assert_eq!(print(&["--since", "2026-03-02"]), both);
    // Midnight of UTC is one o'clock in Paris.
    let one = "orderId  tradeStartTime\no1       2026-03-02 08:00:00\n";
    assert_eq!(print(&["--since", "2026-03-02", "--time-zone", "UTC"]), one);
    assert_eq!(print(&["--until", "2026-03-02"]), "orderId  tradeStartTime\n");
}

/// ORD-6: the zone is the one that the server has now, also when it was started with other data.
#[test]
fn the_zone_of_earlier_data_is_not_used() {
    let mut place = Place::logged_in();
    place.sandbox.import(OrderLine::new("o", "N-1", "2026-03-02 00:30:00").to_string());
    let orders = ["orders", "--device", "N-1", "--columns", "tradeStartTime", "--time-zone", "UTC"];
    let print = |place: &Place| place.run(&orders).success().stdout;
    assert_eq!(print(&place), "tradeStartTime\n2026-03-01 23:30:00\n");
    let address = place.server.address().to_string();
    place.stop();
    place.sandbox.run_sql(&sql("in_tokyo"));
    let serve = ["serve", "--listen", &address, "--operator-listen", "127.0.0.1:0"];
    place.server = place.sandbox.start(&mut place.sandbox.command(&serve));
    // The date string is stored.
    assert_eq!(print(&place), "tradeStartTime\n2026-03-01 15:30:00\n");
}

/// ORD-24: changes end at the last one, and continue after the cursor.
#[test]
fn changes_go_on_after_the_cursor() {
    let place = Place::with_orders(3);
    let read = |more: &[&str]| {
        let ran = place.run(&[&["changes", "--output", "ndjson"][..], more].concat()).success();
        let cursor = ran.stderr.strip_prefix("next cursor: ").unwrap().trim().to_owned();
        (ran.stdout.lines().count(), cursor)
    };
    let (count, cursor) = read(&["--size", "2"]);
    assert_eq!((count, read(&["--after", &cursor]).0), (3, 0));
    place.import("N-2", 2);
    assert_eq!(read(&["--after", &cursor]).0, 2);

    let args = ["changes", "--after", &cursor, "--watch", "20ms", "--output", "ndjson"];
    let watching = place.spawn(&args);
    watching.stdout_until("N-2-1");
    place.import("N-2", 3);
    let said = watching.stdout_until("N-2-2");
    assert_eq!(said.lines().count(), 3, "{said}");
}

/// ORD-23: the smallest size is requested as it is given.
#[test]
fn changes_are_read_one_by_one() {
    let place = Place::with_orders(2);
    let args = ["changes", "--size", "1", "--output", "ndjson", "--explain"];
    let ran = place.run(&args).success();
    assert_eq!(ran.stdout.lines().count(), 2, "{ran:?}");
    // After the last change, none is there.
    assert_eq!(ran.stderr.matches(r#""size":1,"#).count(), 3, "{ran:?}");
}

/// Later rounds of `--watch` print the orders that have arrived since.
#[test]
fn watched_orders_are_printed_once() {
    let place = Place::with_orders(2);
    let args = ["orders", "--all-devices", "--watch", "20ms", "--output", "ndjson"];
    let watching = place.spawn(&args);
    watching.stdout_until("N-1-1");
    place.import("N-1", 4);
    place.import("N-2", 1);
    watching.stdout_until("N-1-3");
    let said = watching.stdout_until("N-2-0");
    assert_eq!(ids(&said), ["N-1-0", "N-1-1", "N-1-2", "N-1-3", "N-2-0"]);
}

/// ORD-3: in a list that is sorted another way, the last printed order has another place after the
/// next arrival. The round says so, and prints no earlier order as a new one.
#[test]
fn a_list_that_is_sorted_another_way_is_noticed() {
    let place = Place::new();
    place.import("N-1", 2);
    let _proxy = place.log_in_through(&["resort(orders)"]);
    let args = ["orders", "--device", "N-1", "--watch", "20ms", "--output", "ndjson"];
    let watching = place.spawn(&args);
    let said = watching.stdout_until("N-1-0");
    place.import("N-1", 4);
    watching.stderr_until(r#"order 2 of device "N-1" was "N-1-0" and is "N-1-2" now"#);
    assert_eq!(ids(&said), ["N-1-1", "N-1-0"]);
}

/// ORD-24: changes that a failed round has read are printed once: those of CSV as they arrive, and
/// others by the next round, which they are a part of.
#[test]
fn a_failed_round_loses_no_change() {
    let place = Place::new();
    place.import("N-1", 3);
    // The second page is no answer.
    let fault = "nth(2, html404(changes))";
    for output in ["json", "csv", "table"] {
        let _proxy = place.log_in_through(&[fault]);
        let columns = ["--columns", "orderId"];
        let args = ["changes", "--size", "2", "--watch", "20ms", "--output", output];
        let watching = place.spawn(&[&args[..], &columns].concat());
        let said = watching.stdout_until("N-1-2");
        let is_of_id = |it: char| it.is_ascii_alphanumeric() || it == '-';
        let words = said.split(|it: char| !is_of_id(it));
        let printed: Vec<&str> = words.filter(|word| word.starts_with("N-1-")).collect();
        assert_eq!(printed, ["N-1-0", "N-1-1", "N-1-2"], "{output}: {said}");
        let stderr = watching.stderr();
        assert_eq!(stderr.matches("; trying again\n").count(), 1, "{output}: {stderr}");
    }
}

/// A server that fails for longer than a call is retried ends no `--watch`, nor does one whose
/// first answer, with the time zone of a table, does not arrive.
#[test]
fn a_server_that_fails_for_a_while_ends_no_watch() {
    let place = Place::new();
    place.import("N-1", 1);
    let each_try = [
        "nth(1, code500(changes))",
        "nth(2, code500(changes))",
        "nth(3, code500(changes))",
        "nth(4, code500(changes))",
    ];
    for (faults, command, printed) in
        [(&each_try[..], "changes", "N-1-0"), (&["nth(1, html404(summary))"], "devices", "N-1")]
    {
        let _proxy = place.log_in_through(faults);
        let watching = place.spawn(&[command, "--watch", "20ms", "--output", "table"]);
        watching.stderr_until("; trying again\n");
        watching.stdout_until(printed);
    }
}

/// A watch that began with a wrong certificate would try again forever.
#[test]
fn a_wrong_certificate_ends_a_watch_before_its_first_answer() {
    let (place, other) = (Place::new(), Place::new());
    place.log_in();
    std::fs::copy(other.sandbox.certificate(), place.sandbox.certificate()).unwrap();
    let ran = place.run(&["devices", "--watch", "20ms"]);
    assert_eq!(ran.status, 4, "{ran:?}");
    assert!(ran.stderr.contains("certificate") && !ran.stderr.contains("trying again"), "{ran:?}");
}

/// ORD-3: after a failure in the middle of a device, the next round continues after the orders that
/// were printed, and `--limit` counts each once.
#[test]
fn a_failed_round_repeats_no_order() {
    let place = Place::with_orders(1_203);
    place.import("N-2", 2);
    // A walk reads the number of orders first, then the three pages from the oldest on.
    let fault = "nth(3, html404(orders))";
    let args = ["orders", "--all-devices", "--output", "ndjson"];
    let all = ids(&place.run(&args).success().stdout);
    assert_eq!(all.len(), 1_205);
    for (more, expected) in [(&[][..], &all[..]), (&["--limit", "901"], &all[..901])] {
        let _proxy = place.log_in_through(&[fault]);
        let watching = place.spawn(&[&args[..], &["--watch", "20ms"], more].concat());
        let last = expected.last().unwrap();
        let said = watching.stdout_until(&format!(r#""{last}""#));
        let printed = ids(&said);
        assert!(printed == expected, "{more:?}: {} orders", printed.len());
        let stderr = watching.stderr();
        assert_eq!(stderr.matches("; trying again\n").count(), 1, "{more:?}: {stderr}");
    }
}

/// `--limit` is of all rounds of `--watch`: after that number of orders the command ends.
#[test]
fn a_watch_ends_at_its_limit() {
    let place = Place::new();
    place.log_in();
    place.import("N-1", 1);
    for (limit, ends) in [("1", "complete"), ("2", "cut by --limit")] {
        let args = ["orders", "--device", "N-1", "--limit", limit, "--watch", "20ms"];
        let mut watching = place.spawn(&[&args[..], &["--output", "ndjson"]].concat());
        watching.stdout_until("N-1-0");
        place.import("N-1", 3);
        assert!(watching.wait().success(), "{limit}");
        assert_eq!(ids(&watching.stdout()).len().to_string(), limit);
        let stderr = watching.stderr();
        assert_eq!(stderr.matches(ends).count(), 1, "{limit}: {stderr}");
    }
}

/// The CSV of all rounds of `--watch` is one table: a failed round ends after a whole page, and the
/// next one continues after it, and warns of the blank texts of both.
#[test]
fn a_watched_csv_is_one_table() {
    let place = Place::new();
    let line = |number: usize| {
        let start = format!("2026-03-{:02} 08:00:00", 1 + number % 28);
        OrderLine::new(format!("N-1-{number}"), "N-1", start)
            .with("payChannelName", " ")
            .to_string()
    };
    place.sandbox.import((0..1_203).map(line).collect::<String>());
    let args = ["orders", "--all-devices", "--output", "csv"];
    for columns in [&[][..], &["--columns", "orderId"]] {
        place.log_in();
        let once = place.run(&[&args[..], columns].concat()).success().stdout;
        let _proxy = place.log_in_through(&["nth(3, html404(orders))"]);
        let watching = place.spawn(&[&args[..], &["--watch", "20ms"], columns].concat());
        watching.stderr_until("; trying again\n");
        if columns.is_empty() {
            watching.stderr_until("warning: 1203 orders have blank texts");
        }
        watching.stderr_until("complete, sha256");
        let late = format!("late-{}", columns.len());
        place.sandbox.import(OrderLine::new(&late, "N-1", "2026-03-29 08:00:00").to_string());
        let said = watching.stdout_until(&late);
        let rest = said.strip_prefix(&*once).unwrap_or_else(|| panic!("{said}"));
        assert_eq!((rest.lines().count(), said.matches("orderId").count()), (1, 1), "{rest}");
    }
}

/// The CSV of orders is a report that an import reads without a difference.
#[test]
fn the_csv_is_imported_unchanged() {
    let place = Place::new();
    place.import("N-1", 12);
    let line = r#"{"goodsId":"cola","goodsName":"Cola, \"light\"","count":2,"salePrice":50}"#;
    let lines: Value = serde_json::from_str(&format!("[{line},{line}]")).unwrap();
    let order = OrderLine::new("with lines", "N-2", "2026-03-02 10:00:00")
        .paid("2026-03-02 10:00:09")
        .with("tradeNoIn", "in-1")
        .with("phone", "+33 6 98 76 54 32")
        .with("detailVOList", lines);
    place.sandbox.import(order.to_string());
    place.log_in();
    let Ran { stdout: csv, stderr, .. } =
        place.run(&["orders", "--all-devices", "--output", "csv"]).success();
    assert_eq!(csv.lines().count(), 1 + 12 + 2, "{csv}");
    assert!(!stderr.contains("warning"), "{stderr}");
    let csv = place.sandbox.file("orders.csv", csv);
    let mapping = place.sandbox.run(&["orders", "export", "--print-mapping"]).success().stdout;
    let mapping = place.sandbox.file("mapping.toml", mapping);
    let imported = place.sandbox.run(&["import", "orders", &csv, "--map", &mapping]).success();
    assert_eq!(imported.counts(), [0, 0, 13, 0], "{imported:?}");
}

/// Output that cannot be written is named as such.
#[test]
fn output_that_cannot_be_written_is_a_failure() {
    let place = Place::with_orders(2);
    for args in [
        &["devices"][..],
        &["orders", "--all-devices", "--output", "csv"],
        &["orders", "--all-devices"],
        &["mirror", "--into", "orders.db"],
        &["logout"],
    ] {
        let ran = on_full_disk(&mut place.command(args));
        let reason = "kiosque: cannot write to standard output: No space left on device\n";
        assert_eq!((ran.status, &*ran.stderr), (2, reason), "{args:?}");
    }
}

/// Output that is not read to its end is no failure.
#[test]
fn a_command_ends_quietly_when_its_output_is_not_read() {
    let place = Place::with_orders(1_203);
    for args in [
        &["orders", "--all-devices", "--output", "ndjson"][..],
        &["orders", "--all-devices", "--output", "csv"],
        &["orders", "--all-devices"],
        &["devices", "--output", "json"],
        &["changes", "--output", "ndjson"],
        &["profiles"],
        &["whoami", "--watch", "20ms"],
    ] {
        let ran = without_reader(&mut place.command(args)).success();
        assert_eq!(ran.stderr, "", "{args:?}");
    }
    let mut shell = Command::new("bash");
    let ordered = place.command(&["orders", "--all-devices", "--output", "ndjson"]);
    let script = "\"$@\" | head -1; echo ${PIPESTATUS[0]}";
    shell.args(["-c", script, "bash"]).arg(ordered.get_program()).args(ordered.get_args());
    take_environment(&mut shell, &ordered);
    let ran = Ran::of(&mut shell).success();
    assert!(ran.stdout.ends_with("}\n0\n") && ran.stderr.is_empty(), "{ran:?}");
}
