//! A synchronous standby is away, so that no commit comes to an end: whoever gives one up gives its
//! place on the primary back.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use kiosque_testdb::{Durability, Server};

use super::{Node, log_in, order, until_good};
use crate::program::Served;

const ORDERS_CALL: &str = "/operator/v1/orders";
const BACKENDS: &str = include_str!("../../../../../testkit/sql/backends.sql");

/// How long the standby is away: for some twenty renewals of a lease.
const AWAY: Duration = Duration::from_secs(6);
/// A lease that is being renewed, one that was given up a moment ago, and as many for an order.
const MORE_AT_MOST: usize = 6;

fn backends(primary: &Server) -> usize {
    primary.sql(BACKENDS).unwrap().parse().unwrap()
}

/// Posts orders one by one; nobody may be told that one is there.
fn post_all_the_while(served: &Served, key: &str, stop: &AtomicBool) -> usize {
    let (mut caller, mut tries) = (served.operator_caller(), 0);
    while !stop.load(Ordering::Relaxed) {
        let reply = caller.operate(ORDERS_CALL, key, &order("a", tries)).unwrap();
        assert!([500, 503].contains(&reply.status), "{reply:?}");
        tries += 1;
    }
    tries
}

#[test]
fn a_standby_that_is_away_piles_up_nothing_on_its_primary() {
    let primary = Server::start(Durability::Full).unwrap();
    let standby = primary.standby().unwrap();
    let node = Node::on(&[&primary, &standby]);
    let key = node.furnish();
    let quick = ["--session-lease", "300ms", "--clock-skew", "100ms", "--store-wait", "500ms"];
    let served = node.serve(&quick);
    let token = log_in(&mut served.caller(), "guest");
    let (before, stop) = (backends(&primary), AtomicBool::new(false));
    standby.freeze().unwrap();
    let (most, tries) = thread::scope(|scope| {
        let posts = scope.spawn(|| post_all_the_while(&served, &key, &stop));
        let (begun, mut most) = (Instant::now(), 0);
        while begun.elapsed() < AWAY {
            most = most.max(backends(&primary));
            thread::sleep(Duration::from_millis(100));
        }
        stop.store(true, Ordering::Relaxed);
        (most, posts.join().unwrap())
    });
    standby.thaw().unwrap();
    let back = until_good(&mut served.caller(), &token);
    let again = served.operator_caller().operate(ORDERS_CALL, &key, &order("a", 0)).unwrap();
    assert_eq!(again.status, 200, "{again:?}");
    println!("{before} backends, {most} while it was away; {tries} posts; back after {back:?}");
    assert!(tries > 0);
    assert!(most <= before + MORE_AT_MOST, "{before} backends became {most}");
}
