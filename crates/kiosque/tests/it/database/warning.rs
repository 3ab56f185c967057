//! A commit that returns a warning: it is durable here, and perhaps not on the standby.

use std::thread;

use kiosque_testdb::{Durability, Server};
use kiosque_testkit::{TOKEN_PATH, sql, wait_until};

use super::{create_data, log_in, node};

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
