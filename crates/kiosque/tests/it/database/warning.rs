//! A commit that returns a warning: it is durable here, and perhaps not on the standby.

use std::thread;

use kiosque_testdb::{Durability, Server};
use kiosque_testkit::{TOKEN_PATH, sql, wait_until};
use serde_json::Value;

use super::{create_data, log_in, node, order};

/// A commit that returns a warning is not reported as done.
#[test]
fn a_commit_with_a_cancelled_wait_for_the_standby_is_not_reported_as_done() {
    let primary = Server::start(Durability::Full).unwrap();
    let standby = primary.standby().unwrap();
    let node = node(&[&primary, &standby]);
    create_data(&node);
    // A long lease: the test is about the commit.
    let served = node.serve_with(&["--session-lease", "1h", "--store-wait", "5m"]);
    log_in(&mut served.connect(), "guest");
    standby.freeze().unwrap();
    let reply = thread::scope(|scope| {
        let login = scope.spawn(|| {
            let body = r#"{"username":"guest","password":"secret"}"#;
            served.connect().call(TOKEN_PATH, None, body)
        });
        wait_until("the login is answered", || {
            primary.sql(&sql("cancel_waits")).unwrap();
            login.is_finished()
        });
        login.join().unwrap()
    });
    standby.thaw().unwrap();
    assert_eq!((reply.status, reply.code()), (500, 500), "{reply:?}");
    let message = reply.json["data"].as_str().unwrap();
    assert!(message.contains("not known whether this was done"), "{message}");
}

/// An import of which a commit has an unknown outcome may have stored orders: it stays in the list,
/// and its trail does not say how many it has stored.
#[test]
fn an_import_with_an_unknown_outcome_is_not_removed() {
    let server = Server::start(Durability::Full).unwrap();
    let node = node(&[&server]);
    create_data(&node);
    let rates = node.file("rates.csv", "date,currency,usd_per_unit\n2026-01-01,EUR,1.1\n");
    let orders = node.file("orders.ndjson", order("o", 1));
    for (table, args) in
        [("orders", ["import", "orders", &orders]), ("rates", ["import", "rates", &rates])]
    {
        server.sql(&sql("warn_at_commit").replace("THE_TABLE", table)).unwrap();
        let ran = node.run(&args);
        assert_eq!(ran.status, 1, "{ran:?}");
        let said = "it is not known whether this was done";
        assert!(ran.stderr.contains(said), "{ran:?}");
        assert_eq!(ran.stderr.contains("at least 0 orders of"), table == "orders", "{ran:?}");
        server.sql("drop function warn_at_commit cascade").unwrap();
    }
    let fields = |command: &[&str], path: &str| -> Vec<Value> {
        let entries = node.json(command);
        entries
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one.pointer(path).cloned().unwrap_or_default())
            .collect()
    };
    let trail = ["audit", "--event", "importInterrupted"];
    assert_eq!(fields(&trail, "/details/importId"), ["2", "1"]);
    assert_eq!(fields(&trail, "/details/orders"), [Value::Null, Value::Null]);
    assert_eq!(fields(&["import", "list"], "/importId"), ["2", "1"]);
    assert_eq!(node.verified(), 1);
}
