//! Bodies that cannot be read, on every path that takes one; and paths that are none.

use http::Method;

use super::world::Token;
use super::{Data, NOT_FOUND, Row, UNREADABLE};
use crate::fixture::Ask;
use crate::harness::{
    DETAIL_PATH, DEVICES_PATH, LOGOUT_PATH, ORDERS_PATH, SWITCH_PATH, TOKEN_PATH,
};

const EMPTY: &str = "the body is empty; send a JSON object such as {}";
const NULL: &str = "the body is null; send a JSON object such as {}";
const NO_OBJECT: &str = "the body is no JSON object; send one such as {}";

/// What is wrong with a body, the body, and "a diagnostic string that says what is wrong and where".
fn bodies() -> Vec<(&'static str, Vec<u8>, &'static str)> {
    let deep = format!("{{\"a\":{}{}}}", "[".repeat(32), "]".repeat(32));
    let deep_objects = format!("{}1{}", "{\"a\":".repeat(33), "}".repeat(33));
    let deep_and_empty = format!("{}{{}}{}", "{\"a\":".repeat(32), "}".repeat(32));
    let huge = format!("{{\"a\":\"{}\"}}", "x".repeat((1 << 20) - 7));
    vec![
        ("empty body", b"".to_vec(), EMPTY),
        ("JSON null", b"null".to_vec(), NULL),
        ("no object: an array", b"[{}]".to_vec(), NO_OBJECT),
        ("no object: a string", b"\"{}\"".to_vec(), NO_OBJECT),
        ("no object: a number", b"7".to_vec(), NO_OBJECT),
        ("no object: a truth value", b"true".to_vec(), NO_OBJECT),
        ("invalid JSON: cut off", b"{".to_vec(), "EOF while parsing an object at line 1 column 1"),
        ("invalid JSON: blank", b" \n".to_vec(), "EOF while parsing a value at line 2 column 0"),
        ("invalid JSON: a comma", b"{\"a\":1,}".to_vec(), "trailing comma at line 1 column 8"),
        ("invalid JSON: a form", b"a=1&b=2".to_vec(), "expected value at line 1 column 1"),
        ("invalid JSON: two of them", b"{} {}".to_vec(), "trailing characters at line 1 column 4"),
        ("invalid JSON: no number", b"{\"a\":NaN}".to_vec(), "expected value at line 1 column 6"),
        (
            "invalid JSON: a number beyond all",
            b"{\"a\":\n1e999}".to_vec(),
            "number out of range at line 2 column 5",
        ),
        (
            "invalid JSON: a raw NUL",
            b"{\"a\":\"\0\"}".to_vec(),
            "control character (\\u0000-\\u001F) found while parsing a string at line 1 column 7",
        ),
        (
            "invalid JSON: half a character",
            br#"{"a":"\ud800"}"#.to_vec(),
            "unexpected end of hex escape at line 1 column 13",
        ),
        ("invalid UTF-8", b"{\"a\":\"\xc3\x28\"}".to_vec(), "the body is not UTF-8 at byte 6"),
        (
            "invalid UTF-8: another encoding",
            b"\xff\xfe{\0}\0".to_vec(),
            "the body is not UTF-8 at byte 0",
        ),
        ("too deep: arrays", deep.into_bytes(), "nested deeper than 32 levels at line 1 column 38"),
        (
            "too deep: objects",
            deep_objects.into_bytes(),
            "nested deeper than 32 levels at line 1 column 161",
        ),
        (
            "too deep: the last one empty",
            deep_and_empty.into_bytes(),
            "nested deeper than 32 levels at line 1 column 162",
        ),
        (
            "duplicate keys",
            br#"{"deviceCode":"N-1","deviceCode":"N-1"}"#.to_vec(),
            "field \"deviceCode\" stands twice at line 1 column 32",
        ),
        (
            "duplicate keys: one of them escaped",
            br#"{"groupId":"north","group\u0049d":"south"}"#.to_vec(),
            "field \"groupId\" stands twice at line 1 column 33",
        ),
        (
            "duplicate keys: in a field that means nothing",
            br#"{"x":{"a":1,"a":2}}"#.to_vec(),
            "field \"a\" stands twice at line 1 column 15",
        ),
        ("over the body limit", huge.into_bytes(), "the body is larger than 1048576 bytes"),
    ]
}

pub(super) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    let paths = [TOKEN_PATH, SWITCH_PATH, DEVICES_PATH, ORDERS_PATH, DETAIL_PATH];
    for (what, body, said) in bodies() {
        for path in paths {
            let ask = Ask::to(path).query("current=0").body(body.clone());
            let holds = format!("{what}: code 500, a diagnostic string — {path}");
            let data = Data::Diagnostic(said.to_owned());
            rows.push(Row::new(holds, ask, UNREADABLE).data(data));
        }
    }
    for path in [DEVICES_PATH, ORDERS_PATH, DETAIL_PATH] {
        let holds = format!("body before scope: the selected group is closed — {path}");
        let data = Data::Diagnostic(NULL.to_owned());
        let ask = Ask::to(path).body("null");
        rows.push(Row::new(holds, ask, UNREADABLE).data(data).with(Token::GroupRevoked));
    }
    rows.extend(not_found());
    rows
}

/// "unknown path or wrong method: HTTP 404, `code` 0, JSON; nothing outside `/v8` exists on this
/// listener".
fn not_found() -> Vec<Row> {
    let mut asks = Vec::new();
    for path in [TOKEN_PATH, SWITCH_PATH, LOGOUT_PATH, DEVICES_PATH, ORDERS_PATH, DETAIL_PATH] {
        for method in [Method::GET, Method::PUT, Method::DELETE, Method::OPTIONS, Method::PATCH] {
            asks.push(Ask::to(path).method(method));
        }
        asks.push(Ask::at(&format!("/{path}")));
        asks.push(Ask::at(&format!("/v8/v8/{path}")));
        asks.push(Ask::at(&format!("//v8/{path}")));
        asks.push(Ask::at(&format!("/V8/{path}")));
        asks.push(Ask::at(&format!("/v8//{path}")));
        asks.push(Ask::at(&format!("/v8/{path}/")));
        asks.push(Ask::at(&format!("/v8/{}", path.replace("/", "%2F"))));
        asks.push(Ask::at(&format!("/v8/{}", path.to_ascii_lowercase() + "x")));
    }
    for path in ["/", "/v8", "/v8/", "/livez", "/metrics", "/operator/v1/orders"] {
        asks.push(Ask::at(path));
        asks.push(Ask::at(path).method(Method::GET));
    }
    for path in ["platform-auth/auth/third-api", "third-center-web/openapi/v1", "openapi.json"] {
        asks.push(Ask::to(path));
    }
    let row = |ask: Ask| {
        let holds = format!("unknown path or wrong method — {} {}", ask.method, ask.path);
        let row = Row::new(holds, ask, NOT_FOUND).data(Data::Null);
        Row { status: 404, ..row }
    };
    let mut rows: Vec<Row> = asks.into_iter().map(row).collect();
    let ask = Ask::to("third-center-web/openapi/v1/kioskDevice/nothing").body("{nonsense");
    let before = Row { holds: "path before token and body".to_owned(), ..row(ask) };
    rows.push(before.with(Token::Missing));
    rows
}
