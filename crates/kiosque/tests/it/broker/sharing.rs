//! Many workers, one session of the account.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use kiosque_broker::DeviceLists;
use kiosque_client::session::{Pace, SessionParts};
use kiosque_client::{Transport, TransportError};
use kiosque_testkit::{ORDERS_PATH, SWITCH_PATH, TOKEN_PATH, eventually, size};
use tokio::task::JoinSet;

use super::{LOG_IN, LocalBroker, broker, broker_with};
use crate::client::{GROUPS, server, trail};

/// Eight workers in three groups call so often each. No answer may be an error or have rows of
/// another group.
async fn eight_workers(broker: Arc<LocalBroker>, calls: usize) {
    let mut tasks = JoinSet::new();
    for number in 0..8 {
        let broker = Arc::clone(&broker);
        tasks.spawn(async move {
            let group = GROUPS[number % GROUPS.len()];
            let mut worker = broker.worker(group).await;
            for _ in 0..calls {
                let reply = worker.list_devices().await;
                let header = &reply.headers["kiosque-broker"];
                assert!(header.contains(&format!(" group={group} waited=")), "{header}");
                // Another group has no such device, and would refuse the call.
                let body = format!(r#"{{"deviceCode":"{group}-1"}}"#);
                assert_eq!(worker.call(ORDERS_PATH, &body).await.success()["total"], 30);
            }
        });
    }
    while let Some(ended) = tasks.join_next().await {
        ended.unwrap();
    }
}

/// AUTH-12: eight workers in three groups use one login, and each sees its own group alone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eight_workers_in_three_groups_share_one_login() {
    let server = server().await;
    let broker = Arc::new(broker(&server, |_| {}).await);
    eight_workers(Arc::clone(&broker), size(40, 4_000)).await;
    assert_eq!(trail(&server, "login").await, 1);
    assert_eq!(trail(&server, "logout").await, 0);
}

/// Loses every fifth answer to a switch, after the server has made it.
fn lose_switches(parts: &mut SessionParts, lost: &Arc<AtomicUsize>) {
    parts.pace.turn = Duration::from_millis(10);
    let (transport, lost) = (parts.transport.clone(), Arc::clone(lost));
    let switches = Arc::new(AtomicUsize::new(0));
    parts.transport = Transport::from_fn(move |request, token| {
        let (transport, lost) = (transport.clone(), Arc::clone(&lost));
        let number = (request.path == SWITCH_PATH).then(|| switches.fetch_add(1, Ordering::SeqCst));
        Box::pin(async move {
            let result = transport.send(request, token).await;
            if number.is_some_and(|number| number % 5 == 1) {
                lost.fetch_add(1, Ordering::SeqCst);
                let (to, cause) = ("it".to_owned(), "lost".to_owned());
                return Err(TransportError { to, cause, is_final: false });
            }
            result
        })
    });
}

/// ENV-11, AUTH-18: when answers of switches are lost, no worker sees an error or another group.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lost_answers_of_switches_show_no_foreign_rows() {
    let server = server().await;
    let lost = Arc::new(AtomicUsize::new(0));
    let broker = Arc::new(broker(&server, |parts| lose_switches(parts, &lost)).await);
    eight_workers(Arc::clone(&broker), size(40, 4_000)).await;
    let lost = lost.load(Ordering::SeqCst);
    assert!(lost > 0, "no answer was lost");
    assert!(trail(&server, "login").await <= 1 + lost);
}

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
    while let Some(ended) = tasks.join_next().await {
        ended.unwrap();
    }
}

/// AUTH-8: the server refuses the password once; each worker is refused, and no further login is
/// sent.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_password_of_the_account_is_sent_once() {
    let server = server().await;
    let local = broker_with(&server, "wrong", DeviceLists::InTheirGroup, |_| {}).await;
    for _ in 0..2 {
        let mut tasks = JoinSet::new();
        for _ in 0..8 {
            let mut client = local.connect().await;
            tasks.spawn(async move { client.call(TOKEN_PATH, None, LOG_IN).await });
        }
        while let Some(ended) = tasks.join_next().await {
            let reply = ended.unwrap();
            assert_eq!((reply.status, reply.code()), (200, -2), "{reply:?}");
            assert!(reply.headers["kiosque-broker-note"].contains("code -2"), "{reply:?}");
        }
    }
    assert_eq!(trail(&server, "loginRefused").await, 1);
}

/// DEV-4: with the filter, lists of devices of all groups need no switch.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn filtered_lists_of_devices_need_no_switch() {
    let server = server().await;
    let local = broker_with(&server, "secret", DeviceLists::Filtered, |_| {}).await;
    for group in GROUPS.into_iter().chain(GROUPS) {
        local.worker(group).await.list_devices().await;
    }
    assert_eq!((trail(&server, "login").await, trail(&server, "switchGroup").await), (1, 0));
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

/// AUTH-16: with the policy `fail`, the refusal reaches the worker, and the next call logs in.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replaced_session_may_be_reported_to_the_worker() {
    let server = server().await;
    let local = broker(&server, |parts| parts.pace.refusals_max = 1).await;
    let mut worker = local.worker("south").await;
    worker.list_devices().await;
    server.log_in("ops").await;
    let reply = worker.call(ORDERS_PATH, r#"{"deviceCode":"south-1"}"#).await;
    assert_eq!(reply.code(), -4, "{reply:?}");
    assert!(reply.headers["kiosque-broker-note"].contains("code -4"), "{reply:?}");
    worker.list_devices().await;
}
