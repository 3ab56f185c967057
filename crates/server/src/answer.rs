//! Renders the outcome of a request of either audience; nothing else does.

use std::io::Write;
use std::marker::PhantomData;
use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use futures_util::{StreamExt, future, stream};
use http::{HeaderName, HeaderValue, Response, StatusCode, header};
use kiosque_console::assets::POLICY;
use kiosque_console::{Frame, message};
use kiosque_contract::{Code, PROBLEM_CONTENT_TYPE, Page, Problem};
use kiosque_listener::{Content, UnreadAnswers};
use kiosque_locale::{Locale, Message};
use kiosque_model::{AccountNo, PageRequest, Refusal};
use serde::Serialize;
use serde_json::Value;

use crate::failure::{Errors, Failure, SystemFailure};

/// The content types of a page, and of a plain text.
pub(crate) const HTML: &str = "text/html; charset=utf-8";
pub(crate) const TEXT: &str = "text/plain; charset=utf-8";

/// The headers of every answer of the console. A page loads nothing from other sites.
const PAGE_HEADERS: [(HeaderName, &str); 5] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
];

/// The approximate size of a page of ten orders.
const USUAL_PAGE_BYTES: usize = 12 << 10;

/// `data` of a success: a `T`, as JSON.
pub(crate) struct Data<T> {
    pub(crate) json: Content,
    of: PhantomData<fn() -> T>,
}

impl<T> Data<T> {
    /// Returns a `T` that is already JSON, or will be.
    pub(crate) fn of_json(json: impl Into<Content>) -> Data<T> {
        Data { json: json.into(), of: PhantomData }
    }

    /// Returns the JSON, counted as unread, unless it is in parts, whose memory is limited
    /// separately.
    ///
    /// # Errors
    /// Too much is unread already.
    pub(crate) fn admitted(
        self,
        answers: &Arc<UnreadAnswers>,
        account: AccountNo,
    ) -> Result<Content, Failure> {
        let Some(bytes) = self.json.length() else { return Ok(self.json) };
        let busy = "too many answers have not been read; read them, then try again";
        let memory = answers.admit(account, bytes).ok_or_else(|| Failure::busy(busy))?;
        Ok(self.json.counted(Some(memory)))
    }
}

impl<T: Serialize> Data<T> {
    pub(crate) fn of(data: &T) -> Result<Data<T>, Failure> {
        let json = serde_json::to_vec(data).map_err(|error| Failure::internal(&error))?;
        Ok(Data::of_json(json))
    }
}

impl<T> Data<Page<T>> {
    /// Returns a page of records that are already JSON.
    pub(crate) fn page<'r>(
        total: i64,
        page: PageRequest,
        records: impl Iterator<Item = &'r [u8]>,
    ) -> Data<Page<T>> {
        let (current, size) = (page.current(), page.size());
        let mut data = Vec::with_capacity(USUAL_PAGE_BYTES);
        // Writing to a vector does not fail.
        let _ = write!(data, r#"{{"total":{total},"current":{current},"size":{size},"records":["#);
        for (at, record) in records.enumerate() {
            if at > 0 {
                data.push(b',');
            }
            data.extend_from_slice(record);
        }
        data.extend_from_slice(b"]}");
        Data::of_json(data)
    }
}

/// Returns the `code` of an outcome.
pub(crate) fn code(outcome: &Result<Content, Failure>) -> Code {
    outcome.as_ref().map_or_else(message_of, |_| Message::Success).code()
}

fn message_of(failure: &Failure) -> Message {
    match failure {
        Failure::Refusal(refusal) => Message::of(refusal),
        _ => Message::System,
    }
}

/// The form of an answer. It differs by audience; what is refused, and why, does not.
pub(crate) enum Form<'a> {
    /// The envelope of the contract, in a language.
    Envelope(Locale),
    /// An answer to an operator's call: a refusal is a problem document.
    Call,
    /// A page of the console: a refusal is a page in the frame of a signed-in person, otherwise
    /// plain text.
    Page(Option<Frame<'a>>),
}

/// Returns a response with a content.
pub(crate) fn with_content(
    content_type: &'static str,
    content: impl Into<Content>,
) -> Response<Content> {
    let mut response = Response::new(content.into());
    let content_type = HeaderValue::from_static(content_type);
    response.headers_mut().insert(header::CONTENT_TYPE, content_type);
    response
}

/// Renders the outcome of a request.
pub(crate) fn render(
    outcome: Result<Response<Content>, Failure>,
    form: &Form<'_>,
    request_id: &str,
) -> Response<Content> {
    let retry_after_s = outcome.as_ref().err().and_then(Failure::retry_after_s);
    let mut response = outcome.unwrap_or_else(|failure| failed(failure, form, request_id));
    let headers = response.headers_mut();
    if matches!(form, Form::Page(_)) {
        for (name, value) in PAGE_HEADERS {
            headers.insert(name, HeaderValue::from_static(value));
        }
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    if let Ok(id) = HeaderValue::from_str(request_id) {
        headers.insert(kiosque_contract::REQUEST_ID_HEADER, id);
    }
    if let Some(seconds) = retry_after_s {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

fn failed(failure: Failure, form: &Form<'_>, request_id: &str) -> Response<Content> {
    let demanded = match &failure {
        Failure::Method(allowed) => Some((header::ALLOW, *allowed)),
        Failure::Denied(StatusCode::UNAUTHORIZED, ..) => Some((header::WWW_AUTHENTICATE, "Bearer")),
        _ => None,
    };
    let status = failure.status();
    let (status, content_type, body) = match form {
        Form::Envelope(locale) => {
            let (status, body) = envelope(&failure, *locale, request_id);
            (status, kiosque_contract::CONTENT_TYPE, body)
        }
        Form::Call => (status, PROBLEM_CONTENT_TYPE, problem(failure, request_id)),
        Form::Page(frame) => {
            let (content_type, text) = refused_page(&failure, frame.as_ref(), request_id);
            (status, content_type, text.into_bytes())
        }
    };
    let mut response = with_content(content_type, body);
    *response.status_mut() = status;
    if let Some((name, value)) = demanded {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

/// Renders a refused call of the operator (RFC 9457).
fn problem(failure: Failure, request_id: &str) -> Vec<u8> {
    let status = failure.status();
    let reason = failure.reason().into_owned();
    let (detail, errors, orders) = match failure {
        Failure::System(SystemFailure { is_disclosed, cause, orders, .. }) => {
            (if is_disclosed { format!("{reason} ({cause})") } else { reason }, Vec::new(), orders)
        }
        Failure::Denied(_, _, Errors(errors)) => (reason, errors, None),
        _ => (reason, Vec::new(), None),
    };
    let problem = Problem {
        kind: "about:blank".into(),
        title: status.canonical_reason().map(Into::into),
        status: status.as_u16(),
        detail: detail.into(),
        request_id: request_id.to_owned(),
        faults: errors,
        orders,
    };
    // Texts and numbers can always be written.
    serde_json::to_vec(&problem).unwrap_or_default()
}

/// Renders a refused request for a page. Refusals of forms are plain text.
fn refused_page(
    failure: &Failure,
    frame: Option<&Frame<'_>>,
    request_id: &str,
) -> (&'static str, String) {
    let (notice, text) = match failure {
        Failure::Method(allowed) => return (TEXT, format!("This address takes {allowed}.\n")),
        Failure::Denied(_, reason, _) => return (TEXT, format!("{reason}\n")),
        Failure::Right(right) => (message::Message::Forbidden(right.name()), ""),
        Failure::Parameter(name) => (message::Message::BadParameter(name), ""),
        Failure::UnknownParameter(name) => (message::Message::UnknownParameter(name), ""),
        Failure::System(error) => (message::Message::Failed(request_id), &*error.message),
        Failure::Refusal(_) => (message::Message::NotFound, "There is no such page."),
    };
    match frame {
        Some(frame) => (HTML, message::page(frame, &notice)),
        None => (TEXT, format!("{text}\n")),
    }
}

/// Returns the response of a success with its `data`.
pub(crate) fn success(data: Content, locale: Locale) -> Response<Content> {
    with_content(kiosque_contract::CONTENT_TYPE, success_envelope(data, locale))
}

fn success_envelope(data: Content, locale: Locale) -> Content {
    static HEADS: LazyLock<[String; 2]> =
        LazyLock::new(|| [Locale::En, Locale::ZhCn].map(success_head));
    /// The end of the envelope.
    const END: &[u8] = b"}";
    let [en, zh_cn] = &*HEADS;
    let head = match locale {
        Locale::En => en,
        Locale::ZhCn => zh_cn,
    };
    let (first, later, memory) = data.into_parts();
    // Exactly as long as the body, so that it is not copied again.
    let mut body = Vec::with_capacity(head.len() + first.len() + END.len());
    body.extend_from_slice(head.as_bytes());
    body.extend_from_slice(&first);
    match later {
        None => {
            body.extend_from_slice(END);
            Content::from(body).counted(memory)
        }
        Some(later) => {
            let end = stream::once(future::ready(Ok(Bytes::from_static(END))));
            Content::in_parts(body.into(), Box::pin(later.chain(end)))
        }
    }
}

/// Returns the envelope of a success up to its data.
fn success_head(locale: Locale) -> String {
    let code = Code::Success.number();
    let message = Message::Success.text(locale);
    format!(r#"{{"code":{code},"msg":"{message}","enMsg":null,"data":"#)
}

/// Renders the status and the envelope of a request that did not succeed. ENV-7 specifies the shape
/// of `data`.
pub(crate) fn envelope(
    failure: &Failure,
    locale: Locale,
    request_id: &str,
) -> (StatusCode, Vec<u8>) {
    let message = message_of(failure);
    let (status, data): (_, Value) = match failure {
        Failure::Refusal(Refusal::NotFound) => (StatusCode::NOT_FOUND, Value::Null),
        Failure::Refusal(Refusal::Invalid(violations)) => {
            let texts = violations.iter().map(|one| kiosque_locale::violation(one, locale));
            (StatusCode::OK, texts.collect())
        }
        Failure::Refusal(Refusal::Unreadable(diagnostic)) => {
            (StatusCode::OK, diagnostic.as_str().into())
        }
        Failure::Refusal(_) => (StatusCode::OK, message.text(locale).into()),
        other => {
            let data = format!("{} (request {request_id})", other.reason());
            (StatusCode::INTERNAL_SERVER_ERROR, data.into())
        }
    };
    // Texts can always be written.
    (status, serde_json::to_vec(&message.envelope(locale, data)).unwrap_or_default())
}
