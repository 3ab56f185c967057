//! The operator's listener: ordinary HTTP statuses, and errors as `application/problem+json`
//! (RFC 9457). One line for each call.

mod problem;

use std::net::IpAddr;

use bytes::Bytes;
use http::{Method, Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;

use crate::app::App;
use crate::router::unpanicked;
use problem::Problem;

/// Answers one request; there is always an answer.
pub(crate) async fn answer(
    app: &App,
    request: Request<Incoming>,
    peer: IpAddr,
) -> Response<Full<Bytes>> {
    let request_id = app.next_request_id();
    let path = request.uri().path().to_owned();
    let outcome = unpanicked(async { Ok(route(request).await) }).await;
    let outcome = outcome.unwrap_or_else(|failure| Err(failure.into()));
    let refused = outcome.as_ref().err();
    tracing::debug!(request.id = request_id, path, %peer, ?refused, "answered");
    problem::render(outcome, &request_id)
}

async fn route(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Problem> {
    match (request.method(), request.uri().path()) {
        (&Method::GET, "/livez") => Ok(Response::new(Full::from("ok\n"))),
        _ => Err(Problem::not_found()),
    }
}
