//! What suites that read answers to the letter share: any request at all, an answer as text with
//! its chance parts checked and taken out, and a look at the data that tells whether it moved.

use bytes::Bytes;
use http::{HeaderValue, Method, Request};
use http_body_util::Full;

use crate::harness::{Caller, Reply, TestServer};

/// A request to the letter.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    pub(crate) method: Method,
    /// From the root, with its query.
    pub(crate) path: String,
    pub(crate) headers: Vec<(&'static str, Vec<u8>)>,
    pub(crate) body: Vec<u8>,
}

impl Ask {
    /// A POST to a path under `/v8`, with no headers of its own and the body `{}`.
    pub(crate) fn to(path: &str) -> Ask {
        Ask::at(&format!("/v8/{path}"))
    }

    /// A POST to a path from the root.
    pub(crate) fn at(path: &str) -> Ask {
        let (path, body) = (path.to_owned(), b"{}".to_vec());
        Ask { method: Method::POST, path, headers: Vec::new(), body }
    }

    pub(crate) fn query(mut self, query: &str) -> Ask {
        self.path = format!("{}?{query}", self.path);
        self
    }

    pub(crate) fn method(self, method: Method) -> Ask {
        Ask { method, ..self }
    }

    pub(crate) fn header(mut self, name: &'static str, value: impl AsRef<[u8]>) -> Ask {
        self.headers.push((name, value.as_ref().to_vec()));
        self
    }

    pub(crate) fn token(self, token: impl AsRef<[u8]>) -> Ask {
        self.header("third-api-token", token)
    }

    pub(crate) fn locale(self, tag: &str) -> Ask {
        self.header("x-locale", tag)
    }

    pub(crate) fn body(self, body: impl Into<Vec<u8>>) -> Ask {
        Ask { body: body.into(), ..self }
    }

    /// Sends it on a connection of its own, and holds the answer to what is promised of each.
    pub(crate) async fn send(&self, server: &TestServer) -> Reply {
        self.send_on(&mut Line::default(), server).await
    }

    /// The same on a connection that is kept for more.
    pub(crate) async fn send_on(&self, line: &mut Line, server: &TestServer) -> Reply {
        if let Some(caller) = &mut line.0
            && let Some(reply) = caller.try_send(self.request()).await
        {
            hold_to_every_answer(&reply);
            return reply;
        }
        let mut caller = server.caller().await;
        let reply = caller.send(self.request()).await;
        hold_to_every_answer(&reply);
        line.0 = Some(caller);
        reply
    }

    fn request(&self) -> Request<Full<Bytes>> {
        let mut request = Request::builder().method(&self.method).uri(&self.path);
        request = request.header("host", "localhost");
        for (name, value) in &self.headers {
            request = request.header(*name, HeaderValue::from_bytes(value).unwrap());
        }
        request.body(Full::from(self.body.clone())).unwrap()
    }
}

/// A connection to use again. A server that answers before it has read a body may close it; then
/// there is another one.
#[derive(Default)]
pub(crate) struct Line(Option<Caller>);

/// "Data format is `application/json; charset=UTF-8`"; "every response: `x-request-id` (also in the
/// log), `cache-control: no-store`".
pub(crate) fn hold_to_every_answer(reply: &Reply) {
    let header = |name: &str| reply.headers.get(name).map(String::as_str);
    assert_eq!(header("content-type"), Some("application/json; charset=UTF-8"), "{reply:?}");
    assert_eq!(header("cache-control"), Some("no-store"), "{reply:?}");
    let id = header("x-request-id").unwrap();
    let (run, number) = id.split_once('-').unwrap();
    let is_hex = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_hexdigit());
    assert!(run.len() == 8 && is_hex(run) && is_hex(number), "a request id: {id}");
}

/// The whole answer as text for a snapshot: status, headers and body. What chance made is checked
/// for its shape and then replaced; the date and the length follow from the rest.
pub(crate) fn whole(reply: &Reply) -> String {
    hold_to_every_answer(reply);
    let mut text = format!("HTTP {}\n", reply.status);
    for (name, value) in &reply.headers {
        match name.as_str() {
            "date" | "content-length" => {}
            "x-request-id" => text.push_str("x-request-id: [request id]\n"),
            _ => text.push_str(&format!("{name}: {value}\n")),
        }
    }
    // Nothing is lost on the way through a parser: no field stands twice, no byte stands behind.
    assert_eq!(reply.json.to_string(), reply.text);
    let mut json = reply.json.clone();
    if let Some(token) = json.pointer_mut("/data/accessToken") {
        let is_token = |text: &str| {
            let in_alphabet = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
            text.len() == 64 && text.bytes().all(in_alphabet)
        };
        assert!(token.as_str().is_some_and(is_token), "64 characters of base64url: {token}");
        *token = "[64 characters of base64url]".into();
    }
    text.push('\n');
    text.push_str(&serde_json::to_string_pretty(&json).unwrap());
    text
}

/// All that is kept: see [`crate::ground::Ground::bytes`].
#[derive(PartialEq)]
pub(crate) struct Fingerprint(Vec<Vec<u8>>);

impl Fingerprint {
    pub(crate) async fn of(server: &TestServer) -> Fingerprint {
        Fingerprint(server.data.bytes(server.folder.path()).await)
    }
}
