//! One connection, from its TLS handshake to its end, each phase within its deadline.

use std::convert::Infallible;
use std::future::poll_fn;
use std::net::IpAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use http::Request;
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep_until};
use tokio_rustls::TlsAcceptor;

use crate::app::App;
use crate::audience::Audience;
use crate::connection_activity::{ConnectionActivity, Monitored, Protocol};
use crate::stop::Stopping;
use crate::{operator, router};

/// Most headers that a request may have.
const HEADERS_MAX: usize = 100;
/// How often a connection on which something is under way looks whether it still is.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// Serves a connection to its end. Its failures affect no other connection.
pub(crate) async fn serve(
    (app, audience, peer): (Arc<App>, Audience, IpAddr),
    acceptor: TlsAcceptor,
    stream: TcpStream,
    mut stopping: Stopping,
) {
    let deadline = app.settings.limits.tls_handshake_deadline;
    let stream = tokio::select! {
        greeted = tokio::time::timeout(deadline, acceptor.accept(stream)) => match greeted {
            Ok(Ok(stream)) => stream,
            _ => return app.metrics.handshake_failed(audience),
        },
        // Nothing has been asked yet.
        () = stopping.wait() => return,
    };
    let protocol = match stream.get_ref().1.alpn_protocol() {
        Some(b"h2") => Protocol::Http2,
        _ => Protocol::Http1,
    };
    let pulse = ConnectionActivity::new(protocol);
    let io = TokioIo::new(Monitored { stream, pulse: Arc::clone(&pulse) });
    let answering = (Arc::clone(&app), Arc::clone(&pulse));
    let service = service_fn(move |request: Request<Incoming>| {
        let (app, pulse) = answering.clone();
        async move {
            let _under_way = pulse.request();
            Ok::<_, Infallible>(match audience {
                Audience::Gateway => router::answer(&app, request, peer).await,
                Audience::Operator => operator::answer(&app, request, peer).await,
            })
        }
    });
    match protocol {
        Protocol::Http1 => {
            let connection = http1_builder(&app).serve_connection(io, service);
            drive(pin!(connection), http1::Connection::graceful_shutdown, &app, &pulse, stopping)
                .await;
        }
        Protocol::Http2 => {
            let connection = http2_builder(&app).serve_connection(io, service);
            drive(pin!(connection), http2::Connection::graceful_shutdown, &app, &pulse, stopping)
                .await;
        }
    }
}

fn http1_builder(app: &App) -> http1::Builder {
    let mut builder = http1::Builder::new();
    // The pulse has a deadline for headers that does not count rests between requests.
    builder.header_read_timeout(None);
    builder.max_header_size(app.settings.limits.header_max_bytes);
    builder.max_headers(HEADERS_MAX);
    builder
}

fn http2_builder(app: &App) -> http2::Builder<TokioExecutor> {
    let limits = &app.settings.limits;
    let mut builder = http2::Builder::new(TokioExecutor::new());
    builder.max_concurrent_streams(limits.http2_streams_max);
    builder.max_header_list_size(u32::try_from(limits.header_max_bytes).unwrap_or(u32::MAX));
    builder
}

/// Drives a connection until it ends, its deadline passes, or the server stops and what is under
/// way has been answered.
async fn drive<C: Future<Output = hyper::Result<()>>>(
    mut connection: Pin<&mut C>,
    finish: impl Fn(Pin<&mut C>),
    app: &App,
    pulse: &ConnectionActivity,
    mut stopping: Stopping,
) {
    let limits = &app.settings.limits;
    let mut alarm = pin!(sleep_until(Instant::now() + limits.first_byte_deadline));
    let mut finishing = false;
    let mut stop = pin!(stopping.wait());
    poll_fn(|context| {
        if !finishing && stop.as_mut().poll(context).is_ready() {
            finishing = true;
            finish(connection.as_mut());
        }
        if connection.as_mut().poll(context).is_ready() {
            return Poll::Ready(());
        }
        overdue(alarm.as_mut(), context, || pulse.deadline(limits))
    })
    .await;
}

/// Ready once the deadline has passed. The alarm is moved only when it would ring too late, or has
/// rung too early: most requests come and go without touching it. It never stays silent: on HTTP/2
/// a request can end without this task hearing of it.
fn overdue(
    mut alarm: Pin<&mut Sleep>,
    context: &mut std::task::Context<'_>,
    deadline: impl Fn() -> Option<std::time::Instant>,
) -> Poll<()> {
    loop {
        let now = Instant::now();
        let deadline = deadline().map(Instant::from_std);
        if deadline.is_some_and(|deadline| now >= deadline) {
            return Poll::Ready(());
        }
        let look = deadline.unwrap_or(now + LOOK_AGAIN);
        if alarm.is_elapsed() || (deadline.is_some() && look < alarm.deadline()) {
            alarm.as_mut().reset(look);
        }
        if alarm.as_mut().poll(context).is_pending() {
            return Poll::Pending;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_deadline_that_comes_back_unheard_is_kept() {
        let start = Instant::now();
        // Something is under way when the alarm rings, and ends without a sound.
        let deadline = || (start.elapsed() > Duration::from_millis(100)).then(|| start.into_std());
        let mut alarm = pin!(sleep_until(start + Duration::from_millis(10)));
        let overdue = poll_fn(|context| overdue(alarm.as_mut(), context, deadline));
        // A timeout polls once more when it ends: only the time shows that the alarm rang before.
        tokio::time::timeout(LOOK_AGAIN * 300, overdue).await.expect("the deadline has passed");
        assert!(start.elapsed() < LOOK_AGAIN * 200, "found out after {:?}", start.elapsed());
    }
}
