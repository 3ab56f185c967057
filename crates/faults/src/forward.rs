//! Requests on their way to the server, and its answers on their way back.

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, HeaderName, Request, Uri, header};
use hyper::body::Incoming;
use kiosque_contract::{LoginRequest, TOKEN_HEADER};
use kiosque_listener::read_body;
use kiosque_model::Limits;
use serde_json::Value;

use crate::rows::PageAsked;
use crate::shifted::{ListPage, hash};

/// The maximum size of a forwarded body. A server already refuses smaller ones (LIM-1).
const REQUEST_MAX_BYTES: usize = 4 << 20;

/// The headers that belong to a connection, and those that depend on the body or on the coding that
/// the listener chooses.
const OF_CONNECTION: [HeaderName; 12] = [
    header::CONNECTION,
    HeaderName::from_static("keep-alive"),
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    header::CONTENT_LENGTH,
    header::EXPECT,
    header::HOST,
    header::VARY,
];

/// A request that has been read, and can be sent more than once.
pub(crate) struct Read {
    pub(crate) head: Parts,
    body: Bytes,
}

impl Read {
    /// Reads a request; `None` if its body is too large or incomplete.
    pub(crate) async fn of(request: Request<Incoming>, limits: &Limits) -> Option<Read> {
        let (head, mut body) = request.into_parts();
        let body = read_body(&mut body, REQUEST_MAX_BYTES, limits).await.ok()?;
        Some(Read { head, body })
    }

    /// Returns the request to the server, without a coding of the answer, which the listener
    /// chooses.
    pub(crate) fn request(&self) -> Request<Bytes> {
        self.request_to(self.head.uri.clone())
    }

    pub(crate) fn token(&self) -> Option<&str> {
        self.head.headers.get(TOKEN_HEADER)?.to_str().ok()
    }

    /// Returns the login name, if the body is a login.
    pub(crate) fn user(&self) -> Option<String> {
        serde_json::from_slice(&self.body).ok().map(|login: LoginRequest| login.username)
    }

    /// Returns the requested page; `None` if the query string is invalid.
    pub(crate) fn page(&self) -> Option<ListPage> {
        let page = PageAsked::of(self.head.uri.query())?;
        let filters: Value = serde_json::from_slice(&self.body).unwrap_or_default();
        Some(ListPage { list: hash((self.head.uri.path(), filters, page.size)), page })
    }

    /// Returns the request for another page.
    pub(crate) fn request_for_page(&self, current: usize, size: usize) -> Option<Request<Bytes>> {
        let path = self.head.uri.path();
        let uri = Uri::try_from(format!("{path}?current={current}&size={size}")).ok()?;
        Some(self.request_to(uri))
    }

    fn request_to(&self, uri: Uri) -> Request<Bytes> {
        let mut request = Request::new(self.body.clone());
        *request.method_mut() = self.head.method.clone();
        *request.uri_mut() = uri;
        let headers = request.headers_mut();
        headers.clone_from(&self.head.headers);
        remove_headers_of_connection(headers);
        headers.remove(header::ACCEPT_ENCODING);
        request
    }
}

/// Removes the headers that belong to a connection.
pub(crate) fn remove_headers_of_connection(headers: &mut HeaderMap) {
    for name in OF_CONNECTION {
        headers.remove(name);
    }
}
