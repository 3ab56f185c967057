//! Requests with any method, headers and body.

use bytes::Bytes;
use http::{HeaderValue, Method, Request};
use http_body_util::Full;

use crate::client::Client;
use crate::reply::{Reply, assert_common_headers};
use crate::server::TestServer;

/// A request, sent as written.
#[derive(Clone, Debug)]
#[must_use]
pub struct TestRequest {
    /// The method.
    pub method: Method,
    /// The path from the root, with its query.
    pub path: String,
    /// The headers besides `host`.
    pub headers: Vec<(&'static str, Vec<u8>)>,
    /// The body.
    pub body: Vec<u8>,
}

impl TestRequest {
    /// Returns a POST of `{}` to a path under `/v8`.
    pub fn to(path: &str) -> TestRequest {
        TestRequest::at(&format!("/v8/{path}"))
    }

    /// Returns a POST of `{}` to a path from the root.
    pub fn at(path: &str) -> TestRequest {
        let (path, body) = (path.to_owned(), b"{}".to_vec());
        TestRequest { method: Method::POST, path, headers: Vec::new(), body }
    }

    /// Adds a query to the path.
    pub fn query(mut self, query: &str) -> TestRequest {
        self.path = format!("{}?{query}", self.path);
        self
    }

    /// Replaces the method.
    pub fn method(self, method: Method) -> TestRequest {
        TestRequest { method, ..self }
    }

    /// Adds a header.
    pub fn header(mut self, name: &'static str, value: impl AsRef<[u8]>) -> TestRequest {
        self.headers.push((name, value.as_ref().to_vec()));
        self
    }

    /// Adds the header with the session's token.
    pub fn token(self, token: impl AsRef<[u8]>) -> TestRequest {
        self.header("third-api-token", token)
    }

    /// Adds the header of the caller's language.
    pub fn locale(self, tag: &str) -> TestRequest {
        self.header("x-locale", tag)
    }

    /// Replaces the body.
    pub fn body(self, body: impl Into<Vec<u8>>) -> TestRequest {
        TestRequest { body: body.into(), ..self }
    }

    /// Sends the request on a new connection, and asserts the response's common headers.
    pub async fn send(&self, server: &TestServer) -> Reply {
        self.send_on(&mut Connection::default(), server).await
    }

    /// Does the same on a connection that further requests use.
    pub async fn send_on(&self, connection: &mut Connection, server: &TestServer) -> Reply {
        if let Some(client) = &mut connection.0
            && let Some(reply) = client.try_send(self.request()).await
        {
            assert_common_headers(&reply);
            return reply;
        }
        let mut client = server.connect().await;
        let reply = client.send(self.request()).await;
        assert_common_headers(&reply);
        connection.0 = Some(client);
        reply
    }

    /// Sends the request over HTTP/2, on a new connection.
    pub async fn send_over_http2(&self, server: &TestServer) -> Reply {
        let mut request = self.request();
        request.headers_mut().remove("host");
        *request.uri_mut() = format!("https://localhost{}", self.path).parse().unwrap();
        let mut sender = server.connect_http2().await;
        Reply::of(sender.send_request(request).await.unwrap()).await
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

/// A connection that is opened when needed, and reopened when the server has closed it, as it may
/// do after a response to a request whose body it did not read.
#[derive(Default)]
pub struct Connection(Option<Client>);
