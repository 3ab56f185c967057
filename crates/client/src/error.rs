//! Why a call has no result.

use std::fmt;

use crate::printable::printable;
use crate::transport::{Answer, TransportError};

/// Number of characters that [`Error::NotAnEnvelope`] quotes of a body.
const EXCERPT_CHARS: usize = 200;

/// Why a call has no result. Each variant requires a different reaction: see its documentation.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The server refused the call. Repeating it does not help until something else changes.
    #[error("the server refused the call: {0}")]
    Refused(Refusal),
    /// The request has violations (REQ-7), a string for each field: a defect of the caller.
    #[error("the server found errors in the request: {}", printable(&.0.join("; ")))]
    Invalid(Vec<String>),
    /// The answer is not an envelope of the interface, such as the HTML page of a proxy.
    #[error("{0}")]
    NotAnEnvelope(NotAnEnvelope),
    /// No whole answer arrived.
    #[error("{0}")]
    Transport(TransportError),
    /// Several attempts failed, or no session was available in time.
    #[error("{}; the last failure: {last}", gave_up(*tries))]
    GaveUp {
        /// How often the call was sent.
        tries: u32,
        /// Why the last attempt failed.
        last: Box<Error>,
    },
    /// The server answered for another group than the call's.
    #[error("the call was for the group {wanted:?}, but the server answered for {got:?}")]
    WrongGroup {
        /// The group of the call.
        wanted: String,
        /// The group of the answer.
        got: String,
    },
    /// The list of orders changed other than by growing, so that a walk over it cannot be complete.
    #[error("{0}")]
    Walk(WalkError),
    /// An argument or a file of the caller cannot be used: an invalid URL or path, or an unreadable
    /// certificate or password. Nothing was sent.
    #[error("{0}")]
    Setup(String),
    /// A login is required, and there is [no password](crate::Password::none).
    #[error("a login is required, and there is no password")]
    NoPassword,
}

/// A refused call, as described by its envelope.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Refusal {
    /// `code` of the envelope (ENV-3).
    pub code: i32,
    /// `msg`, in the language that the client requests.
    pub msg: String,
    /// `data` as text, if it is a text other than `msg`.
    pub data: Option<String>,
    /// The header `x-request-id`, by which the operator finds the request (ENV-10).
    pub request_id: Option<String>,
    /// `Retry-After`, in seconds.
    pub retry_after_s: Option<u64>,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "code {}, {}", self.code, printable(&self.msg))?;
        if let Some(data) = &self.data {
            write!(f, " ({})", printable(data))?;
        }
        if let Some(id) = &self.request_id {
            write!(f, " [request {id}]")?;
        }
        write_wait(f, self.retry_after_s)
    }
}

/// Writes the wait that the server asks for.
fn write_wait(f: &mut fmt::Formatter<'_>, retry_after_s: Option<u64>) -> fmt::Result {
    match retry_after_s {
        Some(seconds) => write!(f, "; the server asks for a wait of {seconds} s (Retry-After)"),
        None => Ok(()),
    }
}

/// An answer without an envelope.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NotAnEnvelope {
    /// The HTTP status.
    pub status: u16,
    /// The header `content-type`, if it was sent.
    pub content_type: Option<String>,
    /// The beginning of the body, as text.
    pub excerpt: String,
    /// The header `location`, the address of a redirect, which the client does not follow.
    pub location: Option<String>,
    /// `Retry-After`, in seconds.
    pub retry_after_s: Option<u64>,
}

impl NotAnEnvelope {
    /// Describes an answer.
    pub fn of(answer: &Answer) -> NotAnEnvelope {
        let text = String::from_utf8_lossy(&answer.body);
        let excerpt: String = text.chars().take(EXCERPT_CHARS).collect();
        NotAnEnvelope {
            status: answer.status,
            content_type: answer.header("content-type").map(str::to_owned),
            excerpt: printable(&excerpt),
            location: answer.header("location").map(str::to_owned),
            retry_after_s: answer.retry_after_s(),
        }
    }

    /// Describes an answer whose body may have a secret, by the reason instead of its beginning.
    pub(crate) fn because(answer: &Answer, reason: &str) -> NotAnEnvelope {
        NotAnEnvelope { excerpt: reason.to_owned(), ..NotAnEnvelope::of(answer) }
    }
}

impl fmt::Display for NotAnEnvelope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = self.content_type.as_deref().unwrap_or("no content type");
        write!(f, "HTTP {} with {kind} is not an answer of this interface", self.status)?;
        if self.status == 404 {
            f.write_str("; check that the base URL has the prefix /v8 exactly once")?;
        }
        if (300..400).contains(&self.status) {
            match &self.location {
                Some(to) => write!(f, "; it is a redirect to {to:?}, which is not followed")?,
                None => f.write_str("; it is a redirect without an address")?,
            }
            f.write_str(": check the base URL, and proxies between client and server")?;
        }
        write!(f, ": {:?}", self.excerpt)?;
        write_wait(f, self.retry_after_s)
    }
}

/// Why a walk over the orders of a device cannot be complete.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WalkError {
    /// The list has become shorter: orders were archived or deleted.
    #[error(
        "the list of device {device:?} had {had} orders, and has {total} now: orders were archived \
         or deleted. Walk again, with archived orders included"
    )]
    Shorter {
        /// The device.
        device: String,
        /// Orders that were read.
        had: u64,
        /// Orders that the server counts now.
        total: u64,
    },
    /// An ordinal has another order than before: the server does not list orders by arrival.
    #[error(
        "order {ordinal} of device {device:?} was {was:?} and is {is:?} now: the server does not \
         list orders by arrival, so pages cannot be joined while orders arrive"
    )]
    Moved {
        /// The device.
        device: String,
        /// The ordinal, counted from 1 for the oldest order.
        ordinal: u64,
        /// The id that the order at this ordinal had.
        was: String,
        /// The id that it has now.
        is: String,
    },
    /// Orders arrive faster than pages can be read.
    #[error(
        "orders of device {device:?} arrive faster than pages of this size can be read: {pages} \
         pages in a row did not continue the list"
    )]
    TooFast {
        /// The device.
        device: String,
        /// The requested pages.
        pages: u32,
    },
    /// A page has fewer rows than its `total`, `current` and `size` imply.
    #[error(
        "page {current} of device {device:?} has {rows} rows, but its total implies {expected}"
    )]
    ShortPage {
        /// The device.
        device: String,
        /// The number of the page.
        current: u64,
        /// Rows that it has.
        rows: u64,
        /// The number of rows that `total`, `current` and `size` imply.
        expected: u64,
    },
}

impl Error {
    /// Returns whether the same request fails in the same way again, so that it is not repeated.
    pub(crate) fn is_final(&self) -> bool {
        !matches!(self, Error::Transport(TransportError { is_final: false, .. }))
    }

    pub(crate) fn gave_up(tries: u32, last: Error) -> Error {
        Error::GaveUp { tries, last: Box::new(last) }
    }

    /// Returns the envelope's `code`; after several attempts, the last one's.
    pub fn code(&self) -> Option<i32> {
        match self {
            Error::Refused(refusal) => Some(refusal.code),
            Error::Invalid(_) => Some(-1),
            Error::GaveUp { last, .. } => last.code(),
            _ => None,
        }
    }

    /// Returns whether the call does not exist at this server.
    pub fn is_unknown_call(&self) -> bool {
        match self {
            Error::Refused(refusal) => refusal.code == 0,
            Error::NotAnEnvelope(answer) => answer.status == 404,
            _ => false,
        }
    }
}

fn gave_up(tries: u32) -> String {
    match tries {
        0 => "no session was available in time".to_owned(),
        1 => "gave up after 1 attempt".to_owned(),
        _ => format!("gave up after {tries} attempts"),
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http::{HeaderMap, HeaderValue};

    use super::*;

    #[test]
    fn texts_of_a_server_are_shown_without_control_characters() {
        let refusal = Refusal {
            code: -1,
            msg: "a\u{1b}]0;b\u{7}".to_owned(),
            data: Some("c\r\nkiosque: d".to_owned()),
            request_id: None,
            retry_after_s: None,
        };
        let shown = Error::Refused(refusal).to_string();
        assert_eq!(shown, "the server refused the call: code -1, a ]0;b  (c  kiosque: d)");
        let shown = Error::Invalid(vec!["e\u{9b}f\u{202e}g".to_owned()]).to_string();
        assert_eq!(shown, "the server found errors in the request: e f g");
    }

    /// ENV-12: a call that is not repeated because of a long wait has the wait in its error.
    #[test]
    fn the_wait_that_a_server_asks_for_is_shown() {
        let refusal = Refusal {
            code: -1,
            msg: "a".to_owned(),
            data: None,
            request_id: Some("r-1".to_owned()),
            retry_after_s: Some(61),
        };
        let shown = Error::gave_up(1, Error::Refused(refusal)).to_string();
        assert_eq!(
            shown,
            "gave up after 1 attempt; the last failure: the server refused the call: code -1, a \
             [request r-1]; the server asks for a wait of 61 s (Retry-After)"
        );
        let page = page(503, &[("retry-after", "61")]);
        assert_eq!(
            page,
            "HTTP 503 with no content type is not an answer of this interface: \"\"; the server \
             asks for a wait of 61 s (Retry-After)"
        );
    }

    /// Returns the description of an empty answer with these headers.
    fn page(status: u16, fields: &[(&'static str, &'static str)]) -> String {
        let mut headers = HeaderMap::new();
        for (name, value) in fields.iter().copied() {
            headers.insert(name, HeaderValue::from_static(value));
        }
        NotAnEnvelope::of(&Answer { status, headers, body: Bytes::new() }).to_string()
    }

    #[test]
    fn a_redirect_is_described_with_its_address_or_without() {
        let begin = "HTTP 302 with no content type is not an answer of this interface; it is a";
        let end = ": check the base URL, and proxies between client and server: \"\"";
        let without = page(302, &[]);
        assert_eq!(without, format!("{begin} redirect without an address{end}"));
        let with = page(302, &[("location", "https://b/login")]);
        let to = r#"redirect to "https://b/login", which is not followed"#;
        assert_eq!(with, format!("{begin} {to}{end}"));
    }
}
