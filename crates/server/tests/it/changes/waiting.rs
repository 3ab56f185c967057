//! ORD-25, ORD-27, LIM-20: answers that wait for a change, and how a wait ends.

use std::time::Duration;

use kiosque_testkit::{
    CHANGES_PATH, Client, DEVICES_PATH, LOGOUT_PATH, ORDERS_CALL, Reply, ServerOptions, TestData,
    TestServer, eventually, sql,
};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::{ask, changes, fleet, line, of};
use crate::abuse::wire::{Wire, post};

/// A server without orders, with a session in the group `g1` and its cursor.
async fn server() -> (TestServer, String, Value) {
    server_with(|_| {}).await
}

async fn server_with(
    change: impl FnOnce(&mut kiosque_server::Settings),
) -> (TestServer, String, Value) {
    let (server, token) = TestServer::start_for_ops_with(fleet(), change).await;
    let after = ask(&server, &token, &json!({})).await.success()["next"].clone();
    (server, token, after)
}

/// Sends a request that waits, and returns once `waiting` requests wait on the server.
async fn begin(
    server: &TestServer,
    token: &str,
    after: &Value,
    waiting: usize,
) -> JoinHandle<Reply> {
    let (mut caller, token) = (server.connect().await, token.to_owned());
    let body = json!({"after": after, "waitSeconds": 60}).to_string();
    let asking = tokio::spawn(async move { caller.call(CHANGES_PATH, Some(&token), &body).await });
    waits(server, waiting).await;
    asking
}

async fn waits(server: &TestServer, waiting: usize) {
    eventually("requests wait", async || server.store.orders().waiting_followers() == waiting)
        .await;
}

/// ORD-25: an answer with records does not wait, and one without waits for the next change: of a
/// stream, of an import, and of an update.
#[tokio::test(flavor = "multi_thread")]
async fn a_wait_ends_with_the_next_change() {
    let (server, token, mut after) = server().await;
    let key = server.create_key("orders").await;
    for (at, number) in (1..=6).zip(1_i64..) {
        let asking = begin(&server, &token, &after, 1).await;
        let (id, total) = (format!("o{}", at % 4), number);
        if at % 2 == 0 {
            server.import_valid(line(&id, total)).await;
        } else {
            server.call_operator(ORDERS_CALL, Some(&key), line(&id, total)).await;
        }
        let reply = asking.await.unwrap();
        let (found, next, more) = changes(reply.success());
        assert_eq!((found, more), (of([(number, &id, total)]), false));
        // There is something to send: no wait.
        let body = json!({"after": after, "waitSeconds": 60});
        assert_eq!(ask(&server, &token, &body).await.success(), reply.success());
        after = json!(next);
    }
    assert_eq!(server.store.orders().waiting_followers(), 0);
}

/// ORD-25: changes of other groups do not end a wait, and without a change it ends at its time with
/// no records and the same cursor.
#[tokio::test(flavor = "multi_thread")]
async fn a_wait_without_a_change_ends_empty() {
    let (server, token, after) = server().await;
    let other = server.switch(&server.log_in("other").await.token, "g2").await.token;
    let of_other = ask(&server, &other, &json!({})).await.success()["next"].clone();
    let waiting = begin(&server, &other, &of_other, 1).await;
    server.import_valid(line("a", 1)).await;
    let after_a = ask(&server, &token, &json!({"after": after})).await.success()["next"].clone();
    let body = json!({"after": after_a, "waitSeconds": 1});
    let empty = json!({"records": [], "next": after_a, "more": false});
    assert_eq!(*ask(&server, &token, &body).await.success(), empty);
    assert!(!waiting.is_finished(), "ended by a change of another group");
    server.import_valid(line("b", 1).replace("D1", "D2")).await;
    assert_eq!(changes(waiting.await.unwrap().success()).0, of([(1, "b", 1)]));
}

/// ORD-27: a session that is replaced or ended while its request waits gets no records.
#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_ends_ends_its_wait() {
    let (server, mut token, after) = server().await;
    for end in ["login", "switch", "logout", "operator"] {
        let asking = begin(&server, &token, &after, 1).await;
        match end {
            "login" => drop(server.log_in("ops").await),
            "switch" => drop(server.switch(&token, "g2").await),
            "logout" => drop(server.call(LOGOUT_PATH, Some(&token), "").await),
            // Found by a look-up, like an end by another process.
            _ => {
                let by = kiosque_model::ActedBy::command(server.now());
                let name = kiosque_model::LoginName::parse("ops".to_owned()).unwrap();
                server.store.sessions().end(name, by).await.unwrap();
            }
        }
        let refused = asking.await.unwrap();
        assert_eq!((refused.status, refused.code()), (200, -4), "{end}: {refused:?}");
        token = server.log_in("ops").await.token;
    }
    // One that expires is refused when the wait ends.
    let asking = begin(&server, &token, &after, 1).await;
    server.advance(Duration::from_secs(7_200));
    server.import_valid(line("a", 1)).await;
    assert_eq!(asking.await.unwrap().code(), -4);
}

/// ORD-25, ORD-27: on another node, changes and the ends of sessions are found by look-ups.
#[tokio::test(flavor = "multi_thread")]
async fn a_wait_ends_by_what_another_node_does() {
    let options = ServerOptions { data: TestData::postgres(), ..ServerOptions::default() };
    let server = TestServer::start_on(fleet(), options).await;
    let other = server.another_node().await;
    let token = server.log_in("ops").await.token;
    let after = ask(&server, &token, &json!({})).await.success()["next"].clone();
    let asking = begin(&server, &token, &after, 1).await;
    // A request that waits holds no snapshot.
    eventually("no transaction is open", async || {
        server.data.query(&sql("open_snapshots")) == ["0"]
    })
    .await;
    other.import_valid(line("a", 1)).await;
    let reply = asking.await.unwrap();
    let (found, next, _) = changes(reply.success());
    assert_eq!(found, of([(1, "a", 1)]));
    let asking = begin(&server, &token, &json!(next), 1).await;
    let new = other.log_in("ops").await.token;
    assert_eq!(asking.await.unwrap().code(), -4);
    assert_eq!(server.code_of(&new).await, 200);
}

/// LIM-13: a server that stops answers the requests that wait at once.
#[tokio::test(flavor = "multi_thread")]
async fn a_stop_ends_a_wait_empty() {
    let (mut server, token, after) = server_with(|settings| {
        settings.limits.shutdown_deadline = Duration::from_secs(30);
    })
    .await;
    let asking = begin(&server, &token, &after, 1).await;
    server.stop().await;
    // A request that still waits would have this order in its answer.
    server.import_valid(line("a", 1)).await;
    let empty = json!({"records": [], "next": after, "more": false});
    assert_eq!(*asking.await.unwrap().success(), empty);
}

/// LIM-20, ENV-13: an account has a share of the requests that wait.
#[tokio::test(flavor = "multi_thread")]
pub(crate) async fn an_account_has_a_share_of_waiting_requests() {
    let (server, token, after) =
        server_with(|settings| settings.limits.change_waits_per_account_max = 2).await;
    let other = server.log_in("other").await.token;
    let first = begin(&server, &token, &after, 1).await;
    let second = begin(&server, &token, &after, 2).await;
    let third = ask(&server, &token, &json!({"after": after, "waitSeconds": 60})).await;
    assert_eq!(
        (third.status, third.code(), &third.headers["retry-after"]),
        (500, 500, &"1".to_owned())
    );
    assert!(third.data().as_str().unwrap().starts_with("too much work"), "{third:?}");
    // Others wait as before, and an answer that does not wait takes no share.
    let of_other = begin(&server, &other, &after, 3).await;
    assert_eq!(ask(&server, &token, &json!({"after": after})).await.code(), 200);
    first.abort();
    waits(&server, 2).await;
    let third = begin(&server, &token, &after, 3).await;
    server.import_valid(line("a", 1)).await;
    for asking in [second, third, of_other] {
        assert_eq!(changes(asking.await.unwrap().success()).0, of([(1, "a", 1)]));
    }
}

/// LIM-6: a connection with a request that waits is not idle, and a wait ends with its connection.
#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_waits_is_not_idle() {
    let (server, token, after) =
        server_with(|settings| settings.limits.idle_deadline = Duration::from_millis(200)).await;
    let mut caller: Client = server.connect().await;
    let body = json!({"after": after, "waitSeconds": 2}).to_string();
    let reply = caller.call(CHANGES_PATH, Some(&token), &body).await;
    assert_eq!(reply.success()["records"], json!([]));
    assert_eq!(caller.call(DEVICES_PATH, Some(&token), "{}").await.code(), 200);

    let mut wire = Wire::open(&server).await;
    let body = json!({"after": after, "waitSeconds": 60}).to_string();
    wire.say(post(CHANGES_PATH, &[("third-api-token", &token)], &body)).await;
    waits(&server, 1).await;
    drop(wire);
    waits(&server, 0).await;
}
