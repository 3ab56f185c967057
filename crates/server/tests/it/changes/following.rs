//! ORD-26: a follower of the changes misses none, however many write on however many nodes, and
//! however often it is killed.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kiosque_testkit::{CHANGES_PATH, ORDERS_CALL, Rng, TestServer, eventually, seed, size};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::{changes, fleet, line, walk};
use crate::operator::counts;

const WRITERS: usize = 8;

/// The totals of orders by their ids.
type Totals = BTreeMap<String, i64>;

/// The copy of a follower. Records and cursor are stored together.
#[derive(Default)]
struct Copy {
    orders: Totals,
    after: Value,
    last_change_no: i64,
}

/// Posts orders and updates of them until it is to stop; returns the last content of each.
async fn write(server: Arc<TestServer>, key: String, name: usize, stop: Arc<AtomicBool>) -> Totals {
    let (mut rng, mut sent) = (Rng::seeded(seed() + name as u64), Totals::new());
    let mut caller = server.connect_operator().await;
    for round in 0.. {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let mut body = String::new();
        for at in 0..=rng.below(5) {
            // Some are new, some were sent before, in this request perhaps.
            let number = rng.below(round + 2);
            let (id, total) =
                (format!("w{name}-{number}"), i64::try_from(round * 10 + at).unwrap());
            body.push_str(&line(&id, total));
            sent.insert(id, total);
        }
        let request = http::Request::post(ORDERS_CALL).header("host", "localhost");
        let request = request.header("authorization", format!("Bearer {key}"));
        let request = request.body(http_body_util::Full::from(body)).unwrap();
        assert_eq!(counts(&caller.send(request).await)[3], 0);
    }
    sent
}

/// Follows the changes, beginning at the stored cursor.
fn follow(
    server: &Arc<TestServer>,
    token: &str,
    copy: &Arc<Mutex<Copy>>,
    size: usize,
) -> JoinHandle<()> {
    let (server, token, copy) = (Arc::clone(server), token.to_owned(), Arc::clone(copy));
    tokio::spawn(async move {
        let mut caller = server.connect().await;
        loop {
            let after = copy.lock().unwrap().after.clone();
            let body = json!({"after": after, "size": size, "waitSeconds": 60}).to_string();
            let reply = caller.call(CHANGES_PATH, Some(&token), &body).await;
            let (found, next, _) = changes(reply.success());
            let mut copy = copy.lock().unwrap();
            for (change_no, id, total) in found {
                assert!(change_no > copy.last_change_no, "{change_no} after a higher one");
                copy.last_change_no = change_no;
                copy.orders.insert(id, total);
            }
            copy.after = json!(next);
        }
    })
}

/// On each node a follower is killed repeatedly, and continues from its last stored cursor.
#[tokio::test(flavor = "multi_thread")]
async fn followers_of_changes_that_are_killed_miss_nothing() {
    let kills = size(20, 500);
    let mut rng = Rng::seeded(seed());
    let first = TestServer::start(fleet()).await;
    let second = first.another_node().await;
    let (token, key) = (first.log_in("ops").await.token, first.create_key("orders").await);
    let nodes = [Arc::new(first), Arc::new(second)];
    let stop = Arc::new(AtomicBool::new(false));
    let writers: Vec<_> = (0..WRITERS)
        .map(|name| {
            let node = Arc::clone(&nodes[name % 2]);
            tokio::spawn(write(node, key.clone(), name, Arc::clone(&stop)))
        })
        .collect();
    let copies = [(); 2].map(|()| Arc::new(Mutex::new(Copy::default())));
    let mut followers = [0, 1].map(|at| follow(&nodes[at], &token, &copies[at], 7));
    for kill in 0..kills {
        let at = kill % 2;
        let before = copies[at].lock().unwrap().last_change_no;
        eventually("a follower goes on", async || {
            assert!(!followers[at].is_finished(), "a follower failed");
            copies[at].lock().unwrap().last_change_no > before
        })
        .await;
        // At another moment of its request each time.
        tokio::time::sleep(Duration::from_micros(rng.below(20_000) as u64)).await;
        followers[at].abort();
        assert!((&mut followers[at]).await.unwrap_err().is_cancelled(), "a follower failed");
        followers[at] = follow(&nodes[at], &token, &copies[at], 1 + rng.below(100));
    }
    stop.store(true, Ordering::Relaxed);
    let mut sent = Totals::new();
    for writer in writers {
        sent.extend(writer.await.unwrap());
    }
    for (copy, follower) in copies.iter().zip(&followers) {
        eventually("every order has its last content", async || {
            assert!(!follower.is_finished(), "a follower failed");
            copy.lock().unwrap().orders == sent
        })
        .await;
        follower.abort();
    }
    for (node, size) in nodes.iter().zip([3, 1_000]) {
        let walked = walk(node, &token, size).await;
        assert!(walked.is_sorted_by(|one, next| one.0 < next.0), "strictly rising");
        assert_eq!(walked.len(), sent.len());
        assert_eq!(walked.into_iter().map(|(_, id, total)| (id, total)).collect::<Totals>(), sent);
    }
    println!("{kills} kills, {} orders", sent.len());
}
