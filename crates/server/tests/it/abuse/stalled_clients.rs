//! LIM-6: an answer that the caller does not read occupies its connection for the idle timeout and
//! no longer.

use std::time::{Duration, Instant};

use kiosque_testkit::{DEVICES_PATH, ORDERS_PATH, TestServer, WAIT_MAX};

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::http2::{DATA, HEADERS, PING, WINDOW_UPDATE, await_frame};
use super::wire::{Target, Wire, post};
use super::{assert_serves, fleet, http2};

const INITIAL_WINDOW_SIZE: u16 = 4;
const DEADLINE: Duration = Duration::from_millis(1_000);

/// A server with a device that has three hundred large orders.
async fn server(idle_deadline: Duration) -> TestServer {
    let server =
        TestServer::start_with(fleet(), |settings| settings.limits.idle_deadline = idle_deadline);
    let server = server.await;
    let name = "x".repeat(2_000);
    let orders: String = (0..300)
        .map(|number| {
            format!(
                "{{\"orderId\":\"o{number}\",\"deviceCode\":\"D1\",\"currency\":\"EUR\",\
                 \"totalAmount\":1,\"tradeStartTime\":\"2026-03-01 10:00:00\",\
                 \"payChannelName\":\"{name}\"}}\n"
            )
        })
        .collect();
    server.import_valid(orders).await;
    server
}

/// Sends a little from time to time until the server has closed the connection.
async fn until_gone(wire: &mut Wire, word: &[u8]) {
    let sending = async {
        while wire.stream.write_all(word).await.is_ok() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(WAIT_MAX, sending).await.expect("the connection is closed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_that_takes_no_answer_is_closed() {
    let server = server(DEADLINE).await;
    let token = server.log_in("ops").await.token;
    let path = format!("{ORDERS_PATH}?size=300");
    let ask = post(&path, &[("third-api-token", &token)], r#"{"deviceCode":"D1"}"#);
    let mut wire = Target::of(&server).narrow().await;
    let start = Instant::now();
    // More than any buffer on the way can hold.
    for _ in 0..40 {
        wire.say(&ask).await;
    }
    until_gone(&mut wire, b"P").await;
    assert!(start.elapsed() > DEADLINE / 2, "gone after {:?}", start.elapsed());
    assert_serves(&server, &token).await;
}

/// A caller that reads its answer slowly, but within the deadline, gets all of it.
#[tokio::test(flavor = "multi_thread")]
async fn a_caller_that_takes_its_answer_slowly_gets_it() {
    let deadline = DEADLINE * 5;
    let server = server(deadline).await;
    let token = server.log_in("ops").await.token;
    let path = format!("{ORDERS_PATH}?size=300");
    let mut wire = Target::of(&server).narrow().await;
    wire.say(post(&path, &[("third-api-token", &token)], r#"{"deviceCode":"D1"}"#)).await;
    for _ in 0..10 {
        tokio::time::sleep(deadline / 20).await;
        assert!(wire.more().await);
    }
    let reply = wire.answer().await.expect("the whole answer");
    assert_eq!(reply.data()["records"].as_array().unwrap().len(), 300);
}

/// On HTTP/2 a caller can forbid the server to send; that does not keep a connection open.
#[tokio::test(flavor = "multi_thread")]
async fn a_caller_of_http2_that_opens_no_window_is_closed() {
    let server = server(DEADLINE).await;
    let token = server.log_in("ops").await.token;
    let target = Target::with(&server, &[&rustls::version::TLS13], b"h2");
    let mut wire = target.open().await;
    wire.say(http2::preface(&[(INITIAL_WINDOW_SIZE, 0)])).await;
    let path = format!("/v8/{DEVICES_PATH}");
    let start = Instant::now();
    for stream in [1, 3, 5] {
        wire.say(http2::begun(stream, &path, &[("third-api-token", &token)])).await;
        wire.say(http2::frame(0, 1, stream, b"{}")).await;
    }
    until_gone(&mut wire, &http2::frame(6, 0, 0, &[0; 8])).await;
    assert!(start.elapsed() > DEADLINE / 2, "gone after {:?}", start.elapsed());
    assert_serves(&server, &token).await;
}

/// LIM-6: each answer has the deadline, so that further requests do not keep one that is not read.
#[tokio::test(flavor = "multi_thread")]
async fn a_caller_of_http2_that_asks_on_is_closed_all_the_same() {
    let server = server(DEADLINE).await;
    let token = server.log_in("ops").await.token;
    let mut wire = Target::with(&server, &[&rustls::version::TLS13], b"h2").open().await;
    // Enough for an answer to an unknown path, and not for a page.
    wire.say(http2::preface(&[(INITIAL_WINDOW_SIZE, 150)])).await;
    let path = format!("/v8/{DEVICES_PATH}");
    wire.say(http2::begun(1, &path, &[("third-api-token", &token)])).await;
    wire.say(http2::frame(DATA, 1, 1, b"{}")).await;
    await_frame(&mut wire, HEADERS, 1).await;
    let Wire { stream, mut seen } = wire;
    let (mut read, mut write) = tokio::io::split(stream);
    let reading = async {
        while read.read_buf(&mut seen).await.is_ok_and(|length| length > 0) {}
        http2::count(&seen, HEADERS)
    };
    let asking = async {
        for stream in (3..).step_by(2) {
            if write.write_all(&http2::request(stream, "/v8/nowhere", &[])).await.is_err() {
                break;
            }
            tokio::time::sleep(DEADLINE / 20).await;
        }
        std::future::pending::<()>().await;
    };
    let ended = async {
        tokio::select! {
            answered = reading => answered,
            () = asking => 0,
        }
    };
    let answered = tokio::time::timeout(WAIT_MAX, ended).await.expect("it stays open");
    assert!(answered > 5, "{answered} other requests were answered");
    assert_serves(&server, &token).await;
}

/// LIM-16: a connection with too many unsent bytes gets no further answers until it reads.
#[tokio::test(flavor = "multi_thread")]
pub(crate) async fn a_caller_that_does_not_read_gets_no_further_answers() {
    let server = TestServer::start_with(fleet(), |settings| {
        settings.limits.unsent_max_bytes = 100;
    })
    .await;
    let token = server.log_in("ops").await.token;
    let mut wire = Target::with(&server, &[&rustls::version::TLS13], b"h2").open().await;
    wire.say(http2::preface(&[(INITIAL_WINDOW_SIZE, 0)])).await;
    let path = format!("/v8/{DEVICES_PATH}");
    wire.say(http2::begun(1, &path, &[("third-api-token", &token)])).await;
    wire.say(http2::frame(DATA, 1, 1, b"{}")).await;
    await_frame(&mut wire, HEADERS, 1).await;
    wire.say(http2::request(3, "/v8/nowhere", &[])).await;
    wire.say(http2::frame(PING, 0, 0, &[7; 8])).await;
    await_frame(&mut wire, PING, 0).await;
    // Usually longer than an answer takes.
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(http2::count(&wire.seen, HEADERS), 1, "the second request was answered");
    wire.say(http2::frame(WINDOW_UPDATE, 0, 1, &1_000_000_u32.to_be_bytes())).await;
    await_frame(&mut wire, HEADERS, 3).await;
    assert!(await_frame(&mut wire, DATA, 1).await.starts_with(b"{\"code\":200,"));
}
