//! An account that others use as well, and what workers see of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use kiosque_client::session::Pace;
use kiosque_testkit::{TOKEN_PATH, eventually};
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
