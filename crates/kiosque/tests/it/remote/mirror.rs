//! The copy of an account in a file: whole after each kill, complete at each end, and compared with
//! the server.

use std::collections::BTreeMap;
use std::path::PathBuf;

use kiosque_testkit::{FleetToml, OrderLine, Program, Ran, cheap_hash, wait_until};
use serde_json::{Value, json};

use super::{PASSWORD, Place};

/// Prints the orders of the copy by group and id, as the server sends them.
const READ_ORDERS: &str = r#"
import collections, json, re, sqlite3
def record(row, leaves):
    name = lambda key: re.sub("_(.)", lambda match: match[1].upper(), key)
    return {name(key): row[key] for key in row.keys() if key not in leaves and key[-3:] != "_ms"}
db = sqlite3.connect("orders.db")
db.row_factory = sqlite3.Row
orders = collections.defaultdict(dict)
for row in db.execute("select * from orders"):
    order = record(row, ["order_no", "group_id", "change_no", "reading"])
    order["payEndDate"] = order["payEndTime"] or order["tradeStartTime"]
    lines = db.execute("select * from order_lines where order_no = ? order by line_no", [row[0]])
    lines = [record(line, ["order_no", "line_no", "currency"]) for line in lines]
    orders[row["group_id"]][order["orderId"]] = {**order, "detailVOList": lines}
print(json.dumps(orders))"#;
/// Runs a statement, and prints its rows.
const RUN_SQL: &str = r#"
import json, sqlite3, sys
db = sqlite3.connect("orders.db")
rows = db.execute(sys.argv[1]).fetchall()
db.commit()
print(json.dumps(rows))"#;

const MIRROR: [&str; 3] = ["mirror", "--into", "orders.db"];

type Orders = BTreeMap<String, BTreeMap<String, Value>>;

impl Place {
    fn python(&self, args: &[&str]) -> Value {
        let mut python = Program("python3").command();
        python.arg("-c").args(args).current_dir(self.sandbox.directory.path());
        serde_json::from_str(&Ran::of(&mut python).success().stdout).unwrap()
    }

    /// Runs a statement on the copy, which the file names.
    fn on_copy(&self, statement: &str) -> Value {
        self.python(&[RUN_SQL, statement])
    }

    fn copied(&self) -> Orders {
        serde_json::from_value(self.python(&[READ_ORDERS])).unwrap()
    }

    /// Returns the orders in the lists of the server, archived ones included.
    fn listed(&self) -> Orders {
        let list = |group: &str| -> BTreeMap<String, Value> {
            let args = ["orders", "--group", group, "--all-devices", "--history"];
            let orders = self.json(&args);
            let orders = orders.as_array().unwrap().iter();
            orders.map(|it| (it["orderId"].as_str().unwrap().to_owned(), it.clone())).collect()
        };
        let groups = ["north", "south"].map(|group| (group.to_owned(), list(group)));
        groups.into_iter().filter(|(_, orders)| !orders.is_empty()).collect()
    }

    fn import_lines(&self, lines: &[OrderLine]) {
        self.sandbox.import(lines.iter().map(ToString::to_string).collect::<String>());
    }
}

/// A paid order with a line.
fn sale(id: &str, device: &str, amount: i64) -> OrderLine {
    let line = json!([{"goodsId": "cola", "goodsName": "Cola", "count": 2, "salePrice": amount}]);
    OrderLine::new(id, device, "2026-03-02 10:00:00")
        .amount("EUR", amount)
        .with("payStatus", 1)
        .with("payAmount", amount)
        .paid("2026-03-02 10:00:09")
        .with("phone", "+33 6 98 76 54 32")
        .with("detailVOList", line)
}

/// ORD-26, ENV-11: killed repeatedly while answers are lost, cut, late and refused, the file is
/// whole; at the end it has what the server lists.
#[test]
fn a_copy_is_whole_after_kills_and_faults() {
    let place = Place::new();
    place.import("N-1", 3_203);
    place.import("S-1", 3);
    place.sandbox.run(&["archive", "--before", "2026-03-10"]).success();
    let _proxy = place.log_in_through(&[
        // The answers at which it is killed.
        "nth(3, slow(changes, 10m))",
        "nth(8, slow(changes, 10m))",
        "nth(12, slow(changes, 10m))",
        "every(5, code500(changes))",
        "every(4, cut-body(changes))",
        "every(3, lose-answer)",
        "nth(6, evict)",
    ]);
    let count = || place.on_copy("select count(*), coalesce(max(change_no), 0) from orders");
    let mut before = 0;
    for round in 0..3 {
        let mut copying = place.spawn(&MIRROR);
        wait_until("some more were copied", || {
            let file = place.sandbox.path("orders.db");
            let is_empty = file.metadata().is_ok_and(|file| file.len() == 0);
            if round == 0 && (!file.exists() || is_empty) {
                return false;
            }
            let has_tables = "select count(*) from sqlite_master where name = 'orders'";
            place.on_copy(has_tables) == json!([[1]])
                && count()[0][0].as_i64().is_some_and(|count| count > before)
        });
        copying.kill_9();
        // Orders that never changed are copied in the order of their numbers.
        let whole = count();
        assert_eq!(whole[0][0], whole[0][1], "all changes up to the last one, and no others");
        before = whole[0][0].as_i64().unwrap();
        assert!(before < 3_203, "it was killed too late");
    }
    place.import_lines(&[
        sale("N-1-7", "N-1", 250).with("refundAmount", 40).with("payStatus", 4),
        sale("new", "N-2", 990),
        sale("S-1-2", "S-1", 5).amount("JPY", 5),
        OrderLine::new("N-1-3000", "N-1", "2026-03-02 08:00:00").with("payStatus", 2),
    ]);
    let ran = place.run(&MIRROR).success();
    assert_eq!(
        ran.stdout,
        "north: 3204 orders up to change 3206, 2 sales of 12.40 EUR with refunds of 0.40 EUR; \
         as on the server\n\
         south: 3 orders up to change 4, 1 sale of 5 JPY with refunds of 0 JPY; as on the server\n"
    );
    let (copied, listed) = (place.copied(), place.listed());
    assert_eq!(listed.values().map(BTreeMap::len).sum::<usize>(), 3_207);
    assert!(copied == listed, "{:?}", place.on_copy("select * from orders limit 3"));
    let times = "select trade_start_ms, pay_end_ms, shipment_ms from orders where order_id = 'new'";
    assert_eq!(place.on_copy(times), json!([[1_772_442_000_000_i64, 1_772_442_009_000_i64, null]]));
    let devices = "select group_id, device_code, device_name, in_group from devices order by 2";
    let device = |group, code, name| json!([group, code, name, 1]);
    assert_eq!(
        place.on_copy(devices),
        json!([
            device("north", "N-1", "North 1"),
            device("north", "N-2", "North 2"),
            device("south", "S-1", "South 1")
        ])
    );
}

/// ORD-28: after the data went back, orders are read again, and those that are gone are deleted.
#[test]
fn a_restored_server_is_read_again() {
    let mut place = Place::new();
    place.import_lines(&[sale("a", "N-1", 1), sale("b", "N-1", 2)]);
    place.sandbox.run(&["backup", "monday.db"]).success();
    place.import_lines(&[sale("a", "N-1", 3), sale("lost", "N-1", 4)]);
    place.log_in();
    place.run(&MIRROR).success();
    assert_eq!(place.copied(), place.listed());
    let address = place.server.address().to_string();
    place.stop();
    place.sandbox.run(&["restore", "monday.db"]).success();
    let serve = ["serve", "--listen", &address, "--operator-listen", "127.0.0.1:0"];
    place.server = place.sandbox.start(&mut place.sandbox.command(&serve));
    place.import_lines(&[sale("c", "N-1", 5)]);
    let ran = place.run(&MIRROR).success();
    let certificate = "north: 3 orders up to change 3, 3 sales of 0.08 EUR with refunds of \
        0.00 EUR; as on the server; read again, because the data of the server went back\n";
    assert!(ran.stdout.starts_with(certificate), "{ran:?}");
    assert_eq!(place.copied()["north"].keys().collect::<Vec<_>>(), ["a", "b", "c"]);
    assert_eq!(place.copied(), place.listed());
    assert_eq!(place.on_copy("select count(*) from order_lines"), json!([[3]]));
}

/// PAGE-4: a server may allow smaller pages than those that are requested at first.
#[test]
fn a_server_with_small_pages_is_copied() {
    let mut place = Place::new();
    place.import("N-1", 30);
    place.stop();
    place.server = place.sandbox.serve_with(&["--page-size-max", "7"]);
    place.log_in();
    let ran = place.run(&MIRROR).success();
    assert!(
        ran.stdout.starts_with("north: 30 orders up to change 30; as on the server"),
        "{ran:?}"
    );
    assert_eq!(place.copied(), place.listed());
}

/// AUTH-4, SCOPE-6: the orders of a group that the account has no more are kept and marked, as are
/// devices that have left; both come back.
#[test]
fn what_was_taken_away_is_kept_and_marked() {
    let place = Place::logged_in();
    place.import("N-1", 2);
    place.import("S-1", 3);
    place.run(&MIRROR).success();
    let marks = || {
        let groups = place.on_copy("select group_id, in_account from groups order by 1");
        let devices = place.on_copy("select device_code, in_group from devices order by 1");
        (groups, devices)
    };
    let all = marks();
    let apply = |groups: &[&str], group: &str| {
        let fleet = FleetToml::new()
            .account_with_hash("ops", &cheap_hash(PASSWORD), groups)
            .device("N-2", "North 2", group);
        place.sandbox.apply(fleet);
    };
    apply(&["north"], "south");
    let ran = place.run(&MIRROR).success();
    let kept = "south: 3 orders up to change 3; kept: the account no longer has this group\n";
    assert!(ran.stdout.ends_with(kept), "{ran:?}");
    let (groups, devices) = marks();
    assert_eq!(groups, json!([["north", 1], ["south", 0]]));
    assert_eq!(devices, json!([["N-1", 1], ["N-2", 0], ["S-1", 1]]));
    assert_eq!(place.copied()["south"].len(), 3);

    place.import("S-1", 4);
    apply(&["north", "south"], "north");
    let ran = place.run(&MIRROR).success();
    assert!(ran.stdout.ends_with("south: 4 orders up to change 4; as on the server\n"), "{ran:?}");
    assert_eq!((marks(), place.copied()), (all, place.listed()));
}

/// The certificate notices an order that was lost, and one whose amount is another.
#[test]
fn a_lost_order_is_noticed() {
    let place = Place::logged_in();
    place.import_lines(&[sale("a", "N-1", 100), sale("b", "N-1", 200)]);
    place.run(&MIRROR).success();
    let server = "the server has 2 orders up to change 2, 2 sales of 3.00 EUR with refunds of \
        0.00 EUR";
    for (statement, file) in [
        (
            "update orders set pay_amount = 99 where order_id = 'a'",
            "2 orders up to change 2, 2 \
            sales of 2.99 EUR with refunds of 0.00 EUR",
        ),
        (
            "delete from orders where order_id = 'a'",
            "1 order up to change 2, 1 sale of 2.00 \
            EUR with refunds of 0.00 EUR",
        ),
    ] {
        place.on_copy(statement);
        let ran = place.run(&MIRROR);
        assert_eq!(ran.status, 1, "{ran:?}");
        assert!(ran.stdout.starts_with(&format!("north: {file}; {server}\n")), "{ran:?}");
        let said = "kiosque: orders.db differs from the server; delete it, and run the command \
            again\n";
        assert_eq!(ran.stderr, said);
    }
}

/// The copy follows the changes. Another process, another account and another file are refused.
#[test]
fn a_copy_is_followed_and_belongs_to_its_account() {
    let place = Place::with_orders(2);
    let watch = [&MIRROR[..], &["--watch", "20ms"]].concat();
    let watching = place.spawn(&watch);
    watching.stdout_until("south: ");
    place.import_lines(&[sale("new", "N-2", 990)]);
    wait_until("the new order is copied", || {
        place.on_copy("select count(*) from orders where order_id = 'new'") == json!([[1]])
    });
    let refused = |ran: Ran, cause: &str| {
        assert_eq!(ran.status, 2, "{ran:?}");
        assert!(ran.stderr.contains(cause), "{ran:?}");
    };
    let next = "orders.db: another process writes this file; end that `kiosque remote mirror`, or \
                specify another file with --into\n";
    refused(place.run(&MIRROR), next);
    drop(watching);
    let mut other = place.command(&MIRROR);
    other.env("KIOSQUE_REMOTE_USERNAME", "guest");
    refused(Ran::of(&mut other), "it has the orders of the account ops at https://127.0.0.1:");
    let database: PathBuf = place.sandbox.data().join("kiosque.db");
    let args = ["mirror", "--into", database.to_str().unwrap()];
    refused(place.run(&args), "a database that `kiosque remote mirror` has not created");
    place.sandbox.file("text", "no database");
    refused(place.run(&["mirror", "--into", "text"]), "file is not a database");
    // A name that SQLite treats specially is the name of a file.
    place.run(&["mirror", "--into", ":memory:"]).success();
    assert!(std::fs::metadata(place.sandbox.path(":memory:")).unwrap().len() > 0);
}
