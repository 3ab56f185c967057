//! A client that keeps its connection: HTTP/1.1 or HTTP/2 over TLS, trusting one certificate.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, bail, ensure};
use bytes::Bytes;
use http::header::{CONTENT_TYPE, HOST, SET_COOKIE};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Uri};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use kiosque_contract::TOKEN_HEADER;
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

/// A request, ready to be sent as often as needed.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
    is_good: fn(&[u8]) -> bool,
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
        let call = Call::of(&path, serde_json::to_vec(body)?, says_success)?;
        match token {
            Some(token) => call.with(TOKEN_HEADER, token),
            None => Ok(call),
        }
    }

    fn of(path: &str, body: Vec<u8>, is_good: fn(&[u8]) -> bool) -> anyhow::Result<Call> {
        Ok(Call { uri: path.parse()?, headers: HeaderMap::new(), body: body.into(), is_good })
    }

    fn with(mut self, name: &'static str, value: &str) -> anyhow::Result<Call> {
        self.headers.insert(name, HeaderValue::from_str(value)?);
        Ok(self)
    }

    /// Returns a call that must be refused because the group of its filter is not the caller's.
    ///
    /// # Errors
    /// Like [`Call::new`].
    pub(crate) fn refused(path: &str, token: &str, body: &impl Serialize) -> anyhow::Result<Call> {
        Ok(Call { is_good: says_refused, ..Call::new(path, Some(token), body)? })
    }

    /// A page of the console, for the holder of a session's cookie.
    ///
    /// # Errors
    /// The path or the cookie is invalid.
    pub(crate) fn page(path: &str, cookie: &str, coding: Option<&str>) -> anyhow::Result<Call> {
        let call = Call::of(path, Vec::new(), says_anything)?.with("cookie", cookie)?;
        match coding {
            Some(coding) => call.with("accept-encoding", coding),
            None => Ok(call),
        }
    }

    /// The metrics of the operator's listener.
    ///
    /// # Errors
    /// None: the path is valid.
    pub(crate) fn metrics() -> anyhow::Result<Call> {
        Call::of("/metrics", Vec::new(), says_anything)
    }

    /// Returns orders for the operator's listener, all of which must be accepted.
    ///
    /// # Errors
    /// When the key cannot travel.
    pub(crate) fn orders(key: &str, lines: Vec<u8>) -> anyhow::Result<Call> {
        Call::lines("/operator/v1/orders", key, lines)
    }

    /// Returns heartbeats for the operator's listener, all of which must be accepted.
    ///
    /// # Errors
    /// When the key cannot travel.
    pub(crate) fn heartbeats(key: &str, lines: Vec<u8>) -> anyhow::Result<Call> {
        Call::lines("/operator/v1/activity", key, lines)
    }

    fn lines(path: &str, key: &str, lines: Vec<u8>) -> anyhow::Result<Call> {
        Call::of(path, lines, says_all_taken)?.with("authorization", &format!("Bearer {key}"))
    }

    fn request(&self, uri: Uri) -> anyhow::Result<Request<Full<Bytes>>> {
        let method = if self.body.is_empty() { Method::GET } else { Method::POST };
        let mut request = Request::builder()
            .method(method)
            .uri(uri)
            .header(HOST, HeaderValue::from_static("localhost"))
            .header(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        for (name, value) in &self.headers {
            request = request.header(name, value.clone());
        }
        Ok(request.body(Full::new(self.body.clone()))?)
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
        let form = Call::of("/console/login", format!("key={key}").into_bytes(), says_anything)?;
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
        Ok(match self {
            Connection::Http1(sender) => {
                sender.ready().await?;
                sender.send_request(call.request(call.uri.clone())?).await?
            }
            Connection::Http2(sender) => {
                let absolute = format!("https://localhost{}", call.uri).parse()?;
                sender.ready().await?;
                sender.send_request(call.request(absolute)?).await?
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
        if status != StatusCode::OK || !(call.is_good)(&body) {
            let head: String = String::from_utf8_lossy(&body).chars().take(300).collect();
            bail!("{} was answered with HTTP {status}: {head}", call.uri);
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
        ensure!(answer.status() == StatusCode::OK, "{}: HTTP {}", call.uri, answer.status());
        Ok(answer)
    }

    /// Sends a call and reads the answer's `data`.
    ///
    /// # Errors
    /// Like [`Connection::post`], or `data` has another shape.
    pub(crate) async fn ask<T: DeserializeOwned>(&mut self, call: &Call) -> anyhow::Result<T> {
        let body = self.post(call).await?;
        let answer: kiosque_contract::Envelope<T> = serde_json::from_slice(&body)
            .with_context(|| format!("{} was answered in another shape", call.uri))?;
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

/// Returns whether an answer says that nothing was rejected.
fn says_all_taken(body: &[u8]) -> bool {
    let needle = br#""rejectedCount":0"#;
    body.windows(needle.len()).any(|part| part == needle)
}

/// Returns whether the body begins with `"code":200`, its first field.
fn says_success(body: &[u8]) -> bool {
    says_code(body, b"\"code\":200,")
}

/// Returns whether the body is a business refusal.
fn says_refused(body: &[u8]) -> bool {
    says_code(body, b"\"code\":-1,")
}

fn says_anything(_: &[u8]) -> bool {
    true
}

fn says_code(body: &[u8], field: &[u8]) -> bool {
    body.windows(field.len()).take(64).any(|part| part == field)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_code_200_is_a_success() {
        assert!(says_success(br#"{"code":200,"msg":"success","enMsg":null,"data":null}"#));
        for refused in
            [&br#"{"code":-4,"msg":"200"}"#[..], br#"{"code":2000,"msg":""}"#, b"", b"<html>"]
        {
            assert!(!says_success(refused));
        }
    }
}
