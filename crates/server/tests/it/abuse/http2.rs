//! HTTP/2, frame by frame where a well-behaved library would not say what is said here; and the
//! same answers as over HTTP/1.1.

use super::wire::Door;
use super::{FLEET, assert_envelope, assert_serves};
use crate::harness::{self, DEVICES_PATH, House, LOGOUT_PATH, Reply, SWITCH_PATH, TOKEN_PATH};

/// What a connection begins with: the magic words and the settings.
pub(crate) fn preface(settings: &[(u16, u32)]) -> Vec<u8> {
    let mut payload = Vec::new();
    for (name, value) in settings {
        payload.extend_from_slice(&name.to_be_bytes());
        payload.extend_from_slice(&value.to_be_bytes());
    }
    let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    bytes.extend_from_slice(&frame(4, 0, 0, &payload));
    bytes
}

/// A frame of this kind.
pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut bytes = vec![length[1], length[2], length[3], kind, flags];
    bytes.extend_from_slice(&stream.to_be_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

/// A header field, literal and not to be remembered.
pub(crate) fn field(name: &str, value: &str) -> Vec<u8> {
    let mut bytes = vec![0];
    for text in [name, value] {
        length(&mut bytes, text.len());
        bytes.extend_from_slice(text.as_bytes());
    }
    bytes
}

/// A length with a prefix of seven bits, as HPACK writes numbers.
fn length(bytes: &mut Vec<u8>, length: usize) {
    let Some(mut rest) = length.checked_sub(127) else {
        bytes.push(u8::try_from(length).unwrap());
        return;
    };
    bytes.push(127);
    while rest >= 128 {
        bytes.push(u8::try_from(rest % 128).unwrap() | 128);
        rest /= 128;
    }
    bytes.push(u8::try_from(rest).unwrap());
}

const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// The headers of a POST.
fn head(path: &str, more: &[(&str, &str)]) -> Vec<u8> {
    let fields =
        [(":method", "POST"), (":scheme", "https"), (":authority", "localhost"), (":path", path)];
    fields.iter().chain(more).flat_map(|(name, value)| field(name, value)).collect()
}

/// A whole POST without a body.
pub(crate) fn request(stream: u32, path: &str, more: &[(&str, &str)]) -> Vec<u8> {
    frame(1, END_HEADERS | END_STREAM, stream, &head(path, more))
}

/// The headers of a POST whose body is to follow.
pub(crate) fn begun(stream: u32, path: &str, more: &[(&str, &str)]) -> Vec<u8> {
    frame(1, END_HEADERS, stream, &head(path, more))
}

async fn over_http2(house: &House, path: &str, token: Option<&str>, body: &str) -> Reply {
    let mut sender = harness::http2(house.address, house.folder.path()).await;
    let mut request = http::Request::post(format!("https://localhost{path}"));
    if let Some(token) = token {
        request = request.header("third-api-token", token);
    }
    let body = http_body_util::Full::from(body.to_owned());
    let response = sender.send_request(request.body(body).unwrap()).await.unwrap();
    Reply::of(response).await
}

/// Every call is answered with the same bytes over HTTP/2 and over HTTP/1.1.
#[tokio::test]
async fn http2_gives_the_same_answers() {
    let house = House::with(FLEET).await;
    let token = house.log_in("ops").await.token;
    let deep = "[".repeat(100_000);
    let cases: &[(&str, Option<&str>, &str)] = &[
        (DEVICES_PATH, Some(&token), "{}"),
        (DEVICES_PATH, Some(&token), r#"{"groupId":7}"#),
        (DEVICES_PATH, Some(&token), &deep),
        (DEVICES_PATH, Some("nonsense"), "{}"),
        (DEVICES_PATH, None, "{}"),
        (SWITCH_PATH, None, "{}"),
        (SWITCH_PATH, Some(&token), r#"{"groupId":"no"}"#),
        (TOKEN_PATH, None, r#"{"username":"ops","password":"wrong"}"#),
        (TOKEN_PATH, None, "null"),
        (LOGOUT_PATH, None, ""),
        ("nowhere", None, "{}"),
        ("../v8/nowhere", None, "{}"),
    ];
    for (path, token, body) in cases {
        let one = house.call(path, *token, body).await;
        let two = over_http2(&house, &format!("/v8/{path}"), *token, body).await;
        assert_envelope(&two);
        assert_eq!((one.status, &one.text), (two.status, &two.text), "{path} {body}");
        let names = |reply: &Reply| -> Vec<String> { reply.headers.keys().cloned().collect() };
        assert_eq!(names(&one), names(&two));
    }
}

/// Frames that no library would send end their connection, or are ignored; never more.
#[tokio::test]
async fn http2_nonsense_ends_its_own_connection_at_most() {
    let house = House::with(FLEET).await;
    let token = house.log_in("ops").await.token;
    let door = Door::with(&house, &[&rustls::version::TLS13], b"h2");
    let nonsense: [(&str, Vec<u8>); 9] = [
        ("no preface", b"GET / HTTP/1.1\r\n\r\n".to_vec()),
        ("a body of no stream", frame(0, 0, 1, b"{}")),
        ("settings of half a length", frame(4, 0, 0, &[0; 5])),
        ("a stream of an even number", request(2, "/v8/nowhere", &[])),
        ("a continuation of nothing", frame(9, END_HEADERS, 1, &field("a", "b"))),
        ("headers that are no HPACK", frame(1, END_HEADERS | END_STREAM, 1, &[0xff; 40])),
        ("a window of nothing", frame(8, 0, 0, &[0; 4])),
        ("a frame over its limit", frame(0, 0, 1, &vec![0; 20_000])),
        ("a connection's own header", request(1, "/v8/nowhere", &[("connection", "close")])),
    ];
    for (what, bytes) in nonsense {
        let mut wire = door.open().await;
        if what != "no preface" {
            wire.say(preface(&[])).await;
        }
        wire.say(&bytes).await;
        wire.say(frame(7, 0, 0, &[0; 8])).await;
        wire.rest().await;
        assert_serves(&house, &token).await;
    }
}
