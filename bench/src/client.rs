//! A client that keeps its connection: HTTP/1.1 or HTTP/2 over TLS, trusting one certificate.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, bail, ensure};
use bytes::Bytes;
use http::header::{CONTENT_TYPE, HOST, SET_COOKIE};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use kiosque_contract::TOKEN_HEADER;
use kiosque_testkit::ORDERS_CALL;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::net::{TcpSocket, TcpStream};
use tokio_rustls::TlsConnector;

/// The name of HTTP/2 in TLS.
const HTTP2: &[u8] = b"h2";
/// The receive buffer of a connection that does not read.
const SMALL_BUFFER: u32 = 4 << 10;

/// The beginning of a success, of a business refusal, and what says that nothing was rejected.
const SUCCESS: &[u8] = b"\"code\":200,";
const REFUSED: &[u8] = b"\"code\":-1,";
const ALL_TAKEN: &[u8] = b"\"rejectedCount\":0";

/// A request, ready to be sent as often as needed.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    request: Request<Full<Bytes>>,
    /// A good answer has this in its body.
    expected: &'static [u8],
}

impl Call {
    /// Returns a call of `path` (with its query) under the gateway prefix.
    ///
    /// # Errors
    /// The path or the token is invalid, or the body cannot be serialized as JSON.
    pub(crate) fn new(
        path: &str,
        token: Option<&str>,
        body: &impl Serialize,
    ) -> anyhow::Result<Call> {
        let path = format!("{}/{path}", kiosque_contract::GATEWAY_PREFIX);
        let call = Call::of(&path, serde_json::to_vec(body)?, SUCCESS)?;
        match token {
            Some(token) => call.with(TOKEN_HEADER, token),
            None => Ok(call),
        }
    }

    fn of(path: &str, body: Vec<u8>, expected: &'static [u8]) -> anyhow::Result<Call> {
        let request = Request::builder()
            .method(if body.is_empty() { Method::GET } else { Method::POST })
            .uri(path)
            .header(HOST, "localhost")
            .header(CONTENT_TYPE, "application/json")
            .body(Full::from(body))?;
        Ok(Call { request, expected })
    }

    /// Returns the call with another header.
    ///
    /// # Errors
    /// The value is invalid.
    pub(crate) fn with(mut self, name: &'static str, value: &str) -> anyhow::Result<Call> {
        self.request.headers_mut().insert(name, HeaderValue::from_str(value)?);
        Ok(self)
    }

    /// Returns a call that must be refused because the group of its filter is not the caller's.
    ///
    /// # Errors
    /// Like [`Call::new`].
    pub(crate) fn refused(path: &str, token: &str, body: &impl Serialize) -> anyhow::Result<Call> {
        Ok(Call { expected: REFUSED, ..Call::new(path, Some(token), body)? })
    }

    /// A page of the console, for the holder of a session's cookie.
    ///
    /// # Errors
    /// The path or the cookie is invalid.
    pub(crate) fn page(path: &str, cookie: &str) -> anyhow::Result<Call> {
        Call::of(path, Vec::new(), b"")?.with("cookie", cookie)
    }

    /// The metrics of the operator's listener.
    ///
    /// # Errors
    /// None: the path is valid.
    pub(crate) fn metrics() -> anyhow::Result<Call> {
        Call::of("/metrics", Vec::new(), b"")
    }

    /// Returns orders for the operator's listener, all of which must be accepted.
    ///
    /// # Errors
    /// When the key cannot travel.
    pub(crate) fn orders(key: &str, lines: Vec<u8>) -> anyhow::Result<Call> {
        Call::lines(ORDERS_CALL, key, lines)
    }

    /// Returns heartbeats for the operator's listener, all of which must be accepted.
    ///
    /// # Errors
    /// When the key cannot travel.
    pub(crate) fn heartbeats(key: &str, lines: Vec<u8>) -> anyhow::Result<Call> {
        Call::lines("/operator/v1/activity", key, lines)
    }

    fn lines(path: &str, key: &str, lines: Vec<u8>) -> anyhow::Result<Call> {
        Call::of(path, lines, ALL_TAKEN)?.with("authorization", &format!("Bearer {key}"))
    }
}

/// The address of a server, and the certificate that it must have.
#[derive(Clone)]
pub(crate) struct Client {
    tls: Arc<ClientConfig>,
    address: SocketAddr,
}

impl Client {
    /// Returns a client of `address` that trusts the certificate in the file `cert`.
    ///
    /// # Errors
    /// The file is not a certificate.
    pub(crate) fn trusting(cert: &Path, address: SocketAddr) -> anyhow::Result<Client> {
        Ok(Client { tls: kiosque_https_client::trust(Some(cert))?, address }.over(b"http/1.1"))
    }

    /// Returns this client over HTTP/2.
    pub(crate) fn over_http2(&self) -> Client {
        self.over(HTTP2)
    }

    fn over(&self, protocol: &[u8]) -> Client {
        let mut tls = ClientConfig::clone(&self.tls);
        tls.alpn_protocols = vec![protocol.to_vec()];
        Client { tls: Arc::new(tls), address: self.address }
    }

    /// Opens a connection.
    ///
    /// # Errors
    /// The connection or the handshake fails.
    pub(crate) async fn connect(&self) -> anyhow::Result<Connection> {
        self.handshake(TcpStream::connect(self.address).await?).await
    }

    /// Signs in to the console with an operator's key; returns the cookie of the session.
    ///
    /// # Errors
    /// When the sign-in fails.
    pub(crate) async fn sign_in(&self, key: &str) -> anyhow::Result<String> {
        let form = Call::of("/console/login", format!("key={key}").into_bytes(), b"")?;
        let form = form.with("sec-fetch-site", "same-origin")?;
        let answer = self.connect().await?.send(&form).await?;
        ensure!(answer.status() == StatusCode::SEE_OTHER, "sign-in: HTTP {}", answer.status());
        let cookie = answer.headers().get(SET_COOKIE).context("the sign-in sets no cookie")?;
        Ok(cookie.to_str()?.split(';').next().unwrap_or_default().to_owned())
    }

    /// Opens a connection with a small receive buffer, so that an answer which is not read soon
    /// waits at the server.
    ///
    /// # Errors
    /// The connection or the handshake fails.
    pub(crate) async fn connect_small(&self) -> anyhow::Result<Connection> {
        let socket = TcpSocket::new_v4()?;
        socket.set_recv_buffer_size(SMALL_BUFFER)?;
        self.handshake(socket.connect(self.address).await?).await
    }

    async fn handshake(&self, tcp: TcpStream) -> anyhow::Result<Connection> {
        tcp.set_nodelay(true)?;
        let name = ServerName::try_from("localhost")?;
        let tls = TlsConnector::from(Arc::clone(&self.tls)).connect(name, tcp).await?;
        // A broken connection is noticed at the next call.
        Ok(if tls.get_ref().1.alpn_protocol() == Some(HTTP2) {
            let (sender, driver) =
                http2::handshake(TokioExecutor::new(), TokioIo::new(tls)).await?;
            tokio::spawn(async { drop(driver.await) });
            Connection::Http2(sender)
        } else {
            let (sender, driver) = http1::handshake(TokioIo::new(tls)).await?;
            tokio::spawn(async { drop(driver.await) });
            Connection::Http1(sender)
        })
    }

    /// Opens `wanted` connections.
    ///
    /// # Errors
    /// One of them cannot be opened.
    pub(crate) async fn connect_all(&self, wanted: usize) -> anyhow::Result<Vec<Connection>> {
        let mut connections = Vec::with_capacity(wanted);
        for _ in 0..wanted {
            connections.push(self.connect().await?);
        }
        Ok(connections)
    }
}

/// A connection that stays open between calls.
pub(crate) enum Connection {
    Http1(http1::SendRequest<Full<Bytes>>),
    Http2(http2::SendRequest<Full<Bytes>>),
}

impl Connection {
    async fn send(&mut self, call: &Call) -> anyhow::Result<Response<Incoming>> {
        let mut request = call.request.clone();
        Ok(match self {
            Connection::Http1(sender) => {
                sender.ready().await?;
                sender.send_request(request).await?
            }
            Connection::Http2(sender) => {
                *request.uri_mut() = format!("https://localhost{}", request.uri()).parse()?;
                sender.ready().await?;
                sender.send_request(request).await?
            }
        })
    }

    /// Sends a call and reads the whole answer, which must be a success.
    ///
    /// # Errors
    /// The connection breaks, or the answer is not HTTP 200 with `code` 200.
    pub(crate) async fn post(&mut self, call: &Call) -> anyhow::Result<Bytes> {
        let answer = self.send(call).await?;
        let status = answer.status();
        let body = answer.into_body().collect().await?.to_bytes();
        if status != StatusCode::OK || !contains(&body, call.expected) {
            let head: String = String::from_utf8_lossy(&body).chars().take(300).collect();
            bail!("{} was answered with HTTP {status}: {head}", call.request.uri());
        }
        Ok(body)
    }

    /// Sends a call and returns the head of the answer; the body is read no further than the
    /// connection's buffers until it is polled. The connection ends with the body.
    ///
    /// # Errors
    /// The connection breaks, or the answer is not HTTP 200.
    pub(crate) async fn begin(mut self, call: &Call) -> anyhow::Result<Response<Incoming>> {
        let answer = self.send(call).await?;
        let uri = call.request.uri();
        ensure!(answer.status() == StatusCode::OK, "{uri}: HTTP {}", answer.status());
        Ok(answer)
    }

    /// Sends a call and reads the answer's `data`.
    ///
    /// # Errors
    /// Like [`Connection::post`], or `data` has another shape.
    pub(crate) async fn ask<T: DeserializeOwned>(&mut self, call: &Call) -> anyhow::Result<T> {
        let body = self.post(call).await?;
        let answer: kiosque_contract::Envelope<T> = serde_json::from_slice(&body)
            .with_context(|| format!("{} was answered in another shape", call.request.uri()))?;
        Ok(answer.data)
    }

    /// Whether the server ended it.
    pub(crate) fn is_closed(&self) -> bool {
        match self {
            Connection::Http1(sender) => sender.is_closed(),
            Connection::Http2(sender) => sender.is_closed(),
        }
    }
}

fn contains(body: &[u8], text: &[u8]) -> bool {
    text.is_empty() || body.windows(text.len()).any(|part| part == text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_code_200_is_a_success() {
        assert!(contains(br#"{"code":200,"msg":"success","enMsg":null,"data":null}"#, SUCCESS));
        for refused in
            [&br#"{"code":-4,"msg":"200"}"#[..], br#"{"code":2000,"msg":""}"#, b"", b"<html>"]
        {
            assert!(!contains(refused, SUCCESS));
        }
    }
}
