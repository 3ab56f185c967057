//! ADDR-5: TLS 1.2 and 1.3, and no plain HTTP on the same port.

use std::sync::Arc;

use kiosque_testkit::{DEVICES_PATH, TestServer, parse_response};
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
    let (server, token) = TestServer::start_for_ops(fleet()).await;
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
    let (server, token) = TestServer::start_for_ops(fleet()).await;
    let mut target = Target::of(&server);
    Arc::make_mut(&mut target.config).alpn_protocols.clear();
    let mut wire = target.open().await;
    assert_eq!(wire.ask(post(DEVICES_PATH, &[], "{}")).await.code(), -4);

    Arc::make_mut(&mut target.config).alpn_protocols = vec![b"gopher".to_vec()];
    target.secure(target.tcp().await).await.expect_err("no protocol in common");
    assert_serves(&server, &token).await;
}

/// ADDR-5: the answer to plain HTTP says so, on both listeners, also while the caller sends.
#[tokio::test]
async fn plain_http_is_refused_with_a_line_that_says_so() {
    let (server, token) = TestServer::start_for_ops(fleet()).await;
    let body = "x".repeat(300_000);
    let posted = format!(
        "POST /v8/{DEVICES_PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    for (target, bytes) in [
        (Target::of(&server), "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"),
        (Target::of(&server), &posted),
        (Target::of(&server), "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
        (Target::of_operator(&server), "GET /livez HTTP/1.0\r\n\r\n"),
        (Target::of_operator(&server), "G"),
    ] {
        let mut stream = target.tcp().await;
        stream.write_all(bytes.as_bytes()).await.unwrap();
        let mut received = Vec::new();
        stream.read_to_end(&mut received).await.unwrap();
        let (reply, length) = parse_response(&received, "GET").unwrap();
        assert_eq!((reply.status, length), (400, received.len()), "{reply:?}");
        assert_eq!(reply.headers["content-type"], "text/plain; charset=utf-8");
        assert_eq!(reply.headers["connection"], "close");
        assert_eq!(reply.text, "This port speaks HTTPS: use https:// in place of http://\n");
    }
    assert_serves(&server, &token).await;
}

/// ADDR-5: other bytes that are not TLS are not answered.
#[tokio::test]
async fn bytes_that_are_neither_tls_nor_http_are_not_answered() {
    let (server, token) = TestServer::start_for_ops(fleet()).await;
    let plain: [&[u8]; 3] = [b"\x16\x03\x01\x40\x00", b"\0\0\0\0", b"get / http/1.1\r\n\r\n"];
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
