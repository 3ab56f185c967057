//! A standby is promoted while the old primary continues, and a node is still connected to it.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use kiosque_testdb::{Durability, Server};
use kiosque_testkit::wait_until;

use super::{Node, log_in, use_of};

const ACTIVITY: &str = "/operator/v1/activity";
/// Uses of the old token that are answered after it has been replaced.
const USES_AFTER: usize = 20;

/// Returns the start times of the uses of a token that the node on the old primary accepted, and
/// the time at which another node had answered a login that replaced it.
fn accepted_and_replaced(of_old: &[&str], of_new: &[&str]) -> (Vec<Instant>, Instant) {
    let primary = Server::start(Durability::Full).unwrap();
    let standby = primary.standby().unwrap();
    // Each knows one of the two, as if the network between the others were cut.
    let (on_old, on_new) = (Node::on(&[&primary]), Node::on(&[&standby]));
    on_old.create_data();
    let old = on_old.serve(of_old);
    let token = log_in(&mut old.connect(), "guest");
    let (stop, uses) = (AtomicBool::new(false), [(); 2].map(|()| AtomicUsize::new(0)));
    let [all_uses, good_uses] = &uses;
    thread::scope(|scope| {
        let stale = scope.spawn(|| {
            let (mut caller, mut accepted) = (old.connect(), Vec::new());
            while !stop.load(Ordering::Relaxed) {
                let begun = Instant::now();
                match use_of(&mut caller, &token) {
                    200 => {
                        accepted.push(begun);
                        good_uses.fetch_add(1, Ordering::SeqCst);
                    }
                    code => assert_eq!(code, 500, "a node that cannot know says so"),
                }
                all_uses.fetch_add(1, Ordering::SeqCst);
            }
            accepted
        });
        wait_until("the token is used", || good_uses.load(Ordering::SeqCst) > 0);
        standby.promote().unwrap();
        let new = on_new.serve(of_new);
        log_in(&mut new.connect(), "guest");
        let replaced = Instant::now();
        let before = all_uses.load(Ordering::SeqCst);
        wait_until("uses after that are answered", || {
            all_uses.load(Ordering::SeqCst) >= before + USES_AFTER
        });
        stop.store(true, Ordering::Relaxed);
        (stale.join().unwrap(), replaced)
    })
}

/// AUTH-22: with the old primary alive, no stale token is accepted after the lease has ended.
#[test]
fn a_node_on_an_old_primary_accepts_no_token_that_was_replaced_on_the_new() {
    let (accepted, replaced) = accepted_and_replaced(&[], &[]);
    let stale = accepted.iter().filter(|begun| **begun > replaced).count();
    println!("{} uses accepted, {stale} of a replaced token", accepted.len());
    assert!(!accepted.is_empty());
    assert_eq!(stale, 0);
}

/// The same holds for the key of an operator: while the old primary continues, the node on it says
/// that it does not know.
#[test]
fn a_node_on_an_old_primary_accepts_no_key_that_was_revoked_on_the_new() {
    let primary = Server::start(Durability::Full).unwrap();
    let standby = primary.standby().unwrap();
    let (on_old, on_new) = (Node::on(&[&primary]), Node::on(&[&standby]));
    let key = on_old.create_data();
    let old = on_old.serve(&[]);
    // No line: the call reads the key and nothing else.
    let mut caller = old.connect_operator();
    let mut status = || caller.call_operator(ACTIVITY, &key, "").unwrap().status;
    assert_eq!(status(), 200);
    standby.promote().unwrap();
    on_new.run(&["operator-key", "revoke", "tills"]).success();
    wait_until("the lease of the old node has ended", || status() == 503);
    for _ in 0..USES_AFTER {
        assert_eq!(status(), 503);
    }
}

/// A lease that outlives the promotion, and a node that waits for a shorter one: the test notices.
#[test]
fn a_lease_longer_than_the_wait_is_detected() {
    let quick = ["--session-lease", "300ms", "--clock-skew", "100ms"];
    let (accepted, replaced) = accepted_and_replaced(&["--session-lease", "1h"], &quick);
    let stale = accepted.iter().filter(|begun| **begun > replaced).count();
    println!("{} uses accepted, {stale} of a replaced token", accepted.len());
    assert!(stale > 0);
}
