//! Failed logins: how many are free, and which sources are exempt (LIM-7 to LIM-10).

use std::net::Ipv4Addr;
use std::time::Duration;

use kiosque_model::{Limits, TrustedProxies};
use kiosque_testkit::{FleetToml, Reply, TOKEN_PATH, TestRequest, TestServer};

pub(crate) const LIMITED_EN: &str = "Too many failed logins. Please try again later.";

/// A server behind a proxy that it trusts for the source of a request; its password hashes are
/// cheap.
pub(crate) async fn server(change: impl FnOnce(&mut Limits)) -> TestServer {
    let fleet = FleetToml::new().group("g1", "G").cheap_account("ops", &["g1"]);
    TestServer::start_with(fleet, |settings| {
        settings.trusted_proxies = TrustedProxies::parse(["127.0.0.1"]).unwrap();
        change(&mut settings.limits);
    })
    .await
}

pub(crate) fn source(number: u32) -> String {
    Ipv4Addr::from_bits(0xC612_0000 + number).to_string()
}

pub(crate) async fn log_in(server: &TestServer, source: &str, name: &str, password: &str) -> Reply {
    let body = format!(r#"{{"username":"{name}","password":"{password}"}}"#);
    TestRequest::to(TOKEN_PATH).body(body).header("x-forwarded-for", source).send(server).await
}

/// Sends wrong passwords until one is no longer compared: returns how many were, and the answer
/// then.
async fn failures(server: &TestServer, source: &str, name: &str) -> (usize, Reply) {
    for count in 0.. {
        let reply = log_in(server, source, name, "wrong").await;
        if reply.code() != -2 {
            return (count, reply);
        }
    }
    unreachable!("there is an end to it")
}

#[track_caller]
fn assert_limited(reply: &Reply, retry_after: &str) {
    assert_eq!((reply.status, reply.code()), (200, -1), "{reply:?}");
    assert_eq!(reply.json["msg"], LIMITED_EN);
    assert_eq!((&reply.json["enMsg"], reply.data()), (&LIMITED_EN.into(), &LIMITED_EN.into()));
    assert_eq!(reply.headers["retry-after"], retry_after);
}

/// LIM-7: beyond the free failures no password is compared, not even the right one; one more
/// failure is free after each interval. LIM-10: whether the account exists makes no difference.
/// ENV-12: `Retry-After`.
#[tokio::test]
pub(super) async fn a_source_may_fail_so_often_and_then_waits() {
    let server = server(|limits| {
        limits.login_failures_free = 12;
        limits.login_failure_refill = Duration::from_millis(30_001);
    })
    .await;
    for name in ["ops", "absent", "no \\u0000 name"] {
        let (count, limited) = failures(&server, &source(1), name).await;
        assert_eq!(count, 12, "{name}");
        assert_limited(&limited, "31");
        assert_limited(&log_in(&server, &source(1), name, "secret").await, "31");
    }
    // Other sources are not limited.
    let session = log_in(&server, &source(2), "ops", "secret").await;
    assert_eq!(session.code(), 200);
    server.advance(Duration::from_millis(30_000));
    assert_limited(&log_in(&server, &source(1), "ops", "secret").await, "1");
    server.advance(Duration::from_millis(1));
    assert_eq!(log_in(&server, &source(1), "ops", "secret").await.code(), 200);
    // LIM-9: the source is known now, and exempt.
    for _ in 0..20 {
        assert_eq!(log_in(&server, &source(1), "ops", "wrong").await.code(), -2);
    }
}

#[tokio::test]
pub(super) async fn all_strangers_together_may_fail_so_often() {
    let server = server(|limits| {
        limits.login_failures_unknown_free = 25;
        limits.login_failure_unknown_refill = Duration::from_secs(7);
    })
    .await;
    let session = log_in(&server, &source(0), "ops", "secret").await;
    let token = session.data()["accessToken"].as_str().unwrap().to_owned();
    for name in ["ops", "absent"] {
        let mut counts = Vec::new();
        for number in 1..5 {
            let (count, limited) = failures(&server, &source(number), name).await;
            counts.push(count);
            assert_limited(&limited, if count == 10 { "60" } else { "14" });
        }
        // The last one had its first attempt.
        assert_eq!(counts, [10, 10, 5, 1], "{name}");
    }
    assert_limited(&log_in(&server, &source(4), "ops", "secret").await, "14");
    // LIM-9, LIM-10: the known source is exempt, and the session is not touched.
    assert_eq!(server.code_of(&token).await, 200);
    assert_eq!(log_in(&server, &source(0), "ops", "secret").await.code(), 200);
    server.advance(Duration::from_secs(14));
    assert_eq!(log_in(&server, &source(4), "ops", "secret").await.code(), 200);
    // A new source gets through with its first attempt.
    assert_eq!(log_in(&server, &source(9), "ops", "secret").await.code(), 200);
}

#[tokio::test]
pub(super) async fn more_names_than_the_maximum_free_no_name() {
    let server = server(|limits| limits.login_failures_kept = 4).await;
    assert_eq!(failures(&server, &source(1), "ops").await.0, 10);
    for number in 0..40 {
        log_in(&server, &source(1), &format!("absent {number}"), "wrong").await;
    }
    assert_limited(&log_in(&server, &source(1), "ops", "secret").await, "60");
}

/// LIM-10: workers that all log in at once from a new source with the right password are not
/// limited.
#[tokio::test(flavor = "multi_thread")]
async fn many_first_logins_at_once_all_succeed() {
    let server = server(|limits| limits.login_failures_free = 2).await;
    let mut logins = tokio::task::JoinSet::new();
    for _ in 0..30 {
        let mut caller = server.connect().await;
        let body = r#"{"username":"ops","password":"secret"}"#;
        logins.spawn(async move { caller.call(TOKEN_PATH, None, body).await.code() });
    }
    assert_eq!(logins.join_all().await, [200; 30]);
}
