//! HTTP/2: frame by frame where a library would not send such frames, and the same answers as over
//! HTTP/1.1.

use std::time::{Duration, Instant};

use kiosque_testkit::{
    DETAIL_PATH, DEVICES_PATH, LOGOUT_PATH, ORDERS_PATH, Reply, SWITCH_PATH, TOKEN_PATH,
    TestRequest, TestServer,
};

use super::wire::{Target, Wire};
use super::{assert_envelope, assert_serves, fleet};
use crate::catalog;

/// Returns the start of a connection: the preface and the settings, which may have an initial
/// window.
pub(crate) fn preface(window: Option<u32>) -> Vec<u8> {
    const INITIAL_WINDOW_SIZE: [u8; 2] = [0, 4];
    let setting = |window: u32| [&INITIAL_WINDOW_SIZE[..], &window.to_be_bytes()].concat();
    let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    bytes.extend_from_slice(&frame(SETTINGS, 0, 0, &window.map(setting).unwrap_or_default()));
    bytes
}

/// Opens a connection, and sends its start.
pub(crate) async fn open(server: &TestServer, window: Option<u32>) -> Wire {
    let mut wire = Target::http2(server).open().await;
    wire.say(preface(window)).await;
    wire
}

/// Returns a frame.
pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut bytes = vec![length[1], length[2], length[3], kind, flags];
    bytes.extend_from_slice(&stream.to_be_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

/// Returns a header field, literal and not indexed.
pub(crate) fn field(name: &str, value: &str) -> Vec<u8> {
    let mut bytes = vec![0];
    for text in [name, value] {
        length(&mut bytes, text.len());
        bytes.extend_from_slice(text.as_bytes());
    }
    bytes
}

/// Appends a length with a prefix of seven bits, as HPACK encodes integers.
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

pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const RST_STREAM: u8 = 3;
pub(crate) const SETTINGS: u8 = 4;
pub(crate) const PING: u8 = 6;
const GOAWAY: u8 = 7;
pub(crate) const WINDOW_UPDATE: u8 = 8;

const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// Returns the header fields of a POST.
fn head(path: &str, more: &[(&str, &str)]) -> Vec<u8> {
    let fields =
        [(":method", "POST"), (":scheme", "https"), (":authority", "localhost"), (":path", path)];
    fields.iter().chain(more).flat_map(|(name, value)| field(name, value)).collect()
}

/// Returns a whole POST without a body.
pub(crate) fn request(stream: u32, path: &str, more: &[(&str, &str)]) -> Vec<u8> {
    frame(1, END_HEADERS | END_STREAM, stream, &head(path, more))
}

/// Returns the headers of a POST whose body follows.
pub(crate) fn begun(stream: u32, path: &str, more: &[(&str, &str)]) -> Vec<u8> {
    frame(1, END_HEADERS, stream, &head(path, more))
}

/// Returns a whole POST of a session to a path below `/v8/`.
pub(crate) fn post(stream: u32, path: &str, token: &str, body: &str) -> Vec<u8> {
    let headers = begun(stream, &format!("/v8/{path}"), &[("third-api-token", token)]);
    [headers, frame(DATA, END_STREAM, stream, body.as_bytes())].concat()
}

/// Returns the frames in `bytes`: kind, stream and payload.
fn frames(mut bytes: &[u8]) -> Vec<(u8, u32, Vec<u8>)> {
    let mut frames = Vec::new();
    while let Some((head, rest)) = bytes.split_at_checked(9) {
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let stream = u32::from_be_bytes(head[5..9].try_into().unwrap());
        let Some((payload, rest)) = rest.split_at_checked(length.try_into().unwrap()) else {
            break;
        };
        frames.push((head[3], stream, payload.to_vec()));
        bytes = rest;
    }
    frames
}

/// Returns the number of frames of this kind.
pub(crate) fn count(bytes: &[u8], kind: u8) -> usize {
    frames(bytes).iter().filter(|(found, _, _)| *found == kind).count()
}

/// Returns the bytes of the data frames of a stream.
pub(crate) fn data_of(bytes: &[u8], stream: u32) -> Vec<u8> {
    let data = frames(bytes).into_iter().filter(|(kind, of, _)| (*kind, *of) == (DATA, stream));
    data.flat_map(|(_, _, payload)| payload).collect()
}

/// Reads until a frame of this kind arrives on this stream.
pub(crate) async fn await_frame(wire: &mut Wire, kind: u8, stream: u32) -> Vec<u8> {
    loop {
        let found = frames(&wire.seen).into_iter().find(|(k, s, _)| (*k, *s) == (kind, stream));
        if let Some((_, _, payload)) = found {
            return payload;
        }
        assert!(wire.more().await, "closed before a frame {kind} of stream {stream}");
    }
}

/// ADDR-6: every call is answered with the same bytes over HTTP/2 and over HTTP/1.1.
#[tokio::test]
async fn http2_gives_the_same_answers() {
    let (server, token) = catalog::open_to_ops().await;
    let (deep, blank_after) = ("[".repeat(100_000), format!("{token} \t"));
    let cases: &[(&str, Option<&str>, &str)] = &[
        (DEVICES_PATH, Some(&token), "{}"),
        (ORDERS_PATH, Some(&token), r#"{"deviceCode":"H-1"}"#),
        (DETAIL_PATH, Some(&token), r#"{"tradeNoOut":"T-1"}"#),
        (DEVICES_PATH, Some(&token), r#"{"groupId":7}"#),
        (DEVICES_PATH, Some(&token), &deep),
        (DEVICES_PATH, Some(&blank_after), "{}"),
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
        let ask = TestRequest::to(path).body(*body);
        let ask = token.iter().fold(ask, |ask, token| ask.token(token));
        let (one, two) = (ask.send(&server).await, ask.send_over_http2(&server).await);
        assert_envelope(&two);
        assert_eq!((one.status, &one.text), (two.status, &two.text), "{path} {body}");
        let names = |reply: &Reply| -> Vec<String> { reply.headers.keys().cloned().collect() };
        assert_eq!(names(&one), names(&two));
    }
}

/// ADDR-2, ADDR-6: HEAD is answered without a body, with the headers of HTTP/1.1.
#[tokio::test]
async fn head_is_answered_without_a_body_over_http2() {
    let server = TestServer::start(fleet()).await;
    let integrators = (server.connect().await, server.connect_http2().await);
    let operators = (server.connect_operator().await, server.connect_operator_http2().await);
    for ((mut http1, mut http2), path, status, length) in
        [(integrators, "/v8/nowhere", 404, "60"), (operators, "/livez", 200, "3")]
    {
        let head =
            || http::Request::head(format!("https://localhost{path}")).header("host", "localhost");
        let one = http1.send(head().body(Default::default()).unwrap()).await;
        let two = http2.send_request(head().body(Default::default()).unwrap()).await.unwrap();
        let two = Reply::of(two).await;
        for reply in [&one, &two] {
            let sent = (reply.status, &*reply.text, &*reply.headers["content-length"]);
            assert_eq!(sent, (status, "", length));
        }
        assert!(one.headers.keys().eq(two.headers.keys()), "{one:?} {two:?}");
    }
}

/// ADDR-8: frames that no library would send end their connection, or are ignored.
#[tokio::test]
async fn http2_nonsense_ends_its_own_connection_at_most() {
    let (server, token) = TestServer::start_for_ops(fleet()).await;
    let target = Target::http2(&server);
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
        let mut wire = target.open().await;
        if what != "no preface" {
            wire.say(preface(None)).await;
        }
        wire.say(&bytes).await;
        wire.say(frame(7, 0, 0, &[0; 8])).await;
        wire.rest().await;
        assert_serves(&server, &token).await;
    }
}

/// LIM-6: a body that misses its deadline is answered with a diagnostic; the other streams
/// continue.
#[tokio::test]
async fn a_slow_body_of_http2_ends_its_own_stream() {
    let deadline = Duration::from_millis(500);
    let (server, token) = TestServer::start_for_ops_with(fleet(), |settings| {
        settings.limits.body_deadline = deadline
    })
    .await;
    let mut wire = open(&server, None).await;
    let headers = [("third-api-token", token.as_str())];
    let start = Instant::now();
    wire.say(begun(1, &format!("/v8/{DEVICES_PATH}"), &headers)).await;
    for _ in 0..3 {
        tokio::time::sleep(deadline / 10).await;
        wire.say(frame(DATA, 0, 1, b" ")).await;
    }
    // Headers and body at once, so that no other body is late.
    let whole = |stream| post(stream, DEVICES_PATH, &token, "{}");
    wire.say(whole(3)).await;
    assert!(await_frame(&mut wire, DATA, 3).await.starts_with(b"{\"code\":200,"));

    let data = await_frame(&mut wire, DATA, 1).await;
    let data = String::from_utf8(data).unwrap();
    assert!(data.contains("the body did not arrive within 500ms"), "{data}");
    assert!(start.elapsed() >= deadline, "data after {:?}", start.elapsed());
    wire.say(whole(5)).await;
    await_frame(&mut wire, DATA, 5).await;
}

/// Requests that are cancelled as soon as they are made end their connection.
#[tokio::test]
async fn a_flood_of_requests_taken_back_ends_its_connection() {
    let (server, token) = TestServer::start_for_ops(fleet()).await;
    let mut wire = open(&server, None).await;
    let path = format!("/v8/{DEVICES_PATH}");
    const CANCEL: [u8; 4] = [0, 0, 0, 8];
    let flood: Vec<u8> = (0..5_000)
        .map(|number| 1 + 2 * number)
        .flat_map(|stream| {
            let mut bytes = begun(stream, &path, &[("third-api-token", &token)]);
            bytes.extend(frame(RST_STREAM, 0, stream, &CANCEL));
            bytes
        })
        .collect();
    wire.say(flood).await;
    let enough = await_frame(&mut wire, GOAWAY, 0).await;
    const ENHANCE_YOUR_CALM: [u8; 4] = [0, 0, 0, 11];
    assert_eq!(enough[4..8], ENHANCE_YOUR_CALM);
    assert_serves(&server, &token).await;
}

/// LIM-17: a connection on which little but control frames arrive ends.
#[tokio::test]
async fn a_flood_of_control_frames_ends_its_connection() {
    let (server, token) = TestServer::start_for_ops(fleet()).await;
    let target = Target::http2(&server);
    let unknown = |stream| request(stream, "/v8/nowhere", &[]);
    const PRIORITY: u8 = 2;
    for control in [
        frame(PING, 1, 0, &[0; 8]),
        frame(SETTINGS, 0, 0, &[]),
        frame(PRIORITY, 0, 1, &[0, 0, 0, 0, 1]),
        frame(WINDOW_UPDATE, 0, 0, &1_u32.to_be_bytes()),
        frame(99, 0, 0, b"unknown"),
    ] {
        let mut wire = target.open().await;
        wire.say(preface(None)).await;
        wire.say(unknown(1)).await;
        await_frame(&mut wire, DATA, 1).await;
        // A request now and then does not make up for it.
        for number in 1..200 {
            wire.say(control.repeat(300)).await;
            wire.say(unknown(1 + 2 * number)).await;
        }
        let wire_ended = wire.rest().await;
        assert!(count(&wire_ended, HEADERS) < 150, "frame {}: all were answered", control[3]);
        assert_serves(&server, &token).await;
    }
}

/// LIM-17: clients that send some control frames with each request are served.
#[tokio::test]
async fn control_frames_between_requests_are_no_flood() {
    let server = TestServer::start(fleet()).await;
    let mut wire = open(&server, None).await;
    for number in 0..200 {
        wire.say(frame(PING, 1, 0, &[0; 8]).repeat(90)).await;
        wire.say(request(1 + 2 * number, "/v8/nowhere", &[])).await;
        await_frame(&mut wire, DATA, 1 + 2 * number).await;
        wire.seen.clear();
    }
}
