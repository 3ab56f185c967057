//! Requests on their way to the server, and its answers on their way back.

use bytes::{Bytes, BytesMut};
use futures_util::stream;
use http::request::Parts;
use http::{HeaderMap, HeaderName, Request, Response, Uri, header, response};
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Incoming};
use kiosque_contract::{LoginRequest, TOKEN_HEADER};
use kiosque_listener::{BrokenOff, Content};
use serde_json::Value;

use crate::rows::PageAsked;
use crate::shifted::{ListPage, hash};

/// The maximum size of a forwarded body. A server already refuses smaller ones (LIM-1).
const REQUEST_MAX_BYTES: usize = 4 << 20;
/// The length of the beginning of an answer that is read before it is forwarded unchanged. Shorter
/// answers are forwarded with their length.
pub(crate) const ANSWER_READ_BYTES: usize = 1 << 20;
/// The maximum size of an answer that is altered, and read whole before.
pub(crate) const ALTERED_MAX_BYTES: usize = 16 << 20;

/// The headers that belong to a connection, and those that depend on the body or on the coding that
/// the listener chooses.
const OF_CONNECTION: [HeaderName; 11] = [
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
    header::VARY,
];

/// A request that has been read, and can be sent more than once.
pub(crate) struct Read {
    pub(crate) head: Parts,
    body: Bytes,
}

impl Read {
    /// Reads a request; `None` if its body is too large or incomplete.
    pub(crate) async fn of(request: Request<Incoming>) -> Option<Read> {
        let (head, body) = request.into_parts();
        match beginning(body, REQUEST_MAX_BYTES).await {
            Beginning { bytes, rest: Rest::None } => Some(Read { head, body: bytes }),
            _ => None,
        }
    }

    /// Returns the request to the server, without a coding of the answer, which the listener
    /// chooses.
    pub(crate) fn request(&self) -> Request<Full<Bytes>> {
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
    pub(crate) fn request_for_page(
        &self,
        current: usize,
        size: usize,
    ) -> Option<Request<Full<Bytes>>> {
        let path = self.head.uri.path();
        let uri = Uri::try_from(format!("{path}?current={current}&size={size}")).ok()?;
        Some(self.request_to(uri))
    }

    fn request_to(&self, uri: Uri) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::new(self.body.clone()));
        *request.method_mut() = self.head.method.clone();
        *request.uri_mut() = uri;
        let mut headers = end_to_end(&self.head.headers);
        headers.remove(header::ACCEPT_ENCODING);
        *request.headers_mut() = headers;
        request
    }
}

/// An answer of the server.
pub(crate) struct Answer {
    pub(crate) head: response::Parts,
    beginning: Beginning,
}

impl Answer {
    /// Reads an answer, or its beginning if it is longer than this.
    pub(crate) async fn read(response: Response<Incoming>, max_bytes: usize) -> Answer {
        let (mut head, body) = response.into_parts();
        head.headers = end_to_end(&head.headers);
        Answer { head, beginning: beginning(body, max_bytes).await }
    }

    /// Returns the body, if it has been read to its end.
    pub(crate) fn whole(&self) -> Option<&Bytes> {
        matches!(self.beginning.rest, Rest::None).then_some(&self.beginning.bytes)
    }

    /// Replaces the body.
    pub(crate) fn replace(&mut self, body: String) {
        self.beginning = Beginning { bytes: body.into(), rest: Rest::None };
    }

    /// Returns the answer as the listener sends it.
    pub(crate) fn into_response(self) -> Response<Content> {
        let Answer { head, beginning: Beginning { bytes, rest } } = self;
        let content = match rest {
            Rest::None => Content::from(bytes),
            Rest::Broken => crate::made::broken_after(bytes),
            Rest::Unread(body) => {
                let later = stream::unfold(Some(body), |body| async {
                    let mut body = body?;
                    match next(&mut body).await {
                        Some(Ok(bytes)) => Some((Ok(bytes), Some(body))),
                        Some(Err(broken)) => Some((Err(broken), None)),
                        None => None,
                    }
                });
                Content::in_parts(bytes, Box::pin(later))
            }
        };
        Response::from_parts(head, content)
    }
}

/// Returns the headers that do not belong to a connection.
fn end_to_end(headers: &HeaderMap) -> HeaderMap {
    let mut kept = headers.clone();
    for name in OF_CONNECTION {
        kept.remove(name);
    }
    kept.remove(header::HOST);
    kept
}

/// The beginning of a body.
struct Beginning {
    bytes: Bytes,
    rest: Rest,
}

enum Rest {
    /// There is none.
    None,
    /// The body breaks off.
    Broken,
    Unread(Incoming),
}

/// Reads a body until more than a number of bytes have arrived, or it ends.
async fn beginning(mut body: Incoming, max_bytes: usize) -> Beginning {
    let expected = usize::try_from(body.size_hint().lower()).unwrap_or(max_bytes).min(max_bytes);
    let mut bytes = BytesMut::with_capacity(expected);
    let rest = loop {
        if bytes.len() > max_bytes {
            break Rest::Unread(body);
        }
        match next(&mut body).await {
            Some(Ok(part)) => bytes.extend_from_slice(&part),
            Some(Err(BrokenOff)) => break Rest::Broken,
            None => break Rest::None,
        }
    };
    Beginning { bytes: bytes.freeze(), rest }
}

/// Returns the next bytes of a body.
async fn next(body: &mut Incoming) -> Option<Result<Bytes, BrokenOff>> {
    loop {
        let Ok(frame) = body.frame().await? else { return Some(Err(BrokenOff)) };
        // The others are trailers.
        if let Ok(bytes) = frame.into_data() {
            return Some(Ok(bytes));
        }
    }
}
