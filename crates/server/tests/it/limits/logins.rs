//! Logins: how many passwords are compared at a time, how many logins wait and for how long, and
//! that other requests are answered meanwhile.

use std::time::{Duration, Instant};

use kiosque_testkit::{
    FleetToml, Reply, SWITCH_PATH, TOKEN_PATH, TestServer, WAIT_MAX, cheap_hash, eventually,
};
use tokio::task::JoinHandle;

use crate::abuse::{assert_envelope, assert_serves, fleet};

/// A hash so costly that a login occupies its slot for the rest of a test's steps.
const HASH: &str = "$argon2id$v=19$m=131072,t=12,p=1$c29tZSBzYWx0IGhlcmU\
                    $AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

/// An account that never logged in from anywhere, and one with a hash of the test's choice.
fn accounts(hash: &str) -> FleetToml {
    FleetToml::new().account("fresh", &["g1"]).account_with_hash("costly", hash, &["g1"])
}

async fn server(slots: usize, queue: usize, wait: Duration) -> TestServer {
    TestServer::start_with(format!("{}{}", fleet(), accounts(HASH)), |settings| {
        settings.limits.hash_slots = slots;
        settings.limits.hash_queue = queue;
        settings.limits.hash_wait = wait;
    })
    .await
}

/// Starts a login that runs in parallel to the test, and waits until it hashes, waits or has ended.
async fn begin(server: &TestServer, name: &str) -> JoinHandle<Reply> {
    let mut caller = server.connect().await;
    let body = format!(r#"{{"username":"{name}","password":"secret"}}"#);
    let places = || server.app.load().hashing + server.app.load().waiting_for_hash;
    let before = places();
    let login = tokio::spawn(async move { caller.call(TOKEN_PATH, None, &body).await });
    eventually("a login hashes or waits", async || places() > before || login.is_finished()).await;
    login
}

/// Repeats an attempt until the costly hash lasts longer than its steps. `None` says that it has
/// ended too early, so that nothing can be said of the others.
async fn while_it_hashes(attempt: impl AsyncFn() -> Option<()>) {
    for _ in 0..50 {
        if attempt().await.is_some() {
            return;
        }
    }
    panic!("the costly hash is too cheap");
}

/// Returns nothing if one of the logins has ended.
fn still_hash(costly: &[&JoinHandle<Reply>]) -> Option<()> {
    costly.iter().all(|login| !login.is_finished()).then_some(())
}

/// Logs in and returns the answer.
async fn answer(server: &TestServer, name: &str) -> Reply {
    let body = format!(r#"{{"username":"{name}","password":"secret"}}"#);
    server.connect().await.call(TOKEN_PATH, None, &body).await
}

/// LIM-11, ENV-11, ENV-12: a busy server answers with HTTP 500, `Retry-After` and a diagnostic with
/// the request id.
#[track_caller]
fn assert_busy(reply: &Reply, said: &str) {
    assert_envelope(reply);
    assert_eq!((reply.status, reply.code()), (500, 500), "{reply:?}");
    assert_eq!(reply.json["msg"], "system error");
    assert_eq!(reply.headers["retry-after"], "1");
    let data = reply.data().as_str().unwrap();
    let id = &reply.headers["x-request-id"];
    assert_eq!(data, format!("{said} (request {id})"));
}

/// Like [`assert_busy`]. A database that is busy may also be one that does not answer.
#[track_caller]
fn assert_store_busy(server: &TestServer, reply: &Reply) {
    let unanswered = reply.data().as_str().unwrap().starts_with("the store is not available");
    let said = match unanswered && !server.store.engine().is_file() {
        true => "the store is not available",
        false => "the store is busy; try again",
    };
    assert_busy(reply, said);
}

const TOO_MANY: &str = "too many logins at a time; try again";
const TOO_LATE: &str = "the login waited too long for a hash slot; try again";

#[tokio::test(flavor = "multi_thread")]
pub(super) async fn as_many_hashes_at_a_time_as_there_are_slots() {
    while_it_hashes(async || {
        let server = server(2, 0, WAIT_MAX).await;
        let token = server.log_in("ops").await.token;
        let first = begin(&server, "costly").await;
        // There is a second slot, and no third.
        let code = answer(&server, "absent").await.code();
        still_hash(&[&first])?;
        assert_eq!(code, -2);
        let second = begin(&server, "costly").await;
        let refused = answer(&server, "fresh").await;
        still_hash(&[&first, &second])?;
        assert_busy(&refused, TOO_MANY);
        // AUTH-13: a refused login ends no session, and other requests do not wait.
        assert_serves(&server, &token).await;
        still_hash(&[&first, &second])?;
        for costly in [first, second] {
            assert_eq!(costly.await.unwrap().code(), -2);
        }
        server.log_in("ops").await;
        Some(())
    })
    .await;
}

/// LIM-11: sources that are known to the account have hash slots and a queue of their own, which
/// guessers cannot occupy.
#[tokio::test(flavor = "multi_thread")]
async fn unknown_sources_take_no_slot_of_known_ones() {
    while_it_hashes(async || {
        let server = server(1, 0, WAIT_MAX).await;
        server.log_in("ops").await;
        let guess = begin(&server, "costly").await;
        let refused = answer(&server, "fresh").await;
        still_hash(&[&guess])?;
        assert_busy(&refused, TOO_MANY);
        server.log_in("ops").await;
        still_hash(&[&guess])?;
        assert_eq!(guess.await.unwrap().code(), -2);
        Some(())
    })
    .await;
    // Nor the other way round: logins of known sources do not keep others from their first login.
    while_it_hashes(async || {
        let server = server(1, 0, WAIT_MAX).await;
        server.log_in("ops").await;
        server.apply(accounts(&cheap_hash("secret"))).await.unwrap();
        server.log_in("costly").await;
        server.apply(accounts(HASH)).await.unwrap();
        let guess = begin(&server, "costly").await;
        let refused = answer(&server, "ops").await;
        still_hash(&[&guess])?;
        assert_busy(&refused, TOO_MANY);
        server.log_in("fresh").await;
        still_hash(&[&guess])
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
pub(super) async fn a_login_beyond_the_queue_is_refused_at_once() {
    while_it_hashes(async || {
        let server = server(1, 2, WAIT_MAX).await;
        let costly = begin(&server, "costly").await;
        let waiting = [begin(&server, "ops").await, begin(&server, "absent").await];
        for name in ["ops", "absent"] {
            let refused = answer(&server, name).await;
            // Refused at once: while the others wait.
            still_hash(&[&costly])?;
            assert_busy(&refused, TOO_MANY);
        }
        assert_eq!(costly.await.unwrap().code(), -2);
        let [known, unknown] = waiting;
        assert_eq!(known.await.unwrap().code(), 200);
        assert_eq!(unknown.await.unwrap().code(), -2);
        server.log_in("ops").await;
        Some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
pub(super) async fn a_login_waits_for_its_turn_up_to_its_limit() {
    let wait = Duration::from_millis(300);
    while_it_hashes(async || {
        let server = server(1, 64, wait).await;
        let token = server.log_in("ops").await.token;
        let costly = begin(&server, "costly").await;
        let start = Instant::now();
        let late = answer(&server, "fresh").await;
        still_hash(&[&costly])?;
        assert_busy(&late, TOO_LATE);
        assert!(start.elapsed() >= wait, "refused after {:?}", start.elapsed());
        assert_serves(&server, &token).await;
        // A login that waited in vain occupies no place.
        assert_eq!(costly.await.unwrap().code(), -2);
        server.log_in("ops").await;
        Some(())
    })
    .await;
}

/// LIM-12: a request waits for the database up to the limit, also when many wait at once. Pages are
/// read meanwhile.
#[tokio::test(flavor = "multi_thread")]
pub(super) async fn a_login_waits_for_the_store_up_to_its_limit() {
    let wait = Duration::from_millis(600);
    let (server, token) = TestServer::start_for_ops_with(fleet(), |settings| {
        settings.limits.store_wait = wait;
        settings.limits.hash_wait = WAIT_MAX;
    })
    .await;
    let held = server.data.block_writes().await;

    let mut callers = Vec::new();
    for _ in 0..32 {
        callers.push(server.connect().await);
    }
    let start = Instant::now();
    let mut logins = tokio::task::JoinSet::new();
    for mut caller in callers {
        let body = r#"{"username":"ops","password":"secret"}"#;
        logins.spawn(async move { caller.call(TOKEN_PATH, None, body).await });
    }
    let switch = r#"{"groupId":"g1"}"#;
    let mut switcher = server.connect().await;
    let asked = token.clone();
    let switching =
        tokio::spawn(async move { switcher.call(SWITCH_PATH, Some(&asked), switch).await });
    while !logins.is_empty() {
        assert_serves(&server, &token).await;
        while let Some(reply) = logins.try_join_next() {
            assert_store_busy(&server, &reply.unwrap());
            // The server reserves a little of the time for its answer.
            let waited = start.elapsed() + Duration::from_millis(100);
            assert!(waited >= wait, "refused after {:?}", start.elapsed());
        }
    }
    assert_store_busy(&server, &switching.await.unwrap());
    // They waited at the same time: one after the other they would have waited for longer.
    assert!(start.elapsed() < wait * 32, "the last was refused after {:?}", start.elapsed());

    // The refused requests have changed nothing, and a short wait succeeds.
    drop(held);
    assert_serves(&server, &token).await;
    let server = TestServer::start(fleet()).await;
    let held = server.data.block_writes().await;
    let mut caller = server.connect().await;
    let waiting = tokio::spawn(async move {
        let body = r#"{"username":"ops","password":"secret"}"#;
        caller.call(TOKEN_PATH, None, body).await
    });
    tokio::time::sleep(Duration::from_millis(50)).await;
    drop(held);
    assert_eq!(waiting.await.unwrap().code(), 200);
}
