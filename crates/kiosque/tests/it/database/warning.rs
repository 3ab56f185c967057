//! A commit that returns a warning: it is durable here, and perhaps not on the standby.

use std::thread;

use kiosque_testdb::{Durability, Server};

use super::{Node, log_in};
use crate::caller::TOKEN_PATH;
use crate::program::wait_until;

/// Cancels the waits for the standby.
const CANCEL: &str = include_str!("../../../../../testkit/sql/cancel_waits.sql");

/// A commit that returns a warning is not reported as done.
#[test]
fn a_commit_whose_wait_for_the_standby_was_cancelled_is_not_told_as_done() {
    let primary = Server::start(Durability::Full).unwrap();
    let standby = primary.standby().unwrap();
    let node = Node::on(&[&primary, &standby]);
    node.furnish();
    // A long lease: the test is about the commit.
    let served = node.serve(&["--session-lease", "1h", "--store-wait", "5m"]);
    log_in(&mut served.caller(), "guest");
    standby.freeze().unwrap();
    let reply = thread::scope(|scope| {
        let login = scope.spawn(|| {
            let body = r#"{"username":"guest","password":"secret"}"#;
            served.caller().call(TOKEN_PATH, None, body)
        });
        wait_until("the login is answered", || {
            primary.sql(CANCEL).unwrap();
            login.is_finished()
        });
        login.join().unwrap()
    });
    standby.thaw().unwrap();
    assert_eq!((reply.status, reply.code()), (500, 500), "{reply:?}");
    let told = reply.json["data"].as_str().unwrap();
    assert!(told.contains("not known whether this was done"), "{told}");
}
