//! Bodies that cannot be read, on every path that takes one, and unknown paths.

use http::Method;
use kiosque_testkit::{
    DETAIL_PATH, DEVICES_PATH, LOGOUT_PATH, ONLINE_PATH, ORDERS_PATH, SWITCH_PATH, TOKEN_PATH,
    TestRequest, dashboard_paths,
};

use super::setup::Token;
use super::{Data, NOT_FOUND, Row, UNREADABLE};

const EMPTY: &str = "the body is empty; send a JSON object such as {}";
const MARK: &str = "the body begins with a byte order mark; send it without";
const NULL: &str = "the body is null; send a JSON object such as {}";
const NO_OBJECT: &str = "the body is not a JSON object; send one such as {}";

/// The error, the body, and the diagnostic that describes the error and its position (REQ-3,
/// REQ-4).
const BODIES: &[(&str, &[u8], &str)] = &[
    ("REQ-3: empty body", b"", EMPTY),
    ("REQ-3: JSON null", b"null", NULL),
    ("REQ-4: no object: an array", b"[{}]", NO_OBJECT),
    ("REQ-4: no object: a number", b"7", NO_OBJECT),
    ("REQ-4: invalid JSON: cut off", b"{", "EOF while parsing an object at line 1 column 1"),
    ("REQ-4: invalid JSON: a form", b"a=1&b=2", "expected value at line 1 column 1"),
    ("REQ-4: invalid JSON: two of them", b"{} {}", "trailing characters at line 1 column 4"),
    (
        "REQ-4: invalid JSON: after a number beyond all",
        b"{\"a\":\n1e999,}",
        "trailing comma at line 2 column 7",
    ),
    (
        "REQ-4: invalid JSON: half a character",
        br#"{"a":"\ud800"}"#,
        "unexpected end of hex escape at line 1 column 13",
    ),
    ("REQ-4: invalid JSON: a mark", b"\xef\xbb\xbf{}", MARK),
    ("REQ-4: invalid UTF-8", b"{\"a\":\"\xc3\x28\"}", "the body is not valid UTF-8 at byte 6"),
    ("REQ-4: invalid UTF-8: gzip", b"\x1f\x8b\x08\0", "the body is not valid UTF-8 at byte 1"),
    ("REQ-4: invalid UTF-8: UTF-16", b"\xff\xfe{\0}\0", "the body is not valid UTF-8 at byte 0"),
    ("REQ-4: UTF-16 without a mark", b"{\0}\0", "key must be a string at line 1 column 2"),
    (
        "REQ-4: duplicate keys",
        br#"{"deviceCode":"N-1","deviceCode":"N-1"}"#,
        "duplicate field \"deviceCode\" at line 1 column 32",
    ),
    (
        "REQ-4: duplicate keys: one of them escaped",
        br#"{"groupId":"north","group\u0049d":"south"}"#,
        "duplicate field \"groupId\" at line 1 column 33",
    ),
    (
        "REQ-4: duplicate keys: of an inner object",
        br#"{"a":{"b":1,"b":2}}"#,
        "duplicate field \"b\" at line 1 column 15",
    ),
];

/// Bodies over a limit (LIM-1, LIM-2).
fn beyond() -> [(&'static str, Vec<u8>, &'static str); 5] {
    let arrays = format!("{{\"a\":{}{}}}", "[".repeat(32), "]".repeat(32));
    let objects = format!("{}1{}", "{\"a\":".repeat(33), "}".repeat(33));
    let empty = format!("{}{{}}{}", "{\"a\":".repeat(32), "}".repeat(32));
    let huge = format!("{{\"a\":\"{}\"}}", "x".repeat((1 << 20) - 7));
    let endless = "[".repeat(100_000);
    [
        (
            "LIM-2: too deep: without end",
            endless,
            "nested deeper than 32 levels at line 1 column 33",
        ),
        ("LIM-2: too deep: arrays", arrays, "nested deeper than 32 levels at line 1 column 38"),
        ("LIM-2: too deep: objects", objects, "nested deeper than 32 levels at line 1 column 161"),
        (
            "LIM-2: too deep: the last is empty",
            empty,
            "nested deeper than 32 levels at line 1 column 162",
        ),
        ("LIM-1: over the body limit", huge, "the body is larger than 1048576 bytes"),
    ]
    .map(|(what, body, said)| (what, body.into_bytes(), said))
}

pub(super) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    let paths = [TOKEN_PATH, SWITCH_PATH, DEVICES_PATH, ORDERS_PATH, DETAIL_PATH];
    let bodies = BODIES.iter().map(|(what, body, said)| (*what, body.to_vec(), *said));
    for (what, body, said) in bodies.chain(beyond()) {
        for path in paths.into_iter().chain(dashboard_paths()) {
            let ask = TestRequest::to(path).query("current=0").body(body.clone());
            let holds = format!("{what} — {path}");
            let data = Data::Diagnostic(said.to_owned());
            rows.push(Row::new(holds, ask, UNREADABLE).data(data));
        }
    }
    for path in [DEVICES_PATH, ORDERS_PATH, DETAIL_PATH].into_iter().chain(dashboard_paths()) {
        let holds = format!("REQ-1: body before scope: the selected group is closed — {path}");
        let data = Data::Diagnostic(NULL.to_owned());
        let ask = TestRequest::to(path).body("null");
        rows.push(Row::new(holds, ask, UNREADABLE).data(data).with(Token::GroupRevoked));
    }
    rows.extend(not_found());
    rows
}

/// ADDR-2, ADDR-3, ADDR-4: other methods, other spellings of a path, and paths of other listeners.
fn not_found() -> Vec<Row> {
    let mut asks = Vec::new();
    for method in [&b"TRACE"[..], b"post", b"PROPFIND", b"M!"] {
        let method = Method::from_bytes(method).unwrap();
        asks.push(TestRequest::to(DEVICES_PATH).method(method));
    }
    for path in ["/v9/{}", "/v8/{}%3Fsize=1", "/v8/{}%00"] {
        asks.push(TestRequest::at(&path.replace("{}", DEVICES_PATH)));
    }
    asks.push(TestRequest::at(&format!("/{}", "x".repeat(10_000))));
    let others =
        [TOKEN_PATH, SWITCH_PATH, LOGOUT_PATH, DEVICES_PATH, ORDERS_PATH, DETAIL_PATH, ONLINE_PATH];
    for path in others.into_iter().chain(dashboard_paths()) {
        for method in [Method::GET, Method::PUT, Method::DELETE, Method::OPTIONS, Method::PATCH] {
            asks.push(TestRequest::to(path).method(method));
        }
        asks.push(TestRequest::at(&format!("/{path}")));
        asks.push(TestRequest::at(&format!("/v8/v8/{path}")));
        asks.push(TestRequest::at(&format!("//v8/{path}")));
        asks.push(TestRequest::at(&format!("/V8/{path}")));
        asks.push(TestRequest::at(&format!("/v8//{path}")));
        asks.push(TestRequest::at(&format!("/v8/{path}/")));
        asks.push(TestRequest::at(&format!("/v8/{}", path.replace("/", "%2F"))));
        asks.push(TestRequest::at(&format!("/v8/{}", path.to_ascii_lowercase() + "x")));
    }
    for path in
        ["/", "/v8", "/v8/", "/livez", "/metrics", "/operator/v1/orders", "/operator/v1/audit"]
    {
        asks.push(TestRequest::at(path));
        asks.push(TestRequest::at(path).method(Method::GET));
    }
    for path in [
        "platform-auth/auth/third-api",
        "third-center-web/openapi/v1",
        "third-center-web/openapi/v1/kioskDevice",
        "openapi.json",
    ] {
        asks.push(TestRequest::to(path));
    }
    let row = |ask: TestRequest| {
        let holds = format!("ADDR-2, ADDR-3, ADDR-4: {} {}", ask.method, ask.path);
        let row = Row::new(holds, ask, NOT_FOUND).data(Data::Null);
        Row { status: 404, ..row }
    };
    let mut rows: Vec<Row> = asks.into_iter().map(row).collect();
    let ask = TestRequest::to("third-center-web/openapi/v1/kioskDevice/nothing").body("{nonsense");
    let before = Row { holds: "REQ-1: path before token and body".to_owned(), ..row(ask) };
    rows.push(before.with(Token::Missing));
    rows
}
