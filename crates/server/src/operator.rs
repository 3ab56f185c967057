//! The operator's listener: ordinary HTTP statuses, and errors as `application/problem+json`
//! (RFC 9457). One line for each call.

mod activity;
mod audit;
mod call;
mod fleet;
mod key;
mod lines;
mod orders;
mod problem;
mod watch;

use std::net::IpAddr;
use std::time::Instant;

use bytes::Bytes;
use http::{HeaderValue, Request, Response, header};
use http_body_util::Full;
use hyper::body::Incoming;
use serde::Serialize;

use crate::answer::Failure;
use crate::app::App;
use crate::router::catch_panic;
use call::Call;
use problem::Problem;

/// What became of a call.
type Answer = Result<Response<Full<Bytes>>, Problem>;

/// Answers one request; there is always an answer.
pub(crate) async fn answer(
    app: &App,
    request: Request<Incoming>,
    peer: IpAddr,
) -> Response<Full<Bytes>> {
    let begun = Instant::now();
    let request_id = app.next_request_id();
    let (head, body) = request.into_parts();
    let mut call = Call { app, now: app.clock.now(), peer, request_id: &request_id, head, body };
    let outcome = catch_panic(async { Ok(route(&mut call).await) }).await;
    let outcome = outcome.unwrap_or_else(|failure| Err(failure.into()));
    let refused = outcome.as_ref().err();
    if refused.is_some_and(|problem| !problem.is_silence()) {
        call.drain().await;
    }
    let (path, peer) = (call.path(), call.peer);
    tracing::debug!(request.id = call.request_id, path, %peer, ?refused, "answered");
    let fault = refused.and_then(Problem::fault);
    let response = problem::render(outcome, call.request_id);
    app.metrics.called(&path, response.status().as_u16(), fault, begun.elapsed());
    response
}

/// Declares who answers which call, and lists the paths.
macro_rules! calls {
    ($($path:literal => $method:ident $handler:path;)*) => {
        /// Every path that there is.
        pub(crate) const PATHS: &[&str] = &[$($path),*];

        async fn route(call: &mut Call<'_>) -> Answer {
            match call.path().as_str() {
                $($path => $handler(call.$method()?).await,)*
                _ => Err(Problem::not_found()),
            }
        }
    };
}

calls! {
    "/livez" => get watch::livez;
    "/metrics" => get watch::metrics;
    "/operator/v1/activity" => post activity::post;
    "/operator/v1/audit" => get audit::list;
    "/operator/v1/fleet" => post fleet::post;
    "/operator/v1/orders" => post orders::post;
    "/readyz" => get watch::readyz;
}

/// A success, as JSON.
fn json(answer: &impl Serialize) -> Answer {
    let body = serde_json::to_vec(answer).map_err(|error| Failure::internal(&error))?;
    Ok(of_type("application/json", body))
}

fn of_type(kind: &'static str, body: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body.into()));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}
