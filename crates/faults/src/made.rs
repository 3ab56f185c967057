//! Answers that the proxy creates itself.

use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use kiosque_contract::{CONTENT_TYPE, LOCALE_HEADER, REQUEST_ID_HEADER};
use kiosque_listener::{BrokenOff, Content};
use kiosque_locale::{Locale, Message};

/// HTTP 500, `code` 500 and `Retry-After` (ENV-11, ENV-12).
pub(crate) fn code500(
    headers: &HeaderMap,
    retry_after: Duration,
    request_id: &str,
) -> Response<Content> {
    let data = format!("the fault code500 was requested; try again (request {request_id})");
    let status = StatusCode::INTERNAL_SERVER_ERROR;
    let mut answer = envelope(headers, status, Message::System, Some(data), request_id);
    answer.headers_mut().insert(header::RETRY_AFTER, seconds(retry_after));
    answer
}

/// The refusal of a token (AUTH-16).
pub(crate) fn token_refused(headers: &HeaderMap, request_id: &str) -> Response<Content> {
    envelope(headers, StatusCode::OK, Message::TokenInvalid, None, request_id)
}

/// A page of a proxy that finds no server: HTTP 404, without an envelope.
pub(crate) fn html404() -> Response<Content> {
    page(StatusCode::NOT_FOUND, "404 Not Found")
}

/// A page of a proxy whose server is busy, with `Retry-After` and without an envelope.
pub(crate) fn http503(retry_after: Duration) -> Response<Content> {
    let mut answer = page(StatusCode::SERVICE_UNAVAILABLE, "503 Service Unavailable");
    answer.headers_mut().insert(header::RETRY_AFTER, seconds(retry_after));
    answer
}

/// An answer that closes the connection before its first byte; on HTTP/2, its stream ends with a
/// reset.
pub(crate) fn reset() -> Response<Content> {
    Response::new(broken_after(Bytes::new()))
}

/// Content that is aborted after these bytes.
pub(crate) fn broken_after(bytes: Bytes) -> Content {
    Content::in_parts(bytes, Box::pin(stream::iter([Err(BrokenOff)])))
}

/// A failure of the proxy, not an injected fault.
pub(crate) fn failed(status: StatusCode, message: &str) -> Response<Content> {
    let text = format!("kiosque fault-proxy: {message}\n");
    with_type(status, "text/plain; charset=utf-8", text)
}

fn page(status: StatusCode, title: &str) -> Response<Content> {
    let html = format!(
        "<html>\r\n<head><title>{title}</title></head>\r\n<body>\r\n\
         <center><h1>{title}</h1></center>\r\n</body>\r\n</html>\r\n"
    );
    with_type(status, "text/html", html)
}

fn envelope(
    headers: &HeaderMap,
    status: StatusCode,
    message: Message,
    data: Option<String>,
    request_id: &str,
) -> Response<Content> {
    let accepted = headers.get(LOCALE_HEADER).and_then(|value| value.to_str().ok());
    let locale = accepted.and_then(Locale::best_match).unwrap_or_default();
    let data = data.unwrap_or_else(|| message.text(locale).to_owned());
    // The fields are numbers and strings, which JSON can represent.
    let json = serde_json::to_string(&message.envelope(locale, data)).unwrap_or_default();
    let mut answer = with_type(status, CONTENT_TYPE, json);
    let headers = answer.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if let Ok(request_id) = HeaderValue::try_from(request_id) {
        headers.insert(REQUEST_ID_HEADER, request_id);
    }
    answer
}

fn with_type(status: StatusCode, kind: &'static str, text: String) -> Response<Content> {
    let mut answer = Response::new(Content::from(text));
    *answer.status_mut() = status;
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    answer
}

/// Returns a duration in whole seconds, rounded up.
fn seconds(duration: Duration) -> HeaderValue {
    let started = u64::from(duration.subsec_nanos() > 0);
    HeaderValue::from(duration.as_secs().saturating_add(started))
}
