//! Headers that occur twice, are malformed, or are missing.

use kiosque_testkit::{DEVICES_PATH, SWITCH_PATH, TestServer};

use super::wire::{Wire, post};
use super::{assert_envelope, assert_serves, fleet};

/// AUTH-14, AUTH-16: the token is sent exactly once and unchanged.
#[tokio::test]
async fn a_token_is_sent_once_and_exactly() {
    let server = TestServer::start(fleet()).await;
    let token = server.log_in("ops").await.token;
    let list = format!("{token},{token}");
    let padded = format!("{token}==");
    let long = "A".repeat(20_000);
    let cases: [(&[&str], i64); 7] = [
        (&[&token], 200),
        (&[&token, ""], -4),
        (&["", &token], -4),
        (&[&list], -4),
        (&[&padded], -4),
        (&[&long], -4),
        (&["\u{e9}\u{20ac}"], -4),
    ];
    let mut wire = Wire::open(&server).await;
    for (tokens, code) in cases {
        let headers: Vec<_> = tokens.iter().map(|one| ("Third-API-Token", *one)).collect();
        let reply = wire.ask(post(DEVICES_PATH, &headers, "{}")).await;
        assert_envelope(&reply);
        assert_eq!(reply.code(), code, "{tokens:?}");
    }
    // White space around the value of a header is part of HTTP, not of the token.
    let spaced = format!("  {token}\t");
    let reply = wire.ask(post(DEVICES_PATH, &[("third-api-token", &spaced)], "{}")).await;
    assert_eq!(reply.code(), 200);
    let twice = [("third-api-token", token.as_str()); 2];
    assert_eq!(wire.ask(post(SWITCH_PATH, &twice, r#"{"groupId":"g1"}"#)).await.code(), -4);
    assert_serves(&server, &token).await;
}

/// ENV-4, ENV-5: an `X-Locale` that names no supported language means the default; of several
/// headers the first counts.
#[tokio::test]
async fn languages_that_make_no_sense_are_the_default() {
    let server = TestServer::start(fleet()).await;
    let mut wire = Wire::open(&server).await;
    let (en, zh) = ("Token is incorrect or invalid,please login again", "token 错误或已失效");
    let many = "fr,".repeat(5_000);
    let cases: [(&[&str], &str); 9] = [
        (&[], en),
        (&["", "zh-CN"], en),
        (&["zh-CN", "en"], zh),
        (&["zh-CN;q=nan"], en),
        (&["zh-CN;q=1;q=1"], en),
        (&["\u{4e2d}\u{6587}"], en),
        (&[",;,;=,zh"], zh),
        (&[&many], en),
        (&["EN_us_posix"], en),
    ];
    for (languages, msg) in cases {
        let headers: Vec<_> = languages.iter().map(|one| ("X-Locale", *one)).collect();
        let reply = wire.ask(post(DEVICES_PATH, &headers, "{}")).await;
        assert_envelope(&reply);
        let said = reply.json["msg"].as_str().unwrap();
        assert!(said.starts_with(msg), "{languages:?}: {said}");
        assert_eq!(reply.json["enMsg"], en);
    }
}

/// Asks for a device page with these headers, and returns the status and the text of the answer,
/// after which the connection closes unless it is a success.
async fn ask(server: &TestServer, version: &str, headers: &str) -> (u16, String) {
    let mut wire = Wire::open(server).await;
    let body = if headers.to_ascii_lowercase().contains("chunked") {
        "2\r\n{}\r\n0\r\n\r\n"
    } else {
        "{}"
    };
    wire.say(format!("POST /v8/{DEVICES_PATH} {version}\r\n{headers}\r\n{body}")).await;
    let reply = wire.answer().await.unwrap_or_else(|| panic!("no answer to {headers:?}"));
    if reply.status != 200 {
        assert_eq!(reply.headers.get("x-request-id"), None);
        assert!(wire.is_closed().await, "{headers:?}");
    }
    (reply.status, reply.text)
}

/// ADDR-8: a request has one host and at most one transfer coding, which is `chunked`.
#[tokio::test]
async fn hosts_and_codings_that_are_no_http_are_refused() {
    let server = TestServer::start(fleet()).await;
    let token = server.log_in("ops").await.token;
    let length = format!("third-api-token: {token}\r\nContent-Length: 2\r\n");
    let chunked = format!("third-api-token: {token}\r\nHost: a\r\nTransfer-Encoding: ");
    for (version, headers) in [
        ("HTTP/1.1", format!("Host: localhost\r\n{length}")),
        ("HTTP/1.1", format!("{length}host:   [::1]:8443  \r\n")),
        ("HTTP/1.0", length.clone()),
        ("HTTP/1.1", format!("{chunked}Chunked\r\n")),
    ] {
        let (status, text) = ask(&server, version, &headers).await;
        assert_eq!(status, 200, "{headers:?}");
        assert!(text.starts_with("{\"code\":200,"), "{headers:?}: {text}");
    }
    for (version, headers) in [
        ("HTTP/1.1", length.clone()),
        ("HTTP/1.1", format!("Host:\r\n{length}")),
        ("HTTP/1.1", format!("Host: :8443\r\n{length}")),
        ("HTTP/1.0", format!("Host: \t \r\n{length}")),
        ("HTTP/1.1", format!("Host: a\r\nHost: a\r\n{length}")),
        ("HTTP/1.0", format!("Host: a\r\n{length}Host: b\r\n")),
        ("HTTP/1.1", format!("Host: a, b\r\n{length}")),
        ("HTTP/1.1", format!("Host: user@a\r\n{length}")),
        ("HTTP/1.1", format!("Host: a/b\r\n{length}")),
        ("HTTP/1.1", format!("{chunked}chunked, chunked\r\n")),
        ("HTTP/1.1", format!("{chunked}gzip, chunked\r\n")),
        ("HTTP/1.1", format!("{chunked}x\r\nTransfer-Encoding: chunked\r\n")),
        ("HTTP/1.1", format!("{chunked}chunked\r\nTransfer-Encoding: chunked\r\n")),
    ] {
        assert_eq!(ask(&server, version, &headers).await, (400, String::new()), "{headers:?}");
    }
    assert_serves(&server, &token).await;
}

/// Sends a request that is refused without an envelope, and returns the status of the answer. The
/// connection closes.
async fn refused(server: &TestServer, request: &str) -> u16 {
    let mut wire = Wire::open(server).await;
    wire.say(request).await;
    let reply = wire.answer().await.unwrap_or_else(|| panic!("no answer to {request:?}"));
    assert_eq!(reply.text, "", "{request:?}");
    assert!(wire.is_closed().await, "{request:?}");
    reply.status
}

/// ADDR-8: a message that is not valid HTTP is refused before it is a request, and the connection
/// closes.
#[tokio::test]
async fn bytes_that_are_not_http_are_refused() {
    let server = TestServer::start(fleet()).await;
    let token = server.log_in("ops").await.token;
    let start = format!("POST /v8/{DEVICES_PATH} HTTP/1.1\r\nHost: localhost\r\n");
    for headers in [
        "Content-Length: 2\r\nContent-Length: 3\r\n",
        "Content-Length: 2, 3\r\n",
        "Content-Length: -1\r\n",
        "Content-Length: 99999999999999999999\r\n",
        "Transfer-Encoding: gzip\r\n",
        "third-api-token : x\r\n",
        "third-api\u{0}token: x\r\n",
        "third-api-token: a\u{0}b\r\n",
        "third-api-token: x\r\n  folded\r\n",
        ": nameless\r\n",
    ] {
        assert_eq!(refused(&server, &format!("{start}{headers}\r\n{{}}")).await, 400);
    }
    // The two largest lengths of 64 bits are refused like headers over their limit.
    for length in ["18446744073709551614", "18446744073709551615"] {
        let request = format!("{start}Content-Length: {length}\r\n\r\n{{}}");
        assert_eq!(refused(&server, &request).await, 431);
    }
    assert_serves(&server, &token).await;
}
