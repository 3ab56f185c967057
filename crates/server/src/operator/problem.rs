//! What an operator is told when a call fails: `application/problem+json`.

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use http_body_util::Full;
use serde_json::json;

use crate::answer::{Failure, SystemFault};

/// Why a call was not done.
#[derive(Debug)]
pub(crate) struct Problem {
    status: StatusCode,
    detail: String,
    /// For the log alone.
    cause: Option<String>,
    retry_after_s: Option<u32>,
}

impl Problem {
    pub(crate) fn new(status: StatusCode, detail: impl Into<String>) -> Problem {
        Problem { status, detail: detail.into(), cause: None, retry_after_s: None }
    }

    pub(crate) fn not_found() -> Problem {
        Problem::new(StatusCode::NOT_FOUND, "there is no such call")
    }

    fn system(fault: SystemFault) -> Problem {
        let retry_after_s = fault.retry_after_s;
        let status = match retry_after_s {
            Some(_) => StatusCode::SERVICE_UNAVAILABLE,
            None => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Problem { status, detail: fault.said.to_owned(), cause: Some(fault.cause), retry_after_s }
    }
}

impl From<Failure> for Problem {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::System(fault) => Problem::system(fault),
            Failure::Refusal(refusal) => {
                Problem::new(StatusCode::BAD_REQUEST, format!("{refusal:?}"))
            }
        }
    }
}

/// Renders what became of a call.
pub(crate) fn render(
    outcome: Result<Response<Full<Bytes>>, Problem>,
    request_id: &str,
) -> Response<Full<Bytes>> {
    let mut response = outcome.unwrap_or_else(|problem| told(&problem, request_id));
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if let Ok(id) = HeaderValue::from_str(request_id) {
        headers.insert(kiosque_wire::REQUEST_ID_HEADER, id);
    }
    response
}

fn told(problem: &Problem, request_id: &str) -> Response<Full<Bytes>> {
    if let Some(cause) = &problem.cause {
        tracing::error!(request.id = request_id, cause, "{}", problem.detail);
    }
    let body = json!({
        "type": "about:blank",
        "title": problem.status.canonical_reason(),
        "status": problem.status.as_u16(),
        "detail": problem.detail,
        "requestId": request_id,
    });
    let mut response = Response::new(Full::from(body.to_string()));
    *response.status_mut() = problem.status;
    let headers = response.headers_mut();
    let kind = HeaderValue::from_static("application/problem+json");
    headers.insert(header::CONTENT_TYPE, kind);
    if let Some(seconds) = problem.retry_after_s {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}
