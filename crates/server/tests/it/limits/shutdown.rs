//! LIM-13: a stop answers the requests in progress, for as long as its limit allows.

use std::time::{Duration, Instant};

use kiosque_server::Settings;
use kiosque_testkit::{DEVICES_PATH, TestServer, WAIT_MAX};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::abuse::wire::{Target, Wire, post};
use crate::abuse::{assert_envelope, fleet, http2};

async fn server(shutdown_deadline: Duration) -> TestServer {
    let set = |settings: &mut Settings| settings.limits.shutdown_deadline = shutdown_deadline;
    TestServer::start_with(fleet(), set).await
}

/// Opens a connection with a request whose body has begun and not ended, and returns the rest of
/// that body.
async fn begun(target: &Target, token: &str) -> (Wire, &'static [u8]) {
    let headers = [("third-api-token", token), ("expect", "100-continue")];
    let request = post(DEVICES_PATH, &headers, "{}");
    let mut wire = target.open().await;
    wire.say(&request[..request.len() - 2]).await;
    // The server requests the body: the request is in progress.
    while !wire.seen.ends_with(b"\r\n\r\n") {
        assert!(wire.more().await, "closed before the body");
    }
    assert_eq!(wire.seen, b"HTTP/1.1 100 Continue\r\n\r\n");
    wire.seen.clear();
    wire.say("{").await;
    (wire, b"}")
}

/// Stops the server; the task ends when it has stopped.
fn stop(mut server: TestServer) -> tokio::task::JoinHandle<TestServer> {
    tokio::spawn(async move {
        server.stop().await;
        server
    })
}

#[tokio::test]
async fn a_stop_finishes_requests_under_way() {
    let server = server(WAIT_MAX).await;
    let token = server.log_in("ops").await.token;
    let target = Target::of(&server);
    let mut resting = target.open().await;
    let ask = post(DEVICES_PATH, &[("third-api-token", &token)], "{}");
    assert_eq!(resting.ask(&ask).await.code(), 200);
    let (mut slow, rest) = begun(&target, &token).await;
    let mut silent = target.open().await;
    let mut greeting = target.tcp().await;
    let mut crowd = http2::open(&server, None).await;
    let path = format!("/v8/{DEVICES_PATH}");
    crowd.say(http2::begun(1, &path, &[("third-api-token", &token)])).await;
    // When a ping is answered, all earlier bytes have been read.
    crowd.say(http2::frame(http2::PING, 0, 0, &[0; 8])).await;
    http2::await_frame(&mut crowd, http2::PING, 0).await;

    let stopping = stop(server);
    // An idle connection, one without a request and one without a handshake are closed.
    assert!(timeout(WAIT_MAX, resting.is_closed()).await.expect("a resting connection is closed"));
    assert!(timeout(WAIT_MAX, silent.is_closed()).await.expect("a silent connection is closed"));
    let greeted = timeout(WAIT_MAX, greeting.read_u8()).await.expect("a handshake is broken off");
    assert!(greeted.is_err());
    TcpStream::connect(target.address).await.expect_err("new connections are refused");
    assert!(!stopping.is_finished(), "two requests are under way");

    slow.say(rest).await;
    let reply = slow.answer().await.expect("what was under way is answered");
    assert_envelope(&reply);
    assert_eq!(reply.code(), 200);
    assert!(slow.is_closed().await);

    crowd.say(http2::frame(0, 1, 1, b"{}")).await;
    // An answer to the server's ping, which asks whether all that was sent has arrived.
    while !crowd.seen.windows(12).any(|part| part == b"{\"code\":200,") {
        assert!(crowd.more().await, "closed before the answer");
        acknowledge_ping(&mut crowd).await;
    }
    while crowd.more().await {
        acknowledge_ping(&mut crowd).await;
    }
    timeout(WAIT_MAX, stopping).await.expect("it stops when all are answered").unwrap();
}

/// Acknowledges the last ping, as every library does.
async fn acknowledge_ping(wire: &mut Wire) {
    const PING: [u8; 9] = [0, 0, 8, 6, 0, 0, 0, 0, 0];
    let Some(at) = wire.seen.windows(9).rposition(|head| head == PING) else { return };
    let Some(payload) = wire.seen.get(at + 9..at + 17).map(<[u8]>::to_vec) else { return };
    wire.say(http2::frame(6, 1, 0, &payload)).await;
    wire.seen[at + 4] = 1;
}

#[tokio::test]
pub(super) async fn a_stop_waits_up_to_its_limit() {
    let deadline = Duration::from_millis(700);
    let server = server(deadline).await;
    let token = server.log_in("ops").await.token;
    let (_slow, _) = begun(&Target::of(&server), &token).await;
    let start = Instant::now();
    timeout(WAIT_MAX, stop(server)).await.expect("it does not wait for ever").unwrap();
    assert!(start.elapsed() >= deadline, "stopped after {:?}", start.elapsed());
}

/// LIM-13: a server without connections stops at once, and its data can be served again.
#[tokio::test]
async fn a_stop_without_callers_is_immediate() {
    let mut server = server(WAIT_MAX).await;
    let token = server.log_in("ops").await.token;
    timeout(WAIT_MAX, server.restart()).await.expect("nothing is under way");
    assert_eq!(server.code_of(&token).await, 200);
}
