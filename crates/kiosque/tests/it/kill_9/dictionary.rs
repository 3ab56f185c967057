//! A server that is killed in the transaction that stores the dictionary.

use std::ops::Range;
use std::thread;
use std::time::Duration;

use kiosque_testkit::{ORDERS_CALL, Sandbox, sql, wait_until};
use rusqlite::TransactionBehavior;

use super::{ORDERS, fleet, put_order};
use crate::KIOSQUE;

/// Fewer than a dictionary is trained from.
const ACKNOWLEDGED: usize = 3_000;

fn file(orders: Range<usize>) -> String {
    let mut file = String::new();
    orders.for_each(|at| put_order(&mut file, at, 0));
    file
}

fn count(sandbox: &Sandbox, sql: &str) -> usize {
    let count: i64 = sandbox.run_sql("").query_row(sql, [], |row| row.get(0)).unwrap();
    usize::try_from(count).unwrap()
}

/// Waits until enough orders for a dictionary are stored, and a transaction holds the lock of
/// writers: the one that stores the dictionary, since no orders follow before it.
fn wait_until_it_stores_the_dictionary(sandbox: &Sandbox) {
    let mut connection = sandbox.run_sql("");
    connection.busy_timeout(Duration::ZERO).unwrap();
    wait_until("a process stores the dictionary", || {
        count(sandbox, &sql("orders_stored")) >= 4_000
            && connection.transaction_with_behavior(TransactionBehavior::Immediate).is_err()
    });
}

/// The orders that were acknowledged are stored, and the next stream stores a dictionary.
#[test]
fn a_server_that_is_killed_as_it_stores_the_dictionary_loses_nothing() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "UTC");
    drop(sandbox.run_sql(&sql("hold_dictionary_sqlite")));
    let key = sandbox.create_key(&["tills"]);
    let mut served = sandbox.serve();
    let first = served.post_orders(&key, &file(0..ACKNOWLEDGED));
    assert_eq!(first.json["accepted"], ACKNOWLEDGED);
    let mut caller = served.connect_operator();
    let unanswered = {
        let (key, orders) = (key.clone(), file(ACKNOWLEDGED..ORDERS));
        thread::spawn(move || caller.call_operator(ORDERS_CALL, &key, &orders).is_err())
    };
    wait_until_it_stores_the_dictionary(&sandbox);
    served.kill_9();
    assert!(unanswered.join().unwrap());
    drop(sandbox.run_sql("drop trigger hold_dictionary"));
    let stored = sandbox.verified();
    assert!((4_000..ORDERS).contains(&stored), "{stored}");
    assert_eq!(count(&sandbox, &sql("dictionaries")), 0);
    let again = sandbox.serve().post_orders(&key, &file(0..ORDERS));
    assert_eq!([&again.json["accepted"], &again.json["unchanged"]], [ORDERS - stored, stored]);
    assert_eq!(sandbox.verified(), ORDERS);
    assert_eq!(count(&sandbox, &sql("dictionaries")), 1);
}
