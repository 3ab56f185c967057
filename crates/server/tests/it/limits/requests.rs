//! The size of a request.

use std::time::Duration;

use kiosque_testkit::{
    CHANGES_PATH, DEVICES_PATH, ORDERS_PATH, OrderLine, TOKEN_PATH, TestRequest, TestServer,
};
use serde_json::json;

use crate::abuse::wire::{Wire, post};
use crate::abuse::{assert_envelope, assert_serves, assert_unreadable, fleet, http2};

/// Returns a JSON object of exactly this many bytes.
fn body_of(length: usize) -> String {
    let body = format!(r#"{{"x":"{}"}}"#, "x".repeat(length - 8));
    assert_eq!(body.len(), length);
    body
}

/// LIM-1: a body at the limit is read; a larger one is answered with a diagnostic that contains the
/// limit.
#[tokio::test]
pub(super) async fn a_body_is_taken_up_to_its_limit() {
    let (server, token) =
        TestServer::start_for_ops_with(fleet(), |settings| settings.limits.body_max_bytes = 1_000)
            .await;
    let headers = [("third-api-token", token.as_str())];
    let too_large = "the body is larger than 1000 bytes";

    let mut wire = Wire::open(&server).await;
    assert_eq!(wire.ask(post(DEVICES_PATH, &headers, &body_of(1_000))).await.code(), 200);
    // Up to eight times the limit is read, so that the caller receives the answer.
    for length in [1_001, 8_000] {
        let request = post(DEVICES_PATH, &headers, &body_of(length));
        let (most, last) = request.split_at(request.len() - 1);
        wire.say(most).await;
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert_unreadable(&wire.ask(last).await, too_large);
        assert_eq!(wire.ask(post(DEVICES_PATH, &headers, "{}")).await.code(), 200);
    }
    for (length, code) in [(1_000, 200), (1_001, 500)] {
        let ask = TestRequest::to(DEVICES_PATH).token(&token).body(body_of(length));
        assert_eq!(ask.send_over_http2(&server).await.code(), code);
    }
    // In chunks, whose number and size make no difference.
    for (length, code) in [(1_000, 200), (1_001, 500)] {
        let chunks: String = body_of(length).chars().map(|c| format!("1\r\n{c}\r\n")).collect();
        let head = format!("POST /v8/{DEVICES_PATH} HTTP/1.1\r\nHost: localhost\r\n");
        let more = format!("third-api-token: {token}\r\nTransfer-Encoding: chunked\r\n\r\n");
        let reply = wire.ask(format!("{head}{more}{chunks}0\r\n\r\n")).await;
        assert_eq!(reply.code(), code, "{reply:?}");
    }

    // Beyond that the answer is sent at once, and the connection closes.
    let endless = post(DEVICES_PATH, &headers, &body_of(50_000));
    wire.say(&endless[..20_000]).await;
    assert_unreadable(&wire.answer().await.expect("an answer"), too_large);
    assert!(wire.is_closed().await);
    // So it does without a token, and on other paths.
    for (path, code) in [(DEVICES_PATH, -4), ("nowhere", 0), (TOKEN_PATH, 500)] {
        let mut wire = Wire::open(&server).await;
        wire.say(&post(path, &[], &body_of(50_000))[..20_000]).await;
        assert_eq!(wire.answer().await.expect("an answer").code(), code, "{path}");
        assert!(wire.is_closed().await);
    }
    assert_serves(&server, &token).await;
}

/// LIM-2: JSON nests up to the limit; empty objects and arrays are levels, too.
#[tokio::test]
pub(super) async fn json_nests_up_to_its_limit() {
    let (server, token) =
        TestServer::start_for_ops_with(fleet(), |settings| settings.limits.json_max_depth = 3)
            .await;
    let ask = async |body| server.call(DEVICES_PATH, Some(&token), body).await;
    for body in ["{}", r#"{"x":[[1]]}"#, r#"{"x":{"y":{}}}"#, r#"{"x":[{}],"y":{"z":[]}}"#] {
        assert_eq!(ask(body).await.code(), 200, "{body}");
    }
    for body in [r#"{"x":[[[]]]}"#, r#"{"x":[[{}]]}"#, r#"{"x":{"y":{"z":{}}}}"#] {
        assert_unreadable(&ask(body).await, "nested deeper than 3 levels");
    }
}

/// PAGE-1, PAGE-4: `size` over its limit is a violation that contains the limit; the default is not
/// over it.
#[tokio::test]
pub(super) async fn a_page_is_as_large_as_its_limit() {
    let server =
        TestServer::start_with(fleet(), |settings| settings.limits.page_size_max = 7).await;
    let orders = (0..8).map(|id| OrderLine::new(id, "D1", "2026-03-01 09:00:00").to_string());
    server.import_valid(orders.collect::<String>()).await;
    let token = server.log_in("ops").await.token;
    let changes = server.call(CHANGES_PATH, Some(&token), "{}").await;
    assert_eq!(changes.success()["records"].as_array().map(Vec::len), Some(7));
    for (path, body) in [(DEVICES_PATH, "{}"), (ORDERS_PATH, r#"{"deviceCode":"D1"}"#)] {
        let ask =
            async |query: &str| server.call(&format!("{path}?{query}"), Some(&token), body).await;
        for query in ["", "size=7"] {
            assert_eq!(ask(query).await.data()["size"], json!(7), "{path} {query}");
        }
        for query in ["size=8", "size=9223372036854775807"] {
            let reply = ask(query).await;
            assert_eq!(reply.code(), -1, "{reply:?}");
            assert_eq!(reply.data(), &json!(["size must be at most 7"]));
        }
    }
}

/// Returns a request whose headers, including the request line, have exactly this many bytes.
fn headers_of(length: usize, token: &str) -> Vec<u8> {
    let bare = post(DEVICES_PATH, &[("third-api-token", token), ("x", "")], "{}");
    let padding = "x".repeat(length + 2 - bare.len());
    post(DEVICES_PATH, &[("third-api-token", token), ("x", &padding)], "{}")
}

/// LIM-3: headers at the limit are read; larger ones are answered with HTTP 431, and the connection
/// closes.
#[tokio::test]
pub(super) async fn headers_are_taken_up_to_their_limit() {
    let (server, token) = TestServer::start_for_ops_with(fleet(), |settings| {
        settings.limits.header_max_bytes = 2_000
    })
    .await;
    let mut wire = Wire::open(&server).await;
    assert_eq!(wire.ask(headers_of(2_000, &token)).await.code(), 200);
    let refused = wire.ask(headers_of(2_001, &token)).await;
    assert_eq!((refused.status, refused.text.as_str()), (431, ""));
    assert!(wire.is_closed().await);

    // The headers need not end, and the path is a part of them.
    let endless = |start: &str| format!("{start}{}", "x".repeat(3_000));
    for start in ["POST /v8/a HTTP/1.1\r\nx: ", "POST /v8/", "POST"] {
        let mut wire = Wire::open(&server).await;
        wire.say(endless(start)).await;
        let refused = wire.answer().await.unwrap_or_else(|| panic!("no answer to {start:?}"));
        assert!([400, 431].contains(&refused.status), "{start:?}: {refused:?}");
        assert!(wire.is_closed().await);
    }
    assert_serves(&server, &token).await;
}

/// LIM-3: a request has at most 100 headers.
#[tokio::test]
async fn headers_are_a_hundred_at_most() {
    let (server, token) = TestServer::start_for_ops(fleet()).await;
    for (count, status) in [(100, 200), (101, 431), (5_000, 431)] {
        // `Host`, the token and the length are three of them.
        let mut headers = vec![("x", "y"); count - 3];
        headers.push(("third-api-token", &token));
        let reply = Wire::open(&server).await.ask(post(DEVICES_PATH, &headers, "{}")).await;
        assert_eq!(reply.status, status, "{count} headers");
    }
}

/// LIM-3: HTTP/2 counts the name and the value of a header and 32 bytes. A stream over the limit is
/// refused, and the connection ends with one that is far over it.
#[tokio::test]
async fn headers_of_http2_are_taken_up_to_their_limit() {
    let (server, token) = TestServer::start_for_ops_with(fleet(), |settings| {
        settings.limits.header_max_bytes = 2_000
    })
    .await;
    let path = format!("https://localhost/v8/{DEVICES_PATH}");
    let ask = async |padding: usize| {
        let mut sender = server.connect_http2().await;
        let request = http::Request::post(&path).header("third-api-token", &token);
        let request = request.header("x", "x".repeat(padding));
        let body = http_body_util::Full::from("{}");
        sender.send_request(request.body(body).unwrap()).await.map(|reply| reply.status().as_u16())
    };
    assert_eq!(ask(1_000).await.unwrap(), 200);
    let refused = ask(2_000).await;
    assert!(refused.as_ref().map_or(true, |status| *status == 431), "{refused:?}");

    // Headers without end, each frame within the rules.
    let mut wire = http2::open(&server, None).await;
    let field = http2::field("x", &"x".repeat(15_000));
    wire.say(http2::frame(1, 0, 1, &field)).await;
    for _ in 0..1_000 {
        wire.say(http2::frame(9, 0, 1, &field)).await;
    }
    wire.rest().await;
    assert_serves(&server, &token).await;
}

/// A valid request with large values is within every limit.
#[tokio::test]
async fn a_long_login_is_within_every_limit() {
    let server = TestServer::start(fleet()).await;
    let body = format!(r#"{{"username":"ops","password":"{}"}}"#, "x".repeat(1_000_000));
    let reply = server.call(TOKEN_PATH, None, &body).await;
    assert_envelope(&reply);
    assert_eq!(reply.code(), -2);
}
