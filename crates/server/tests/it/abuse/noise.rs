//! Random bytes over the wire: valid requests that were corrupted. The seed is printed, and each
//! round can be repeated with it.

use std::sync::Once;
use std::sync::atomic::{AtomicUsize, Ordering};

use kiosque_testkit::{
    DEVICES_PATH, LOGOUT_PATH, ORDERS_PATH, Rng, SWITCH_PATH, TOKEN_PATH, TestServer,
    parse_response, size,
};
use tokio::io::AsyncWriteExt;

use super::wire::{Target, post};
use super::{assert_envelope, assert_serves, fleet, http2};

fn byte(rng: &mut Rng) -> u8 {
    // Half of the bytes have a meaning in HTTP or JSON.
    const SPECIAL: &[u8] = b"\r\n\0 :;,{}[]\"\\/?&=%0129-eE\xff\xc3";
    if rng.below(2) == 0 {
        SPECIAL[rng.below(SPECIAL.len())]
    } else {
        u8::try_from(rng.below(256)).unwrap()
    }
}

/// Corrupts `bytes`.
fn spoil(rng: &mut Rng, bytes: &mut Vec<u8>) {
    for _ in 0..1 + rng.below(4) {
        let at = rng.below(bytes.len());
        match rng.below(5) {
            0 => bytes[at] = byte(rng),
            1 => bytes.insert(at, byte(rng)),
            2 => drop(bytes.remove(at)),
            3 => {
                let end = (at + rng.below(40)).min(bytes.len());
                let copy = bytes[at..end].to_vec();
                let to = rng.below(bytes.len());
                bytes.splice(to..to, copy);
            }
            _ => {
                let noise: Vec<u8> = (0..rng.below(30)).map(|_| byte(rng)).collect();
                bytes.splice(at..at, noise);
            }
        }
        if bytes.is_empty() {
            bytes.push(byte(rng));
        }
    }
}

static PANICS: AtomicUsize = AtomicUsize::new(0);

/// Counts panics from now on, including panics in other tests: none is expected.
fn count_panics() -> usize {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let shown = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            PANICS.fetch_add(1, Ordering::SeqCst);
            shown(panic);
        }));
    });
    PANICS.load(Ordering::SeqCst)
}

/// Checks the answers to corrupted requests: envelopes, or refusals of the HTTP layer without a
/// body.
fn check(mut received: &[u8], seed: u64) -> usize {
    let mut answers = 0;
    while let Some((reply, length)) = parse_response(received, "POST") {
        match reply.status {
            100 => {}
            400 | 414 | 431 | 501 | 505 => assert_eq!(reply.text, "", "seed {seed}"),
            // A corrupted method may be HEAD, whose answers have no body.
            404 if received.len() == length - reply.text.len() => {}
            _ => assert_envelope(&reply),
        }
        answers += 1;
        received = &received[length..];
    }
    assert!(received.is_empty(), "seed {seed}: {:?}", String::from_utf8_lossy(received));
    answers
}

/// Sends the bytes and ends its side of the connection; returns all that the server sent.
async fn outcome(target: &Target, bytes: &[u8]) -> Vec<u8> {
    let mut wire = target.open().await;
    wire.say(bytes).await;
    let _ = wire.stream.shutdown().await;
    wire.rest().await
}

#[tokio::test(flavor = "multi_thread")]
async fn spoiled_requests_get_an_envelope_or_a_refusal() {
    let panics = count_panics();
    let server = TestServer::start(fleet()).await;
    let target = Target::of(&server);
    let token = server.log_in("ops").await.token;
    let with = [("third-api-token", token.as_str()), ("X-Locale", "zh-CN"), ("Expect", "x")];
    let good = [
        post(DEVICES_PATH, &with[..1], r#"{"deviceCode":"D1","isOnline":1}"#),
        post(&format!("{ORDERS_PATH}?current=1&size=2"), &with, r#"{"deviceCode":"D1"}"#),
        post(SWITCH_PATH, &with[1..2], r#"{"groupId":"g1"}"#),
        post(LOGOUT_PATH, &[], ""),
        post(TOKEN_PATH, &with[1..2], r#"{"username":"","password":"x"}"#),
    ];
    let first = 0x006b_696f_7371_7565;
    println!("seeds from {first}");
    let (mut answers, rounds) = (0, size(1_000, 20_000));
    for seed in (first..).take(rounds) {
        let mut rng = Rng::seeded(seed);
        let mut bytes = good[rng.below(good.len())].clone();
        spoil(&mut rng, &mut bytes);
        answers += check(&outcome(&target, &bytes).await, seed);
    }
    println!("{rounds} rounds, {answers} answers");
    assert!(answers > rounds / 2, "the noise was too loud: {answers} answers");
    assert_serves(&server, &token).await;
    assert_eq!(count_panics(), panics, "something panicked");
}

#[tokio::test(flavor = "multi_thread")]
async fn spoiled_frames_of_http2_end_their_connection_at_most() {
    let panics = count_panics();
    let (server, token) = TestServer::start_for_ops(fleet()).await;
    let target = Target::http2(&server);
    let path = format!("/v8/{DEVICES_PATH}");
    let first = 0x0068_7474_7032;
    println!("seeds from {first}");
    for seed in (first..).take(size(200, 5_000)) {
        let mut rng = Rng::seeded(seed);
        let mut frames = http2::request(1, &path, &[("third-api-token", &token)]);
        frames.extend(http2::post(3, DEVICES_PATH, &token, "{}"));
        spoil(&mut rng, &mut frames);
        let mut bytes = http2::preface(None);
        bytes.extend(frames);
        outcome(&target, &bytes).await;
    }
    assert_serves(&server, &token).await;
    assert_eq!(count_panics(), panics, "something panicked");
}

#[tokio::test(flavor = "multi_thread")]
async fn spoiled_handshakes_end_their_connection() {
    let panics = count_panics();
    let (server, token) = TestServer::start_for_ops(fleet()).await;
    let target = Target::of(&server);
    let first = 0x0074_6c73;
    println!("seeds from {first}");
    for seed in (first..).take(size(200, 5_000)) {
        let mut rng = Rng::seeded(seed);
        let mut hello = super::tls::client_hello(&target);
        spoil(&mut rng, &mut hello);
        let mut stream = target.tcp().await;
        let _ = stream.write_all(&hello).await;
        let _ = stream.shutdown().await;
        let mut received = Vec::new();
        let _ = tokio::io::AsyncReadExt::read_to_end(&mut stream, &mut received).await;
        // An alert (21), or the server's part of a handshake (22) that goes no further. A first
        // byte that is now a capital letter begins a method: the caller is taken for plain HTTP.
        let expected = if hello[0].is_ascii_uppercase() {
            received.starts_with(b"HTTP/1.1 400 ")
        } else {
            received.is_empty() || [21, 22].contains(&received[0])
        };
        assert!(expected, "seed {seed}: {hello:?} was answered {received:?}");
    }
    assert_serves(&server, &token).await;
    assert_eq!(count_panics(), panics, "something panicked");
}
