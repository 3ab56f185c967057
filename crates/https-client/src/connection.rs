//! Requests to one server, over connections that are reused.

use std::error::Error;
use std::fmt::Write as _;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, Uri};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::Body;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder, MaybeHttpsStream};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::{self, Client};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tower_service::Service;

use crate::base_url::BaseUrl;
use crate::trust::TlsConfig;

/// The maximum time to open a connection, including its TLS handshake.
const CONNECT_MAX: Duration = Duration::from_secs(10);
/// The maximum time until the head of an answer, and from there to its end. A server aborts a read
/// after seconds; a waiting change feed, after a minute.
const ANSWER_MAX: Duration = Duration::from_secs(100);
/// The maximum size of an answer: the aisles of a large group take some megabytes.
const ANSWER_MAX_BYTES: usize = 64 << 20;
/// The maximum number of idle connections kept for later requests.
const IDLE_MAX: usize = 64;
/// The time after which a connection takes no further request, since its server may be closing it.
const IDLE_TIME_MAX: Duration = Duration::from_secs(30);

/// Sends requests to one server. Clones share their connections.
#[derive(Clone, Debug)]
pub struct HttpsClient {
    url: BaseUrl,
    client: Client<Connector, Full<Bytes>>,
}

/// Why a request has no answer.
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
pub struct ClientError {
    text: String,
    is_final: bool,
}

impl ClientError {
    fn new(text: String) -> ClientError {
        ClientError { text, is_final: false }
    }

    /// Returns an error that lasts until the server or the settings of the client change.
    fn lasting(text: String) -> ClientError {
        ClientError { text, is_final: true }
    }

    /// Returns whether the same request fails in the same way again, until the server or the
    /// settings of the client change.
    pub fn is_final(&self) -> bool {
        self.is_final
    }
}

impl HttpsClient {
    /// Returns a client of the server at `url`. Nothing is sent yet. It uses HTTP/1.1, which takes
    /// less time per call than HTTP/2.
    ///
    /// # Errors
    /// The host of the URL is not one that TLS can verify.
    pub fn new(url: BaseUrl, tls: TlsConfig) -> Result<HttpsClient, ClientError> {
        if ServerName::try_from(url.host()).is_err() {
            let text = format!("{:?} is not a host name or an IP address", url.host());
            return Err(ClientError::lasting(text));
        }
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        // With Nagle's algorithm a part of a request could wait for the acknowledgement of the
        // previous one.
        tcp.set_nodelay(true);
        let connector = HttpsConnectorBuilder::new().with_tls_config(ClientConfig::clone(&tls));
        let connector = connector.https_only().enable_http1().wrap_connector(tcp);
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_TIME_MAX)
            .pool_max_idle_per_host(IDLE_MAX)
            .build(Connector(connector));
        Ok(HttpsClient { url, client })
    }

    /// Returns the base URL of the server.
    pub fn url(&self) -> &BaseUrl {
        &self.url
    }

    /// Sends a request, whose path usually begins with `/v8`, and reads the answer to its end. The
    /// header `Host` follows from the URL.
    ///
    /// # Errors
    /// There is no connection, or it ended before the end of the answer, or the answer is late or
    /// too large. A request that was sent is not repeated.
    pub async fn exchange(&self, request: Request<Bytes>) -> Result<Response<Bytes>, ClientError> {
        let mut request = request.map(Full::new);
        let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
        let path = self.url.path(path);
        let uri = Uri::try_from(format!("https://{}{path}", self.url.authority()));
        let not_a_path = |_| ClientError::lasting(format!("{path:?} is not a path"));
        *request.uri_mut() = uri.map_err(not_a_path)?;
        let answered = timeout(ANSWER_MAX, self.client.request(request)).await;
        let answer = answered
            .map_err(|_| self.late("answer", ANSWER_MAX))?
            .map_err(|error| self.failed(&error))?;
        let (head, body) = answer.into_parts();
        Ok(Response::from_parts(head, whole(body, ANSWER_MAX_BYTES, ANSWER_MAX).await?))
    }

    fn late(&self, phase: &str, most: Duration) -> ClientError {
        ClientError::new(format!("{} did not {phase} within {} s", self.url, most.as_secs()))
    }

    fn failed(&self, error: &legacy::Error) -> ClientError {
        let (url, reason) = (&self.url, reason(error));
        if !error.is_connect() {
            return ClientError::new(format!("{url} did not answer: {reason}"));
        }
        if causes(error).any(|cause| cause.is::<Late>()) {
            return self.late("accept a connection", CONNECT_MAX);
        }
        match causes(error).find_map(|cause| cause.downcast_ref::<rustls::Error>()) {
            Some(error) if is_of_ca_certificate(error) => ClientError::lasting(format!(
                "cannot connect to {url}: TLS: the server's certificate is one of a CA; a server \
                 needs one with CA:FALSE, which `openssl req -x509` makes with `-addext \
                 basicConstraints=critical,CA:FALSE`"
            )),
            Some(rustls::Error::InvalidCertificate(_)) => ClientError::lasting(format!(
                "cannot connect to {url}: TLS: {reason}; if its certificate is self-signed, \
                 specify it as the CA file"
            )),
            Some(_) => ClientError::new(format!("cannot connect to {url}: TLS: {reason}")),
            None => ClientError::new(format!("cannot connect to {url}: {reason}")),
        }
    }
}

/// Reads the body of an answer to its end.
async fn whole(
    body: impl Body<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>>,
    bytes_max: usize,
    time_max: Duration,
) -> Result<Bytes, ClientError> {
    let read = timeout(time_max, Limited::new(body, bytes_max).collect()).await;
    let read = read.map_err(|_| {
        ClientError::new(format!("the answer did not end within {} s", time_max.as_secs()))
    })?;
    let read = read.map_err(|error| match error.is::<LengthLimitError>() {
        true => ClientError::lasting(format!(
            "the answer has more than {bytes_max} bytes, the limit; request less, such as smaller \
             pages or fewer devices"
        )),
        false => {
            let reason = without_link(&error.to_string());
            ClientError::new(format!("the answer ended early: {reason}"))
        }
    })?;
    Ok(read.to_bytes())
}

/// Returns whether a certificate was refused because it is one of a CA. rustls has no variant for
/// this, and the error within is of a crate that it does not export.
fn is_of_ca_certificate(error: &rustls::Error) -> bool {
    matches!(
        error,
        rustls::Error::InvalidCertificate(rustls::CertificateError::Other(error))
            if error.to_string() == "CaUsedAsEndEntity"
    )
}

fn causes(error: &legacy::Error) -> impl Iterator<Item = &(dyn Error + 'static)> {
    fn next<'a>(cause: &&'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
        match cause.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
            // Its `source` is the inner error's.
            Some(inner) => Some(inner),
            None => (*cause).source(),
        }
    }
    std::iter::successors(error.source(), next)
}

/// Returns the causes of an error on one line; some already contain the next one.
fn reason(error: &legacy::Error) -> String {
    let mut text = String::new();
    for cause in causes(error).map(ToString::to_string) {
        if !text.ends_with(&cause) {
            let colon = if text.is_empty() { "" } else { ": " };
            // Writing to a String does not fail.
            let _ = write!(text, "{colon}{cause}");
        }
    }
    if text.is_empty() { error.to_string() } else { without_link(&text) }
}

/// Returns a text without the link to the manual of rustls, which is for programmers.
fn without_link(text: &str) -> String {
    text.split(": https://docs.rs/").next().unwrap_or(text).to_owned()
}

/// Opens connections, within a time.
#[derive(Clone, Debug)]
struct Connector(HttpsConnector<HttpConnector>);

/// A connection was not open in time.
#[derive(Debug, thiserror::Error)]
#[error("no connection within {CONNECT_MAX:?}")]
struct Late;

type Connected = Result<MaybeHttpsStream<TokioIo<TcpStream>>, Box<dyn Error + Send + Sync>>;

impl Service<Uri> for Connector {
    type Response = MaybeHttpsStream<TokioIo<TcpStream>>;
    type Error = Box<dyn Error + Send + Sync>;
    type Future = Pin<Box<dyn Future<Output = Connected> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, server: Uri) -> Self::Future {
        let connecting = timeout(CONNECT_MAX, self.0.call(server));
        Box::pin(async move { connecting.await.unwrap_or_else(|_| Err(Late.into())) })
    }
}

#[cfg(test)]
mod tests {
    use hyper::body::Frame;

    use super::*;

    /// A body that never ends.
    struct Stalled;

    impl Body for Stalled {
        type Data = Bytes;
        type Error = io::Error;

        fn poll_frame(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
            Poll::Pending
        }
    }

    #[test]
    fn a_connection_that_ends_early_is_described_without_a_link() {
        let ended = "peer closed connection without sending TLS close_notify";
        let link = "https://docs.rs/rustls/latest/rustls/manual/_03_howto/index.html";
        assert_eq!(without_link(&format!("{ended}: {link}")), ended);
        assert_eq!(without_link(ended), ended);
    }

    #[tokio::test]
    async fn an_answer_is_read_up_to_the_limit() {
        let answer = || Full::new(Bytes::from_static(b"ab"));
        let read = async |bytes_max| whole(answer(), bytes_max, ANSWER_MAX).await;
        assert_eq!(read(2).await.expect("a whole answer"), "ab");
        let too_large = read(1).await.expect_err("too large");
        assert!(too_large.is_final());
        assert_eq!(
            too_large.to_string(),
            "the answer has more than 1 bytes, the limit; request less, such as smaller pages or \
             fewer devices"
        );
    }

    #[tokio::test]
    async fn an_answer_that_does_not_end_is_late() {
        let late = whole(Stalled, 1, Duration::ZERO).await.expect_err("no end");
        assert!(!late.is_final());
        assert_eq!(late.to_string(), "the answer did not end within 0 s");
    }
}
