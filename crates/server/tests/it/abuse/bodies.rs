//! Hostile bodies.

use http_body_util::Full;
use kiosque_testkit::{DEVICES_PATH, LOGOUT_PATH, ORDERS_PATH, Reply, TOKEN_PATH, TestServer};

use super::{assert_envelope, assert_serves, assert_unreadable, fleet};

/// The expected answer to a body.
enum Want {
    /// `code` 500 and a diagnostic that contains this.
    Unreadable(&'static str),
    /// `code` -1 and exactly these violations.
    Invalid(&'static [&'static str]),
    /// `code` -1 with the message of the permission scope.
    OutOfScope,
    /// `code` 200.
    Success,
}

use Want::{Invalid, OutOfScope, Success, Unreadable};

#[track_caller]
fn assert_answer(reply: &Reply, want: &Want) {
    assert_envelope(reply);
    assert_eq!(reply.status, 200, "{reply:?}");
    match want {
        Unreadable(said) => assert_unreadable(reply, said),
        Invalid(violations) => {
            assert_eq!(reply.code(), -1, "{reply:?}");
            assert_eq!(reply.data(), &serde_json::json!(violations), "{reply:?}");
        }
        OutOfScope => {
            assert_eq!(reply.code(), -1, "{reply:?}");
            let said = "Requested device/group is not within your permission scope";
            assert_eq!(reply.json["msg"], said);
        }
        Success => assert_eq!(reply.code(), 200, "{reply:?}"),
    }
}

async fn ask(server: &TestServer, token: &str, body: Vec<u8>) -> Reply {
    let request =
        kiosque_testkit::post(&format!("/v8/{ORDERS_PATH}")).header("third-api-token", token);
    let request = request.body(Full::from(body)).unwrap();
    server.connect().await.send(request).await
}

/// REQ-2, REQ-4, LIM-2: anything but a JSON object of bounded depth is answered with a diagnostic,
/// and does no harm. REQ-11: integers have no fraction, no exponent and 64 bits.
#[tokio::test]
async fn hostile_json_gets_an_envelope() {
    let server = TestServer::start(fleet()).await;
    let token = server.log_in("ops").await.token;
    let too_deep = "nested deeper than 32 levels";
    let nested = |open: &str, inner: &str, close: &str, levels: usize| {
        let (open, close) = (open.repeat(levels), close.repeat(levels));
        format!(r#"{{"deviceCode":"D1","x":{open}{inner}{close}}}"#)
    };
    let with = |value: &str| format!(r#"{{"deviceCode":"D1","startTimestamp":{value}}}"#);
    let cases: Vec<(String, Want)> = vec![
        ("[".repeat(100_000), Unreadable(too_deep)),
        ("{\"a\":".repeat(100_000), Unreadable(too_deep)),
        (nested("[", "", "]", 100_000), Unreadable(too_deep)),
        (nested("{\"a\":", "1", "}", 50_000), Unreadable(too_deep)),
        (nested("[", "1", "]", 31), Success),
        (format!("{{{}", "\"a\":1,".repeat(100_000)), Unreadable("duplicate field")),
        (with("1e400"), Invalid(&["startTimestamp must be an integer"])),
        (with(&"9".repeat(1_000)), Invalid(&["startTimestamp must be an integer"])),
        (with(&"9".repeat(300)), Invalid(&["startTimestamp must be an integer"])),
        (with("18446744073709551616"), Invalid(&["startTimestamp must be an integer"])),
        (with("9223372036854775807"), Success),
        (with("-9223372036854775808"), Success),
        (with("1.0"), Invalid(&["startTimestamp must be an integer"])),
        (with("1e-999999"), Invalid(&["startTimestamp must be an integer"])),
        (with("0x10"), Unreadable("at line 1")),
        (with("01"), Unreadable("invalid number")),
        (with("\"1\""), Invalid(&["startTimestamp must be an integer"])),
        (r#"{"deviceCode":"\udc00\ud800"}"#.to_owned(), Unreadable("surrogate")),
        (r#"{"deviceCode":"D1\u0000"}"#.to_owned(), OutOfScope),
        ("{\"deviceCode\":\"D\u{0}1\"}".to_owned(), Unreadable("control character")),
        (format!(r#"{{"deviceCode":"{}"}}"#, "é".repeat(400_000)), OutOfScope),
        ("\u{feff}{\"deviceCode\":\"D1\"}".to_owned(), Unreadable("expected value")),
        ("{\"deviceCode\":\"D1\"}\u{0}".to_owned(), Unreadable("trailing characters")),
        ("{'deviceCode':'D1'}".to_owned(), Unreadable("key must be a string")),
        ("{\"__proto__\":{\"x\":1},\"deviceCode\":\"D1\"}".to_owned(), Success),
        ("\r\n {\"deviceCode\" : \"D1\"} \r\n".to_owned(), Success),
    ];
    for (body, want) in cases {
        let shown: String = body.chars().take(80).collect();
        println!("{shown}");
        assert_answer(&ask(&server, &token, body.into_bytes()).await, &want);
    }
    assert_serves(&server, &token).await;
}

/// REQ-4: bytes that are not UTF-8 are reported with their position; other encodings are not JSON.
#[tokio::test]
async fn other_encodings_are_reported() {
    let server = TestServer::start(fleet()).await;
    let token = server.log_in("ops").await.token;
    let text = r#"{"deviceCode":"D1"}"#;
    let utf16: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let utf16_marked = [b"\xff\xfe", utf16.as_slice()].concat();
    let gzip = b"\x1f\x8b\x08\x00\x00\x00\x00\x00".to_vec();
    for (body, said) in [
        (b"{\"deviceCode\":\"\xff\"}".to_vec(), "not valid UTF-8 at byte 15"),
        (b"{\"deviceCode\":\"\xc3\x28\"}".to_vec(), "not valid UTF-8 at byte 15"),
        (b"{\"deviceCode\":\"\xed\xa0\x80\"}".to_vec(), "not valid UTF-8 at byte 15"),
        (b"{\"deviceCode\":\"\xf0\x9f".to_vec(), "not valid UTF-8 at byte 15"),
        (utf16, "at line 1"),
        (utf16_marked, "not valid UTF-8 at byte 0"),
        (gzip, "not valid UTF-8 at byte 1"),
    ] {
        assert_answer(&ask(&server, &token, body).await, &Unreadable(said));
    }
}

/// REQ-1: without a live session the answer reveals nothing about the body.
#[tokio::test]
async fn a_hostile_body_without_a_session_is_a_refused_token() {
    let server = TestServer::start(fleet()).await;
    for body in ["[".repeat(100_000), String::new(), "x".repeat(2 << 20)] {
        for path in [DEVICES_PATH, ORDERS_PATH] {
            assert_eq!(server.call(path, None, &body).await.code(), -4);
            assert_eq!(server.call(path, Some("x"), &body).await.code(), -4);
        }
        assert_eq!(server.call(LOGOUT_PATH, None, &body).await.code(), -3);
    }
}

/// REQ-6: a body where none is expected is ignored, and the connection continues after it.
#[tokio::test]
async fn an_unexpected_body_is_ignored() {
    let server = TestServer::start(fleet()).await;
    for body in ["[[[".to_owned(), "x".repeat(2 << 20), "{\"a\":1,\"a\":2}".to_owned()] {
        let token = server.log_in("ops").await.token;
        let mut caller = server.connect().await;
        let reply = caller.call(LOGOUT_PATH, Some(&token), &body).await;
        assert_eq!((reply.code(), reply.data()), (200, &serde_json::Value::Null));
        assert_eq!(caller.call(DEVICES_PATH, Some(&token), "{}").await.code(), -4);
    }
}

/// REQ-12, AUTH-7: hostile names and passwords are wrong names and passwords.
#[tokio::test]
async fn hostile_credentials_are_wrong_ones() {
    let server = TestServer::start(fleet()).await;
    let long = "x".repeat(900_000);
    for name in ["ops' or '1'='1", " ops", "o\\u006fps", "%6fps", &long] {
        let body = format!(r#"{{"username":"{name}","password":"secret"}}"#);
        let reply = server.call(TOKEN_PATH, None, &body).await;
        assert_envelope(&reply);
        assert_eq!(reply.code(), -2, "{name:.40}");
    }
    for password in [" ", "SECRET", &long] {
        let body = format!(r#"{{"username":"ops","password":"{password}"}}"#);
        let reply = server.call(TOKEN_PATH, None, &body).await;
        let blank = password.trim().is_empty();
        assert_eq!(reply.code(), if blank { -1 } else { -2 }, "{password:.40}");
    }
}
