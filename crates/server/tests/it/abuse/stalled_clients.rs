//! LIM-6: an answer that the caller does not read occupies its connection for the idle timeout and
//! no longer.

use std::time::{Duration, Instant};

use kiosque_testkit::{DEVICES_PATH, ORDERS_PATH, TestServer};

use super::wire::{Target, Wire, post};
use super::{assert_serves, fleet, http2};

const DEADLINE: Duration = Duration::from_millis(1_000);
const LATE: Duration = Duration::from_secs(5);

/// A server with a device that has three hundred large orders.
async fn server() -> TestServer {
    let server =
        TestServer::start_with(fleet(), |settings| settings.limits.idle_deadline = DEADLINE).await;
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

/// Sends a little from time to time until the server has closed the connection; returns how long
/// that took.
async fn until_gone(wire: &mut Wire, word: &[u8]) -> Duration {
    let start = Instant::now();
    loop {
        tokio::time::sleep(Duration::from_millis(50)).await;
        let said = tokio::io::AsyncWriteExt::write_all(&mut wire.stream, word);
        if !matches!(tokio::time::timeout(LATE, said).await, Ok(Ok(()))) || start.elapsed() > LATE {
            return start.elapsed();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_that_takes_no_answer_is_closed() {
    let server = server().await;
    let token = server.log_in("ops").await.token;
    let path = format!("{ORDERS_PATH}?size=300");
    let ask = post(&path, &[("third-api-token", &token)], r#"{"deviceCode":"D1"}"#);
    let mut wire = Target::of(&server).narrow().await;
    // More than any buffer on the way can hold.
    for _ in 0..40 {
        wire.say(&ask).await;
    }
    let gone = until_gone(&mut wire, b"P").await;
    assert!(gone > DEADLINE / 2 && gone < LATE, "gone after {gone:?}");
    assert_serves(&server, &token).await;
}

/// A caller that reads its answer slowly, but within the deadline, gets all of it.
#[tokio::test(flavor = "multi_thread")]
async fn a_caller_that_takes_its_answer_slowly_gets_it() {
    let server = server().await;
    let token = server.log_in("ops").await.token;
    let path = format!("{ORDERS_PATH}?size=300");
    let mut wire = Target::of(&server).narrow().await;
    wire.say(post(&path, &[("third-api-token", &token)], r#"{"deviceCode":"D1"}"#)).await;
    for _ in 0..10 {
        tokio::time::sleep(DEADLINE / 20).await;
        assert!(wire.more().await);
    }
    let reply = wire.answer().await.expect("the whole answer");
    assert_eq!(reply.data()["records"].as_array().unwrap().len(), 300);
}

/// HTTP/2 lets a caller forbid the server to send; that does not keep a connection open.
#[tokio::test(flavor = "multi_thread")]
async fn a_caller_of_http2_that_opens_no_window_is_closed() {
    let server = server().await;
    let token = server.log_in("ops").await.token;
    let target = Target::with(&server, &[&rustls::version::TLS13], b"h2");
    let mut wire = target.open().await;
    const INITIAL_WINDOW_SIZE: u16 = 4;
    wire.say(http2::preface(&[(INITIAL_WINDOW_SIZE, 0)])).await;
    let path = format!("/v8/{DEVICES_PATH}");
    for stream in [1, 3, 5] {
        wire.say(http2::begun(stream, &path, &[("third-api-token", &token)])).await;
        wire.say(http2::frame(0, 1, stream, b"{}")).await;
    }
    let gone = until_gone(&mut wire, &http2::frame(6, 0, 0, &[0; 8])).await;
    assert!(gone > DEADLINE / 2 && gone < LATE, "gone after {gone:?}");
    assert_serves(&server, &token).await;
}
