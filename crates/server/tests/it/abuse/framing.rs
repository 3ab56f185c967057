//! How requests and bodies follow one another on a connection (ADDR-7).

use std::time::Duration;

use kiosque_testkit::{
    DEVICES_PATH, LOGOUT_PATH, ORDERS_PATH, SWITCH_PATH, TOKEN_PATH, TestServer,
};
use serde_json::json;

use super::wire::{Wire, post};
use super::{assert_envelope, assert_serves, assert_unreadable, fleet};

/// ADDR-7: requests that are sent before the answers to earlier ones are answered in their order.
#[tokio::test]
async fn pipelined_requests_are_answered_in_order() {
    let (server, token) = TestServer::start_for_ops(fleet()).await;
    let mut wire = Wire::open(&server).await;
    let mut all = Vec::new();
    for size in 1..=50 {
        let path = format!("{DEVICES_PATH}?size={size}");
        all.extend(post(&path, &[("third-api-token", &token)], "{}"));
        all.extend(post("nowhere", &[], "{\"unread\":true}"));
        all.extend(post(DEVICES_PATH, &[], "{\"unread\":true}"));
    }
    wire.say(&all).await;
    for size in 1..=50 {
        let reply = wire.answer().await.unwrap();
        assert_eq!((reply.code(), &reply.data()["size"]), (200, &json!(size)));
        assert_eq!(wire.answer().await.unwrap().status, 404);
        assert_eq!(wire.answer().await.unwrap().code(), -4);
    }
}

/// ADDR-7: a body may be chunked, in any sizes, with extensions and trailers.
#[tokio::test]
async fn chunked_bodies_are_bodies() {
    let (server, token) = TestServer::start_for_ops(fleet()).await;
    let mut wire = Wire::open(&server).await;
    let head = format!(
        "POST /v8/{ORDERS_PATH} HTTP/1.1\r\nHost: localhost\r\nthird-api-token: {token}\r\n\
         Transfer-Encoding: chunked\r\n\r\n"
    );
    let body = r#"{"deviceCode":"D1"}"#;
    let drops: String = body.chars().map(|c| format!("1;x=y\r\n{c}\r\n")).collect();
    let trailers = "third-api-token: other\r\nx: y\r\n";
    for chunks in [
        format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len()),
        format!("{drops}0\r\n\r\n"),
        format!("{drops}000\r\n{trailers}\r\n"),
    ] {
        let reply = wire.ask(format!("{head}{chunks}")).await;
        assert_envelope(&reply);
        assert_eq!(reply.code(), 200, "{reply:?}");
    }
    assert_unreadable(&wire.ask(format!("{head}0\r\n\r\n")).await, "the body is empty");
    // Where the chunks are malformed the body ends, and the connection with it.
    for broken in ["xyz\r\n", "ffffffffffffffffff\r\n", "2\r\n{}{}\r\n0\r\n\r\n"] {
        let mut wire = Wire::open(&server).await;
        let diagnostic = "the chunked encoding of the body is malformed";
        assert_unreadable(&wire.ask(format!("{head}{broken}")).await, diagnostic);
        assert!(wire.is_closed().await, "{broken:?}");
    }
}

/// ADDR-7: `Expect: 100-continue` is answered before the body is sent.
#[tokio::test]
async fn expect_100_continue_is_answered() {
    let (server, token) = TestServer::start_for_ops(fleet()).await;
    let mut wire = Wire::open(&server).await;
    for (path, token, code) in
        [(DEVICES_PATH, token.as_str(), 200), (DEVICES_PATH, "x", -4), ("nowhere", "x", 0)]
    {
        let head = format!(
            "POST /v8/{path} HTTP/1.1\r\nHost: localhost\r\nthird-api-token: {token}\r\n\
             Content-Length: 2\r\nExpect: 100-continue\r\n\r\n"
        );
        let interim = wire.ask(head).await;
        assert_eq!(interim.status, 100, "{interim:?}");
        assert_eq!(wire.ask("{}").await.code(), code);
    }
}

/// REQ-1, REQ-13: the answer is sent after the body has arrived, whatever it is. A connection that
/// ended before would lose the answer, and the next request would need another handshake.
#[tokio::test]
async fn a_body_may_arrive_later_than_its_headers() {
    let (server, token) = TestServer::start_for_ops(fleet()).await;
    let mut wire = Wire::open(&server).await;
    let large = format!("{{\"x\":\"{}\"}}", "x".repeat(4 << 20));
    for (path, token, body, code) in [
        (DEVICES_PATH, Some(token.as_str()), "{}", 200),
        ("nowhere", None, "{}", 0),
        ("nowhere", None, &large, 0),
        (DEVICES_PATH, None, "{}", -4),
        (ORDERS_PATH, Some("x"), &large, -4),
        (SWITCH_PATH, None, "{}", -3),
        (SWITCH_PATH, Some(""), &large, -3),
        (LOGOUT_PATH, None, &large, -3),
        (TOKEN_PATH, None, "{}", -1),
    ] {
        let mut headers = vec![];
        headers.extend(token.map(|token| ("third-api-token", token)));
        let request = post(path, &headers, body);
        let (head, body) = request.split_at(request.len() - body.len());
        wire.say(head).await;
        for part in body.chunks(body.len().div_ceil(3)) {
            tokio::time::sleep(Duration::from_millis(20)).await;
            wire.say(part).await;
        }
        let reply = wire.answer().await.unwrap_or_else(|| panic!("{path}: no answer"));
        assert_envelope(&reply);
        assert_eq!(reply.code(), code, "{path}");
    }
}

/// A caller that disconnects in the middle of a request harms no other, and its request is not
/// executed.
#[tokio::test]
async fn a_disconnect_in_the_middle_affects_no_other_caller() {
    let (server, token) = TestServer::start_for_ops(fleet()).await;
    let request = post(TOKEN_PATH, &[], r#"{"username":"ops","password":"secret"}"#);
    for length in (0..request.len()).step_by(7) {
        let mut wire = Wire::open(&server).await;
        wire.say(&request[..length]).await;
        drop(wire);
    }
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_serves(&server, &token).await;
}
