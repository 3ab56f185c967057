//! Requests: one of any audience; and one of an integrator, which is read completely, checked in
//! the order of REQ-1, and passed to its handler with the types declared by its endpoint.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderValue, Method, Response};
use http_body_util::{Either, Full};
use hyper::body::Incoming;
use kiosque_contract::{
    Endpoint, LOCALE_HEADER, Request as RequestType, RequestBody, TOKEN_HEADER, TokenRule,
};
use kiosque_model::{Claim, Origin, PageRequest, PresentedToken, Refusal, Source, UnixMs};

use crate::answer::{self, Data, Form};
use crate::app::App;
use crate::failure::Failure;
use crate::remarks::{IgnoredKeys, Remarks, TokenHint};
use crate::request::{self, Violations};
use kiosque_listener::json::{self, Fields};
use kiosque_listener::{BodyError, Content, read_body};
use kiosque_locale::Locale;
use tokio::sync::SemaphorePermit;

/// The header to which each proxy appends the address of its peer.
pub(crate) const FORWARDED_HEADER: &str = "x-forwarded-for";

/// A request without its body, of an integrator, of the operator or for a page.
#[derive(Clone, Copy)]
pub(crate) struct Call<'a> {
    pub(crate) app: &'a Arc<App>,
    pub(crate) now: UnixMs,
    /// The other end of the connection: the caller, or a proxy in front of the server.
    pub(crate) peer: IpAddr,
    /// Identifies the request in its answer, the log and the audit trail.
    pub(crate) request_id: &'a str,
    pub(crate) head: &'a Parts,
}

/// A request with a token. Every function of the store that takes its claim proves it first.
pub(crate) struct Caller<'a> {
    pub(crate) call: Call<'a>,
    pub(crate) claim: Claim,
    /// The requested page; the first one if the endpoint has no pages.
    pub(crate) page: PageRequest,
}

/// A body from the network, or the body of a call that a person tries in the console.
pub(crate) type SentBody = Either<Incoming, Full<Bytes>>;

/// A body, as far as it could be read.
type ReceivedBody = Result<Bytes, BodyError>;

/// A request whose endpoint is not known yet.
pub(crate) struct Received<'a> {
    call: Call<'a>,
    body: ReceivedBody,
    remarks: &'a mut Remarks,
}

/// The rules of a request that its field types do not express.
pub(crate) trait Validate {
    /// Adds a violation for each rule that the request breaks.
    fn validate(&self, call: &Call<'_>, violations: &mut Violations) {
        let _ = (call, violations);
    }
}

impl<'a> Received<'a> {
    /// Reads the whole body, even of a request that will be refused: a connection that is closed
    /// while its caller is still sending loses the answer (REQ-13).
    pub(crate) async fn read(
        call: Call<'a>,
        mut body: SentBody,
        remarks: &'a mut Remarks,
    ) -> Received<'a> {
        let limits = &call.app.settings.limits;
        let body = read_body(&mut body, limits.body_max_bytes, limits).await;
        if let Ok(body) = &body {
            remarks.remember_body(body);
        }
        Received { call: Call { now: call.app.clock.now(), ..call }, body, remarks }
    }

    /// Answers with the handler of an endpoint.
    pub(crate) async fn answer<E, H>(self, endpoint: E, handler: H) -> Result<Content, Failure>
    where
        E: Endpoint<Request: Validate>,
        H: AsyncFnOnce(Caller<'a>, E::Request) -> Result<Data<E::Response>, Failure>,
    {
        let (caller, request) = self.authenticate(endpoint).await?;
        let app = caller.call.app;
        let account = caller.claim.token.account_hint();
        handler(caller, request).await?.admitted(&app.unread_answers, account)
    }

    /// Answers with the handler of an endpoint that takes no token.
    pub(crate) async fn answer_anyone<E, H>(self, _: E, handler: H) -> Result<Content, Failure>
    where
        E: Endpoint<Request: Validate>,
        H: AsyncFnOnce(Call<'a>, E::Request) -> Result<Data<E::Response>, Failure>,
    {
        const { assert!(matches!(E::TOKEN, TokenRule::Ignored), "it takes a token: use answer") };
        let (request, _) = self.call.read::<E>(self.body, &mut self.remarks.ignored)?;
        Ok(handler(self.call, request).await?.json)
    }

    /// Reads the token, then the rest. An error in the body or in a field is reported only to a
    /// caller with a live session; without such an error, the store proves the session together
    /// with the handler's query.
    async fn authenticate<E: Endpoint<Request: Validate>>(
        self,
        _: E,
    ) -> Result<(Caller<'a>, E::Request), Failure> {
        let Received { call, body, remarks } = self;
        let token = call.token(E::TOKEN).inspect_err(|_| remarks.hint = call.hint())?;
        remarks.account = Some(token.account_hint());
        let claim = Claim { token, now: call.now };
        match call.read::<E>(body, &mut remarks.ignored) {
            Ok((request, page)) => Ok((Caller { call, claim, page }, request)),
            Err(failure) => {
                call.app.store.sessions().prove(claim).await?;
                Err(failure)
            }
        }
    }
}

impl<'a> Call<'a> {
    pub(crate) fn path(&self) -> &'a str {
        self.head.uri.path()
    }

    /// Returns the query string, which is empty if there is none.
    pub(crate) fn query(&self) -> &'a str {
        self.head.uri.query().unwrap_or_default()
    }

    /// Returns whether the method is a reading one.
    pub(crate) fn reads(&self) -> bool {
        self.head.method == Method::GET || self.head.method == Method::HEAD
    }

    /// Returns the language that an integrator requests.
    pub(crate) fn locale(&self) -> Locale {
        let asked = self.head.headers.get(LOCALE_HEADER).and_then(|value| value.to_str().ok());
        asked.and_then(Locale::best_match).unwrap_or(self.app.settings.default_locale)
    }

    /// Returns the sender, as far as the proxies before the server can be trusted.
    pub(crate) fn source(&self) -> Source {
        let forwarded = self.head.headers.get_all(FORWARDED_HEADER).iter();
        let forwarded = forwarded.map(HeaderValue::as_bytes);
        self.app.settings.trusted_proxies.source(self.peer, forwarded)
    }

    /// Returns the origin of the request, for limits and the audit trail.
    pub(crate) fn origin(&self) -> Origin {
        Origin { source: self.source(), request_id: self.request_id.to_owned(), at: self.now }
    }

    /// Logs and counts the outcome of a request to the operator's listener, and renders it.
    pub(crate) fn finish(
        &self,
        outcome: Result<Response<Content>, Failure>,
        form: &Form<'_>,
        begun: Instant,
    ) -> Response<Content> {
        let path = self.path();
        let peer = self.peer;
        let refused = outcome.as_ref().err();
        // The query is not logged: it may contain the token of a link.
        tracing::debug!(request.id = self.request_id, path, %peer, ?refused, "answered");
        if let Some(error) = refused.and_then(Failure::system_error) {
            self.app.failed(error, self.request_id);
        }
        let response = answer::render(outcome, form, self.request_id);
        self.app.metrics.called(path, response.status().as_u16(), begun.elapsed());
        response
    }

    /// Reads the token of the request.
    fn token(&self, rule: TokenRule) -> Result<PresentedToken, Refusal> {
        let when_missing = match rule {
            TokenRule::OrMissing => Refusal::TokenMissing,
            TokenRule::OrInvalid | TokenRule::Ignored => Refusal::TokenInvalid,
        };
        // HTTP/1.1 leaves out blanks around a value, and HTTP/2 does not.
        let values = self.head.headers.get_all(TOKEN_HEADER).iter();
        let mut values = values.map(|value| value.as_bytes().trim_ascii());
        match (values.next(), values.next()) {
            (None | Some(b""), None) => Err(when_missing),
            (Some(value), None) => PresentedToken::read(value).ok_or(Refusal::TokenInvalid),
            (_, Some(_)) => Err(Refusal::TokenInvalid),
        }
    }

    /// Returns the location of a misplaced token, and logs it.
    fn hint(&self) -> Option<TokenHint> {
        let hint = TokenHint::of(&self.head.headers)?;
        if hint != TokenHint::Missing && self.app.hint_log.permits(self.now) {
            let hint = hint.text();
            tracing::warn!(request.id = self.request_id, hint, "a token is not where it belongs");
        }
        Some(hint)
    }

    /// Reads and checks a request and its page, which is the first one if the endpoint has no
    /// pages.
    fn read<E: Endpoint<Request: Validate>>(
        &self,
        body: ReceivedBody,
        ignored: &mut IgnoredKeys,
    ) -> Result<(E::Request, PageRequest), Failure> {
        let mut violations = Violations::default();
        let (keys, page) = match E::PAGED {
            true => {
                let size_max = self.app.settings.limits.page_size_max;
                let page = request::page_of(self.query(), size_max);
                (request::PAGE_KEYS, page.map_err(|found| violations.extend(found)).ok())
            }
            false => (&[][..], PageRequest::new(1, PageRequest::SIZE_DEFAULT)),
        };
        request::ignore_others(self.query(), keys, ignored);
        let max_depth = self.app.settings.limits.json_max_depth;
        let fields = match (<E::Request as RequestType>::BODY, body) {
            // Its fields are listed as ignored, if it can be parsed.
            (RequestBody::None, Ok(body)) if !body.is_empty() => {
                json::parse_object(&body, max_depth).unwrap_or_default()
            }
            (RequestBody::None, _) => Fields::default(),
            (RequestBody::Object, body) => {
                let body = body.map_err(|error| Refusal::Unreadable(error.to_string()))?;
                json::parse_object(&body, max_depth).map_err(Refusal::Unreadable)?
            }
        };
        let request: E::Request = request::read(fields, &mut violations, ignored)
            .map_err(|error| Failure::internal(&error))?;
        request.validate(self, &mut violations);
        Ok(violations.finish(page.map(|page| (request, page)))?)
    }
}

/// Returns a permit for a read of the stored data by the operator. Only a few run at a time, so
/// that they do not delay the streams of the listener.
pub(crate) async fn read_permit(app: &App) -> Result<SemaphorePermit<'_>, Failure> {
    let permit = app.operator_reads.acquire();
    match tokio::time::timeout(app.settings.limits.store_wait, permit).await {
        Ok(permit) => permit.map_err(|closed| Failure::internal(&closed)),
        Err(_) => Err(Failure::busy("too many reads at a time; try again")),
    }
}
