//! A standby is promoted while the old primary lives on, and a node still speaks to it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use kiosque_testdb::{Durability, Server};

use super::{Node, log_in, use_of};

/// The instants at which uses of a token were begun that the node on the old primary let in, and
/// when another node had answered a login that replaced it.
fn accepted_and_replaced(of_old: &[&str], of_new: &[&str]) -> (Vec<Instant>, Instant) {
    let primary = Server::start(Durability::Full).unwrap();
    let standby = primary.standby().unwrap();
    // Each knows one of the two, as if a line between the others were cut.
    let (on_old, on_new) = (Node::on(&[&primary]), Node::on(&[&standby]));
    on_old.furnish();
    let old = on_old.serve(of_old);
    let token = log_in(&mut old.caller(), "guest");
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let stale = scope.spawn(|| {
            let (mut caller, mut accepted) = (old.caller(), Vec::new());
            while !stop.load(Ordering::Relaxed) {
                let begun = Instant::now();
                match use_of(&mut caller, &token).0 {
                    200 => accepted.push(begun),
                    code => assert_eq!(code, 500, "a node that cannot know says so"),
                }
            }
            accepted
        });
        thread::sleep(Duration::from_millis(300));
        standby.promote().unwrap();
        let new = on_new.serve(of_new);
        log_in(&mut new.caller(), "guest");
        let replaced = Instant::now();
        thread::sleep(Duration::from_millis(1_500));
        stop.store(true, Ordering::Relaxed);
        (stale.join().unwrap(), replaced)
    })
}

/// "The old primary kept alive: 0 stale tokens accepted after the lease."
#[test]
fn a_node_on_an_old_primary_accepts_no_token_that_was_replaced_on_the_new() {
    let (accepted, replaced) = accepted_and_replaced(&[], &[]);
    let stale = accepted.iter().filter(|begun| **begun > replaced).count();
    println!("{} uses accepted, {stale} of a replaced token", accepted.len());
    assert!(!accepted.is_empty());
    assert_eq!(stale, 0);
}

/// A lease that outlives the promotion, and a node that waits for a shorter one: it is found.
#[test]
fn a_lease_that_nobody_waits_for_is_found() {
    let quick = ["--session-lease", "300ms", "--clock-skew", "100ms"];
    let (accepted, replaced) = accepted_and_replaced(&["--session-lease", "1h"], &quick);
    let stale = accepted.iter().filter(|begun| **begun > replaced).count();
    println!("{} uses accepted, {stale} of a replaced token", accepted.len());
    assert!(stale > 0);
}
