//! A database that accepts no more connections.

use kiosque_testdb::{Durability, Server};
use kiosque_testkit::{ORDERS_CALL, sql, wait_until};
use serde_json::Value;

use super::{UNHURRIED, create_data, node_of_owner, order};
use crate::shell;

/// While no connection is left for orders, they are refused with the reason, and `/readyz/orders`
/// and its gauge show it, until there is one again.
#[test]
fn a_database_without_a_connection_takes_no_orders() {
    let server = Server::start(Durability::Off).unwrap();
    let node = node_of_owner(&server);
    let key = create_data(&node);
    let served = node.serve_with(&UNHURRIED);
    let mut operator = served.connect_operator();
    let mut post = |at| operator.call_operator(ORDERS_CALL, &key, &order("o", at)).unwrap();
    let ready = || shell::get(&served, "/readyz/orders");
    assert_eq!(ready(), (200, "ready\n".to_owned()));
    server.sql("alter role tills connection limit 0").unwrap();
    let reason = format!(
        "the database cannot be relied on at the moment: 127.0.0.1:{}: too many connections for \
         role \"tills\" (53300)",
        server.port()
    );
    let detail = |body: &str| serde_json::from_str::<Value>(body).unwrap()["detail"].clone();
    wait_until("orders are refused with the reason", || {
        // One that was in use may be idle now.
        server.sql(&sql("end_pooled")).unwrap();
        let posted = post(0);
        let (status, body) = ready();
        let metrics = shell::get(&served, "/metrics").1;
        (posted.status, status) == (503, 503)
            && posted.json["detail"] == format!("orders cannot be stored ({reason})")
            && detail(&body) == format!("orders cannot be stored: {reason}")
            && metrics.contains(r#"kiosque_ready{path="/readyz/orders"} 0"#)
    });
    server.sql("alter role tills connection limit -1").unwrap();
    wait_until("there is a connection again", || ready().0 == 200);
    let posted = post(1);
    assert_eq!((posted.status, &posted.json["accepted"]), (200, &1.into()), "{posted:?}");
}
