//! Numbers of connections and streams.

use std::net::Ipv4Addr;
use std::time::Duration;

use kiosque_model::TrustedProxies;
use kiosque_testkit::{Client, DEVICES_PATH, TestServer, WAIT_MAX, eventually};
use tokio::time::timeout;

use crate::abuse::fleet;
use crate::abuse::http2::{self, DATA, RST_STREAM, SETTINGS, await_frame};
use crate::abuse::wire::{Target, post};

/// LIM-4: one connection over the limit waits until another is closed.
#[tokio::test]
pub(super) async fn one_connection_too_many_waits_for_its_turn() {
    let (server, token) =
        TestServer::start_for_ops_with(fleet(), |settings| settings.limits.connections_max = 3)
            .await;
    let target = Target::of(&server);
    let ask = post(DEVICES_PATH, &[("third-api-token", &token)], "{}");
    // A connection takes a permit whatever it does: silent, idle or active.
    let silent = target.tcp().await;
    let mut resting = target.open().await;
    assert_eq!(resting.ask(&ask).await.code(), 200);
    let mut asking = target.open().await;
    assert_eq!(asking.ask(&ask).await.code(), 200);

    let queued = {
        let (target, ask) = (target.clone(), ask.clone());
        tokio::spawn(async move { target.open().await.ask(ask).await.code() })
    };
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(!queued.is_finished(), "a fourth connection was accepted");
    assert_eq!(asking.ask(&ask).await.code(), 200, "the third goes on meanwhile");
    drop(silent);
    assert_eq!(timeout(WAIT_MAX, queued).await.unwrap().unwrap(), 200);
    // Its permit is free again, and so is the permit of each connection that is closed.
    for _ in 0..10 {
        assert_eq!(target.open().await.ask(&ask).await.code(), 200);
    }
    assert_eq!(resting.ask(&ask).await.code(), 200);
}

/// LIM-15: a source has a limited number of connections to a listener, and one more is closed.
/// Others are not affected, and neither is a trusted proxy.
#[tokio::test]
pub(super) async fn one_source_cannot_take_every_connection() {
    let server = TestServer::start_with(fleet(), |settings| {
        settings.limits.connections_per_source_max = 2;
        settings.trusted_proxies = TrustedProxies::parse(["127.0.0.3"]).unwrap();
    })
    .await;
    let [source, other, proxy] = [1, 2, 3].map(|last| Ipv4Addr::new(127, 0, 0, last));
    let ask = async |client: &mut Client| client.call("nowhere", None, "{}").await.status;
    let mut first = server.connect_from(source).await.unwrap();
    let second = server.connect_from(source).await.unwrap();
    assert!(server.connect_from(source).await.is_none(), "a third connection was accepted");
    // The operator's listener counts its own connections.
    assert_eq!(server.connect_operator().await.call("nowhere", None, "{}").await.status, 404);
    assert_eq!(ask(&mut server.connect_from(other).await.unwrap()).await, 404);
    let mut behind = Vec::new();
    for _ in 0..5 {
        behind.push(server.connect_from(proxy).await.unwrap());
        assert_eq!(ask(behind.last_mut().unwrap()).await, 404);
    }
    assert_eq!(ask(&mut first).await, 404);
    drop(second);
    eventually("its place is free again", async || server.connect_from(source).await.is_some())
        .await;
}

/// LIM-5: the server announces the number of streams, and refuses one more in a way that allows
/// another attempt.
#[tokio::test]
pub(super) async fn one_stream_too_many_is_refused() {
    let (server, token) =
        TestServer::start_for_ops_with(fleet(), |settings| settings.limits.http2_streams_max = 2)
            .await;
    let mut wire = http2::open(&server, None).await;
    let settings = await_frame(&mut wire, SETTINGS, 0).await;
    const MAX_CONCURRENT_STREAMS: [u8; 6] = [0, 3, 0, 0, 0, 2];
    assert!(settings.chunks(6).any(|setting| setting == MAX_CONCURRENT_STREAMS), "{settings:?}");

    let path = format!("/v8/{DEVICES_PATH}");
    for stream in [1, 3, 5] {
        wire.say(http2::begun(stream, &path, &[("third-api-token", &token)])).await;
    }
    const REFUSED_STREAM: [u8; 4] = [0, 0, 0, 7];
    assert_eq!(await_frame(&mut wire, RST_STREAM, 5).await, REFUSED_STREAM);
    for stream in [1, 3] {
        wire.say(http2::frame(DATA, 1, stream, b"{}")).await;
        let data = await_frame(&mut wire, DATA, stream).await;
        assert!(data.starts_with(b"{\"code\":200,"), "{data:?}");
    }
    // There is capacity again.
    wire.say(http2::post(7, DEVICES_PATH, &token, "{}")).await;
    await_frame(&mut wire, DATA, 7).await;
}
