//! Long reads are shared out by account (ENV-13, LIM-14). No test measures time: an account's
//! reads are held by their visitors for as long as a test needs.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kiosque_locks::lock_ignoring_poison;
use kiosque_model::{Claim, PresentedToken};
use kiosque_store::{DashboardQuery, DevicePart, Refused};
use kiosque_testkit::{
    CHANGES_PATH, DEVICES_PATH, FleetToml, ONLINE_PATH, ORDERS_CALL, ORDERS_PATH, OrderLine,
    PROFILE_PATH, Reply, ServerOptions, TestData, TestServer, dashboard_paths, sql,
};
use tokio::task::JoinHandle;

/// The devices of a group that is read under a permit: more than a read returns elsewhere.
const MANY: usize = 600;

fn fleet() -> FleetToml {
    let fleet = FleetToml::new()
        .group("g1", "One")
        .group("g2", "Two")
        .cheap_account("a", &["g1"])
        .cheap_account("b", &["g2"])
        .device("D1", "Lobby", "g1")
        .device("D2", "Platform", "g2");
    (1..MANY).fold(fleet, |fleet, number| fleet.device(&format!("X{number}"), "Hall", "g1"))
}

/// How many long reads one account may run at a time.
fn share() -> usize {
    let cores = std::thread::available_parallelism().unwrap().get();
    cores.div_ceil(2)
}

/// Reads that hold all permits of their account.
struct Held {
    reads: Vec<JoinHandle<Result<(), Refused>>>,
    release: Vec<Sender<()>>,
}

impl Held {
    /// Begins as many reads as the account's share, and returns when all of them have begun.
    async fn of(server: &TestServer, token: &str) -> Held {
        let (began, begun) = channel();
        let mut held = Held { reads: Vec::new(), release: Vec::new() };
        for _ in 0..share() {
            let (release, released) = channel();
            held.release.push(release);
            held.reads.push(read(server, token, began.clone(), released));
        }
        tokio::task::block_in_place(|| {
            for _ in 0..share() {
                begun.recv().unwrap();
            }
        });
        held
    }

    async fn release(self) {
        drop(self.release);
        for read in self.reads {
            read.await.unwrap().unwrap();
        }
    }
}

/// Begins a device profile whose last device waits until it is released. It is reached under a
/// permit only.
fn read(
    server: &TestServer,
    token: &str,
    began: Sender<()>,
    released: Receiver<()>,
) -> JoinHandle<Result<(), Refused>> {
    let (store, now) = (server.store.clone(), server.now());
    let token = PresentedToken::read(token.as_bytes()).unwrap();
    let query = DashboardQuery { group: None, devices: Vec::new(), start: now, end: now };
    let signals = Arc::new(Mutex::new((began, released)));
    let visit = move |devices: &mut usize, _: kiosque_store::Device<'_>| {
        *devices += 1;
        if *devices < MANY {
            return Ok(());
        }
        let signals = lock_ignoring_poison(&signals);
        signals.0.send(()).unwrap();
        // Ends when the sender is dropped.
        tokio::task::block_in_place(|| signals.1.recv()).unwrap_err();
        Ok(())
    };
    let part = DevicePart { after: String::new(), size: MANY, most_bytes: 0 };
    tokio::spawn(async move {
        store.reports().each_device(Claim { token, now }, &query, &part, visit).await.map(|_| ())
    })
}

#[track_caller]
fn assert_answered(reply: &Reply, what: &str) {
    assert_eq!((reply.status, reply.code()), (200, 200), "{what}: {reply:?}");
}

/// While one account holds its share of long reads, every call of another account and of the
/// operator is answered, and so are the short reads of the account itself.
#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn an_account_that_holds_its_share_delays_no_other() {
    let server = TestServer::start(fleet()).await;
    let (a, b) = (server.log_in("a").await.token, server.log_in("b").await.token);
    let key = server.create_key("orders,activity,fleet,audit").await;
    let held = Held::of(&server, &a).await;
    let waits = {
        let (mut caller, token) = (server.connect().await, a.clone());
        tokio::spawn(async move { caller.call(PROFILE_PATH, Some(&token), "{}").await })
    };

    for path in dashboard_paths() {
        let body = if path == ONLINE_PATH { "" } else { "{}" };
        assert_answered(&server.call(path, Some(&b), body).await, path);
    }
    let named = server.call(DEVICES_PATH, Some(&b), r#"{"deviceName":"Platform"}"#).await;
    assert_answered(&named, "device page by name");
    let since = r#"{"deviceCode":"D2","startTimestamp":0}"#;
    assert_answered(&server.call(ORDERS_PATH, Some(&b), since).await, "orders of a time");
    let page = server.call(ORDERS_PATH, Some(&a), r#"{"deviceCode":"D1"}"#).await;
    assert_answered(&page, "an order page of the account that holds its share");

    let beat = server.call_operator("/operator/v1/activity", Some(&key), r#"{"deviceCode":"D1"}"#);
    assert_eq!(beat.await.status, 200);
    let order = OrderLine::new("o1", "D1", "2026-03-01 09:00:00").amount("EUR", 100).to_string();
    let stored = server.call_operator(ORDERS_CALL, Some(&key), order).await;
    assert_eq!((stored.status, &stored.json["accepted"]), (200, &1.into()), "{stored:?}");
    for path in ["/readyz", "/operator/v1/audit"] {
        let reply = server.get_operator(path, Some(&key)).await;
        assert_eq!(reply.status, 200, "{path}: {reply:?}");
    }

    assert!(!waits.is_finished(), "a read beyond the account's share was answered");
    held.release().await;
    assert_answered(&waits.await.unwrap(), "the read that waited");
}

/// ENV-11, ENV-13: a request that waits for a lock of another program has not requested too much:
/// it is answered as busy.
#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn a_request_that_waits_for_a_lock_is_busy() {
    let mut options = ServerOptions { data: TestData::postgres(), ..ServerOptions::default() };
    options.settings.limits.store_wait = Duration::from_secs(4);
    let server = TestServer::start_on(fleet(), options).await;
    let (token, key) = (server.log_in("a").await.token, server.create_key("read").await);
    let lock = server.data.hold(&sql("lock_sessions")).await;
    let refused = server.call(PROFILE_PATH, Some(&token), "{}").await;
    assert_eq!((refused.status, refused.code()), (500, 500), "{refused:?}");
    assert_eq!(refused.headers["retry-after"], "1");
    let id = &refused.headers["x-request-id"];
    assert_eq!(*refused.data(), format!("the store is busy; try again (request {id})"));
    let refused = server.get_operator("/operator/v1/sessions", Some(&key)).await;
    assert_eq!((refused.status, refused.headers["retry-after"].as_str()), (503, "1"));
    assert_eq!(refused.json["detail"], "the store is busy; try again");
    lock.release().await;
    assert_answered(&server.call(PROFILE_PATH, Some(&token), "{}").await, "after the lock");
}

/// LIM-14: a page of many records takes a share of its account, and one of 100 does not. ENV-13: an
/// account whose share is taken for as long as a request waits has requested too much.
#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn a_page_of_many_records_is_a_long_read() {
    let server = TestServer::start_with(fleet(), |settings| {
        settings.limits.store_wait = Duration::from_secs(1);
    })
    .await;
    let (a, b) = (server.log_in("a").await.token, server.log_in("b").await.token);
    let of_size = |device: &str, size: i64| {
        let order = format!(r#"{{"deviceCode":"{device}"}}"#);
        [
            (format!("{DEVICES_PATH}?size={size}"), "{}".to_owned()),
            (format!("{ORDERS_PATH}?size={size}"), order),
            (CHANGES_PATH.to_owned(), format!(r#"{{"size":{size}}}"#)),
        ]
    };
    let key = server.create_key("orders").await;
    let order = |number: usize| OrderLine::new(format!("o{number}"), "D1", "2026-03-01 09:00:00");
    let orders: String = (0..MANY).map(|number| order(number).to_string()).collect();
    let stored = server.call_operator(ORDERS_CALL, Some(&key), orders).await;
    assert_eq!((stored.status, &stored.json["accepted"]), (200, &MANY.into()), "{stored:?}");
    // The first request with a token that the server has not seen proves it.
    for (token, device) in [(&a, "D1"), (&b, "D2")] {
        for (path, body) in of_size(device, 1_000) {
            assert_answered(&server.call(&path, Some(token), &body).await, &path);
        }
    }
    let held = Held::of(&server, &a).await;
    for (path, body) in of_size("D1", 100) {
        assert_answered(&server.call(&path, Some(&a), &body).await, &path);
    }
    for (path, body) in of_size("D2", 1_000) {
        assert_answered(&server.call(&path, Some(&b), &body).await, &path);
    }
    let long = of_size("D1", 1_000).into_iter();
    let long = long.map(|(path, body)| {
        let (server, a) = (&server, &a);
        async move { (server.call(&path, Some(a), &body).await, path) }
    });
    for (reply, path) in futures_util::future::join_all(long).await {
        assert_eq!((reply.status, reply.code()), (500, 500), "{path}: {reply:?}");
        assert_eq!(reply.headers["retry-after"], "1", "{path}");
        let data = reply.data().as_str().unwrap();
        assert!(data.starts_with("too much work: request a shorter range"), "{path}: {data}");
    }
    let metrics = server.get_operator("/metrics", None).await.text;
    assert!(metrics.contains("kiosque_faults_total{kind=\"too_much_work\"} 3"), "{metrics}");
    drop(held);
}
