//! The transport over HTTPS.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use http::{HeaderValue, header};
use kiosque_contract::{GATEWAY_PREFIX, LOCALE_HEADER, TOKEN_HEADER};
use kiosque_https_client::{BaseUrl, HttpsClient, TlsConfig, trust};

use crate::error::Error;
use crate::exchange::{Exchange, Observer};
use crate::transport::{Answer, Request, Token, Transport, TransportError};

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const USER_AGENT: HeaderValue =
    HeaderValue::from_static(concat!("kiosque-client/", env!("CARGO_PKG_VERSION")));

/// The server to which requests are sent, and how.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    pub(crate) base: BaseUrl,
    /// The certificates to trust; the system's if it is `None`.
    pub(crate) trusted: Option<TlsConfig>,
    pub(crate) locale: Option<HeaderValue>,
    pub(crate) observer: Option<Observer>,
}

/// Returns a transport that sends requests to this server. It keeps connections open.
pub(crate) fn transport(server: Server) -> Result<Transport, Error> {
    let trusted = match &server.trusted {
        Some(trusted) => Arc::clone(trusted),
        None => trust(None).map_err(|error| Error::Setup(error.to_string()))?,
    };
    let client = HttpsClient::new(server.base.clone(), trusted);
    let client = client.map_err(|error| Error::Setup(error.to_string()))?;
    let server = Arc::new(server);
    Ok(Transport::from_fn(move |request, token| {
        let (client, server) = (client.clone(), Arc::clone(&server));
        Box::pin(async move { exchange(&client, &server, request, token).await })
    }))
}

async fn exchange(
    client: &HttpsClient,
    server: &Server,
    request: Request,
    token: Option<Token>,
) -> Result<Answer, TransportError> {
    let url = format!("{}/{}", server.base, request.path);
    let begun = Instant::now();
    let result = send(client, server, &request, token.as_ref()).await;
    let result = result.map_err(|(cause, is_final)| {
        let to = url.clone();
        TransportError { to, cause, is_final }
    });
    if let Some(observer) = &server.observer {
        observer.show(&Exchange::of(&url, &request, token.as_ref(), &result, begun.elapsed()));
    }
    result
}

/// Sends a request. Returns the answer, or the reason why there is none and whether the same
/// request fails in the same way again.
async fn send(
    client: &HttpsClient,
    server: &Server,
    request: &Request,
    token: Option<&Token>,
) -> Result<Answer, (String, bool)> {
    let path = format!("{GATEWAY_PREFIX}/{}", request.path);
    let mut sent = http::Request::post(path).header(header::USER_AGENT, USER_AGENT);
    if !request.body.is_empty() {
        sent = sent.header(header::CONTENT_TYPE, JSON);
    }
    if let Some(token) = token {
        sent = sent.header(TOKEN_HEADER, token.reveal());
    }
    if let Some(locale) = &server.locale {
        sent = sent.header(LOCALE_HEADER, locale);
    }
    let sent = sent.body(Bytes::clone(&request.body));
    let mut sent = sent.map_err(|error| (format!("it cannot be requested: {error}"), true))?;
    for (name, value) in &request.headers {
        sent.headers_mut().insert(name, value.clone());
    }
    let answer = client.exchange(sent).await;
    let answer = answer.map_err(|error| (error.to_string(), error.is_final()))?;
    let (head, body) = answer.into_parts();
    Ok(Answer { status: head.status.as_u16(), headers: head.headers, body })
}
