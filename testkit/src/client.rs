//! Asynchronous clients over TLS.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::{TcpSocket, TcpStream};

use crate::reply::Reply;
use crate::tls::{VERSIONS, client_config, tls_over};

/// The data of a successful login or change of group.
#[derive(Clone, Debug)]
pub struct LoggedIn {
    /// The new token.
    pub token: String,
    /// The session's group.
    pub group: String,
    /// The lifetime of the token, in seconds.
    pub expires_in: i64,
}

impl LoggedIn {
    /// Reads a response, which must be a success.
    #[track_caller]
    pub fn of(reply: &Reply) -> LoggedIn {
        assert_eq!(reply.code(), 200, "{reply:?}");
        let data = reply.data();
        LoggedIn {
            token: data["accessToken"].as_str().unwrap().to_owned(),
            group: data["groupId"].as_str().unwrap().to_owned(),
            expires_in: data["expiresIn"].as_i64().unwrap(),
        }
    }
}

impl Reply {
    /// Reads the whole response.
    pub async fn of(response: http::Response<hyper::body::Incoming>) -> Reply {
        Reply::read(response).await.unwrap()
    }

    /// Returns `None` if the body ends before its length.
    async fn read(response: http::Response<hyper::body::Incoming>) -> Option<Reply> {
        let (head, body) = response.into_parts();
        let body = body.collect().await.ok()?.to_bytes();
        let headers = head.headers.iter();
        let headers = headers
            .map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()))
            .collect();
        Some(Reply::new(head.status.as_u16(), headers, &body))
    }
}

/// A keep-alive connection of HTTP/1.1.
pub struct Client(http1::SendRequest<Full<Bytes>>);

impl Client {
    /// Connects to a server that shows the certificate of this file.
    pub async fn connect(address: SocketAddr, certificate: &Path) -> Client {
        let stream = TcpStream::connect(address).await.unwrap();
        Client::over(stream, certificate).await.unwrap()
    }

    /// Connects from a local address. Returns `None` if the server does not accept the connection.
    pub async fn connect_from(
        source: Ipv4Addr,
        address: SocketAddr,
        certificate: &Path,
    ) -> Option<Client> {
        let socket = TcpSocket::new_v4().ok()?;
        socket.bind((source, 0).into()).ok()?;
        Client::over(socket.connect(address).await.ok()?, certificate).await
    }

    async fn over(stream: TcpStream, certificate: &Path) -> Option<Client> {
        let config = client_config(certificate, &VERSIONS, Some(b"http/1.1"));
        let stream = tls_over(stream, &config).await.ok()?;
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await.ok()?;
        tokio::spawn(connection);
        Some(Client(sender))
    }

    /// Sends a POST to a path under `/v8`.
    pub async fn call(&mut self, path: &str, token: Option<&str>, body: &str) -> Reply {
        let mut request = post(&format!("/v8/{path}"));
        if let Some(token) = token {
            request = request.header("third-api-token", token);
        }
        self.send(request.body(Full::from(body.to_owned())).unwrap()).await
    }

    /// Sends any request.
    pub async fn send(&mut self, request: http::Request<Full<Bytes>>) -> Reply {
        self.try_send(request).await.unwrap()
    }

    /// Sends any request. Returns `None` if the server closes the connection before it has
    /// responded.
    pub async fn try_send(&mut self, request: http::Request<Full<Bytes>>) -> Option<Reply> {
        self.0.ready().await.ok()?;
        Reply::read(self.0.send_request(request).await.ok()?).await
    }
}

/// Begins a POST of JSON to a full path.
pub fn post(path: &str) -> http::request::Builder {
    http::Request::post(path).header("host", "localhost").header("content-type", "application/json")
}

/// A connection of HTTP/2.
pub type Http2Client = http2::SendRequest<Full<Bytes>>;

/// Connects by HTTP/2 to a server that shows the certificate of this file.
pub(crate) async fn connect_http2(address: SocketAddr, certificate: &Path) -> Http2Client {
    let config = client_config(certificate, &VERSIONS, Some(b"h2"));
    let stream = tls_over(TcpStream::connect(address).await.unwrap(), &config).await.unwrap();
    let handshake = http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await;
    let (sender, connection) = handshake.unwrap();
    tokio::spawn(connection);
    sender
}
