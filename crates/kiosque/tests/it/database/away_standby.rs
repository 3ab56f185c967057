//! A synchronous standby is away, so that no commit completes: a request that gives up releases its
//! connection to the primary.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use kiosque_testdb::{Durability, Server};
use kiosque_testkit::{ORDERS_CALL, Served, sql, wait_until};

use super::{create_data, log_in, node, order, until_good};

/// Posts that are tried while the standby is away: in each, a lease is renewed more than once.
const TRIES: usize = 10;
/// A lease that is being renewed, one that was given up a moment ago, and as many for an order.
const MORE_AT_MOST: usize = 6;

fn backends(primary: &Server) -> usize {
    primary.sql(&sql("backends")).unwrap().parse().unwrap()
}

/// Posts orders one by one; no answer may say that one is stored.
fn post_all_the_while(served: &Served, key: &str, tries: &AtomicUsize, stop: &AtomicBool) {
    let mut caller = served.connect_operator();
    while !stop.load(Ordering::Relaxed) {
        let at = tries.load(Ordering::Relaxed);
        let reply = caller.call_operator(ORDERS_CALL, key, &order("a", at)).unwrap();
        assert!([500, 503].contains(&reply.status), "{reply:?}");
        tries.store(at + 1, Ordering::Relaxed);
    }
}

#[test]
fn a_standby_that_is_away_piles_up_nothing_on_its_primary() {
    let primary = Server::start(Durability::Full).unwrap();
    let standby = primary.standby().unwrap();
    let node = node(&[&primary, &standby]);
    let key = create_data(&node);
    let quick = ["--session-lease", "300ms", "--clock-skew", "100ms", "--store-wait", "500ms"];
    let served = node.serve_with(&quick);
    let token = log_in(&mut served.connect(), "guest");
    let (before, stop) = (backends(&primary), AtomicBool::new(false));
    let tries = AtomicUsize::new(0);
    standby.freeze().unwrap();
    let now = thread::scope(|scope| {
        scope.spawn(|| post_all_the_while(&served, &key, &tries, &stop));
        wait_until("posts are tried and answered", || tries.load(Ordering::Relaxed) >= TRIES);
        // Connections that are not released would add up, and never decrease again.
        let mut now = 0;
        wait_until("the places of earlier commits are given back", || {
            now = backends(&primary);
            now <= before + MORE_AT_MOST
        });
        stop.store(true, Ordering::Relaxed);
        now
    });
    standby.thaw().unwrap();
    let back = until_good(&mut served.connect(), &token);
    let mut caller = served.connect_operator();
    // A commit may still take longer than the store waits.
    wait_until("an order is stored again", || {
        caller.call_operator(ORDERS_CALL, &key, &order("a", 0)).unwrap().status == 200
    });
    println!("{before} backends, {now} while it was away; {tries:?} posts; back after {back:?}");
}
