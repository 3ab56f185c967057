//! Callers of a house, who speak real TLS, and what they are answered.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::Value;
use tokio::net::TcpSocket;

use crate::dial::{tls_over, tls_stream};
use crate::harness::TestServer;

/// What a login or switch answered.
#[derive(Clone, Debug)]
pub(crate) struct LoggedIn {
    pub(crate) token: String,
    pub(crate) group: String,
    pub(crate) expires_in: i64,
}

impl LoggedIn {
    pub(crate) fn of(reply: &Reply) -> LoggedIn {
        assert_eq!(reply.code(), 200, "{reply:?}");
        let data = &reply.json["data"];
        LoggedIn {
            token: data["accessToken"].as_str().unwrap().to_owned(),
            group: data["groupId"].as_str().unwrap().to_owned(),
            expires_in: data["expiresIn"].as_i64().unwrap(),
        }
    }
}

/// An answer, whole.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) text: String,
    pub(crate) json: Value,
}

impl Reply {
    pub(crate) fn code(&self) -> i64 {
        self.json["code"].as_i64().unwrap()
    }

    pub(crate) fn data(&self) -> &Value {
        &self.json["data"]
    }

    pub(crate) async fn of(response: http::Response<hyper::body::Incoming>) -> Reply {
        Reply::whole(response).await.unwrap()
    }

    /// None when it breaks off.
    async fn whole(response: http::Response<hyper::body::Incoming>) -> Option<Reply> {
        let (head, body) = response.into_parts();
        let text = body.collect().await.ok()?.to_bytes();
        let text = String::from_utf8(text.to_vec()).unwrap();
        let headers = head
            .headers
            .iter()
            .map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()))
            .collect();
        let json = serde_json::from_str(&text).unwrap_or(Value::Null);
        Some(Reply { status: head.status.as_u16(), headers, text, json })
    }
}

/// One keep-alive connection.
pub(crate) struct Caller(hyper::client::conn::http1::SendRequest<Full<Bytes>>);

impl Caller {
    pub(crate) async fn connect(address: SocketAddr, folder: &Path) -> Caller {
        let stream = tls_stream(address, folder, &[b"http/1.1"]).await;
        let (sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        Caller(sender)
    }

    /// A connection from a source of its own; none when the server has no time for it.
    pub(crate) async fn connect_from(source: Ipv4Addr, server: &TestServer) -> Option<Caller> {
        let socket = TcpSocket::new_v4().ok()?;
        socket.bind((source, 0).into()).ok()?;
        let stream = socket.connect(server.address).await.ok()?;
        let stream = tls_over(stream, server.folder.path(), &[b"http/1.1"]).await.ok()?;
        let shaken = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await;
        let (sender, connection) = shaken.ok()?;
        tokio::spawn(connection);
        Some(Caller(sender))
    }

    /// A POST to a path under `/v8`.
    pub(crate) async fn call(&mut self, path: &str, token: Option<&str>, body: &str) -> Reply {
        let mut request = post(&format!("/v8/{path}"));
        if let Some(token) = token {
            request = request.header("third-api-token", token);
        }
        self.send(request.body(Full::from(body.to_owned())).unwrap()).await
    }

    /// Any request.
    pub(crate) async fn send(&mut self, request: http::Request<Full<Bytes>>) -> Reply {
        self.try_send(request).await.unwrap()
    }

    /// Any request, on a connection that the server may have closed meanwhile.
    pub(crate) async fn try_send(&mut self, request: http::Request<Full<Bytes>>) -> Option<Reply> {
        self.0.ready().await.ok()?;
        Reply::whole(self.0.send_request(request).await.ok()?).await
    }
}

/// A POST of JSON to a full path; add headers and a body.
pub(crate) fn post(path: &str) -> http::request::Builder {
    http::Request::post(path).header("host", "localhost").header("content-type", "application/json")
}

/// An HTTP/2 connection.
pub(crate) async fn http2(
    address: SocketAddr,
    folder: &Path,
) -> hyper::client::conn::http2::SendRequest<Full<Bytes>> {
    let stream = tls_stream(address, folder, &[b"h2"]).await;
    let handshake =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream));
    let (sender, connection) = handshake.await.unwrap();
    tokio::spawn(connection);
    sender
}
