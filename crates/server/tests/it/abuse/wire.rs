//! A client that sends exactly the bytes it is given.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore, SupportedProtocolVersion};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::harness::{Reply, TestServer};

/// How long an answer, or an end, is waited for. A test that waits so long has failed.
const PATIENCE: Duration = Duration::from_secs(30);

/// The address of a server and the TLS settings to reach it. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Audience {
    pub(crate) address: SocketAddr,
    pub(crate) config: Arc<ClientConfig>,
}

impl Audience {
    pub(crate) fn of(server: &TestServer) -> Audience {
        Audience::with(server, &[&rustls::version::TLS13, &rustls::version::TLS12], b"http/1.1")
    }

    /// The operator's listener.
    pub(crate) fn of_operator(server: &TestServer) -> Audience {
        Audience { address: server.operator, ..Audience::of(server) }
    }

    /// A client with these versions of TLS and this protocol.
    pub(crate) fn with(
        server: &TestServer,
        versions: &[&'static SupportedProtocolVersion],
        protocol: &[u8],
    ) -> Audience {
        let cert = server.folder.path().join("tls/cert.pem");
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(cert).unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(versions)
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = vec![protocol.to_vec()];
        Audience { address: server.address, config: Arc::new(config) }
    }

    pub(crate) async fn tcp(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        stream
    }

    /// Opens a connection with a small receive buffer.
    pub(crate) async fn narrow(&self) -> Wire {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(4_096).unwrap();
        let stream = socket.connect(self.address).await.unwrap();
        Wire { stream: self.secure(stream).await.unwrap(), seen: Vec::new() }
    }

    pub(crate) async fn open(&self) -> Wire {
        let stream = self.secure(self.tcp().await).await.unwrap();
        Wire { stream, seen: Vec::new() }
    }

    pub(crate) async fn secure(&self, stream: TcpStream) -> std::io::Result<TlsStream<TcpStream>> {
        let name = ServerName::try_from("localhost").unwrap();
        TlsConnector::from(Arc::clone(&self.config)).connect(name, stream).await
    }
}

/// A TLS connection, and the bytes read from it that no answer has used yet.
pub(crate) struct Wire {
    pub(crate) stream: TlsStream<TcpStream>,
    pub(crate) seen: Vec<u8>,
}

impl Wire {
    pub(crate) async fn open(server: &TestServer) -> Wire {
        Audience::of(server).open().await
    }

    /// Sends the bytes; a closed connection is no error.
    pub(crate) async fn say(&mut self, bytes: impl AsRef<[u8]>) {
        let _ = self.stream.write_all(bytes.as_ref()).await;
        let _ = self.stream.flush().await;
    }

    /// Returns the next answer; `None` when the connection ends before it.
    pub(crate) async fn answer(&mut self) -> Option<Reply> {
        self.answer_to("POST").await
    }

    /// Returns the next answer to a request with this method: an answer to HEAD has no body.
    pub(crate) async fn answer_to(&mut self, method: &str) -> Option<Reply> {
        loop {
            if let Some((reply, length)) = parsed(&self.seen, method) {
                self.seen.drain(..length);
                return Some(reply);
            }
            if !self.more().await {
                return None;
            }
        }
    }

    /// Sends the bytes and reads the answer.
    pub(crate) async fn ask(&mut self, bytes: impl AsRef<[u8]>) -> Reply {
        self.say(bytes).await;
        self.answer().await.unwrap()
    }

    /// Reads more; returns false once the connection has ended.
    pub(crate) async fn more(&mut self) -> bool {
        let reading = timeout(PATIENCE, self.stream.read_buf(&mut self.seen));
        matches!(reading.await.expect("neither an answer nor an end"), Ok(length) if length > 0)
    }

    /// Reads until the connection ends, and returns what has not been used.
    pub(crate) async fn rest(mut self) -> Vec<u8> {
        while self.more().await {}
        self.seen
    }

    /// Returns whether the connection has ended without another byte.
    pub(crate) async fn is_closed(&mut self) -> bool {
        self.seen.is_empty() && !self.more().await
    }
}

/// Returns an HTTP/1 answer at the beginning of `bytes` and its length, once it is complete.
pub(crate) fn parsed(bytes: &[u8], method: &str) -> Option<(Reply, usize)> {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let head = std::str::from_utf8(&bytes[..end]).unwrap();
    let mut lines = head.lines();
    let status: u16 = lines.next()?.split(' ').nth(1).unwrap().parse().unwrap();
    let headers: BTreeMap<String, String> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    let bodiless = method == "HEAD" || (100..200).contains(&status);
    let length = headers.get("content-length").filter(|_| !bodiless);
    let length: usize = length.map_or(0, |length| length.parse().unwrap());
    let body = bytes.get(end..end + length)?;
    let text = String::from_utf8(body.to_vec()).unwrap();
    let json = serde_json::from_str(&text).unwrap_or(Value::Null);
    Some((Reply { status, headers, text, json }, end + length))
}

/// Returns the bytes of a POST.
pub(crate) fn post(path: &str, headers: &[(&str, &str)], body: &str) -> Vec<u8> {
    let mut text = format!("POST /v8/{path} HTTP/1.1\r\nHost: localhost\r\n");
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text.push_str(&format!("Content-Length: {}\r\n\r\n{body}", body.len()));
    text.into_bytes()
}
