//! The answers to workers: forwarded answers of the server, and answers of the broker itself.

use std::borrow::Cow;
use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header};
use kiosque_client::session::Called;
use kiosque_client::{Error, Refusal as UpstreamRefusal};
use kiosque_contract::endpoint::LogIn;
use kiosque_contract::{Endpoint, Envelope};
use kiosque_listener::Content;
use kiosque_locale::{Locale, Message};
use kiosque_model::Refusal;
use serde::Serialize;
use serde_json::Value;

/// An answer. None is compressed: answers to logins contain tokens, and others do not travel far.
pub(crate) type Answered = Response<Content>;

/// The header of every answer: how the call was sent, or that the answer is the broker's own.
const BROKER: HeaderName = HeaderName::from_static("kiosque-broker");
/// The header with the reason for an answer of the broker itself, or for an unusual wait.
const NOTE: HeaderName = HeaderName::from_static("kiosque-broker-note");
/// Headers that belong to one connection (RFC 9110), or that the next one computes again.
const OF_CONNECTION: [HeaderName; 7] = [
    header::CONNECTION,
    header::CONTENT_LENGTH,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    HeaderName::from_static("keep-alive"),
];

/// Forwards an answer of the server.
pub(crate) fn passed_on(called: Called) -> Answered {
    let Called { answer, grant, epoch, waited, tries } = called;
    let mut response = Response::new(Content::from(answer.body).secret());
    *response.status_mut() = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::BAD_GATEWAY);
    *response.headers_mut() = answer.headers;
    for name in OF_CONNECTION {
        response.headers_mut().remove(name);
    }
    let (group, waited) = (&grant.group, waited.as_millis());
    let text = format!("epoch={epoch} group={group} waited={waited}ms tries={tries}");
    insert(response.headers_mut(), BROKER, &text);
    response
}

/// Renders a success of the broker itself.
pub(crate) fn success(data: &impl Serialize, locale: Locale) -> Answered {
    own(StatusCode::OK, &Message::Success.envelope(locale, data))
}

/// Renders a refusal of the broker itself; ENV-7 specifies the shape of its `data`.
pub(crate) fn refused(refusal: &Refusal, locale: Locale) -> Answered {
    let message = Message::of(refusal);
    let (status, data) = match refusal {
        Refusal::Invalid(violations) => {
            let texts = violations.iter().map(|one| kiosque_locale::violation(one, locale));
            (StatusCode::OK, texts.map(Value::from).collect())
        }
        Refusal::Unreadable(diagnostic) => (StatusCode::OK, diagnostic.as_str().into()),
        Refusal::NotFound => (StatusCode::NOT_FOUND, Value::Null),
        _ => (StatusCode::OK, message.text(locale).into()),
    };
    let mut answered = failure(status, message, locale, data);
    if let Refusal::TooManyFailures { retry_after_s } = refusal {
        answered.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(*retry_after_s));
    }
    answered
}

/// Renders the end of a call that the server has not answered, or whose session it has refused,
/// after the call at `path` has `waited`; it may wait for `wait_max`. A log in takes no token, so
/// it is never answered with -4 (AUTH-1).
pub(crate) fn not_answered(
    error: &Error,
    path: &str,
    waited: Duration,
    wait_max: Duration,
    locale: Locale,
) -> Answered {
    let mut answered = match error {
        Error::Refused(refusal) => refused_by_server(refusal, locale),
        Error::GaveUp { .. }
            if path != LogIn::ROUTE && (error.code() == Some(-4) || waited >= wait_max) =>
        {
            refused(&Refusal::TokenInvalid, locale)
        }
        _ => unavailable(locale),
    };
    insert(answered.headers_mut(), NOTE, &error.to_string());
    answered
}

/// Renders a failure of the broker itself, or of the connection to the server; a worker that
/// retries on HTTP 5xx tries again.
pub(crate) fn unavailable(locale: Locale) -> Answered {
    let data = "the server behind the broker is not available; try again";
    let mut answered =
        failure(StatusCode::SERVICE_UNAVAILABLE, Message::System, locale, data.into());
    answered.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(1));
    answered
}

/// Renders the refusal of a request that a page in a browser may have sent, for this reason.
pub(crate) fn forbidden(reason: &str, locale: Locale) -> Answered {
    failure(StatusCode::FORBIDDEN, Message::System, locale, reason.into())
}

/// Renders the refusal of a request with the header `Origin`; `None` for any other one. Callers are
/// programs: only a browser sends this header, for a page of some site.
pub(crate) fn refused_page(headers: &HeaderMap, locale: Locale) -> Option<Answered> {
    let reason = "the request has the header Origin: pages of sites may not call the broker";
    headers.contains_key(header::ORIGIN).then(|| forbidden(reason, locale))
}

/// Renders the refusal of a login or of a switch by the server, in the language of the worker: the
/// server's text is in the one of the shared session.
fn refused_by_server(refusal: &UpstreamRefusal, locale: Locale) -> Answered {
    let UpstreamRefusal { code, msg, data, retry_after_s, .. } = refusal;
    let is_known = |message: &&Message| {
        let is_credentials = **message == Message::Credentials;
        message.code().number() == *code && (is_credentials || message.has_text(msg))
    };
    let in_language = |locale| {
        let known = Message::ALL.iter().find(is_known);
        known.map_or_else(|| Cow::Owned(msg.clone()), |message| message.text(locale).into())
    };
    let msg = in_language(locale);
    let data = data.as_deref().unwrap_or(&msg).to_owned();
    let envelope = Envelope { code: *code, msg, en_msg: Some(in_language(Locale::En)), data };
    let mut answered = own(StatusCode::OK, &envelope);
    if let Some(seconds) = retry_after_s {
        answered.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(*seconds));
    }
    answered
}

/// Adds a note to an answer.
pub(crate) fn note(answered: &mut Answered, text: &str) {
    insert(answered.headers_mut(), NOTE, text);
}

fn failure(status: StatusCode, message: Message, locale: Locale, data: Value) -> Answered {
    own(status, &message.envelope(locale, data))
}

fn own(status: StatusCode, envelope: &Envelope<impl Serialize>) -> Answered {
    // Texts, numbers and lists of them always render.
    let body = serde_json::to_vec(envelope).unwrap_or_default();
    let mut response = Response::new(Content::from(body).secret());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kiosque_contract::CONTENT_TYPE));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(BROKER, HeaderValue::from_static("own"));
    response
}

/// Inserts a header, without characters that are not allowed in headers.
fn insert(headers: &mut HeaderMap, name: HeaderName, text: &str) {
    let printable = |c: char| if c.is_ascii() && !c.is_ascii_control() { c } else { '?' };
    let text: String = text.chars().map(printable).collect();
    if let Ok(value) = HeaderValue::from_str(&text) {
        headers.insert(name, value);
    }
}
