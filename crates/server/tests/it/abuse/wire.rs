//! A client that sends exactly the bytes it is given.

use std::net::SocketAddr;
use std::sync::Arc;

use kiosque_testkit::{Reply, TestServer, WAIT_MAX, client_config, parse_response, tls_over};
use rustls::{ClientConfig, SupportedProtocolVersion};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;
use tokio_rustls::client::TlsStream;

/// The address of a server and the TLS settings to reach it. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Target {
    pub(crate) address: SocketAddr,
    pub(crate) config: Arc<ClientConfig>,
}

impl Target {
    pub(crate) fn of(server: &TestServer) -> Target {
        Target::with(server, &[&rustls::version::TLS13, &rustls::version::TLS12], b"http/1.1")
    }

    /// A client of HTTP/2.
    pub(crate) fn http2(server: &TestServer) -> Target {
        Target::with(server, &[&rustls::version::TLS13], b"h2")
    }

    /// The operator's listener.
    pub(crate) fn of_operator(server: &TestServer) -> Target {
        Target { address: server.operator, ..Target::of(server) }
    }

    /// A client with these versions of TLS and this protocol.
    pub(crate) fn with(
        server: &TestServer,
        versions: &[&'static SupportedProtocolVersion],
        protocol: &[u8],
    ) -> Target {
        let config = client_config(&server.certificate_file(), versions, Some(protocol));
        Target { address: server.address, config }
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
        tls_over(stream, &self.config).await
    }
}

/// A TLS connection, and the bytes read from it that no answer has used yet.
pub(crate) struct Wire {
    pub(crate) stream: TlsStream<TcpStream>,
    pub(crate) seen: Vec<u8>,
}

impl Wire {
    pub(crate) async fn open(server: &TestServer) -> Wire {
        Target::of(server).open().await
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
            if let Some((reply, length)) = parse_response(&self.seen, method) {
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
        let reading = timeout(WAIT_MAX, self.stream.read_buf(&mut self.seen));
        matches!(reading.await.expect("neither an answer nor an end"), Ok(length) if length > 0)
    }

    /// Reads until the connection ends, and returns the bytes that were not used.
    pub(crate) async fn rest(mut self) -> Vec<u8> {
        while self.more().await {}
        self.seen
    }

    /// Returns whether the connection has ended without another byte.
    pub(crate) async fn is_closed(&mut self) -> bool {
        self.seen.is_empty() && !self.more().await
    }
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
