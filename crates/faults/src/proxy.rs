//! The proxy: one call from its request to its answer.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use http::{HeaderValue, Request, Response, StatusCode, header};
use hyper::body::Incoming;
use kiosque_clock::Clock;
use kiosque_https_client::{ClientError, HttpsClient};
use kiosque_listener::{ConnectionMetrics, ConnectionOptions, Content, Listener, Stop, WhenFull};
use kiosque_model::{Limits, TrustedProxies, UnixMs};

use crate::FAULT_HEADER;
use crate::calls::{Call, Calls, call_at};
use crate::fault::Kind;
use crate::forward::{Read, remove_headers_of_connection};
use crate::made;
use crate::plan::{Faults, Plan, Planned};
use crate::rows::{EXPIRES_IN, PageAsked, Success, TOTAL};
use crate::sessions::{Begun, Opener};

/// Forwards calls to a server, and injects faults into some answers.
pub struct FaultProxy {
    server: HttpsClient,
    faults: Faults,
    clock: Clock,
    /// The number of calls so far, for the ids of requests that the server does not see.
    calls: AtomicU64,
}

/// The faults of an answer, by name.
type Names = Vec<&'static str>;

impl FaultProxy {
    /// Returns a proxy in front of a server.
    pub fn new(server: HttpsClient, faults: Faults, clock: Clock) -> FaultProxy {
        FaultProxy { server, faults, clock, calls: AtomicU64::new(0) }
    }

    /// Answers the requests of a listener until `end`, then finishes those in progress, up to the
    /// shutdown deadline.
    pub async fn serve(self, listener: Listener, limits: Limits, end: impl Future<Output = ()>) {
        let options = ConnectionOptions {
            limits: limits.clone(),
            trusted_proxies: TrustedProxies::default(),
            metrics: ConnectionMetrics::unregistered(),
            when_full: WhenFull::Refused,
        };
        let stop = Stop::default();
        let proxy = Arc::new((self, limits));
        let answer = Box::new(move |request, _: IpAddr| {
            let proxy = Arc::clone(&proxy);
            Box::pin(async move { proxy.0.answer(request, &proxy.1).await }) as _
        });
        let serving = listener.serve(options, answer, stop.clone());
        let ending = async {
            end.await;
            stop.now();
        };
        let (open, ()) = tokio::join!(serving, ending);
        open.drain().await;
    }

    async fn answer(&self, request: Request<Incoming>, limits: &Limits) -> Response<Content> {
        let call = call_at(request.uri().path());
        let number = self.calls.fetch_add(1, Ordering::Relaxed);
        let Some(request) = Read::of(request, limits).await else {
            let status = StatusCode::PAYLOAD_TOO_LARGE;
            return made::failed(status, "the body of the request is too large or incomplete");
        };
        let token = request.token();
        let now = self.clock.now();
        let page = call.filter(|call| Calls::Pages.contains(call)).and_then(|_| request.page());
        let plan = self.faults.plan(call, page, token, now);
        let mut names = Names::new();
        let replaced = replacement(&request, &plan, &format!("fault-{number:x}"), &mut names);
        let mut response = match replaced {
            Some(response) => response,
            None => self.pass_on(&request, call, &plan, now, &mut names).await,
        };
        let delays = plan.faults.iter().map(|fault| match fault.kind {
            Kind::Slow(delay) => delay,
            _ => Duration::ZERO,
        });
        let delay: Duration = delays.sum();
        if !delay.is_zero() {
            names.push(Kind::Slow(delay).name());
            tokio::time::sleep(delay).await;
        }
        if !names.is_empty() {
            let names = names.join(", ");
            let path = request.head.uri.path();
            tracing::debug!(path, faults = names, "answered with a fault");
            if let Ok(names) = HeaderValue::try_from(names) {
                response.headers_mut().insert(FAULT_HEADER, names);
            }
        }
        response
    }

    /// Returns the server's answer, altered by the faults of the plan.
    async fn pass_on(
        &self,
        request: &Read,
        call: Option<Call>,
        plan: &Plan,
        now: UnixMs,
        names: &mut Names,
    ) -> Response<Content> {
        let before = self.page_before(request, plan).await;
        let mut answer = match self.server.exchange(request.request()).await {
            Ok(answer) => answer,
            Err(error) => return unreachable(&error),
        };
        remove_headers_of_connection(answer.headers_mut());
        let may_alter = |call: &Call| !plan.faults.is_empty() || Calls::Sessions.contains(call);
        if let Some(call) = call.filter(may_alter)
            && let Some(mut success) = Success::parse(answer.body())
        {
            if alter(&mut success, call, plan, before.as_ref(), now, names) {
                *answer.body_mut() = success.json().into();
            }
            if Calls::Sessions.contains(call) {
                self.note_session(request, &success, plan, now);
            }
        }
        let clock = plan.faults.iter().find_map(|fault| match fault.kind {
            Kind::Clock(offset_ms) => Some(offset_ms),
            _ => None,
        });
        if let Some(date) = clock.and_then(|offset_ms| http_date(now.plus_ms(offset_ms))) {
            answer.headers_mut().insert(header::DATE, date);
            names.push(Kind::Clock(0).name());
        }
        let is_lost = |fault: &Planned| fault.kind == Kind::LoseAnswer;
        if plan.faults.iter().any(is_lost) {
            names.push(Kind::LoseAnswer.name());
            return made::reset();
        }
        let cut = plan.faults.iter().find(|fault| fault.kind == Kind::CutBody);
        let length = answer.body().len();
        match cut.filter(|_| length > 0) {
            // It is not compressed, since its length is sent.
            Some(_) => {
                names.push(Kind::CutBody.name());
                answer.headers_mut().insert(header::CONTENT_LENGTH, length.into());
                answer.map(|body| made::broken_after(body.slice(..length / 2)).secret())
            }
            // Answers with a token are never compressed (ENV-14).
            None if call.is_some_and(|call| Calls::Sessions.contains(call)) => {
                answer.map(|body| Content::from(body).secret())
            }
            None => answer.map(Content::from),
        }
    }

    /// Notes the session that a success begins, if it has a token.
    fn note_session(&self, request: &Read, success: &Success, plan: &Plan, now: UnixMs) {
        let Some(token) = success.token() else { return };
        let kinds = plan.faults.iter().map(|fault| fault.kind);
        let expire = kinds.into_iter().find(|kind| matches!(kind, Kind::Expire(_)));
        let user = request.user();
        let former = request.token().unwrap_or_default();
        let opener = user.as_deref().map_or(Opener::Switch(former), Opener::Login);
        let begun = Begun { token, opener, group: success.group() };
        self.faults.session_begins(begun, expire, now);
    }

    /// Returns the page before the requested one, if that is to be shifted; the first page is
    /// unchanged. It is read first: an order that arrives between the two answers is then in both
    /// rather than in neither (PAGE-8).
    async fn page_before(&self, request: &Read, plan: &Plan) -> Option<PageBefore> {
        let shifts = |fault: &&Planned| matches!(fault.kind, Kind::ShiftPage(_) | Kind::Shifted(_));
        plan.faults.iter().find(shifts)?;
        let PageAsked { current, size } = PageAsked::of(request.head.uri.query())?;
        let before = current.checked_sub(1).filter(|before| *before > 0)?;
        let before = self.server.exchange(request.request_for_page(before, size)?).await.ok()?;
        Some(PageBefore { page: Success::parse(before.body())?, size })
    }
}

/// The page before a shifted one.
struct PageBefore {
    page: Success,
    /// The maximum number of rows of a page.
    size: usize,
}

/// Alters the JSON of a success, and returns whether it has changed.
fn alter(
    success: &mut Success,
    call: Call,
    plan: &Plan,
    before: Option<&PageBefore>,
    now: UnixMs,
    names: &mut Names,
) -> bool {
    let mut is_altered = false;
    for Planned { kind, draw } in plan.faults.iter().copied() {
        let alters = match kind {
            Kind::Resort => success.reverse(call),
            Kind::DropRow => success.drop_row(call, draw),
            Kind::StaleTotal(rows) => {
                let rows = i64::try_from(rows).unwrap_or(i64::MAX);
                success.alter(TOTAL, |total| total.saturating_sub(rows).max(0))
            }
            Kind::ShiftPage(rows) => {
                before.is_some_and(|before| success.shift(&before.page, rows, before.size))
            }
            Kind::Shifted(rows) => {
                before.is_some_and(|before| success.stay_shifted(&before.page, rows, before.size))
            }
            Kind::Expire(after) => {
                let end = now.plus_ms(kiosque_clock::millis(after)).0;
                success.alter(EXPIRES_IN, |given| given.min(end))
            }
            // Its name is added with the header that it also changes.
            Kind::Clock(offset_ms) => {
                is_altered |= success.alter(EXPIRES_IN, |end| end.saturating_add(offset_ms));
                false
            }
            _ => false,
        };
        if alters {
            names.push(kind.name());
        }
        is_altered |= alters;
    }
    is_altered
}

/// Returns the answer to a call that the server does not see, with the name of its fault.
fn replacement(
    request: &Read,
    plan: &Plan,
    request_id: &str,
    names: &mut Names,
) -> Option<Response<Content>> {
    let headers = &request.head.headers;
    if let Some(name) = plan.ended_by {
        names.push(name);
        return Some(made::token_refused(headers, request_id));
    }
    plan.faults.iter().find_map(|fault| {
        let answer = match fault.kind {
            Kind::Code500(retry_after) => made::code500(headers, retry_after, request_id),
            Kind::Http503(retry_after) => made::http503(retry_after),
            Kind::Html404 => made::html404(),
            Kind::Reset => made::reset(),
            _ => return None,
        };
        names.push(fault.kind.name());
        Some(answer)
    })
}

/// Formats a time for the header `Date`.
fn http_date(time: UnixMs) -> Option<HeaderValue> {
    let time = jiff::Timestamp::from_millisecond(time.0).ok()?;
    let printer = jiff::fmt::rfc2822::DateTimePrinter::new();
    HeaderValue::try_from(printer.timestamp_to_rfc9110_string(&time).ok()?).ok()
}

/// The answer when the server cannot be reached; not an injected fault.
fn unreachable(error: &ClientError) -> Response<Content> {
    tracing::warn!(cause = %error, "a call could not be forwarded");
    made::failed(StatusCode::BAD_GATEWAY, &error.to_string())
}
