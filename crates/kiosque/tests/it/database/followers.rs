//! Followers of the order changes: they continue after restarts, and are refused once changes that
//! they know of were lost (ORD-28).

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use kiosque_testdb::{Durability, Server};
use kiosque_testkit::blocking::Client;
use kiosque_testkit::{ORDERS_CALL, Served, sql, wait_until};
use serde_json::{Value, json};

use super::{UNHURRIED, address, create_data, fleet, log_in, node, order, until_good};
use crate::KIOSQUE;
use crate::feed::{ask, assert_refused, read};

/// Posts an order, until it is stored.
fn post(served: &Served, key: &str, (name, at): (&str, usize)) {
    let mut till = served.connect_operator();
    wait_until("the order is stored", || {
        let reply = till.call_operator(ORDERS_CALL, key, &order(name, at)).unwrap();
        assert!([200, 500, 503].contains(&reply.status), "{reply:?}");
        reply.status == 200
    });
}

/// Returns the ids of orders of one name, as [`read`] returns them.
fn ids(name: &str, numbers: std::ops::Range<usize>) -> String {
    numbers.map(|at| format!("{name}-{at}")).collect::<Vec<_>>().join(" ")
}

/// ORD-28: two nodes that are restarted in turn end no cursor, and add no histories but one each
/// time. A copy of the database does not have the changes that came later.
#[test]
fn a_database_that_was_copied_back_refuses_followers_of_lost_changes() {
    let server = Server::start(Durability::Off).unwrap();
    let nodes = [(); 2].map(|()| node(&[&server]));
    let key = create_data(&nodes[0]);
    let mut served = nodes.each_ref().map(|node| Some(node.serve_with(&UNHURRIED)));
    let token = log_in(&mut served[0].as_ref().unwrap().connect(), "guest");
    let mut cursors = vec![Value::Null];
    for at in 0..8 {
        let node = at % 2;
        post(served[node].as_ref().unwrap(), &key, ("o", at));
        let mut caller = served[1 - node].as_ref().unwrap().connect();
        assert_eq!(read(&mut caller, &token, &cursors[at], 10).1, ids("o", at..at + 1));
        cursors.push(read(&mut caller, &token, &cursors[at], 10).0);
        if at > 3 {
            served[node] = None;
            served[node] = Some(nodes[node].serve_with(&UNHURRIED));
        }
    }
    let histories = server.sql(&sql("histories")).unwrap();
    assert_eq!(histories, "4", "two nodes, each of which was restarted once before an order");
    let mut caller = served[0].as_ref().unwrap().connect();
    for (at, cursor) in cursors.iter().enumerate() {
        assert_eq!(read(&mut caller, &token, cursor, 10).1, ids("o", at..8));
    }

    drop((served, caller));
    let copy = "create database monday template kiosque";
    wait_until("the database is copied", || server.sql(copy).is_ok());
    let again = nodes[0].serve_with(&UNHURRIED);
    (8..11).for_each(|at| post(&again, &key, ("lost", at)));
    let (lost, seen) = read(&mut again.connect(), &token, &cursors[8], 10);
    assert_eq!(seen, ids("lost", 8..11));
    let (walking, _) = read(&mut again.connect(), &token, &cursors[2], 2);
    drop(again);

    let monday = format!("postgres://kiosque@127.0.0.1:{}/monday", server.port());
    let node = KIOSQUE.sandbox().on(&monday);
    let restored = node.serve_with(&UNHURRIED);
    let mut caller = restored.connect();
    for at in 8..13 {
        for cursor in [&lost, &walking] {
            assert_refused(&ask(&mut caller, &token, &json!({"after": cursor})));
        }
        assert_eq!(read(&mut caller, &token, &cursors[8], 10).1, ids("new", 8..at));
        post(&restored, &key, ("new", at));
    }
    assert_refused(&ask(&mut caller, &token, &json!({"after": lost})));
}

/// Waits for changes after a cursor until it is refused. Answers without a change are repeated.
fn wait_until_refused(mut caller: Client, token: &str, after: &Value, is_asking: &AtomicBool) {
    loop {
        is_asking.store(true, Ordering::SeqCst);
        let reply = ask(&mut caller, token, &json!({"after": after, "waitSeconds": 60}));
        if reply.code() != 200 {
            return assert_refused(&reply);
        }
        assert_eq!(reply.success()["records"], json!([]));
    }
}

/// ORD-28: a standby that did not get the last changes is promoted while the node runs. A waiting
/// follower is refused, and so are others, however many changes come after. Later orders have no
/// source that was lost with the changes.
#[test]
fn a_failover_that_lost_changes_refuses_their_followers() {
    let mut primary = Server::start(Durability::Full).unwrap();
    let standby = primary.standby().unwrap();
    let node = node(&[&primary, &standby]);
    let key = create_data(&node);
    let served = node.serve();
    let mut caller = served.connect();
    let token = log_in(&mut caller, "guest");
    (0..6).for_each(|at| post(&served, &key, ("o", at)));
    let (middle, _) = read(&mut caller, &token, &Value::Null, 3);
    let (end, _) = read(&mut caller, &token, &middle, 10);

    let key = node.create_key(&["other"]);
    primary.detach(&standby).unwrap();
    (6..10).for_each(|at| post(&served, &key, ("lost", at)));
    let (lost, seen) = read(&mut caller, &token, &end, 10);
    assert_eq!(seen, ids("lost", 6..10));
    let (walking, seen) = read(&mut caller, &token, &middle, 2);
    assert_eq!(seen, ids("o", 3..5));

    let is_asking = AtomicBool::new(false);
    thread::scope(|scope| {
        let waiting = served.connect();
        scope.spawn(|| wait_until_refused(waiting, &token, &lost, &is_asking));
        wait_until("a follower asks", || is_asking.load(Ordering::SeqCst));
        primary.kill_9().unwrap();
        standby.promote().unwrap();
    });
    until_good(&mut caller, &token);
    for at in 6..12 {
        for cursor in [&lost, &walking] {
            assert_refused(&ask(&mut caller, &token, &json!({"after": cursor})));
        }
        assert_eq!(read(&mut caller, &token, &end, 10).1, ids("new", 6..at));
        assert_eq!(read(&mut caller, &token, &middle, 2).1, ids("o", 3..5));
        post(&served, &key, ("new", at));
    }
    assert_refused(&ask(&mut caller, &token, &json!({"after": lost})));
    assert_eq!(standby.sql(&sql("orders_by_key")).unwrap(), "other|5\ntills|6\n|1");
    assert_eq!(node.verified(), 12);
}

/// ORD-28: a move to a database takes the histories along.
#[test]
fn a_follower_goes_on_after_a_move() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "UTC");
    for at in 0..6 {
        sandbox.import(order("m", at));
    }
    let served = sandbox.serve();
    let token = log_in(&mut served.connect(), "guest");
    let (middle, seen) = read(&mut served.connect(), &token, &Value::Null, 4);
    assert_eq!(seen, ids("m", 0..4));
    let (end, _) = read(&mut served.connect(), &token, &middle, 10);
    drop(served);

    let server = Server::start(Durability::Off).unwrap();
    let node = node(&[&server]);
    sandbox.run(&["move", "--store", &address(&[&server])]).success();
    node.import(order("m", 6));
    let moved = node.serve_with(&UNHURRIED);
    assert_eq!(read(&mut moved.connect(), &token, &middle, 10).1, ids("m", 4..7));
    assert_eq!(read(&mut moved.connect(), &token, &end, 10).1, ids("m", 6..7));
}
