//! One connection: the TLS handshake, then requests until it ends. Each phase has a deadline.

use std::convert::Infallible;
use std::future::poll_fn;
use std::net::IpAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use http::header::CONTENT_LENGTH;
use http::{Method, Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use kiosque_model::{Limits, TrustedProxies};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep_until};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::answer_body::{AnswerBody, Content};
use crate::compression::{self, Coding, Compressor};
use crate::connection_activity::{ConnectionActivity, Protocol};
use crate::metrics::ConnectionMetrics;
use crate::monitored_stream::MonitoredStream;
use crate::source_limits::{KeptConnection, WhenFull};
use crate::stop::Stop;
use crate::stream_deadline::StreamExecutor;
use crate::{http1_request, plain_http};

/// Maximum number of headers of a request.
const HEADERS_MAX: usize = 100;
/// The interval at which a connection without a deadline checks for a new one.
const DEADLINE_POLL: Duration = Duration::from_secs(1);

/// A function that answers a request from an address. It has one type for all listeners, so that
/// the code of connections is generated once, in this crate.
pub type BoxedAnswer = Box<dyn Fn(Request<Incoming>, IpAddr) -> AnswerFuture + Send + Sync>;

/// The future of an answer.
pub type AnswerFuture = Pin<Box<dyn Future<Output = Response<Content>> + Send>>;

/// The limits and the metrics of a listener's connections.
#[derive(Clone, Debug)]
pub struct ConnectionOptions {
    /// Limits of connections and of their requests.
    pub limits: Limits,
    /// Sources whose connections are not limited.
    pub trusted_proxies: TrustedProxies,
    /// Counters of connections.
    pub metrics: ConnectionMetrics,
    /// What happens to a further connection of a source that has the maximum number.
    pub when_full: WhenFull,
}

/// The other end of a connection.
pub(crate) struct Peer {
    pub(crate) address: IpAddr,
    /// Keeps the connection, if others may replace it.
    pub(crate) kept: Option<KeptConnection>,
}

/// The state that all connections of a listener share.
pub(crate) struct Shared {
    pub(crate) options: ConnectionOptions,
    pub(crate) answer: BoxedAnswer,
    pub(crate) compressor: Compressor,
}

/// The state that the requests of a connection share.
struct Connection {
    shared: Arc<Shared>,
    peer: Peer,
    activity: Arc<ConnectionActivity>,
}

impl Connection {
    fn new(shared: &Arc<Shared>, peer: Peer, protocol: Protocol) -> Arc<Connection> {
        let ConnectionOptions { limits, metrics, .. } = &shared.options;
        let activity = ConnectionActivity::new(protocol, limits, metrics.answers.clone());
        Arc::new(Connection { shared: Arc::clone(shared), peer, activity })
    }
}

/// Serves a connection to its end. Its failures affect no other connection.
pub(crate) async fn serve(
    shared: Arc<Shared>,
    peer: Peer,
    acceptor: TlsAcceptor,
    stream: TcpStream,
    stop: Stop,
) {
    let limits = &shared.options.limits;
    let stream = tokio::select! {
        stream = secure(acceptor, stream, limits) => match stream {
            Some(stream) => stream,
            None => return shared.options.metrics.handshakes_failed.inc(),
        },
        // There is no request yet.
        () = stop.wait() => return,
    };
    if stream.get_ref().1.alpn_protocol() == Some(b"h2") {
        let served = Connection::new(&shared, peer, Protocol::Http2);
        let io = TokioIo::new(MonitoredStream::new(stream, &served.activity));
        let service = service_fn(|request| respond(Arc::clone(&served), request));
        let connection = http2_builder(limits).serve_connection(io, service);
        let shutdown = http2::Connection::graceful_shutdown;
        drive(pin!(connection), shutdown, limits, &served.activity, stop).await;
    } else {
        serve_http1(shared, peer, stream, stop).await;
    }
}

/// Serves a connection of HTTP/1 to its end.
pub(crate) async fn serve_http1(
    shared: Arc<Shared>,
    peer: Peer,
    stream: impl AsyncRead + AsyncWrite + Unpin,
    stop: Stop,
) {
    let limits = &shared.options.limits;
    let served = Connection::new(&shared, peer, Protocol::Http1);
    let io = TokioIo::new(MonitoredStream::new(stream, &served.activity));
    let service = service_fn(|request| respond(Arc::clone(&served), request));
    let connection = http1_builder(limits).serve_connection(io, service);
    let shutdown = http1::Connection::graceful_shutdown;
    drive(pin!(connection), shutdown, limits, &served.activity, stop).await;
}

/// Answers a request of a connection.
async fn respond(
    connection: Arc<Connection>,
    mut request: Request<Incoming>,
) -> Result<Response<AnswerBody>, Infallible> {
    let Connection { shared, peer, activity } = &*connection;
    let active = Arc::clone(activity).request_to(request.uri().path());
    active.room().await;
    if let Some(kept) = &peer.kept {
        request.extensions_mut().insert(kept.clone());
    }
    let coding = Coding::preferred(request.headers());
    let is_head = request.method() == Method::HEAD;
    let mut response = if activity.protocol == Protocol::Http1 && !http1_request::is_valid(&request)
    {
        http1_request::bad_request()
    } else {
        (shared.answer)(request, peer.address).await
    };
    if let Some(coding) = compression::coding_of(&mut response, coding) {
        // Boxed, so that the futures of other requests remain small.
        response = Box::pin(shared.compressor.compress(response, coding)).await;
    }
    if is_head {
        response = without_content(response);
    }
    Ok(response.map(|content| content.sent(active)))
}

/// Returns the answer to HEAD, which says how long its content would be (ADDR-2). Over HTTP/2,
/// hyper would send the content.
fn without_content(response: Response<Content>) -> Response<Content> {
    let (mut head, content) = response.into_parts();
    if let Some(length) = content.length().filter(|length| *length > 0) {
        head.headers.insert(CONTENT_LENGTH, length.into());
    }
    Response::from_parts(head, Content::from(Bytes::new()))
}

/// Returns a connection after its TLS handshake; `None` if that failed or was late, or if the
/// caller uses plain HTTP.
async fn secure(
    acceptor: TlsAcceptor,
    stream: TcpStream,
    limits: &Limits,
) -> Option<TlsStream<TcpStream>> {
    let handshake = async {
        if plain_http::is_plain_http(&stream).await.ok()? {
            // A caller that has gone does not read the answer.
            let _ = plain_http::refuse(stream, limits.body_max_bytes as u64).await;
            return None;
        }
        acceptor.accept(stream).await.ok()
    };
    tokio::time::timeout(limits.tls_handshake_deadline, handshake).await.ok().flatten()
}

fn http1_builder(limits: &Limits) -> http1::Builder {
    let mut builder = http1::Builder::new();
    // [`ConnectionActivity`] has a header deadline that does not count the time between requests.
    builder.header_read_timeout(None);
    builder.max_header_size(limits.header_max_bytes);
    builder.max_headers(HEADERS_MAX);
    builder
}

fn http2_builder(limits: &Limits) -> http2::Builder<StreamExecutor> {
    let mut builder = http2::Builder::new(StreamExecutor);
    builder.max_concurrent_streams(limits.http2_streams_max);
    builder.max_header_list_size(u32::try_from(limits.header_max_bytes).unwrap_or(u32::MAX));
    builder
}

/// Drives a connection until it ends, its deadline passes, or the server stops and the requests in
/// progress are answered.
async fn drive<C: Future<Output = hyper::Result<()>>>(
    mut connection: Pin<&mut C>,
    shutdown: impl Fn(Pin<&mut C>),
    limits: &Limits,
    activity: &ConnectionActivity,
    stop: Stop,
) {
    let mut timer = pin!(sleep_until(Instant::now() + limits.first_byte_deadline));
    let mut shutting_down = false;
    let mut stop = pin!(stop.wait());
    poll_fn(|context| {
        if !shutting_down && stop.as_mut().poll(context).is_ready() {
            shutting_down = true;
            shutdown(connection.as_mut());
        }
        if connection.as_mut().poll(context).is_ready() {
            return Poll::Ready(());
        }
        overdue(timer.as_mut(), context, || activity.deadline(limits))
    })
    .await;
}

/// Returns ready once the deadline has passed. The timer is reset only if it has fired too early or
/// would fire too late, so that most requests do not touch it. It always fires again: on HTTP/2, a
/// request can end without waking this task.
fn overdue(
    mut timer: Pin<&mut Sleep>,
    context: &mut std::task::Context<'_>,
    deadline: impl Fn() -> Option<std::time::Instant>,
) -> Poll<()> {
    loop {
        let now = Instant::now();
        let deadline = deadline().map(Instant::from_std);
        if deadline.is_some_and(|deadline| now >= deadline) {
            return Poll::Ready(());
        }
        let next = deadline.unwrap_or(now + DEADLINE_POLL);
        if timer.is_elapsed() || (deadline.is_some() && next < timer.deadline()) {
            timer.as_mut().reset(next);
        }
        if timer.as_mut().poll(context).is_pending() {
            return Poll::Pending;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_deadline_that_is_set_without_a_wake_up_is_noticed() {
        let start = Instant::now();
        // A request is in progress when the timer first fires, and ends without a wake-up.
        let deadline = || (start.elapsed() > Duration::from_millis(100)).then(|| start.into_std());
        let mut timer = pin!(sleep_until(start + Duration::from_millis(10)));
        let overdue = poll_fn(|context| overdue(timer.as_mut(), context, deadline));
        // A timeout polls once more when it ends: only the time shows that the timer fired before.
        tokio::time::timeout(DEADLINE_POLL * 300, overdue).await.expect("the deadline has passed");
        assert!(start.elapsed() < DEADLINE_POLL * 200, "noticed after {:?}", start.elapsed());
    }
}
