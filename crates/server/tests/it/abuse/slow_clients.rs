//! LIM-6: each phase of a connection has its own deadline, and well-behaved callers are served
//! throughout. A hundred slow callers of each kind; a thousand under the soak switch.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use kiosque_model::Limits;
use kiosque_testkit::{DEVICES_PATH, TestServer, WAIT_MAX, parse_response, size};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::wire::{Target, post};
use super::{assert_unreadable, fleet, http2};

/// The deadline under test.
const DEADLINE: Duration = Duration::from_millis(1_000);
/// Between two bytes of a slow caller.
const DRIP: Duration = Duration::from_millis(100);

/// A server with one short deadline; all others are far away.
async fn server(shorten: impl FnOnce(&mut Limits)) -> TestServer {
    let wanted = 8_000;
    let files = rlimit::increase_nofile_limit(wanted).unwrap();
    assert!(files >= wanted, "these tests need {wanted} open files and may have {files}");
    TestServer::start_with(fleet(), |settings| {
        let limits = &mut settings.limits;
        limits.connections_per_source_max = limits.connections_max;
        shorten(limits);
    })
    .await
}

/// Starts many slow callers at once, each of which returns how long it was served. None may be
/// disconnected before the deadline, or stay connected, or make well-behaved callers wait: each of
/// these is served while slow ones connect repeatedly.
async fn suffer<S, F>(server: &TestServer, slow: S)
where
    S: Fn(Target, String) -> F,
    F: Future<Output = Duration> + Send + 'static,
{
    let token = server.log_in("ops").await.token;
    let target = Target::of(server);
    let good = Arc::new(GoodCallers::default());
    let mut callers = JoinSet::new();
    for kind in [STEADY, FRESH] {
        callers.spawn(good_caller(kind, target.clone(), token.clone(), Arc::clone(&good)));
    }

    let count = size(100, 1_000);
    let begun = Instant::now();
    while good.served().iter().any(|served| *served < 3) {
        assert!(begun.elapsed() < WAIT_MAX, "good callers were served {:?} times", good.served());
        let mut slow_callers = JoinSet::new();
        for _ in 0..count {
            let slow = slow(target.clone(), token.clone());
            let suffered = async move { timeout(WAIT_MAX, slow).await.expect("it stays open") };
            slow_callers.spawn(suffered);
        }
        let mut suffered = slow_callers.join_all().await;
        suffered.sort();
        let (first, last) = (suffered[0], suffered[count - 1]);
        println!("{count} slow callers, closed after {first:?} to {last:?}");
        assert!(first >= DEADLINE, "closed after {first:?}, before the deadline");
    }
    good.over.store(true, Ordering::SeqCst);
    let slowest = callers.join_all().await;
    println!("good callers: {:?} calls, the slowest took {slowest:?}", good.served());
}

/// A good caller on one connection, and one with a new connection for each call.
const STEADY: usize = 0;
const FRESH: usize = 1;

/// Callers that send whole requests.
#[derive(Default)]
struct GoodCallers {
    over: AtomicBool,
    /// The calls of each that were served.
    served: [AtomicUsize; 2],
}

impl GoodCallers {
    fn served(&self) -> [usize; 2] {
        self.served.each_ref().map(|served| served.load(Ordering::SeqCst))
    }
}

/// A good caller on one connection, or on a new one for each call; returns how long a call took at
/// most.
async fn good_caller(
    kind: usize,
    target: Target,
    token: String,
    good: Arc<GoodCallers>,
) -> Duration {
    let (mut wire, mut slowest) = (target.open().await, Duration::ZERO);
    while !good.over.load(Ordering::SeqCst) {
        let start = Instant::now();
        if kind == FRESH {
            wire = target.open().await;
        }
        let reply = wire.ask(post(DEVICES_PATH, &[("third-api-token", &token)], "{}")).await;
        assert_eq!(reply.code(), 200, "{reply:?}");
        slowest = slowest.max(start.elapsed());
        good.served[kind].fetch_add(1, Ordering::SeqCst);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    slowest
}

/// Sends the bytes of `drip` slowly, or nothing, until the server disconnects; returns the answer.
async fn until_closed<S: AsyncRead + AsyncWrite + Unpin>(
    stream: &mut S,
    mut drip: impl FnMut() -> Option<u8>,
) -> Vec<u8> {
    let (mut received, mut is_open) = (Vec::new(), true);
    loop {
        tokio::select! {
            read = stream.read_buf(&mut received) => match read {
                Ok(1..) => {}
                _ => return received,
            },
            () = tokio::time::sleep(DRIP), if is_open => {
                let Some(byte) = drip() else { continue };
                // A server that has disconnected may have answered before.
                is_open = stream.write_all(&[byte]).await.is_ok() && stream.flush().await.is_ok();
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
pub(crate) async fn slow_clients_that_say_nothing_are_closed() {
    let server = server(|limits| limits.tls_handshake_deadline = DEADLINE).await;
    suffer(&server, |target, _| async move {
        let start = Instant::now();
        let received = until_closed(&mut target.tcp().await, || None).await;
        assert_eq!(received, b"");
        start.elapsed()
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
pub(crate) async fn slow_clients_that_dribble_a_tls_handshake_are_closed() {
    let server = server(|limits| limits.tls_handshake_deadline = DEADLINE).await;
    suffer(&server, |target, _| async move {
        let mut hello = super::tls::client_hello(&target).into_iter();
        let start = Instant::now();
        let received = until_closed(&mut target.tcp().await, || hello.next()).await;
        assert_eq!(received, b"");
        start.elapsed()
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
pub(crate) async fn slow_clients_that_fall_silent_after_the_handshake_are_closed() {
    let server = server(|limits| limits.first_byte_deadline = DEADLINE).await;
    suffer(&server, |target, _| async move {
        let start = Instant::now();
        let received = until_closed(&mut target.open().await.stream, || None).await;
        assert_eq!(received, b"");
        start.elapsed()
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
pub(crate) async fn slow_clients_that_dribble_headers_are_closed() {
    let server = server(|limits| limits.header_deadline = DEADLINE).await;
    suffer(&server, |target, _| async move {
        let mut request = post(DEVICES_PATH, &[("x-long", &"x".repeat(4_000))], "{}").into_iter();
        let start = Instant::now();
        until_closed(&mut target.open().await.stream, || request.next()).await;
        start.elapsed()
    })
    .await;
}

/// The deadline for headers applies to the second request of a connection, too.
#[tokio::test(flavor = "multi_thread")]
pub(crate) async fn slow_clients_that_dribble_later_headers_are_closed() {
    let server = server(|limits| limits.header_deadline = DEADLINE).await;
    suffer(&server, |target, _| async move {
        let mut wire = target.open().await;
        assert_eq!(wire.ask(post("nowhere", &[], "{}")).await.status, 404);
        let mut request = post(DEVICES_PATH, &[("x-long", &"x".repeat(4_000))], "{}").into_iter();
        let start = Instant::now();
        until_closed(&mut wire.stream, || request.next()).await;
        start.elapsed()
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
pub(crate) async fn slow_clients_that_dribble_a_body_are_answered_and_closed() {
    let server = server(|limits| limits.body_deadline = DEADLINE).await;
    suffer(&server, |target, token| {
        let head = format!(
            "POST /v8/{DEVICES_PATH} HTTP/1.1\r\nHost: localhost\r\n\
             third-api-token: {token}\r\nContent-Length: 4000\r\n\r\n"
        );
        async move {
            let mut wire = target.open().await;
            let start = Instant::now();
            wire.say(head).await;
            let received = until_closed(&mut wire.stream, || Some(b' ')).await;
            let suffered = start.elapsed();
            let (reply, length) = parse_response(&received, "POST").expect("an answer");
            assert_unreadable(&reply, "the body did not arrive within 1s");
            assert_eq!(length, received.len());
            suffered
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
pub(crate) async fn slow_clients_that_rest_too_long_are_closed() {
    let server = server(|limits| limits.idle_deadline = DEADLINE).await;
    suffer(&server, |target, _| async move {
        let mut wire = target.open().await;
        let start = Instant::now();
        assert_eq!(wire.ask(post("nowhere", &[], "{}")).await.status, 404);
        let received = until_closed(&mut wire.stream, || None).await;
        assert_eq!(received, b"");
        start.elapsed()
    })
    .await;
}

/// Starts slow callers of HTTP/2, which send `first` after the preface, and `drip` slowly.
async fn suffer_http2(
    server: &TestServer,
    first: Vec<u8>,
    drip: impl Iterator<Item = u8> + Clone + Send + 'static,
) {
    let http2_target = Target::http2(server);
    suffer(server, |_, _| {
        let (target, first, mut drip) = (http2_target.clone(), first.clone(), drip.clone());
        async move {
            let mut wire = target.open().await;
            let start = Instant::now();
            wire.say([http2::preface(None), first].concat()).await;
            until_closed(&mut wire.stream, || drip.next()).await;
            start.elapsed()
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
pub(crate) async fn slow_clients_of_http2_without_requests_are_closed() {
    let server = server(|limits| limits.header_deadline = DEADLINE).await;
    // Pings are not requests.
    let pings = http2::frame(6, 0, 0, &[0; 8]).into_iter().cycle();
    suffer_http2(&server, Vec::new(), pings).await;
}

#[tokio::test(flavor = "multi_thread")]
pub(crate) async fn slow_clients_of_http2_that_rest_too_long_are_closed() {
    let server = server(|limits| limits.idle_deadline = DEADLINE).await;
    // Headers that never end are not activity, either.
    let headers = http2::frame(1, 0, 3, &http2::field("x-long", &"x".repeat(1_000)));
    let request = http2::request(1, "/v8/nowhere", &[]);
    suffer_http2(&server, request, headers.into_iter()).await;
}
