//! Headers that are malformed or missing. `refusals` has tokens that are not valid.

use kiosque_testkit::{DEVICES_PATH, TestServer};

use super::wire::{Wire, post};
use super::{assert_serves, fleet};

/// AUTH-14: the name of a header has no case, and white space around its value is part of HTTP.
#[tokio::test]
async fn a_token_may_have_spaces_around_it_and_a_name_in_any_case() {
    let (server, token) = TestServer::start_for_ops(fleet()).await;
    let mut wire = Wire::open(&server).await;
    for (name, value) in [("Third-API-Token", &token), ("third-api-token", &format!("  {token}\t"))]
    {
        assert_eq!(wire.ask(post(DEVICES_PATH, &[(name, value)], "{}")).await.code(), 200);
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

/// ADDR-8: a request has one host and at most one transfer coding, which is `chunked`. A message
/// that is not valid HTTP is refused before it is a request, and the connection closes.
#[tokio::test]
async fn messages_that_are_no_http_are_refused() {
    let (server, token) = TestServer::start_for_ops(fleet()).await;
    let length = format!("third-api-token: {token}\r\nContent-Length: 2\r\n");
    let chunked = format!("third-api-token: {token}\r\nHost: a\r\nTransfer-Encoding: ");
    for (version, headers) in [
        ("HTTP/1.1", format!("Host: localhost\r\n{length}")),
        ("HTTP/1.1", format!("{length}host:   [::1]:8443  \r\n")),
        ("HTTP/1.0", length.clone()),
        ("HTTP/1.1", format!("Host: a\r\nContent-Type: é\r\n{length}")),
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
    for header in [
        "Content-Length: 2\r\nContent-Length: 3",
        "Content-Length: 2, 3",
        "Content-Length: -1",
        "Content-Length: 99999999999999999999",
        "Transfer-Encoding: gzip",
        "third-api-token : x",
        "third-api\u{0}token: x",
        "third-api-token: a\u{0}b",
        "third-api-token: x\r\n  folded",
        ": nameless",
    ] {
        let headers = format!("Host: a\r\n{header}\r\n");
        assert_eq!(ask(&server, "HTTP/1.1", &headers).await, (400, String::new()), "{header:?}");
    }
    // The two largest lengths of 64 bits are refused like headers over their limit.
    for length in ["18446744073709551614", "18446744073709551615"] {
        let headers = format!("Host: a\r\nContent-Length: {length}\r\n");
        assert_eq!(ask(&server, "HTTP/1.1", &headers).await, (431, String::new()), "{length}");
    }
    assert_serves(&server, &token).await;
}
