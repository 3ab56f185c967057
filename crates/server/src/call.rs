//! One request of an integrator: read whole, checked in the order of REQ-1, and given to its
//! handler with the types that its endpoint declares.

use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method};
use http_body_util::{Either, Full};
use hyper::body::Incoming;
use kiosque_contract::{
    Endpoint, LOCALE_HEADER, Request as RequestType, RequestBody, TOKEN_HEADER, TokenRule,
};
use kiosque_model::{Claim, Origin, PageRequest, PresentedToken, Refusal, Source, UnixMs};

use crate::answer::{Data, DataJson, Failure};
use crate::app::App;
use crate::remarks::{IgnoredKeys, Remarks, TokenHint};
use crate::request::{self, Violations};
use kiosque_listener::json::{self, Fields};
use kiosque_listener::{BodyFault, read_body};
use kiosque_locale::Locale;

/// The header to which each proxy appends the address of its peer.
pub(crate) const FORWARDED_HEADER: &str = "x-forwarded-for";

/// A request without its body.
pub(crate) struct Call<'a> {
    pub(crate) app: &'a Arc<App>,
    pub(crate) now: UnixMs,
    /// The other end of the connection: the caller, or a proxy before it.
    peer: IpAddr,
    /// Names the request in its answer, the log and the audit trail.
    pub(crate) request_id: &'a str,
    head: &'a Parts,
}

/// A request with a token. Every function of the store that takes its claim proves it first.
pub(crate) struct Caller<'a> {
    pub(crate) call: Call<'a>,
    pub(crate) claim: Claim,
}

/// A body as its caller sends it, or that of a call which a person tries in the console.
pub(crate) type SentBody = Either<Incoming, Full<Bytes>>;

/// A body, as far as it could be read.
type ReceivedBody = Result<Bytes, BodyFault>;

/// A request whose endpoint is not known yet.
pub(crate) struct Received<'a> {
    call: Call<'a>,
    body: ReceivedBody,
    remarks: &'a mut Remarks,
}

/// The rules of a request that the types of its fields do not express.
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
        app: &'a Arc<App>,
        (head, mut body): (&'a Parts, SentBody),
        peer: IpAddr,
        request_id: &'a str,
        remarks: &'a mut Remarks,
    ) -> Received<'a> {
        let limits = &app.settings.limits;
        let body = read_body(&mut body, limits.body_max_bytes, limits).await;
        if let Ok(body) = &body {
            remarks.remember_body(body);
        }
        let call = Call { app, now: app.clock.now(), peer, request_id, head };
        Received { call, body, remarks }
    }

    pub(crate) fn method(&self) -> &Method {
        &self.call.head.method
    }

    /// Answers with the handler of an endpoint.
    pub(crate) async fn answer<E, H>(self, _: E, handler: H) -> Result<DataJson, Failure>
    where
        E: Endpoint<Request: Validate>,
        H: AsyncFnOnce(Caller<'a>, E::Request) -> Result<Data<E::Response>, Failure>,
    {
        const { assert!(!E::PAGED, "a paged endpoint: use answer_page") };
        let (caller, request) = self.authenticate(E::TOKEN, whole_request).await?;
        let (app, account) = (caller.call.app, caller.claim.token.account_hint());
        let data = handler(caller, request).await?.into_json();
        data.admitted(&app.unread_answers, account)
    }

    /// Answers with the handler of a paged endpoint.
    pub(crate) async fn answer_page<E, H>(self, _: E, handler: H) -> Result<DataJson, Failure>
    where
        E: Endpoint<Request: Validate>,
        H: AsyncFnOnce(Caller<'a>, E::Request, PageRequest) -> Result<Data<E::Response>, Failure>,
    {
        const { assert!(E::PAGED, "an endpoint without pages: use answer") };
        let (caller, (request, page)) = self.authenticate(E::TOKEN, paged_request).await?;
        let (app, account) = (caller.call.app, caller.claim.token.account_hint());
        let data = handler(caller, request, page).await?.into_json();
        data.admitted(&app.unread_answers, account)
    }

    /// Answers with the handler of an endpoint that takes no token.
    pub(crate) async fn answer_anyone<E, H>(self, _: E, handler: H) -> Result<DataJson, Failure>
    where
        E: Endpoint<Request: Validate>,
        H: AsyncFnOnce(Call<'a>, E::Request) -> Result<Data<E::Response>, Failure>,
    {
        const { assert!(matches!(E::TOKEN, TokenRule::Ignored), "it takes a token: use answer") };
        let request = whole_request(&self.call, self.body, &mut self.remarks.ignored)?;
        Ok(handler(self.call, request).await?.into_json())
    }

    /// Reads the token, then the rest. A fault of the body or of a field is reported only to a
    /// caller with a live session; with no such fault, the store proves the session together with
    /// the handler's query.
    async fn authenticate<T>(
        self,
        rule: TokenRule,
        read: impl FnOnce(&Call<'a>, ReceivedBody, &mut IgnoredKeys) -> Result<T, Failure>,
    ) -> Result<(Caller<'a>, T), Failure> {
        let Received { call, body, remarks } = self;
        let token = call.token(rule).inspect_err(|_| remarks.hint = call.hint())?;
        remarks.account = Some(token.account_hint());
        let claim = Claim { token, now: call.now };
        match read(&call, body, &mut remarks.ignored) {
            Ok(request) => Ok((Caller { call, claim }, request)),
            Err(failure) => {
                call.app.store.sessions().prove(claim).await?;
                Err(failure)
            }
        }
    }
}

/// Reads and checks a request.
fn whole_request<T: RequestType + Validate>(
    call: &Call<'_>,
    body: ReceivedBody,
    ignored: &mut IgnoredKeys,
) -> Result<T, Failure> {
    let mut violations = Violations::default();
    if let Some(query) = call.head.uri.query() {
        request::ignore_others(query, &[], ignored);
    }
    let request = call.fields(body, &mut violations, ignored)?;
    Ok(violations.finish(Some(request))?)
}

/// Reads and checks a request and the page of its query.
fn paged_request<T: RequestType + Validate>(
    call: &Call<'_>,
    body: ReceivedBody,
    ignored: &mut IgnoredKeys,
) -> Result<(T, PageRequest), Failure> {
    let mut violations = Violations::default();
    let query = call.head.uri.query().unwrap_or_default();
    request::ignore_others(query, request::PAGE_KEYS, ignored);
    let page = request::page_of(query, call.app.settings.limits.page_size_max);
    let page = page.map_err(|found| violations.extend(found)).ok();
    let request = call.fields(body, &mut violations, ignored)?;
    Ok(violations.finish(page.map(|page| (request, page)))?)
}

impl Call<'_> {
    /// Returns the language of the answer.
    pub(crate) fn locale(&self) -> Locale {
        locale_of(&self.head.headers, self.app.settings.default_locale)
    }

    /// Returns where the request comes from, for limits and the audit trail.
    pub(crate) fn origin(&self) -> Origin {
        let source = source_of(self.app, &self.head.headers, self.peer);
        Origin { source, request_id: self.request_id.to_owned(), at: self.now }
    }

    /// Reads the token of the request.
    fn token(&self, rule: TokenRule) -> Result<PresentedToken, Refusal> {
        let when_missing = match rule {
            TokenRule::OrMissing => Refusal::TokenMissing,
            TokenRule::OrInvalid | TokenRule::Ignored => Refusal::TokenInvalid,
        };
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

    /// Returns the place of a token that is not where it belongs, and logs it.
    fn hint(&self) -> Option<TokenHint> {
        let hint = TokenHint::of(&self.head.headers)?;
        self.app.hint_log.log(hint, self.request_id, self.now);
        Some(hint)
    }

    /// Reads the fields of the body, and checks them.
    fn fields<T: RequestType + Validate>(
        &self,
        body: ReceivedBody,
        violations: &mut Violations,
        ignored: &mut IgnoredKeys,
    ) -> Result<T, Failure> {
        let max_depth = self.app.settings.limits.json_max_depth;
        let fields = match (T::BODY, body) {
            // Its fields are named as ignored, if it can be read.
            (RequestBody::None, Ok(body)) if !body.is_empty() => {
                json::parse_object(&body, max_depth).unwrap_or_default()
            }
            (RequestBody::None, _) => Fields::default(),
            (RequestBody::Object, body) => {
                let body = body.map_err(|fault| Refusal::Unreadable(fault.to_string()))?;
                json::parse_object(&body, max_depth).map_err(Refusal::Unreadable)?
            }
        };
        let request: T = request::read(fields, violations, ignored)
            .map_err(|error| Failure::internal(&error))?;
        request.validate(self, violations);
        Ok(request)
    }
}

/// Returns the sender of a request, as far as the proxies before the server can be trusted.
pub(crate) fn source_of(app: &App, headers: &HeaderMap, peer: IpAddr) -> Source {
    let forwarded = headers.get_all(FORWARDED_HEADER).iter().map(HeaderValue::as_bytes);
    app.settings.trusted_proxies.source(peer, forwarded)
}

/// Returns the language that a request asks for.
pub(crate) fn locale_of(headers: &HeaderMap, default: Locale) -> Locale {
    let asked = headers.get(LOCALE_HEADER).and_then(|value| value.to_str().ok());
    asked.and_then(Locale::best_match).unwrap_or(default)
}
