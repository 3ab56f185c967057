//! The listeners: TLS or plain HTTP for workers, plain HTTP for the status.

use std::future::ready;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderValue, Request, Response, StatusCode, header};
use hyper::body::Incoming;
use kiosque_listener::{
    BoxedAnswer, ConnectionMetrics, ConnectionOptions, Content, Listener, PlainListener, WhenFull,
    is_for_domain,
};
use kiosque_locale::Locale;
use kiosque_model::{Limits, TrustedProxies};
use tokio::task::JoinSet;

use crate::answer::{Answered, forbidden, refused_page};
use crate::broker::Broker;

/// The time limit of the log out.
const LOG_OUT_MAX: Duration = Duration::from_secs(35);

/// The sockets of a broker.
#[derive(Debug)]
pub struct Listeners {
    /// HTTPS, for workers.
    pub tls: Listener,
    /// Plain HTTP, for workers on this machine.
    pub plain: Option<PlainListener>,
    /// Plain HTTP, for the status and the metrics.
    pub status: Option<PlainListener>,
}

/// Returns the limits of a broker's listeners: the limits of a server, with fewer connections, half
/// of which the workers of one machine may have, and with time for requests in progress that wait
/// for their group.
pub fn broker_limits() -> Limits {
    let shutdown_deadline = Duration::from_secs(35);
    Limits {
        connections_max: 4_096,
        connections_per_source_max: 2_048,
        shutdown_deadline,
        ..Limits::default()
    }
}

/// Serves until `stop`, then answers the requests in progress, and logs the session of the account
/// out.
pub async fn serve(broker: Arc<Broker>, listeners: Listeners, stop: impl Future<Output = ()>) {
    let Listeners { tls, plain, status } = listeners;
    let of_workers = || boxed(&broker, Broker::answer);
    let of_status = boxed(&broker, self::status);
    // Each has separate connections, so that workers cannot take the ones for the status.
    let options = || ConnectionOptions {
        limits: broker.limits.clone(),
        trusted_proxies: TrustedProxies::default(),
        metrics: ConnectionMetrics::unregistered(),
        when_full: WhenFull::ReplacesOldest,
    };
    let set = || broker.stop.clone();
    let listening = [
        Some(tls.http1_only().serve(options(), of_workers(), set())),
        plain.map(|plain| plain.serve(options(), of_this_machine(of_workers()), set())),
        status.map(|status| status.serve(options(), of_this_machine(of_status), set())),
    ];
    let mut serving = JoinSet::new();
    for listener in listening.into_iter().flatten() {
        serving.spawn(async move { listener.await.drain().await });
    }
    let watching = Arc::clone(&broker);
    let watching = tokio::spawn(async move { watching.watch_evictions().await });
    stop.await;
    broker.stop.now();
    while serving.join_next().await.is_some() {}
    watching.abort();
    let had_session = matches!(broker.session.stored().await, Ok(Some(_)));
    match tokio::time::timeout(LOG_OUT_MAX, broker.session.log_out()).await {
        Ok(Ok(())) if !had_session => {}
        Ok(Ok(())) => tracing::info!("the session of the account is logged out"),
        Ok(Err(error)) => tracing::warn!(cause = %error, "the session cannot be logged out"),
        Err(_) => tracing::warn!("the session cannot be logged out: no answer in time"),
    }
}

/// Refuses requests for a domain, which a page of that site may have sent with DNS rebinding.
fn of_this_machine(answer: BoxedAnswer) -> BoxedAnswer {
    Box::new(move |request, peer| {
        if is_for_domain(&request) {
            let reason = "Host is a domain: use localhost or the address of the listener";
            return Box::pin(ready(forbidden(reason, Locale::En)));
        }
        answer(request, peer)
    })
}

fn boxed<F>(
    broker: &Arc<Broker>,
    answer: fn(Arc<Broker>, Request<Incoming>, IpAddr) -> F,
) -> BoxedAnswer
where
    F: Future<Output = Answered> + Send + 'static,
{
    let broker = Arc::clone(broker);
    Box::new(move |request, peer| Box::pin(answer(Arc::clone(&broker), request, peer)))
}

async fn status(broker: Arc<Broker>, request: Request<Incoming>, _: IpAddr) -> Answered {
    if let Some(refused) = refused_page(request.headers(), Locale::En) {
        return refused;
    }
    let (kind, body) = match request.uri().path() {
        "/" => ("text/plain; charset=utf-8", broker.status().await.to_string()),
        "/status.json" => {
            // Texts and numbers always render.
            ("application/json", serde_json::to_string(&broker.status().await).unwrap_or_default())
        }
        "/metrics" => ("text/plain; version=0.0.4", broker.metrics_text()),
        _ => {
            let mut response = Response::new(Content::from(""));
            *response.status_mut() = StatusCode::NOT_FOUND;
            return response;
        }
    };
    let mut response = Response::new(Content::from(body));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
