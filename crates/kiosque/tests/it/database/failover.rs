//! A primary fails under load, and its synchronous standby takes its place.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use kiosque_testdb::{Durability, Server};
use kiosque_testkit::blocking::Client;
use kiosque_testkit::{CHANGES_PATH, ORDERS_CALL, Sandbox, Served, runs, wait_until};
use serde_json::{Value, json};

use super::{create_data, log_in, node, order, until_good, use_of};

/// The answers to a client that posts orders.
#[derive(Default)]
struct Posted {
    answered: String,
    failures: usize,
}

/// Posts orders, a few at a time. Those not answered with success are sent again unchanged.
fn post(
    mut caller: Client,
    key: &str,
    name: &str,
    (answered, stop): (&AtomicUsize, &AtomicBool),
) -> Posted {
    let (mut posted, mut at) = (Posted::default(), 0);
    while !stop.load(Ordering::Relaxed) {
        let body: String = (at..at + 20).map(|at| order(name, at)).collect();
        let reply = caller.call_operator(ORDERS_CALL, key, &body).unwrap();
        if reply.status == 200 {
            assert_eq!(reply.json["rejectedCount"], 0, "{:?}", reply.json);
            posted.answered.push_str(&body);
            answered.fetch_add(1, Ordering::Relaxed);
            at += 20;
        } else {
            assert!([500, 503].contains(&reply.status), "{reply:?}");
            posted.failures += 1;
            thread::sleep(Duration::from_millis(20));
        }
    }
    posted
}

/// Uses one token throughout: no login replaces it, so any -4 is wrong.
fn use_all_the_while(mut caller: Client, token: &str, stop: &AtomicBool) -> (usize, usize) {
    let (mut good, mut failed) = (0, 0);
    while !stop.load(Ordering::Relaxed) {
        match use_of(&mut caller, token) {
            200 => good += 1,
            500 => failed += 1,
            code => panic!("a good token was answered {code}"),
        }
        thread::sleep(Duration::from_millis(2));
    }
    (good, failed)
}

/// Follows the changes of the group until all orders are posted and no change is left, and returns
/// the ids of the orders (ORD-26). A request that fails is sent again.
fn follow(mut caller: Client, token: &str, all_posted: &AtomicBool) -> BTreeSet<String> {
    let (mut seen, mut after, mut last) = (BTreeSet::new(), Value::Null, 0);
    loop {
        let is_end = all_posted.load(Ordering::Relaxed);
        let body = json!({"after": after, "size": 50, "waitSeconds": 1}).to_string();
        let reply = caller.call(CHANGES_PATH, Some(token), &body);
        if reply.code() == 500 {
            thread::sleep(Duration::from_millis(20));
            continue;
        }
        let data = reply.success();
        let records = data["records"].as_array().unwrap();
        for record in records {
            let change_no = record["changeNo"].as_i64().unwrap();
            assert!(change_no > last, "{change_no} after {last}");
            last = change_no;
            seen.insert(record["order"]["orderId"].as_str().unwrap().to_owned());
        }
        if is_end && records.is_empty() {
            return seen;
        }
        after = data["next"].clone();
    }
}

/// A follower, which returns the ids of the orders that it has seen.
type Follower<'s> = thread::ScopedJoinHandle<'s, BTreeSet<String>>;

/// Waits for the end of followers, and returns the orders that were answered and that one of them
/// has not seen.
fn missed(followers: [Follower<'_>; 2], posted: &[Posted; 2]) -> Vec<String> {
    let seen = followers.map(|follower| follower.join().unwrap());
    let lines = posted.iter().flat_map(|posted| posted.answered.lines());
    let orders = lines.map(|line| serde_json::from_str::<Value>(line).unwrap());
    let ids = orders.map(|order| order["orderId"].as_str().unwrap().to_owned());
    ids.filter(|id| seen.iter().any(|seen| !seen.contains(id))).collect()
}

/// Starts a follower on each node.
fn start_followers<'s>(
    scope: &'s thread::Scope<'s, '_>,
    nodes: &[Served; 2],
    (token, all_posted): (&'s str, &'s AtomicBool),
) -> [Follower<'s>; 2] {
    nodes.each_ref().map(|node| {
        let caller = node.connect();
        scope.spawn(move || follow(caller, token, all_posted))
    })
}

/// Makes one failover under load; returns the answers and how long the service was away.
fn fail_over(
    nodes: &[Served; 2],
    key: &str,
    round: usize,
    primary: &mut Server,
    standby: &Server,
) -> (String, Duration) {
    let guest = log_in(&mut nodes[0].connect(), "guest");
    let (stop, all_posted) = (AtomicBool::new(false), AtomicBool::new(false));
    let answered = [(); 2].map(|()| AtomicUsize::new(0));
    let all_answered = |more: usize| {
        let wanted = answered.each_ref().map(|posts| posts.load(Ordering::Relaxed) + more);
        let is_there =
            |(posts, wanted): (&AtomicUsize, &usize)| posts.load(Ordering::Relaxed) >= *wanted;
        wait_until("posts are answered", || answered.iter().zip(&wanted).all(is_there));
    };
    thread::scope(|scope| {
        let posters = [0, 1].map(|at| {
            let (caller, name) = (nodes[at].connect_operator(), format!("r{round}n{at}"));
            let shared = (&answered[at], &stop);
            scope.spawn(move || post(caller, key, &name, shared))
        });
        let users = [0, 1].map(|at| {
            let (caller, token, stop) = (nodes[at].connect(), guest.as_str(), &stop);
            scope.spawn(move || use_all_the_while(caller, token, stop))
        });
        let followers = start_followers(scope, nodes, (guest.as_str(), &all_posted));
        let logins = scope.spawn(|| {
            let mut caller = nodes[1].connect();
            while !stop.load(Ordering::Relaxed) {
                let token = log_in(&mut caller, "walker");
                assert_ne!(use_of(&mut caller, &token), -4, "its own login was not the last");
            }
        });
        all_answered(3);
        // At another moment of the load each time.
        thread::sleep(Duration::from_millis(37 * (round as u64 % 10)));
        primary.kill_9().unwrap();
        standby.promote().unwrap();
        let promoted = Instant::now();
        for node in nodes {
            until_good(&mut node.connect(), &guest);
        }
        let away = promoted.elapsed();
        all_answered(1);
        stop.store(true, Ordering::Relaxed);
        logins.join().unwrap();
        let uses = users.map(|user| user.join().unwrap());
        let posted = posters.map(|poster| poster.join().unwrap());
        all_posted.store(true, Ordering::Relaxed);
        assert_eq!(missed(followers, &posted), [""; 0]);
        let failures: usize = posted.iter().map(|posted| posted.failures).sum();
        println!(
            "round {round}: {} orders answered, {failures} posts failed, uses (good, failed) \
             {uses:?}, back {away:?} after the promotion",
            posted.iter().map(|posted| posted.answered.lines().count()).sum::<usize>()
        );
        (posted.map(|posted| posted.answered).concat(), away)
    })
}

/// "0 acknowledged orders lost, 0 twice, `verify` clean, 0 false -4"; how soon after the promotion
/// the service is back is printed.
#[test]
fn kill_9_of_a_primary_loses_nothing_that_was_answered() {
    let rounds = runs(2, 100);
    let mut primary = Server::start(Durability::Full).unwrap();
    let mut standby = primary.standby().unwrap();
    let key = create_data(&node(&[&primary, &standby]));
    let (mut total, mut longest) = (0, Duration::ZERO);
    for round in 0..rounds {
        let nodes = [(); 2].map(|()| node(&[&primary, &standby]));
        let served = nodes.each_ref().map(Sandbox::serve);
        let (answered, away) = fail_over(&served, &key, round, &mut primary, &standby);
        longest = longest.max(away);
        let sent = answered.lines().count();
        assert!(sent > 0);
        let mut operator = served[0].connect_operator();
        let again = operator.call_operator(ORDERS_CALL, &key, &answered).unwrap();
        assert_eq!(again.json["unchanged"], sent, "round {round}: {:?}", again.json);
        drop(served);
        nodes[0].verified();
        total += sent;
        primary = standby;
        standby = primary.standby().unwrap();
    }
    println!("{rounds} failovers, {total} orders answered, none lost; away {longest:?} at most");
}
