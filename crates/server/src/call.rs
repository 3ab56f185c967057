//! One request, as handlers see it.

use std::net::IpAddr;

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, Request};
use hyper::body::Incoming;
use kiosque_contract::{LOCALE_HEADER, TOKEN_HEADER};
use kiosque_model::{Origin, PresentedToken, Refusal, Source, UnixMs};

use crate::answer::Failure;
use crate::app::App;
use crate::body::{self, BodyFault};
use crate::form::Form;
use crate::json;
use crate::locale::Locale;

/// What each proxy adds the address to that it heard.
const FORWARDED_HEADER: &str = "x-forwarded-for";

/// A request whose path has been found.
pub(crate) struct Call<'a> {
    pub(crate) app: &'a App,
    pub(crate) now: UnixMs,
    /// Who is at the other end of the connection: the caller, or a gateway before it.
    pub(crate) peer: IpAddr,
    /// Names the request in its answer, the log and the audit trail.
    pub(crate) request_id: &'a str,
    head: Parts,
    body: Result<Bytes, BodyFault>,
}

impl<'a> Call<'a> {
    /// Takes the request in, whole, whatever will be answered: a connection that ends while its
    /// caller is still sending takes the answer with it.
    pub(crate) async fn receive(
        app: &'a App,
        request: Request<Incoming>,
        peer: IpAddr,
        request_id: &'a str,
    ) -> Call<'a> {
        let (head, mut body) = request.into_parts();
        let body = body::read(&mut body, &app.settings.limits).await;
        Call { app, now: app.clock.now(), peer, request_id, head, body }
    }

    pub(crate) fn method(&self) -> &Method {
        &self.head.method
    }

    pub(crate) fn path(&self) -> String {
        self.head.uri.path().to_owned()
    }

    /// The language of its answer.
    pub(crate) fn locale(&self) -> Locale {
        locale_of(&self.head.headers, self.app.settings.default_locale)
    }

    /// The query string, without its question mark.
    pub(crate) fn query(&self) -> String {
        self.head.uri.query().unwrap_or_default().to_owned()
    }

    /// The token that the request brought; `when_missing` is what its path answers without one.
    pub(crate) fn presented(&self, when_missing: Refusal) -> Result<PresentedToken, Refusal> {
        let mut values = self.head.headers.get_all(TOKEN_HEADER).iter();
        match (values.next(), values.next()) {
            (None, _) => Err(when_missing),
            (Some(value), None) if value.is_empty() => Err(when_missing),
            (Some(value), None) => {
                PresentedToken::read(value.as_bytes()).ok_or(Refusal::TokenInvalid)
            }
            (Some(_), Some(_)) => Err(Refusal::TokenInvalid),
        }
    }

    /// Where the request came from, for limits and the audit trail.
    pub(crate) fn origin(&self) -> Origin {
        let source = source_of(self.app, &self.head.headers, self.peer);
        Origin { source, request_id: self.request_id.to_owned(), at: self.now }
    }

    /// Reads the body into a form.
    pub(crate) fn form(self) -> Result<Form, Refusal> {
        let max_depth = self.app.settings.limits.json_max_depth;
        let body = self.body.map_err(|fault| Refusal::Unreadable(fault.to_string()))?;
        let fields = json::parse_object(&body, max_depth);
        fields.map(Form::new).map_err(Refusal::Unreadable)
    }
}

/// The token is judged before the body and the fields: what is wrong with those is told only to
/// whoever has a live session.
pub(crate) async fn after_session<T>(
    app: &App,
    now: UnixMs,
    presented: &PresentedToken,
    asked: Result<T, Refusal>,
) -> Result<T, Failure> {
    match asked {
        Ok(asked) => Ok(asked),
        Err(refusal) => {
            app.store.session(presented, now).await?;
            Err(refusal.into())
        }
    }
}

/// Who sent a request, as far as the proxies before us can be trusted to know.
pub(crate) fn source_of(app: &App, headers: &HeaderMap, peer: IpAddr) -> Source {
    let forwarded = headers.get_all(FORWARDED_HEADER).iter().map(HeaderValue::as_bytes);
    app.settings.trusted_proxies.source(peer, forwarded)
}

/// The language that a request asks for.
pub(crate) fn locale_of(headers: &HeaderMap, default: Locale) -> Locale {
    let asked = headers.get(LOCALE_HEADER).and_then(|value| value.to_str().ok());
    asked.and_then(Locale::best_match).unwrap_or(default)
}
