//! LIM-6: an answer that the caller does not read occupies its connection for the idle timeout and
//! no longer.

use std::time::{Duration, Instant};

use kiosque_testkit::{DEVICES_PATH, ORDERS_PATH, OrderLine, TestServer, WAIT_MAX, eventually};

use tokio::io::AsyncWriteExt;

use super::http2::{DATA, HEADERS, PING, RST_STREAM, WINDOW_UPDATE, await_frame};
use super::wire::{Target, Wire, post};
use super::{assert_serves, fleet, http2};

const DEADLINE: Duration = Duration::from_millis(1_000);

/// A server with a device that has three hundred large orders.
async fn server(idle_deadline: Duration) -> TestServer {
    let server =
        TestServer::start_with(fleet(), |settings| settings.limits.idle_deadline = idle_deadline);
    let server = server.await;
    let orders: String = (0..300).map(large_order).collect();
    server.import_valid(orders).await;
    server
}

/// Returns a line of more than two thousand bytes.
fn large_order(number: u32) -> String {
    let order = OrderLine::new(format!("o{number}"), "D1", "2026-03-01 10:00:00");
    order.with("payChannelName", "x".repeat(2_000)).to_string()
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
    let mut wire = http2::open(&server, Some(0)).await;
    let start = Instant::now();
    for stream in [1, 3, 5] {
        wire.say(http2::post(stream, DEVICES_PATH, &token, "{}")).await;
    }
    until_gone(&mut wire, &http2::frame(6, 0, 0, &[0; 8])).await;
    assert!(start.elapsed() > DEADLINE / 2, "gone after {:?}", start.elapsed());
    assert_serves(&server, &token).await;
}

/// LIM-6: an answer that is not read ends with a reset of its stream, whether the caller gives it
/// no window, less than a piece, or the window of a few pieces. Other requests of the connection
/// are answered before and after that.
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_not_read_is_reset_and_its_connection_goes_on() {
    const MUCH: [u8; 4] = 10_000_000_u32.to_be_bytes();
    let server = server(DEADLINE).await;
    let token = server.log_in("ops").await.token;
    let devices = (DEVICES_PATH.to_owned(), "{}");
    let orders = (format!("{ORDERS_PATH}?size=300"), r#"{"deviceCode":"D1"}"#);
    for (window, (path, body)) in [(0, &devices), (150, &devices), (150_000, &orders)] {
        let mut wire = http2::open(&server, Some(window)).await;
        wire.say(http2::frame(WINDOW_UPDATE, 0, 0, &MUCH)).await;
        let start = Instant::now();
        wire.say(http2::post(1, path, &token, body)).await;
        await_frame(&mut wire, HEADERS, 1).await;
        let mut ask = async |stream| {
            wire.say(http2::request(stream, "/v8/nowhere", &[])).await;
            wire.say(http2::frame(WINDOW_UPDATE, 0, stream, &MUCH)).await;
            await_frame(&mut wire, DATA, stream).await;
            http2::count(&wire.seen, RST_STREAM)
        };
        let mut stream = 3;
        while ask(stream).await == 0 {
            stream += 2;
            assert!(start.elapsed() < WAIT_MAX, "window {window}: the answer is not reset");
            tokio::time::sleep(DEADLINE / 20).await;
        }
        assert!(start.elapsed() >= DEADLINE, "window {window}: after {:?}", start.elapsed());
        assert_eq!(ask(stream + 2).await, 1, "window {window}: one answer is reset");
        await_frame(&mut wire, RST_STREAM, 1).await;
        eventually("the answer is dropped", async || server.app.load().unread_bytes == 0).await;
    }
}

/// LIM-6: an answer that is longer than the window of its stream arrives whole as the caller reads.
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_read_slowly_arrives_whole() {
    let server = server(DEADLINE * 5).await;
    let token = server.log_in("ops").await.token;
    let window = 70_000_u32;
    let mut wire = http2::open(&server, Some(window)).await;
    let path = format!("{ORDERS_PATH}?size=300");
    wire.say(http2::post(1, &path, &token, r#"{"deviceCode":"D1"}"#)).await;
    let mut answer = Vec::new();
    while !answer.ends_with(b"]}}") {
        let more = window.to_be_bytes();
        wire.say(http2::frame(WINDOW_UPDATE, 0, 0, &more)).await;
        wire.say(http2::frame(WINDOW_UPDATE, 0, 1, &more)).await;
        assert!(wire.more().await, "closed after {} bytes", answer.len());
        answer = http2::data_of(&wire.seen, 1);
    }
    let answer: serde_json::Value = serde_json::from_slice(&answer).unwrap();
    assert_eq!(answer["data"]["records"].as_array().unwrap().len(), 300);
    assert_eq!(http2::count(&wire.seen, RST_STREAM), 0);
}

/// LIM-19: the answers that an account has not read are bounded, over all of its connections, and
/// take nothing from other accounts.
#[tokio::test(flavor = "multi_thread")]
pub(crate) async fn answers_that_an_account_does_not_read_are_bounded() {
    let server = TestServer::start_with(fleet().account("other", &["g1"]), |settings| {
        // A quarter is one page.
        settings.limits.unread_answers_max_bytes = 12_000;
    })
    .await;
    server.import_valid(large_order(1)).await;
    let [ops, other] = ["ops", "other"].map(|account| server.log_in(account));
    let (ops, other) = (ops.await.token, other.await.token);
    let body = r#"{"deviceCode":"D1"}"#;
    let mut wire = http2::open(&server, Some(0)).await;
    wire.say(http2::post(1, ORDERS_PATH, &ops, body)).await;
    await_frame(&mut wire, HEADERS, 1).await;
    let refused = server.call(ORDERS_PATH, Some(&ops), body).await;
    assert_eq!((refused.status, refused.code()), (500, 500), "{refused:?}");
    assert_eq!(refused.headers["retry-after"], "1");
    let said = refused.data().as_str().unwrap();
    assert!(said.starts_with("too many answers have not been read"), "{said}");
    assert_eq!(server.call(ORDERS_PATH, Some(&other), body).await.code(), 200);
    wire.say(http2::frame(WINDOW_UPDATE, 0, 1, &1_000_000_u32.to_be_bytes())).await;
    assert!(await_frame(&mut wire, DATA, 1).await.starts_with(b"{\"code\":200,"));
    eventually("the answer is sent", async || server.app.load().unread_bytes == 0).await;
    assert_eq!(server.call(ORDERS_PATH, Some(&ops), body).await.code(), 200);
}

/// LIM-16: a connection with too many unsent bytes gets no further answers until it reads.
#[tokio::test(flavor = "multi_thread")]
pub(crate) async fn a_caller_that_does_not_read_gets_no_further_answers() {
    let (server, token) = TestServer::start_for_ops_with(fleet(), |settings| {
        settings.limits.unsent_max_bytes = 100;
    })
    .await;
    let mut wire = http2::open(&server, Some(0)).await;
    wire.say(http2::post(1, DEVICES_PATH, &token, "{}")).await;
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
