//! Methods and forms of a request that a library would not send (ADDR-2, ADDR-3, ADDR-6).

use kiosque_testkit::{DEVICES_PATH, Reply, TOKEN_PATH, TestServer};

use super::wire::{Wire, post};
use super::{assert_envelope, assert_serves, fleet};

#[track_caller]
fn assert_not_found(reply: &Reply, what: &str) {
    assert_envelope(reply);
    assert_eq!((reply.status, reply.code()), (404, 0), "{what}: {reply:?}");
    assert_eq!(reply.data(), &serde_json::Value::Null, "{what}");
}

/// Returns a request line with as few headers as possible.
fn request(line: &str, token: &str) -> String {
    format!(
        "{line}\r\nHost: localhost\r\nthird-api-token: {token}\r\nContent-Length: 2\r\n\r\n{{}}"
    )
}

#[tokio::test]
async fn methods_without_a_body_or_a_path_are_not_found() {
    let (server, token) = TestServer::start_for_ops(fleet()).await;
    let mut wire = Wire::open(&server).await;
    assert_not_found(&wire.ask(request("OPTIONS * HTTP/1.1", &token)).await, "OPTIONS *");
    assert_serves(&server, &token).await;
    // A tunnel is refused; bytes after it would belong to the tunnel.
    let mut wire = Wire::open(&server).await;
    wire.say("CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n").await;
    assert_eq!(wire.answer().await.unwrap().status, 404);
}

/// ADDR-6: HTTP/1.0, the absolute form and an empty query string make no difference.
#[tokio::test]
async fn other_forms_of_the_same_request_are_answered_alike() {
    let (server, token) = TestServer::start_for_ops(fleet()).await;
    let mut wire = Wire::open(&server).await;
    let plain = wire.ask(request(&format!("POST /v8/{DEVICES_PATH} HTTP/1.1"), &token)).await;
    assert_eq!(plain.code(), 200);
    for line in [
        format!("POST https://localhost/v8/{DEVICES_PATH} HTTP/1.1"),
        format!("POST http://elsewhere:1/v8/{DEVICES_PATH} HTTP/1.1"),
        format!("POST /v8/{DEVICES_PATH}? HTTP/1.1"),
        format!("POST /v8/{DEVICES_PATH}?&&=&x HTTP/1.1"),
    ] {
        let reply = wire.ask(request(&line, &token)).await;
        assert_envelope(&reply);
        assert_eq!(reply.text, plain.text, "{line}");
    }
    // HTTP/1.0 has no keep-alive unless it is requested.
    let old = format!("POST /v8/{DEVICES_PATH} HTTP/1.0");
    let reply = wire.ask(request(&old, &token)).await;
    assert_eq!(reply.text, plain.text);
    assert!(wire.is_closed().await);
    // Nor does it require a `Host`.
    let mut wire = Wire::open(&server).await;
    let hostless = format!("{old}\r\nthird-api-token: {token}\r\nContent-Length: 2\r\n\r\n{{}}");
    assert_eq!(wire.ask(hostless).await.text, plain.text);
}

/// ADDR-7: `Connection: close` closes after the answer.
#[tokio::test]
async fn a_caller_may_close_the_connection() {
    let server = TestServer::start(fleet()).await;
    let mut wire = Wire::open(&server).await;
    let reply = wire.ask(post(TOKEN_PATH, &[("Connection", "close")], "{}")).await;
    assert_eq!(reply.code(), -1);
    assert!(wire.is_closed().await);
}
