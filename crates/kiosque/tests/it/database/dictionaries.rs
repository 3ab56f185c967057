//! The dictionary of the data, trained by a process that is killed or stops.

use std::process::Command;

use kiosque_testdb::{Durability, Server};
use kiosque_testkit::{ORDERS_CALL, sql, wait_until};

use super::{UNHURRIED, create_data, node, order};

const ORDERS: usize = 6_000;
/// The change of a process that has trained a dictionary.
const ADDS_DICTIONARY: &str = "insert on dictionaries for each row";

/// An import is killed while it adds the dictionary that it has trained: the orders before are
/// stored, and the next import trains one.
#[test]
fn an_import_that_is_killed_as_it_trains_loses_nothing() {
    let server = Server::start(Durability::Full).unwrap();
    let node = node(&[&server]);
    create_data(&node);
    server.sql(&sql("hold_first").replace("CHANGE", ADDS_DICTIONARY)).unwrap();
    let file: String = (0..ORDERS).map(|at| order("t", at)).collect();
    let file = node.file("orders.ndjson", file);
    let count = |name: &str| server.sql(&sql(name)).unwrap().parse::<usize>().unwrap();

    let mut import = node.spawn(&["import", "orders", &file]);
    wait_until("the database holds the dictionary", || count("held") == 1);
    import.kill_9();
    server.sql(&sql("end_held")).unwrap();
    wait_until("its session ends", || count("held") == 0);
    let stored = count("orders_stored");
    assert!((4_000..ORDERS).contains(&stored), "{stored}");
    assert_eq!(count("dictionaries"), 0);

    let again = node.run(&["import", "orders", &file]).success().stdout;
    let counts = format!("{} accepted, 0 updated, {stored} unchanged, 0 rejected", ORDERS - stored);
    assert!(again.contains(&counts), "{again}");
    assert_eq!((count("orders_stored"), count("dictionaries")), (ORDERS, 1));
    node.run(&["verify"]).success();
}

/// A server stops when the database has ended a transaction whose caller has gone.
#[test]
fn a_server_that_stops_while_it_trains_waits_for_the_transaction() {
    let server = Server::start(Durability::Off).unwrap();
    let node = node(&[&server]);
    let key = create_data(&node);
    server.sql(&sql("hold_first").replace("CHANGE", ADDS_DICTIONARY)).unwrap();
    let file: String = (0..ORDERS).map(|at| order("t", at)).collect();
    let file = node.file("orders.ndjson", file);
    let mut served = node.serve_with(&UNHURRIED);

    let mut curl = Command::new("curl");
    curl.args(["--silent", "--insecure", "--header", &format!("Authorization: Bearer {key}")]);
    curl.args(["--data-binary", &format!("@{file}")]);
    let mut caller =
        curl.arg(format!("https://{}{ORDERS_CALL}", served.operator())).spawn().unwrap();
    wait_until("the database holds the dictionary", || server.sql(&sql("held")).unwrap() == "1");
    caller.kill().unwrap();
    caller.wait().unwrap();
    served.signal("TERM");
    served.stderr_until("stopping: finishing open requests");
    server.sql(&sql("end_held")).unwrap();
    assert!(served.wait().success());
    assert!(!served.stderr().contains("panicked"), "{}", served.stderr());
}
