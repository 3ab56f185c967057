//! Answers of the console.

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Response, StatusCode, header};
use kiosque_listener::Content;

use super::cookies::{self, Lifetime};
use crate::answer::{HTML, TEXT, with_content};

/// An answer.
pub(super) struct Reply(pub(super) Response<Content>);

impl Reply {
    /// Returns an answer with a content.
    pub(super) fn new(content_type: &'static str, content: impl Into<Bytes>) -> Reply {
        Reply(with_content(content_type, content.into()))
    }

    /// Returns a page.
    pub(super) fn page(html: String) -> Reply {
        Reply::new(HTML, html)
    }

    /// Returns a table that browsers store, under a name without characters that need quotes.
    pub(super) fn csv(name: &str, rows: String) -> Reply {
        Reply::file(name, "text/csv; charset=utf-8", rows)
    }

    /// Returns a file of any type.
    pub(super) fn file(name: &str, content_type: &'static str, text: String) -> Reply {
        let disposition = format!("attachment; filename=\"{name}\"");
        Reply::new(content_type, text).with(header::CONTENT_DISPOSITION, &disposition)
    }

    /// Redirects to a path of this console with GET.
    pub(super) fn see_other(path: &str) -> Reply {
        Reply::new(TEXT, "").with_status(StatusCode::SEE_OTHER).with(header::LOCATION, path)
    }

    /// Adds a header, unless its value has characters that no header can have.
    pub(super) fn with(mut self, name: HeaderName, value: &str) -> Reply {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.0.headers_mut().insert(name, value);
        }
        self
    }

    /// Replaces the status.
    pub(super) fn with_status(mut self, status: StatusCode) -> Reply {
        *self.0.status_mut() = status;
        self
    }

    /// Sets a cookie.
    pub(super) fn cookie(mut self, name: &str, value: &str, lifetime: Lifetime) -> Reply {
        if let Some(field) = cookies::set(name, value, lifetime) {
            self.0.headers_mut().append(header::SET_COOKIE, field);
        }
        self
    }

    /// Marks this answer as containing a secret, so that it is never compressed.
    pub(super) fn secret(self) -> Reply {
        Reply(self.0.map(Content::secret))
    }
}
