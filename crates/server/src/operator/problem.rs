//! The failure of an operator's call: `application/problem+json`.

use http::header::HeaderName;
use http::{HeaderValue, Response, StatusCode, header};
use kiosque_contract::{OrdersFailed, PROBLEM_CONTENT_TYPE};
use kiosque_ingest::stream::StreamFailure;
use kiosque_listener::Content;
use kiosque_model::Refusal;

use crate::answer::{Disclosure, Failure, FaultKind, SystemFault};
use crate::failure_log::FailureLog;
use kiosque_listener::BodyFault;
use kiosque_locale::{Locale, Message};

/// A failed call.
pub(crate) struct Problem {
    status: StatusCode,
    detail: String,
    parts: Parts,
    /// The header that the status asks for.
    header: Option<(&'static str, &'static str)>,
    /// For the log; for the caller as well, in parentheses after the detail, if `disclosure` says
    /// so.
    cause: Option<String>,
    disclosure: Disclosure,
    /// The kind of a failure of the server.
    fault: Option<FaultKind>,
    retry_after_s: Option<u32>,
}

/// What has failed, of a call that names each part.
enum Parts {
    /// Every fault of the request.
    Faults(Vec<String>),
    /// The lines of a stream of orders, with the outcomes of the others.
    Orders(Box<OrdersFailed>),
}

impl std::fmt::Debug for Problem {
    /// Leaves out the faults: they quote the request, which may contain a password.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.status, self.detail)
    }
}

impl Problem {
    /// Logs a failure of the server.
    pub(crate) fn log(&self, log: &FailureLog, request_id: &str) {
        if let (Some(kind), Some(cause)) = (self.fault, &self.cause) {
            log.log(kind, &self.detail, cause, request_id);
        }
    }

    pub(crate) fn new(status: StatusCode, detail: impl Into<String>) -> Problem {
        let detail = detail.into();
        Problem {
            status,
            detail,
            parts: Parts::Faults(Vec::new()),
            header: None,
            cause: None,
            disclosure: Disclosure::Log,
            fault: None,
            retry_after_s: None,
        }
    }

    pub(crate) fn not_found() -> Problem {
        Problem::new(StatusCode::NOT_FOUND, "there is no such call")
    }

    /// No group has the id.
    pub(crate) fn unknown_group(id: &str) -> Problem {
        Problem::new(StatusCode::NOT_FOUND, format!("no group {id} is known"))
    }

    /// The call takes the `allowed` methods, separated by commas.
    pub(crate) fn method_not_allowed(allowed: &'static str) -> Problem {
        let detail = format!("the call takes {allowed}");
        let header = Some(("allow", allowed));
        Problem { header, ..Problem::new(StatusCode::METHOD_NOT_ALLOWED, detail) }
    }

    /// The request has no valid key.
    pub(crate) fn unauthorized(detail: &'static str) -> Problem {
        let header = Some(("www-authenticate", "Bearer"));
        Problem { header, ..Problem::new(StatusCode::UNAUTHORIZED, detail) }
    }

    /// The key lacks the right.
    pub(crate) fn forbidden(detail: String) -> Problem {
        Problem::new(StatusCode::FORBIDDEN, detail)
    }

    /// The same for a stream of which lines were stored before.
    pub(crate) fn after_lines(mut self) -> Problem {
        self.detail.push_str("; the lines that were stored before remain");
        self
    }

    /// The request could be read and is faulty; nothing of it was done.
    pub(crate) fn unprocessable(detail: &'static str, faults: Vec<String>) -> Problem {
        let parts = Parts::Faults(faults);
        Problem { parts, ..Problem::new(StatusCode::UNPROCESSABLE_ENTITY, detail) }
    }

    /// The query string is wrong.
    pub(crate) fn bad_query(faults: Vec<String>) -> Problem {
        let detail = "the query string is not valid";
        let parts = Parts::Faults(faults);
        Problem { parts, ..Problem::new(StatusCode::BAD_REQUEST, detail) }
    }

    /// Returns whether the caller stopped sending.
    pub(crate) fn is_timeout(&self) -> bool {
        self.status == StatusCode::REQUEST_TIMEOUT
    }

    /// Returns the kind of a failure of the server.
    pub(crate) fn fault(&self) -> Option<FaultKind> {
        self.fault
    }

    #[cfg(test)]
    pub(crate) fn faults(&self) -> &[String] {
        match &self.parts {
            Parts::Faults(faults) => faults,
            Parts::Orders(_) => &[],
        }
    }

    fn system(fault: SystemFault) -> Problem {
        let retry_after_s = fault.retry_after_s;
        let status = match retry_after_s {
            Some(_) => StatusCode::SERVICE_UNAVAILABLE,
            None => StatusCode::INTERNAL_SERVER_ERROR,
        };
        let (kind, cause, disclosure) = (Some(fault.kind), Some(fault.cause), fault.disclosure);
        let problem = Problem::new(status, fault.message);
        Problem { cause, disclosure, fault: kind, retry_after_s, ..problem }
    }

    fn refused(refusal: &Refusal) -> Problem {
        let message = Message::of(refusal).text(Locale::En);
        match refusal {
            Refusal::NotFound => Problem::not_found(),
            Refusal::Unreadable(diagnostic) => Problem::new(StatusCode::BAD_REQUEST, diagnostic),
            Refusal::Invalid(violations) => {
                let faults =
                    violations.iter().map(|one| kiosque_locale::violation(one, Locale::En));
                Problem::unprocessable(message, faults.collect())
            }
            _ => Problem::new(StatusCode::BAD_REQUEST, message),
        }
    }
}

impl From<BodyFault> for Problem {
    fn from(fault: BodyFault) -> Self {
        let status = match fault {
            BodyFault::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
            BodyFault::Late(_) => StatusCode::REQUEST_TIMEOUT,
            BodyFault::Broken => StatusCode::BAD_REQUEST,
        };
        Problem::new(status, fault.to_string())
    }
}

impl From<kiosque_ingest::Error> for Problem {
    fn from(error: kiosque_ingest::Error) -> Self {
        Failure::from(error).into()
    }
}

impl From<StreamFailure> for Problem {
    fn from(failure: StreamFailure) -> Self {
        let problem = Problem::from(failure.error);
        let parts = failure.orders.map_or(problem.parts, Parts::Orders);
        Problem { parts, ..problem }
    }
}

impl From<Failure> for Problem {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::System(fault) => Problem::system(fault),
            Failure::Refusal(refusal) => Problem::refused(&refusal),
        }
    }
}

/// Renders the outcome of a call.
pub(crate) fn render(
    outcome: Result<Response<Content>, Problem>,
    request_id: &str,
) -> Response<Content> {
    let mut response = outcome.unwrap_or_else(|problem| failure(problem, request_id));
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if let Ok(id) = HeaderValue::from_str(request_id) {
        headers.insert(kiosque_contract::REQUEST_ID_HEADER, id);
    }
    response
}

fn failure(problem: Problem, request_id: &str) -> Response<Content> {
    let detail = match (problem.disclosure, problem.cause) {
        (Disclosure::Operator, Some(cause)) => format!("{} ({cause})", problem.detail),
        _ => problem.detail,
    };
    let (faults, orders) = match problem.parts {
        Parts::Faults(faults) => (faults, None),
        Parts::Orders(orders) => (Vec::new(), Some(orders)),
    };
    let body = kiosque_contract::Problem {
        kind: "about:blank".into(),
        title: problem.status.canonical_reason().map(Into::into),
        status: problem.status.as_u16(),
        detail: detail.into(),
        request_id: request_id.to_owned(),
        faults,
        orders,
    };
    // Texts and numbers can always be written.
    let body = serde_json::to_vec(&body).unwrap_or_default();
    let mut response = Response::new(body.into());
    *response.status_mut() = problem.status;
    let headers = response.headers_mut();
    let kind = HeaderValue::from_static(PROBLEM_CONTENT_TYPE);
    headers.insert(header::CONTENT_TYPE, kind);
    if let Some((name, value)) = problem.header {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    if let Some(seconds) = problem.retry_after_s {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}
