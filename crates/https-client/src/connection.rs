//! Connections to a server, and requests over them.

use std::io;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{HeaderValue, Request, Response, Uri, header};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use kiosque_locks::lock_ignoring_poison;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use crate::base_url::BaseUrl;

/// The longest time until a connection is open, its TLS handshake included.
const CONNECT_MAX: Duration = Duration::from_secs(10);
/// The longest time until the head of an answer. A server gives up a read after seconds; a waiting
/// change feed, after a minute.
const ANSWER_MAX: Duration = Duration::from_secs(100);
/// Connections that wait for later requests.
const IDLE_MAX: usize = 64;
/// The age at which a connection takes no further request, since its server may be closing it.
const IDLE_AGE_MAX: Duration = Duration::from_secs(30);

/// Sends requests to one server. Connections are reused.
pub struct HttpsClient {
    url: BaseUrl,
    authority: HeaderValue,
    name: ServerName<'static>,
    tls: TlsConnector,
    idle: Mutex<Vec<Idle>>,
}

/// A connection that may take another request, and when it took its last one.
struct Idle {
    sender: SendRequest<Full<Bytes>>,
    since: Instant,
}

/// Why a request has no answer.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The host of the URL is not one that TLS can verify.
    #[error("{0:?} is not a name of a host or an IP address")]
    Host(String),
    /// There is no connection.
    #[error("cannot connect to {0}: {1}")]
    Connect(BaseUrl, io::Error),
    /// The TLS handshake failed.
    #[error("cannot connect to {0}: TLS: {1}; if its certificate is self-signed, use --ca-file")]
    Handshake(BaseUrl, io::Error),
    /// A phase took too long.
    #[error("{0} did not {1} within {seconds} s", seconds = .2.as_secs())]
    Late(BaseUrl, &'static str, Duration),
    /// The connection ended before the answer.
    #[error("{0} did not answer: {1}")]
    Broken(BaseUrl, hyper::Error),
    /// The request has no path that can be sent.
    #[error("{0:?} is not a path")]
    Path(String),
}

impl HttpsClient {
    /// Returns a client of the server at `url`. Nothing is sent yet.
    ///
    /// # Errors
    /// The host of the URL is not one that TLS can verify.
    pub fn new(url: BaseUrl, tls: Arc<ClientConfig>) -> Result<HttpsClient, ClientError> {
        let host = || ClientError::Host(url.host().to_owned());
        let name = ServerName::try_from(url.host().to_owned()).map_err(|_| host())?;
        let authority = HeaderValue::try_from(url.authority()).map_err(|_| host())?;
        Ok(HttpsClient { url, authority, name, tls: tls.into(), idle: Mutex::default() })
    }

    /// Returns the base URL of the server.
    #[must_use]
    pub fn url(&self) -> &BaseUrl {
        &self.url
    }

    /// Sends a request, whose path begins with `/v8` usually, and returns the answer once its head
    /// has arrived. The header `Host` is set.
    ///
    /// # Errors
    /// There is no connection, or it ended before the answer. A request that was sent is not
    /// repeated.
    pub async fn send(
        &self,
        mut request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, ClientError> {
        let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
        let path = self.url.path(path);
        *request.uri_mut() = Uri::try_from(&path).map_err(|_| ClientError::Path(path))?;
        request.headers_mut().insert(header::HOST, self.authority.clone());
        let answering = async {
            loop {
                let reused = self.idle_connection();
                let is_reused = reused.is_some();
                let mut sender = match reused {
                    Some(sender) => sender,
                    None => self.connect().await?,
                };
                match sender.try_send_request(request).await {
                    Ok(response) => {
                        self.keep(sender);
                        return Ok(response);
                    }
                    Err(mut error) => match error.take_message() {
                        // The server has closed an idle connection, and nothing was sent.
                        Some(unsent) if is_reused => request = unsent,
                        _ => return Err(self.broken(error.into_error())),
                    },
                }
            }
        };
        let late = |_| ClientError::Late(self.url.clone(), "answer", ANSWER_MAX);
        timeout(ANSWER_MAX, answering).await.map_err(late)?
    }

    fn broken(&self, error: hyper::Error) -> ClientError {
        ClientError::Broken(self.url.clone(), error)
    }

    /// Returns a connection that can take a request at once.
    fn idle_connection(&self) -> Option<SendRequest<Full<Bytes>>> {
        let mut idle = lock_ignoring_poison(&self.idle);
        idle.retain(|it| !it.sender.is_closed() && it.since.elapsed() < IDLE_AGE_MAX);
        let ready = idle.iter().position(|it| it.sender.is_ready())?;
        Some(idle.swap_remove(ready).sender)
    }

    /// Stores a connection for later requests. It takes the next one when the body of its answer
    /// has been read.
    fn keep(&self, sender: SendRequest<Full<Bytes>>) {
        let mut idle = lock_ignoring_poison(&self.idle);
        if idle.len() < IDLE_MAX {
            idle.push(Idle { sender, since: Instant::now() });
        }
    }

    async fn connect(&self) -> Result<SendRequest<Full<Bytes>>, ClientError> {
        let late = |_| ClientError::Late(self.url.clone(), "accept a connection", CONNECT_MAX);
        timeout(CONNECT_MAX, self.connect_now()).await.map_err(late)?
    }

    async fn connect_now(&self) -> Result<SendRequest<Full<Bytes>>, ClientError> {
        let failed = |error| ClientError::Connect(self.url.clone(), error);
        let address = (self.url.host(), self.url.port());
        let stream = TcpStream::connect(address).await.map_err(failed)?;
        stream.set_nodelay(true).map_err(failed)?;
        let secured = self.tls.connect(self.name.clone(), stream).await;
        let stream = secured.map_err(|error| ClientError::Handshake(self.url.clone(), error))?;
        let (sender, connection) =
            http1::handshake(TokioIo::new(stream)).await.map_err(|error| self.broken(error))?;
        tokio::spawn(connection);
        Ok(sender)
    }
}
