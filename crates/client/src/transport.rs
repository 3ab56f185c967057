//! Requests and answers, and the function that sends them.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::{HeaderMap, HeaderValue};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::printable::printable;

/// A request without its token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The path below the base URL, with its query string.
    pub path: String,
    /// The body; empty for a call that takes none.
    pub body: Bytes,
    /// Headers that replace those that the transport sends by default.
    pub headers: HeaderMap,
}

impl Request {
    /// Returns a request without additional headers.
    pub fn new(path: String, body: Bytes) -> Request {
        Request { path, body, headers: HeaderMap::new() }
    }
}

/// An access token. Its `Debug` omits the content.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Token(String);

impl Token {
    /// Returns a token as the server sent it.
    pub fn new(text: String) -> Token {
        Token(text)
    }

    /// Returns the text for the header `third-api-token`.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Returns whether a header can have the text.
    pub(crate) fn is_sendable(&self) -> bool {
        HeaderValue::from_str(&self.0).is_ok()
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

/// An answer, read to its end.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
}

impl Answer {
    /// Returns a header if it is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Returns `code` of the envelope. Stops reading at `code` if it comes first, as servers of
    /// this interface send it, so that a large answer is not parsed twice.
    pub fn code(&self) -> Option<i32> {
        #[derive(Deserialize)]
        struct WithCode {
            code: i32,
        }
        if let Some(rest) = self.body.strip_prefix(b"{\"code\":")
            && let Some(end) = rest.iter().take(12).position(|byte| matches!(byte, b',' | b'}'))
        {
            let number = rest.get(..end).and_then(|digits| std::str::from_utf8(digits).ok());
            return number.and_then(|digits| digits.trim().parse().ok());
        }
        serde_json::from_slice::<WithCode>(&self.body).ok().map(|envelope| envelope.code)
    }

    /// Returns `data` of the envelope.
    ///
    /// # Errors
    /// The body is no envelope, or its data has another shape.
    pub fn data<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        #[derive(Deserialize)]
        struct WithData<T> {
            data: T,
        }
        serde_json::from_slice::<WithData<T>>(&self.body).map(|envelope| envelope.data)
    }

    /// Returns `Retry-After` if it is a number of seconds.
    pub fn retry_after_s(&self) -> Option<u64> {
        self.header("retry-after")?.trim().parse().ok()
    }
}

/// Why no whole answer arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransportError {
    /// The address of the request.
    pub to: String,
    /// The failure and its causes.
    pub cause: String,
    /// Whether the same request fails in the same way again: its path or its token cannot be sent,
    /// or the certificate of the server is not trusted. Such a request is not repeated.
    pub is_final: bool,
}

impl fmt::Display for TransportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no answer from {}: {}", printable(&self.to), printable(&self.cause))
    }
}

/// A function that sends a request, with a token or without, and reads the answer to its end.
#[derive(Clone)]
pub struct Transport(Arc<Send>);

type Send = dyn Fn(Request, Option<Token>) -> BoxFuture<'static, Result<Answer, TransportError>>
    + std::marker::Send
    + Sync;

impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Transport")
    }
}

impl Transport {
    /// Returns a transport that calls `send`.
    pub fn from_fn(
        send: impl Fn(Request, Option<Token>) -> BoxFuture<'static, Result<Answer, TransportError>>
        + std::marker::Send
        + Sync
        + 'static,
    ) -> Transport {
        Transport(Arc::new(send))
    }

    /// Sends a request.
    ///
    /// # Errors
    /// No whole answer arrived.
    pub async fn send(
        &self,
        request: Request,
        token: Option<Token>,
    ) -> Result<Answer, TransportError> {
        (self.0)(request, token).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_shown_without_control_characters() {
        let (to, cause) = ("https://a/v8/\u{202e}x".to_owned(), "b\u{1b}[2J".to_owned());
        let shown = TransportError { to, cause, is_final: false }.to_string();
        assert_eq!(shown, "no answer from https://a/v8/ x: b [2J");
    }

    #[test]
    fn the_code_is_read_wherever_it_is_in_the_envelope() {
        for (body, code) in [
            (r#"{"code":-4,"msg":"x","enMsg":"x","data":"x"}"#, Some(-4)),
            (r#"{"code": 200 ,"data":{}}"#, Some(200)),
            (r#"{"msg":"success","code":200}"#, Some(200)),
            (r#"{ "code":-2}"#, Some(-2)),
            (r#"{"code":"200"}"#, None),
            ("<html>", None),
            ("", None),
        ] {
            let body = Bytes::from_static(body.as_bytes());
            let answer = Answer { status: 200, headers: HeaderMap::new(), body: body.clone() };
            assert_eq!(answer.code(), code, "{body:?}");
        }
    }
}
