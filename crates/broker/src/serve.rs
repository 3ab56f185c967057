//! The listeners: TLS or plain HTTP for workers, plain HTTP for the status.

use std::convert::Infallible;
use std::fmt;
use std::io;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderValue, Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio_rustls::TlsAcceptor;

use crate::answer::Answered;
use crate::broker::Broker;

/// The largest number of open connections of all listeners.
const CONNECTIONS_MAX: u32 = 4_096;
/// The time for a TLS handshake.
const HANDSHAKE_MAX: Duration = Duration::from_secs(10);
/// The time for which a connection may be idle, and in which the head of a request must arrive.
const IDLE_MAX: Duration = Duration::from_secs(300);
/// The pause after a failed accept: usually there are no file descriptors left.
const ACCEPT_RETRY: Duration = Duration::from_millis(50);
/// The time in which the requests under way, and then the log out, must end.
const DRAIN_MAX: Duration = Duration::from_secs(35);

/// The sockets of a broker.
#[derive(Debug)]
pub struct Listeners {
    /// HTTPS, for workers.
    pub tls: (TcpListener, Arc<ServerConfig>),
    /// Plain HTTP, for workers on this machine.
    pub plain: Option<TcpListener>,
    /// Plain HTTP, for the status and the metrics.
    pub status: Option<TcpListener>,
}

/// Why TLS cannot be configured.
#[derive(Debug)]
pub struct TlsFault(String);

impl fmt::Display for TlsFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for TlsFault {}

/// Returns the TLS configuration of a certificate and its key, both in PEM.
///
/// # Errors
/// The texts are not a certificate and its key.
pub fn tls_config(cert_pem: &[u8], key_pem: &[u8]) -> Result<Arc<ServerConfig>, TlsFault> {
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(cert_pem).collect();
    let chain = chain.map_err(|error| TlsFault(format!("the certificate: {error}")))?;
    let key = PrivateKeyDer::from_pem_slice(key_pem);
    let key = key.map_err(|error| TlsFault(format!("the private key: {error}")))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|versions| versions.with_no_client_auth().with_single_cert(chain, key));
    let mut config = config.map_err(|error| TlsFault(format!("the certificate: {error}")))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

/// What a listener answers.
#[derive(Clone)]
enum Face {
    /// The calls of the interface, over TLS.
    Tls(TlsAcceptor),
    /// The calls of the interface.
    Plain,
    /// The status.
    Status,
}

/// A connection, with TLS or without.
trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// Serves until `stop`, then answers the requests under way, and logs the session of the account
/// out.
pub async fn serve(broker: Arc<Broker>, listeners: Listeners, stop: impl Future<Output = ()>) {
    let permits = Arc::new(Semaphore::new(CONNECTIONS_MAX as usize));
    let (socket, config) = listeners.tls;
    let faces = [
        Some((socket, Face::Tls(TlsAcceptor::from(config)))),
        listeners.plain.map(|socket| (socket, Face::Plain)),
        listeners.status.map(|socket| (socket, Face::Status)),
    ];
    for (socket, face) in faces.into_iter().flatten() {
        let (broker, permits) = (Arc::clone(&broker), Arc::clone(&permits));
        let stopping = broker.stopping.subscribe();
        tokio::spawn(accept(broker, socket, face, permits, stopping));
    }
    let watching = Arc::clone(&broker);
    let watching = tokio::spawn(async move { watching.watch_evictions().await });
    stop.await;
    broker.stopping.send_replace(true);
    if tokio::time::timeout(DRAIN_MAX, permits.acquire_many(CONNECTIONS_MAX)).await.is_err() {
        tracing::warn!("stopped with connections still open");
    }
    watching.abort();
    match tokio::time::timeout(DRAIN_MAX, broker.session.log_out()).await {
        Ok(Ok(())) => tracing::info!("the session of the account is logged out"),
        Ok(Err(error)) => tracing::warn!(cause = %error, "the session cannot be logged out"),
        Err(_) => tracing::warn!("the session cannot be logged out: no answer in time"),
    }
}

async fn accept(
    broker: Arc<Broker>,
    socket: TcpListener,
    face: Face,
    permits: Arc<Semaphore>,
    mut stopping: watch::Receiver<bool>,
) {
    let stopped = stopping.clone();
    loop {
        let accepted = tokio::select! {
            accepted = accept_one(&socket, &permits) => accepted,
            _ = stopping.wait_for(|is_set| *is_set) => return,
        };
        let (permit, stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(cause = %error, "a connection could not be accepted");
                tokio::time::sleep(ACCEPT_RETRY).await;
                continue;
            }
        };
        // Answers are written whole; Nagle's algorithm would only delay them.
        let _ = stream.set_nodelay(true);
        let (broker, face, stopped) = (Arc::clone(&broker), face.clone(), stopped.clone());
        tokio::spawn(async move {
            connection(broker, face, stream, peer, stopped).await;
            drop(permit);
        });
    }
}

async fn accept_one(
    socket: &TcpListener,
    permits: &Arc<Semaphore>,
) -> io::Result<(tokio::sync::OwnedSemaphorePermit, TcpStream, IpAddr)> {
    let permit = Arc::clone(permits).acquire_owned().await.map_err(io::Error::other)?;
    let (stream, peer) = socket.accept().await?;
    Ok((permit, stream, peer.ip().to_canonical()))
}

/// Serves a connection to its end.
async fn connection(
    broker: Arc<Broker>,
    face: Face,
    stream: TcpStream,
    peer: IpAddr,
    mut stopping: watch::Receiver<bool>,
) {
    let stream: Box<dyn Stream> = match &face {
        Face::Tls(acceptor) => {
            let handshake = tokio::time::timeout(HANDSHAKE_MAX, acceptor.accept(stream));
            let secured = tokio::select! {
                secured = handshake => secured,
                // There is no request yet.
                _ = stopping.wait_for(|is_set| *is_set) => return,
            };
            let Ok(Ok(stream)) = secured else { return };
            Box::new(stream)
        }
        Face::Plain | Face::Status => Box::new(stream),
    };
    let service = service_fn(move |request: Request<Incoming>| {
        let (broker, face) = (Arc::clone(&broker), face.clone());
        async move {
            Ok::<_, Infallible>(match face {
                Face::Tls(_) | Face::Plain => broker.answer(request, peer).await,
                Face::Status => status(&broker, request.uri().path()).await,
            })
        }
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(IDLE_MAX);
    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
    // A connection that fails affects no other one.
    tokio::select! {
        _ = connection.as_mut() => return,
        _ = stopping.wait_for(|is_set| *is_set) => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

async fn status(broker: &Broker, path: &str) -> Answered {
    let (kind, body) = match path {
        "/" => ("text/plain; charset=utf-8", broker.status().await.to_string()),
        "/status.json" => {
            // Texts and numbers always render.
            ("application/json", serde_json::to_string(&broker.status().await).unwrap_or_default())
        }
        "/metrics" => ("text/plain; version=0.0.4", broker.metrics_text()),
        _ => {
            let mut response = Response::new(Full::default());
            *response.status_mut() = StatusCode::NOT_FOUND;
            return response;
        }
    };
    let mut response = Response::new(Full::from(body));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
