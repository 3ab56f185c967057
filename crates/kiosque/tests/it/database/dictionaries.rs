//! The dictionary of the data, trained by a process that is killed.

use kiosque_testdb::{Durability, Server};
use kiosque_testkit::{sql, wait_until};

use super::{create_data, node, order};

const ORDERS: usize = 6_000;

/// An import is killed while it adds the dictionary that it has trained: the orders before are
/// stored, and the next import trains one.
#[test]
fn an_import_that_is_killed_as_it_trains_loses_nothing() {
    let server = Server::start(Durability::Full).unwrap();
    let node = node(&[&server]);
    create_data(&node);
    server.sql(sql::HOLD_DICTIONARY).unwrap();
    let file: String = (0..ORDERS).map(|at| order("t", at)).collect();
    let file = node.file("orders.ndjson", file);
    let count = |sql| server.sql(sql).unwrap().parse::<usize>().unwrap();

    let mut import = node.spawn(&["import", "orders", &file]);
    wait_until("the database holds the dictionary", || count(sql::HELD) == 1);
    import.kill_9();
    server.sql(sql::END_HELD).unwrap();
    wait_until("its session ends", || count(sql::HELD) == 0);
    let stored = count(sql::ORDERS_STORED);
    assert!((4_000..ORDERS).contains(&stored), "{stored}");
    assert_eq!(count(sql::DICTIONARIES), 0);

    let again = node.run(&["import", "orders", &file]).success().stdout;
    let counts = format!("{} accepted, 0 updated, {stored} unchanged, 0 rejected", ORDERS - stored);
    assert!(again.contains(&counts), "{again}");
    assert_eq!((count(sql::ORDERS_STORED), count(sql::DICTIONARIES)), (ORDERS, 1));
    node.run(&["verify"]).success();
}
