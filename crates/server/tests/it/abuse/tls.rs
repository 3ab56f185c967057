//! ADDR-5: TLS 1.2 and 1.3, and no plain HTTP on the same port.

use std::sync::Arc;

use kiosque_testkit::{DEVICES_PATH, TestServer};
use rustls::pki_types::ServerName;
use rustls::{ClientConnection, ProtocolVersion};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::wire::{Target, post};
use super::{assert_envelope, assert_serves, fleet};

/// Returns the first bytes of a TLS handshake.
pub(crate) fn client_hello(target: &Target) -> Vec<u8> {
    let name = ServerName::try_from("localhost").unwrap();
    let mut client = ClientConnection::new(Arc::clone(&target.config), name).unwrap();
    let mut hello = Vec::new();
    client.write_tls(&mut hello).unwrap();
    hello
}

#[tokio::test]
async fn both_versions_of_tls_carry_the_same_answers() {
    let server = TestServer::start(fleet()).await;
    let token = server.log_in("ops").await.token;
    let mut answers = Vec::new();
    for (version, number) in [
        (&rustls::version::TLS12, ProtocolVersion::TLSv1_2),
        (&rustls::version::TLS13, ProtocolVersion::TLSv1_3),
    ] {
        let mut wire = Target::with(&server, &[version], b"http/1.1").open().await;
        assert_eq!(wire.stream.get_ref().1.protocol_version(), Some(number));
        let reply = wire.ask(post(DEVICES_PATH, &[("third-api-token", &token)], "{}")).await;
        assert_envelope(&reply);
        answers.push(reply.text);
    }
    assert_eq!(answers[0], answers[1]);
}

/// ADDR-6: a caller without ALPN gets HTTP/1.1; one with unsupported names gets no connection.
#[tokio::test]
async fn a_caller_without_alpn_speaks_http_1() {
    let server = TestServer::start(fleet()).await;
    let token = server.log_in("ops").await.token;
    let mut target = Target::of(&server);
    Arc::make_mut(&mut target.config).alpn_protocols.clear();
    let mut wire = target.open().await;
    assert_eq!(wire.ask(post(DEVICES_PATH, &[], "{}")).await.code(), -4);

    Arc::make_mut(&mut target.config).alpn_protocols = vec![b"gopher".to_vec()];
    target.secure(target.tcp().await).await.expect_err("no protocol in common");
    assert_serves(&server, &token).await;
}

/// ADDR-5: plain HTTP gets no HTTP answer.
#[tokio::test]
async fn plain_http_is_not_answered() {
    let server = TestServer::start(fleet()).await;
    let token = server.log_in("ops").await.token;
    let plain: [&[u8]; 4] = [
        b"POST /v8/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"\x16\x03\x01\x40\x00",
        b"\0\0\0\0",
    ];
    for bytes in plain {
        let mut stream = Target::of(&server).tcp().await;
        stream.write_all(bytes).await.unwrap();
        stream.shutdown().await.unwrap();
        let mut received = Vec::new();
        let _ = stream.read_to_end(&mut received).await;
        // A TLS alert at most.
        assert!(received.is_empty() || received[0] == 21, "{received:?}");
        assert!(received.len() < 10, "{received:?}");
    }
    assert_serves(&server, &token).await;
}
