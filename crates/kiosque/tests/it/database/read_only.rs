//! A database that refuses all changes.

use kiosque_testdb::{Durability, Server};
use kiosque_testkit::wait_until;

use super::{create_data, node};
use crate::shell;

/// The lease is renewed by writes, so a server notices before an order is refused.
#[test]
fn a_database_that_is_read_only_takes_no_orders() {
    let server = Server::start(Durability::Full).unwrap();
    let node = node(&[&server]);
    create_data(&node);
    let served = node.serve();
    let orders = || shell::get(&served, "/readyz/orders");
    assert_eq!(orders().0, 200);
    server.sql("alter system set default_transaction_read_only = on").unwrap();
    server.sql("select pg_reload_conf()").unwrap();
    let mut answer = orders();
    wait_until("it is noticed", || {
        answer = orders();
        answer.0 == 503
    });
    assert!(answer.1.contains("orders cannot be stored: "), "{answer:?}");
    // Of a renewal over an open connection, and over a new one.
    let reasons = ["(25006)", "database does not allow writes"];
    assert!(reasons.iter().any(|reason| answer.1.contains(reason)), "{answer:?}");
}
