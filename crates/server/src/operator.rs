//! The operator's listener: ordinary HTTP statuses, and errors as `application/problem+json`
//! (RFC 9457). One line for each call.

mod audit;
mod call;
mod fleet;
mod key;
mod lines;
mod orders;
mod problem;

use std::net::IpAddr;

use bytes::Bytes;
use http::{HeaderValue, Request, Response, header};
use http_body_util::Full;
use hyper::body::Incoming;
use serde::Serialize;

use crate::answer::Failure;
use crate::app::App;
use crate::router::unpanicked;
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
    let request_id = app.next_request_id();
    let (head, body) = request.into_parts();
    let mut call = Call { app, now: app.clock.now(), peer, request_id: &request_id, head, body };
    let outcome = unpanicked(async { Ok(route(&mut call).await) }).await;
    let outcome = outcome.unwrap_or_else(|failure| Err(failure.into()));
    let refused = outcome.as_ref().err();
    if refused.is_some_and(|problem| !problem.is_silence()) {
        call.hear_out().await;
    }
    let (path, peer) = (call.path(), call.peer);
    tracing::debug!(request.id = call.request_id, path, %peer, ?refused, "answered");
    problem::render(outcome, call.request_id)
}

async fn route(call: &mut Call<'_>) -> Answer {
    match call.path().as_str() {
        "/livez" => livez(call.get()?),
        "/operator/v1/audit" => audit::list(call.get()?).await,
        "/operator/v1/fleet" => fleet::post(call.post()?).await,
        "/operator/v1/orders" => orders::post(call.post()?).await,
        _ => Err(Problem::not_found()),
    }
}

/// It answers, so it lives; for whoever asks, without a key.
fn livez(_: &Call<'_>) -> Answer {
    Ok(of_type("text/plain; charset=utf-8", "ok\n"))
}

/// A success, as JSON.
fn json(answer: &impl Serialize) -> Answer {
    let body = serde_json::to_vec(answer).map_err(|error| Failure::broken(&error))?;
    Ok(of_type("application/json", body))
}

fn of_type(kind: &'static str, body: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body.into()));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}
