//! The broker: who may call it, and how it handles each call.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, HeaderName, Method, Request, header};
use hyper::body::Incoming;
use kiosque_client::session::{
    Called, Credentials, Grant, Lane, Session, SessionCounts, SessionParts,
};
use kiosque_client::{Error, Request as Call};
use kiosque_clock::Clock;
use kiosque_contract::endpoint::{DevicePage, LogIn, LogOut, SwitchGroup};
use kiosque_contract::{
    Code, ENDPOINTS, Endpoint, GATEWAY_PREFIX, LOCALE_HEADER, SessionData, SwitchableGroup,
    TOKEN_HEADER,
};
use kiosque_listener::{BodyError, KeptConnection, Stop, read_body};
use kiosque_locale::{Locale, Message};
use kiosque_model::{GroupId, Limits, Refusal, UnixMs};
use serde_json::Value;

use crate::answer::{self, Answered};
use crate::fields;
use crate::guesses::Guesses;
use crate::lanes::OpenCalls;
use crate::metrics::Metrics;
use crate::upstream::Upstream;
use crate::worker::{WorkerLogin, WorkerSession, WorkerSessions};

/// Number of replaced sessions from which on answers have a note.
const REPLACED_NOTED: u64 = 3;

/// The group in whose session lists of devices are requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceLists {
    /// The group of the worker.
    InTheirGroup,
    /// Whichever group is selected; the filter `groupId` specifies the worker's group (DEV-4).
    Filtered,
}

/// The options of a broker.
#[derive(Debug)]
pub struct BrokerOptions {
    /// The session with the server.
    pub session: SessionParts,
    /// The base URL of the server, for the status.
    pub upstream: String,
    /// The workers that may log in.
    pub workers: Vec<WorkerLogin>,
    /// How lists of devices are requested.
    pub device_lists: DeviceLists,
    /// The limits of connections, of requests and of wrong passwords.
    pub limits: Limits,
}

/// Shares a session among workers.
#[derive(Debug)]
pub struct Broker {
    pub(crate) session: Session,
    pub(crate) server: String,
    pub(crate) username: String,
    pub(crate) upstream: Arc<Upstream>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) workers: WorkerSessions,
    pub(crate) open_calls: Arc<OpenCalls>,
    pub(crate) clock: Clock,
    /// Ends the broker.
    pub(crate) stop: Stop,
    pub(crate) limits: Limits,
    guesses: Guesses,
    device_lists: DeviceLists,
    wait_max: Duration,
}

/// A request of a worker, read to its end.
struct Asked {
    head: Parts,
    body: Result<Bytes, BodyError>,
    locale: Locale,
    now: UnixMs,
}

impl Asked {
    fn token(&self) -> Option<&str> {
        let mut tokens = self.head.headers.get_all(TOKEN_HEADER).iter();
        let token = tokens.next()?;
        // An empty one is missing (AUTH-15); one that is not text, or not the only one, is unknown.
        let is_only = tokens.next().is_none();
        let text = if is_only { token.to_str().unwrap_or_default() } else { "" };
        (!is_only || !token.is_empty()).then_some(text)
    }

    /// Keeps the connection: its caller has proven to be a worker.
    fn keep_connection(&self) {
        if let Some(connection) = self.head.extensions.get::<KeptConnection>() {
            connection.keep();
        }
    }

    fn body(&self) -> Result<&Bytes, Refusal> {
        self.body.as_ref().map_err(|error| Refusal::Unreadable(error.to_string()))
    }
}

/// Why a call is not answered with success.
pub(crate) enum Failure {
    Refused(Refusal),
    NotAnswered(Error, Duration),
    Unavailable,
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Failure {
        Failure::Refused(refusal)
    }
}

impl Broker {
    /// Returns a broker. Nothing is sent to the server before the first worker logs in.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn new(options: BrokerOptions) -> Arc<Broker> {
        let BrokerOptions { session: mut parts, upstream: server, workers, .. } = options;
        let BrokerOptions { device_lists, limits, .. } = options;
        let metrics = Arc::new(Metrics::new());
        let upstream = Arc::new(Upstream::new(Arc::clone(&metrics), parts.clock.clone()));
        parts.transport = upstream.observe(parts.transport);
        let Credentials { username, .. } = parts.credentials.clone();
        // Without entropy no worker can log in.
        let key = parts.entropy.bytes().unwrap_or_default();
        Arc::new(Broker {
            workers: WorkerSessions::new(workers.len(), parts.entropy.clone()),
            guesses: Guesses::new(workers, &limits, key),
            clock: parts.clock.clone(),
            wait_max: parts.pace.wait_max,
            session: Session::start(parts),
            open_calls: Arc::default(),
            stop: Stop::default(),
            limits,
            server,
            username,
            upstream,
            metrics,
            device_lists,
        })
    }

    /// Answers one request of a worker.
    pub(crate) async fn answer(
        self: Arc<Broker>,
        request: Request<Incoming>,
        peer: IpAddr,
    ) -> Answered {
        let (head, mut body) = request.into_parts();
        let locale = head.headers.get(LOCALE_HEADER).and_then(|value| value.to_str().ok());
        let locale = locale.and_then(Locale::best_match).unwrap_or_default();
        let body = read_body(&mut body, self.limits.body_max_bytes, &self.limits).await;
        let asked = Asked { head, body, locale, now: self.clock.now() };
        match self.route(&asked, peer).await {
            Ok(answered) => answered,
            Err(Failure::Refused(refusal)) => answer::refused(&refusal, locale),
            Err(Failure::NotAnswered(error, waited)) => {
                tracing::warn!(cause = %error, "a call was not answered");
                let path = asked.head.uri.path();
                answer::not_answered(&error, path, waited, self.wait_max, locale)
            }
            Err(Failure::Unavailable) => answer::unavailable(locale),
        }
    }

    async fn route(&self, asked: &Asked, peer: IpAddr) -> Result<Answered, Failure> {
        if let Some(refused) = answer::refused_page(&asked.head.headers, asked.locale) {
            return Ok(refused);
        }
        // Only the calls of the interface are sent to the server (ADDR-4): it might read another
        // spelling of a path as a switch or a log out.
        let path = asked.head.uri.path();
        let is_call = ENDPOINTS.iter().any(|known| known.route == path);
        if asked.head.method != Method::POST || !is_call {
            return Err(Refusal::NotFound.into());
        }
        match path {
            LogIn::ROUTE => self.log_in(asked, peer).await,
            SwitchGroup::ROUTE => self.switch_group(asked).await,
            LogOut::ROUTE => self.log_out(asked),
            _ => {
                let token = asked.token().unwrap_or_default();
                let worker = self.workers.find(asked.now, token);
                self.forward(asked, token, worker.ok_or(Refusal::TokenInvalid)?).await
            }
        }
    }

    /// Logs a worker in (AUTH-1). The groups are those of the account's session.
    async fn log_in(&self, asked: &Asked, peer: IpAddr) -> Result<Answered, Failure> {
        let max_depth = self.limits.json_max_depth;
        let names = ["username", "password"];
        let [username, password] = fields::texts(asked.body()?, max_depth, names)?;
        let name = self.guesses.log_in(peer, asked.now, &username, &password)?;
        asked.keep_connection();
        let grant = timed(self.session.grant()).await?;
        let seen = self.upstream.seen().ok_or(Failure::Unavailable)?;
        self.open(asked, name, seen.default_group, &grant)
    }

    /// Selects another group for a worker (AUTH-17). Nothing is sent to the server, unless the
    /// group is not among the known groups of the account: it may be new.
    async fn switch_group(&self, asked: &Asked) -> Result<Answered, Failure> {
        let token = asked.token().ok_or(Refusal::TokenMissing)?;
        let worker = self.workers.find(asked.now, token).ok_or(Refusal::TokenInvalid)?;
        let [group] = fields::texts(asked.body()?, self.limits.json_max_depth, ["groupId"])?;
        let group = GroupId::parse(group).map_err(|_| Refusal::GroupClosed)?;
        let mut grant = timed(self.session.grant()).await?;
        if !grant.groups.iter().any(|known| known.id == group.to_string()) {
            let path = format!("{}?current=1&size=1", DevicePage::PATH);
            let call = Call::new(path, Bytes::from_static(b"{}"));
            grant = self.call(Lane::Group(group.clone()), call).await?.grant;
        }
        // Another request with the same token may have ended it meanwhile.
        if !self.workers.end(asked.now, token) {
            return Err(Refusal::TokenInvalid.into());
        }
        self.open(asked, worker.name, group, &grant)
    }

    /// Ends the session of a worker, and no other one (AUTH-21).
    fn log_out(&self, asked: &Asked) -> Result<Answered, Failure> {
        let token = asked.token().ok_or(Refusal::TokenMissing)?;
        if !self.workers.end(asked.now, token) {
            return Err(Refusal::TokenInvalid.into());
        }
        Ok(answer::success(&(), asked.locale))
    }

    /// Opens a session for a worker, valid for as long as the server's sessions.
    fn open(
        &self,
        asked: &Asked,
        name: Arc<str>,
        group: GroupId,
        grant: &Grant,
    ) -> Result<Answered, Failure> {
        let validity_ms = self.upstream.seen().map_or(0, |seen| seen.validity_ms);
        let expires_at = self.clock.now().plus_ms(validity_ms);
        let session = WorkerSession { name, group: group.clone(), expires_at };
        let access_token = self.workers.open(asked.now, session).map_err(|error| {
            tracing::error!(cause = %error, "no session can be opened for a worker");
            Failure::Unavailable
        })?;
        let groups = grant.groups.iter().cloned();
        let data = SessionData {
            access_token,
            group_id: group.to_string(),
            switchable_groups: groups
                .map(|group| SwitchableGroup { group_id: group.id, group_name: group.name })
                .collect(),
            expires_in: expires_at.0,
        };
        Ok(answer::success(&data, asked.locale))
    }

    /// Sends a call in the session of the account, in the group of its worker.
    async fn forward(
        &self,
        asked: &Asked,
        token: &str,
        worker: WorkerSession,
    ) -> Result<Answered, Failure> {
        let target = asked.head.uri.path_and_query().map_or("", |target| target.as_str());
        let path = target.strip_prefix(GATEWAY_PREFIX).and_then(|path| path.strip_prefix('/'));
        let path = path.ok_or(Refusal::NotFound)?.to_owned();
        asked.keep_connection();
        let body = match asked.body() {
            // Whatever is sent to a call without a body is ignored (REQ-6).
            Err(_) if !takes_body(asked.head.uri.path()) => Bytes::new(),
            body => body?.clone(),
        };
        let _open = self.open_calls.begin(worker.group.clone());
        let call = Call { path, body, headers: passed_headers(&asked.head.headers) };
        let called = match self.filtered(&call, &worker).await? {
            Some(called) => called,
            None => self.call_or_wait(token, Lane::Group(worker.group), call).await?,
        };
        self.metrics.lane_wait.observe(called.waited.as_secs_f64());
        let tries = called.tries;
        let mut answered = answer::passed_on(called);
        if tries > 1
            && let Ok(SessionCounts { replaced: count @ REPLACED_NOTED.., .. }) =
                self.session.counts().await
        {
            let text = "times another user of the account has replaced the session";
            answer::note(&mut answered, &format!("{count} {text}"));
        }
        Ok(answered)
    }

    /// Sends a call for a list of devices in whichever group is selected, if the options allow it.
    /// Returns `None` without a success, which the selected group may have prevented: when it is
    /// closed, the server refuses every call (SCOPE-5).
    async fn filtered(
        &self,
        call: &Call,
        worker: &WorkerSession,
    ) -> Result<Option<Called>, Failure> {
        let is_list = call.path.split('?').next() == Some(DevicePage::PATH);
        if self.device_lists == DeviceLists::InTheirGroup || !is_list {
            return Ok(None);
        }
        let group = worker.group.to_string();
        let max_depth = self.limits.json_max_depth;
        let Some(filter) = fields::with_group(&call.body, max_depth, &group) else {
            return Ok(None);
        };
        let call = Call { body: filter.into(), ..call.clone() };
        let called = self.call(Lane::Any, call).await?;
        Ok((called.answer.code() == Some(Code::Success.number())).then_some(called))
    }

    pub(crate) async fn call(&self, lane: Lane, call: Call) -> Result<Called, Failure> {
        let called = timed(self.session.call(lane.clone(), call)).await;
        self.forget_closed_group(&lane, &called).await;
        called
    }

    /// Forgets the session, so that the next call logs in, if the server has refused a group that
    /// it lists or that a login selects: the groups of the account have changed.
    pub(crate) async fn forget_closed_group(&self, lane: &Lane, called: &Result<Called, Failure>) {
        let Lane::Group(group) = lane else { return };
        if !is_of_closed_group(called) {
            return;
        }
        let seen = self.upstream.seen();
        let is_default = seen.is_some_and(|seen| seen.default_group == *group);
        let grant = self.session.grant().await;
        let is_listed = |grant: Arc<Grant>| grant.groups.iter().any(|it| it.id == group.as_str());
        if is_default || grant.is_ok_and(is_listed) {
            // It fails when the broker ends.
            let _ = self.session.resume(None).await;
        }
    }
}

fn takes_body(path: &str) -> bool {
    ENDPOINTS.iter().any(|known| known.route == path && known.request.is_some())
}

/// Waits for an answer of the session; a failure has the time that this took.
pub(crate) async fn timed<T>(answer: impl Future<Output = Result<T, Error>>) -> Result<T, Failure> {
    let begun = Instant::now();
    answer.await.map_err(|error| Failure::NotAnswered(error, begun.elapsed()))
}

/// Returns whether the server has refused the group of a call: it was closed, or taken from the
/// account (SCOPE-5), or a switch to it was refused (AUTH-19).
fn is_of_closed_group(called: &Result<Called, Failure>) -> bool {
    let message: Option<String> = match called {
        Ok(Called { answer, .. }) if answer.code() == Some(Code::Business.number()) => {
            let envelope: Option<Value> = serde_json::from_slice(&answer.body).ok();
            envelope.and_then(|envelope| Some(envelope.get("msg")?.as_str()?.to_owned()))
        }
        Err(Failure::NotAnswered(Error::Refused(refusal), _)) => Some(refusal.msg.clone()),
        _ => None,
    };
    message.is_some_and(|message| Message::GroupClosed.has_text(&message))
}

/// Returns the headers of a request that are sent to the server: without its token, the headers of
/// its connection, and `Accept-Encoding`, since the broker reads the code of an answer.
fn passed_headers(headers: &HeaderMap) -> HeaderMap {
    let passed = [header::CONTENT_TYPE, HeaderName::from_static(LOCALE_HEADER)].into_iter();
    passed.filter_map(|name| headers.get(&name).cloned().map(|value| (name, value))).collect()
}
