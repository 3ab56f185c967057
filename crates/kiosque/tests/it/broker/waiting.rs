//! Workers that wait for changes, and the calls of others meanwhile.

use std::sync::{Arc, Mutex};

use kiosque_client::Request;
use kiosque_client::session::SessionParts;
use kiosque_testkit::{CHANGES_PATH, LOGOUT_PATH, Reply, TestServer, eventually};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::{LocalBroker, Worker, broker, observe};
use crate::client::{orders, server, trail};

/// The waits of the requests for changes that a broker has sent, in seconds.
type Waits = Arc<Mutex<Vec<u64>>>;

async fn recording_broker(
    server: &TestServer,
    change: impl FnOnce(&mut SessionParts),
) -> (LocalBroker, Waits) {
    let waits = Waits::default();
    let sent = Arc::clone(&waits);
    let see = move |request: &Request| {
        if request.path == CHANGES_PATH {
            let body: Value = serde_json::from_slice(&request.body).unwrap();
            sent.lock().unwrap().push(body["waitSeconds"].as_u64().unwrap_or_default());
        }
    };
    let local = broker(server, |parts| {
        observe(parts, see);
        change(parts);
    });
    (local.await, waits)
}

/// Returns a worker, and the cursor behind all changes of its group.
async fn at_the_end(local: &LocalBroker, group: &str) -> (Worker, String) {
    let mut worker = local.worker(group).await;
    let reply = worker.call(CHANGES_PATH, r#"{"size":200}"#).await;
    assert_eq!(reply.success()["more"], false);
    let cursor = reply.success()["next"].as_str().unwrap().to_owned();
    (worker, cursor)
}

/// Calls as a worker that waits for a minute. Returns once a request that waits has been sent.
async fn wait(mut worker: Worker, after: &str, waits: &Waits) -> JoinHandle<Reply> {
    let before = waits.lock().unwrap().iter().filter(|wait| **wait > 0).count();
    let body = json!({"after": after, "waitSeconds": 60}).to_string();
    let waiting = tokio::spawn(async move { worker.call(CHANGES_PATH, &body).await });
    eventually("the wait has been sent", async || {
        waits.lock().unwrap().iter().filter(|wait| **wait > 0).count() > before
    })
    .await;
    waiting
}

fn ids(reply: &Reply) -> Vec<&str> {
    let records = reply.success()["records"].as_array().unwrap();
    records.iter().map(|record| record["order"]["orderId"].as_str().unwrap()).collect()
}

/// AUTH-12, ORD-25, ORD-26: while a worker waits, another group is answered, and the wait still
/// ends with the change that comes later.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wait_does_not_hold_up_other_groups() {
    let server = server().await;
    let (local, waits) = recording_broker(&server, |_| {}).await;
    let (follower, cursor) = at_the_end(&local, "north").await;
    let waiting = wait(follower, &cursor, &waits).await;
    let mut other = local.worker("south").await;
    for _ in 0..3 {
        other.list_devices().await;
        assert!(!waiting.is_finished(), "the other group was answered after the wait");
    }
    server.import_valid(orders("north-1", 30..31)).await;
    assert_eq!(ids(&waiting.await.unwrap()), ["north-1-30"]);
    assert!(waits.lock().unwrap().iter().all(|wait| *wait <= 10), "{waits:?}");
    assert_eq!(trail(&server, "login").await, 1);
}

/// ORD-25: nor do any number of waits hold up calls of their own group.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waits_do_not_hold_up_their_own_group() {
    let server = server().await;
    let (local, waits) = recording_broker(&server, |parts| parts.pace.calls_max = 2).await;
    let mut waiting = Vec::new();
    for _ in 0..4 {
        let (follower, cursor) = at_the_end(&local, "north").await;
        waiting.push(wait(follower, &cursor, &waits).await);
    }
    local.worker("north").await.list_devices().await;
    assert!(waiting.iter().all(|waiting| !waiting.is_finished()), "answered after a wait");
    server.import_valid(orders("north-1", 30..31)).await;
    for waiting in waiting {
        assert_eq!(ids(&waiting.await.unwrap()), ["north-1-30"]);
    }
}

/// ORD-25: a wait ends without records when its time is over.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wait_ends_without_records() {
    let server = server().await;
    let (local, waits) = recording_broker(&server, |_| {}).await;
    let (mut follower, cursor) = at_the_end(&local, "north").await;
    waits.lock().unwrap().clear();
    let body = json!({"after": cursor, "waitSeconds": 1}).to_string();
    let reply = follower.call(CHANGES_PATH, &body).await;
    let data = json!({"records": [], "next": cursor, "more": false});
    assert_eq!(*reply.success(), data);
    let waits = waits.lock().unwrap();
    assert_eq!(waits.iter().filter(|wait| **wait == 0).count(), 1, "{waits:?}");
    assert!(waits.iter().all(|wait| *wait <= 1), "{waits:?}");
}

/// ORD-27: the session of a worker that waits is proven, too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wait_ends_with_the_session_of_its_worker() {
    let server = server().await;
    let (local, waits) = recording_broker(&server, |_| {}).await;
    let (follower, cursor) = at_the_end(&local, "north").await;
    let token = follower.token.clone();
    let waiting = wait(follower, &cursor, &waits).await;
    local.connect().await.call(LOGOUT_PATH, Some(&token), "").await.success();
    // The change comes after the end of the session.
    server.import_valid(orders("north-1", 30..31)).await;
    let reply = waiting.await.unwrap();
    assert_eq!((reply.code(), &*reply.headers["kiosque-broker"]), (-4, "own"), "{reply:?}");
}

/// ORD-25, AUTH-21: a broker that stops answers waits without records, and then logs out.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wait_ends_when_the_broker_stops() {
    let server = server().await;
    let (local, waits) = recording_broker(&server, |_| {}).await;
    let (follower, cursor) = at_the_end(&local, "north").await;
    let waiting = wait(follower, &cursor, &waits).await;
    let before = waits.lock().unwrap().len();
    local.stop.send(()).unwrap();
    let reply = waiting.await.unwrap();
    assert_eq!(ids(&reply), [""; 0]);
    assert_eq!(reply.success()["next"], *cursor);
    local.serving.await.unwrap();
    // One part may have ended, and the next one begun, as the broker began to stop.
    let waits = waits.lock().unwrap()[before..].to_vec();
    assert!(matches!(waits[..], [0] | [_, 0]), "{waits:?}");
    assert_eq!(trail(&server, "logout").await, 1);
}
