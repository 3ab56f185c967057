//! The transport over HTTPS.

use std::error::Error as _;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use http::{HeaderValue, Uri, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use kiosque_contract::{GATEWAY_PREFIX, LOCALE_HEADER, TOKEN_HEADER};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};

use crate::error::Error;
use crate::exchange::{Exchange, Observer};
use crate::transport::{Answer, Request, Token, Transport, TransportFault};

/// The largest answer that is read: the aisles of a large group take some megabytes.
const ANSWER_MAX_BYTES: usize = 64 << 20;
const JSON: HeaderValue = HeaderValue::from_static("application/json");
const USER_AGENT: HeaderValue =
    HeaderValue::from_static(concat!("kiosque-client/", env!("CARGO_PKG_VERSION")));

/// The base URL of a server: `https://`, the host and the prefix `/v8` (ADDR-1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseUrl(String);

impl std::fmt::Display for BaseUrl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl BaseUrl {
    /// Parses a base URL. A slash at its end is removed.
    ///
    /// # Errors
    /// The text is no `https` URL, or does not end with the prefix `/v8`.
    pub fn parse(text: &str) -> Result<BaseUrl, Error> {
        let wrong = |expected: &str| {
            Error::Setup(format!("the base URL {text:?} {expected}, as in https://HOST/v8"))
        };
        let trimmed = text.trim_end_matches('/');
        let url: Uri = trimmed.parse().map_err(|_| wrong("is no URL; give one"))?;
        if url.scheme_str() != Some("https") || url.host().is_none_or(str::is_empty) {
            return Err(wrong("must begin with https:// and a host"));
        }
        if url.path() != GATEWAY_PREFIX || url.query().is_some() {
            return Err(wrong("must end with the prefix /v8, once"));
        }
        Ok(BaseUrl(trimmed.to_owned()))
    }
}

/// The server to which requests are sent, and how.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    pub(crate) base: BaseUrl,
    /// The certificates to trust, as PEM, in place of those of the system.
    pub(crate) ca_pem: Option<Arc<[u8]>>,
    pub(crate) locale: Option<HeaderValue>,
    pub(crate) observer: Option<Observer>,
}

/// Reads a file of certificates.
pub(crate) fn read_pem(file: &Path) -> Result<Arc<[u8]>, Error> {
    let content = std::fs::read(file);
    content.map(Into::into).map_err(|error| {
        Error::Setup(format!("cannot read the certificates of {}: {error}", file.display()))
    })
}

/// Returns a transport that sends requests to this server. It keeps connections open.
pub(crate) fn transport(server: Server) -> Result<Transport, Error> {
    let https = HttpsConnectorBuilder::new()
        .with_tls_config(tls(server.ca_pem.as_deref())?)
        .https_only()
        .enable_all_versions()
        .build();
    let client = Client::builder(TokioExecutor::new()).build(https);
    let server = Arc::new(server);
    Ok(Transport::from_fn(move |request, token| {
        let (client, server) = (client.clone(), Arc::clone(&server));
        Box::pin(async move { exchange(&client, &server, request, token).await })
    }))
}

fn tls(ca_pem: Option<&[u8]>) -> Result<ClientConfig, Error> {
    let setup = |error: &dyn std::fmt::Display| Error::Setup(format!("TLS: {error}"));
    let mut roots = RootCertStore::empty();
    if let Some(pem) = ca_pem {
        for certificate in CertificateDer::pem_slice_iter(pem) {
            roots.add(certificate.map_err(|error| setup(&error))?).map_err(|e| setup(&e))?;
        }
    } else {
        // A system has certificates that cannot be read; the others are enough.
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    }
    if roots.is_empty() {
        return Err(setup(
            &"no certificate to trust; name a file with the server's own or its CA's",
        ));
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| setup(&error))?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}

type HttpsClient = Client<HttpsConnector<HttpConnector>, Full<Bytes>>;

async fn exchange(
    client: &HttpsClient,
    server: &Server,
    request: Request,
    token: Option<Token>,
) -> Result<Answer, TransportFault> {
    let url = format!("{}/{}", server.base, request.path);
    let begun = Instant::now();
    let result = send(client, server, &url, &request, token.as_ref()).await;
    if let Some(observer) = &server.observer {
        observer.show(&Exchange::of(&url, &request, token.as_ref(), &result, begun.elapsed()));
    }
    result
}

async fn send(
    client: &HttpsClient,
    server: &Server,
    url: &str,
    request: &Request,
    token: Option<&Token>,
) -> Result<Answer, TransportFault> {
    let fault = |cause: String| TransportFault { to: url.to_owned(), cause };
    let mut sent = http::Request::post(url).header(header::USER_AGENT, USER_AGENT);
    if !request.body.is_empty() {
        sent = sent.header(header::CONTENT_TYPE, JSON);
    }
    if let Some(token) = token {
        sent = sent.header(TOKEN_HEADER, token.reveal());
    }
    if let Some(locale) = &server.locale {
        sent = sent.header(LOCALE_HEADER, locale);
    }
    let sent = sent.body(Full::from(request.body.clone()));
    let mut sent = sent.map_err(|error| fault(error.to_string()))?;
    for (name, value) in &request.headers {
        sent.headers_mut().insert(name, value.clone());
    }
    let answer = client.request(sent).await.map_err(|error| fault(causes(&error)))?;
    let (head, body) = answer.into_parts();
    let body = Limited::new(body, ANSWER_MAX_BYTES).collect().await;
    let body = body.map_err(|error| fault(format!("the answer broke off: {error}")))?.to_bytes();
    Ok(Answer { status: head.status.as_u16(), headers: head.headers, body })
}

/// Returns an error and its causes on one line.
fn causes(error: &hyper_util::client::legacy::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        // Writing to a String does not fail.
        let _ = write!(text, ": {error}");
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ADDR-1: the prefix is there exactly once, and nothing follows it.
    #[test]
    fn a_base_url_has_the_prefix_once() {
        for good in ["https://k.example.com/v8", "https://127.0.0.1:8443/v8/"] {
            let base = BaseUrl::parse(good).expect(good);
            assert_eq!(base.to_string(), good.trim_end_matches('/'));
        }
        for bad in [
            "http://k.example.com/v8",
            "https://k.example.com",
            "https://k.example.com/v8/v8",
            "https://k.example.com/v8?x=1",
            "https:///v8",
            "k.example.com/v8",
            "",
        ] {
            let Err(Error::Setup(message)) = BaseUrl::parse(bad) else { panic!("{bad}") };
            assert!(message.contains("https://HOST/v8"), "{message}");
        }
    }
}
