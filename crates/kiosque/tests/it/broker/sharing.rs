//! An account that others use as well, and what workers see of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use kiosque_client::session::Pace;
use kiosque_testkit::{ORDERS_PATH, TOKEN_PATH, eventually};
use tokio::task::JoinSet;

use super::{LOG_IN, broker};
use crate::client::{GROUPS, profile, server, trail};

/// AUTH-11: an outsider that logs in repeatedly causes no error of a worker.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_outsider_that_logs_in_again_and_again_causes_no_error() {
    let server = server().await;
    let hold_max = Duration::from_millis(20);
    let pace = Pace { hold_first: hold_max, hold_max, refusals_max: u32::MAX, ..Pace::default() };
    let broker = Arc::new(broker(&server, |parts| parts.pace = pace).await);
    let noted = Arc::new(AtomicUsize::new(0));
    let mut tasks = JoinSet::new();
    for number in 0..6 {
        let (broker, noted) = (Arc::clone(&broker), Arc::clone(&noted));
        tasks.spawn(async move {
            let mut worker = broker.worker(GROUPS[number % GROUPS.len()]).await;
            while noted.load(Ordering::SeqCst) == 0 {
                let reply = worker.list_devices().await;
                let note = reply.headers.get("kiosque-broker-note");
                if note.is_some_and(|note| note.contains(" times another user of the account ")) {
                    noted.fetch_add(1, Ordering::SeqCst);
                }
            }
        });
    }
    // The third replaced session is noted. The outsider logs in whenever the broker has.
    let mut rounds = 0;
    while noted.load(Ordering::SeqCst) == 0 {
        eventually("the broker has logged in, or a note", async || {
            noted.load(Ordering::SeqCst) > 0 || trail(&server, "login").await > 2 * rounds
        })
        .await;
        server.log_in("ops").await;
        rounds += 1;
    }
    tasks.join_all().await;
}

/// AUTH-8: the server refuses the password once; each worker is refused, and no further login is
/// sent.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_password_of_the_account_is_sent_once() {
    let server = server().await;
    let wrong = profile(&server, "wrong").into_session_parts().unwrap().credentials;
    let local = broker(&server, |parts| parts.credentials = wrong).await;
    for _ in 0..2 {
        let mut tasks = JoinSet::new();
        for _ in 0..8 {
            let mut client = local.connect().await;
            tasks.spawn(async move { client.call(TOKEN_PATH, None, LOG_IN).await });
        }
        for reply in tasks.join_all().await {
            assert_eq!((reply.status, reply.code()), (200, -2), "{reply:?}");
            assert!(reply.headers["kiosque-broker-note"].contains("code -2"), "{reply:?}");
        }
    }
    assert_eq!(trail(&server, "loginRefused").await, 1);
}

/// AUTH-16: a call whose turn does not come is answered with -4, and a note says why.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_waits_too_long_is_answered_with_a_note() {
    let server = server().await;
    let (hold_max, wait_max) = (Duration::from_secs(3_600), Duration::from_millis(200));
    let held = Pace { hold_from: 1, hold_first: hold_max, hold_max, wait_max, ..Pace::default() };
    let local = broker(&server, |parts| parts.pace = held).await;
    let mut client = local.connect().await;
    let mut token = None;
    eventually("a login takes less than the longest wait", async || {
        let reply = client.call(TOKEN_PATH, None, LOG_IN).await;
        token = reply.data()["accessToken"].as_str().map(str::to_owned);
        token.is_some()
    })
    .await;
    server.log_in("ops").await;
    let body = r#"{"deviceCode":"north-1"}"#;
    let reply = client.call(ORDERS_PATH, token.as_deref(), body).await;
    assert_eq!((reply.status, reply.code()), (200, -4), "{reply:?}");
    assert_eq!(reply.headers["kiosque-broker"], "own");
    assert!(reply.headers["kiosque-broker-note"].starts_with("gave up after "), "{reply:?}");
    assert_eq!(trail(&server, "login").await, 2);
}
