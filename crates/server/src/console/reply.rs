//! Answers of the console, with the headers that all of them have.

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Response, StatusCode, header};
use kiosque_console::assets::POLICY;
use kiosque_listener::Content;
use kiosque_model::Right;

use super::cookies::{self, Lifetime};
use crate::answer::{Disclosure, Failure, FaultKind, SystemFault};
use crate::app::App;

const HTML: &str = "text/html; charset=utf-8";
const TEXT: &str = "text/plain; charset=utf-8";

/// The headers of every answer. A page is not stored, and loads nothing from elsewhere.
const HEADERS: [(HeaderName, &str); 5] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
];

/// An answer.
pub(super) struct Reply {
    response: Response<Content>,
    /// The kind of a failure of the server.
    fault: Option<FaultKind>,
}

/// The reason why a request is not answered with its page.
#[derive(Debug)]
pub(super) enum Refused {
    /// No page or entry has this address.
    NotFound,
    /// The path takes other methods.
    Method(&'static str),
    /// A post that no page of this console sent.
    OtherSite,
    /// The key does not have this right.
    Right(Right),
    /// The value of this parameter of the address cannot be read.
    Parameter(&'static str),
    /// The page has no parameter with this name.
    UnknownParameter(String),
    /// The form could not be read.
    BadForm(String),
    /// The server failed.
    System(SystemFault),
}

impl<E: Into<Failure>> From<E> for Refused {
    fn from(error: E) -> Refused {
        match error.into() {
            Failure::System(fault) => Refused::System(fault),
            Failure::Refusal(refusal) => Refused::System(SystemFault {
                kind: FaultKind::Internal,
                message: "the request could not be answered",
                cause: format!("refused: {refusal:?}"),
                disclosure: Disclosure::Log,
                retry_after_s: None,
            }),
        }
    }
}

impl Reply {
    /// Returns an answer with a content.
    pub(super) fn new(
        status: StatusCode,
        content_type: &'static str,
        content: impl Into<Bytes>,
    ) -> Reply {
        let mut response = Response::new(Content::from(content));
        *response.status_mut() = status;
        let content_type = HeaderValue::from_static(content_type);
        response.headers_mut().insert(header::CONTENT_TYPE, content_type);
        Reply { response, fault: None }
    }

    /// Returns a page.
    pub(super) fn page(html: String) -> Reply {
        Reply::new(StatusCode::OK, HTML, html)
    }

    /// Returns a table that browsers store, under a name without characters that need quotes.
    pub(super) fn csv(name: &str, rows: String) -> Reply {
        Reply::file(name, "text/csv; charset=utf-8", rows)
    }

    /// Returns a file of any type.
    pub(super) fn file(name: &str, content_type: &'static str, text: String) -> Reply {
        let reply = Reply::new(StatusCode::OK, content_type, text);
        match HeaderValue::from_str(&format!("attachment; filename=\"{name}\"")) {
            Ok(disposition) => reply.with(header::CONTENT_DISPOSITION, disposition),
            Err(_) => reply,
        }
    }

    /// Leads to a path of this console by GET.
    pub(super) fn see_other(path: &str) -> Reply {
        let reply = Reply::new(StatusCode::SEE_OTHER, TEXT, "");
        match HeaderValue::from_str(path) {
            Ok(path) => reply.with(header::LOCATION, path),
            Err(_) => reply,
        }
    }

    /// Returns an answer in plain text, for callers without a session.
    pub(super) fn bare(refused: &Refused, app: &App, request_id: &str) -> Reply {
        let reply = Reply::new(refused.status(), TEXT, format!("{}\n", refused.message()));
        reply.of_refused(refused, app, request_id)
    }

    /// Adds to an answer about a refused request its status and its headers.
    pub(super) fn of_refused(mut self, refused: &Refused, app: &App, request_id: &str) -> Reply {
        *self.response.status_mut() = refused.status();
        match refused {
            Refused::Method(allowed) => self.with(header::ALLOW, HeaderValue::from_static(allowed)),
            Refused::System(fault) => {
                app.failure_log.log(fault.kind, fault.message, &fault.cause, request_id);
                self.fault = Some(fault.kind);
                match fault.retry_after_s {
                    Some(seconds) => self.with(header::RETRY_AFTER, seconds.into()),
                    None => self,
                }
            }
            _ => self,
        }
    }

    /// Adds a header.
    pub(super) fn with(mut self, name: HeaderName, value: HeaderValue) -> Reply {
        self.response.headers_mut().insert(name, value);
        self
    }

    /// Replaces the status.
    pub(super) fn with_status(mut self, status: StatusCode) -> Reply {
        *self.response.status_mut() = status;
        self
    }

    /// Sets a cookie.
    pub(super) fn cookie(mut self, name: &str, value: &str, lifetime: Lifetime) -> Reply {
        if let Some(field) = cookies::set(name, value, lifetime) {
            self.response.headers_mut().append(header::SET_COOKIE, field);
        }
        self
    }

    /// Returns this answer as one with a secret, which is never compressed.
    pub(super) fn secret(self) -> Reply {
        Reply { response: self.response.map(Content::secret), ..self }
    }

    pub(super) fn status(&self) -> StatusCode {
        self.response.status()
    }

    pub(super) fn fault(&self) -> Option<FaultKind> {
        self.fault
    }

    /// Returns the response with the headers that every answer has.
    pub(super) fn finish(self, request_id: &str) -> Response<Content> {
        let mut response = self.response;
        let headers = response.headers_mut();
        for (name, value) in HEADERS {
            headers.insert(name, HeaderValue::from_static(value));
        }
        let no_store = HeaderValue::from_static("no-store");
        headers.entry(header::CACHE_CONTROL).or_insert(no_store);
        if let Ok(id) = HeaderValue::from_str(request_id) {
            headers.insert(kiosque_contract::REQUEST_ID_HEADER, id);
        }
        response
    }
}

impl Refused {
    pub(super) fn status(&self) -> StatusCode {
        match self {
            Refused::NotFound => StatusCode::NOT_FOUND,
            Refused::Method(_) => StatusCode::METHOD_NOT_ALLOWED,
            Refused::OtherSite | Refused::Right(_) => StatusCode::FORBIDDEN,
            Refused::Parameter(_) | Refused::UnknownParameter(_) | Refused::BadForm(_) => {
                StatusCode::BAD_REQUEST
            }
            Refused::System(SystemFault { retry_after_s: Some(_), .. }) => {
                StatusCode::SERVICE_UNAVAILABLE
            }
            Refused::System(_) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// Returns the reason as a sentence.
    fn message(&self) -> String {
        match self {
            Refused::NotFound => "There is no such page.".to_owned(),
            Refused::Method(allowed) => format!("This address takes {allowed}."),
            Refused::OtherSite => "This form was sent by another site, or by a browser that does \
                                   not say which site sent it. Open the page again and repeat it."
                .to_owned(),
            Refused::Right(right) => format!("The key does not have the right {right}."),
            Refused::Parameter(name) => format!("The value of {name} cannot be read."),
            Refused::UnknownParameter(name) => format!("There is no parameter {name}."),
            Refused::BadForm(fault) => format!("The form could not be read: {fault}"),
            Refused::System(fault) => fault.message.to_owned(),
        }
    }
}
