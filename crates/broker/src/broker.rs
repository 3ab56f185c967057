//! The broker: who may call it, and what it does with each call.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, Method, Request, header};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use kiosque_client::session::{
    Called, Credentials, Grant, Lane, Session, SessionCounts, SessionParts,
};
use kiosque_client::{Error, Request as Call};
use kiosque_clock::Clock;
use kiosque_contract::endpoint::{DevicePage, LogIn, LogOut, SwitchGroup};
use kiosque_contract::{
    ENDPOINTS, Endpoint, GATEWAY_PREFIX, LOCALE_HEADER, SessionData, SwitchableGroup, TOKEN_HEADER,
};
use kiosque_locale::Locale;
use kiosque_model::{GroupId, Refusal, UnixMs};
use tokio::sync::watch;

use crate::answer::{self, Answered};
use crate::fields;
use crate::guesses::Guesses;
use crate::lanes::OpenCalls;
use crate::metrics::Metrics;
use crate::upstream::Upstream;
use crate::worker::{WorkerLogin, WorkerSession, WorkerSessions};

/// The largest body of a request.
const BODY_MAX_BYTES: usize = 1 << 20;
/// Replaced sessions from which on answers have a note.
const REPLACED_NOTED: u64 = 3;

/// The group in whose session lists of devices are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceLists {
    /// The group of the worker.
    InTheirGroup,
    /// Whichever group is selected; the filter `groupId` names the group of the worker (DEV-4).
    Filtered,
}

/// How a broker is made.
#[derive(Debug)]
pub struct BrokerOptions {
    /// The session with the server.
    pub session: SessionParts,
    /// The base URL of the server, for the status.
    pub upstream: String,
    /// The workers that may log in.
    pub workers: Vec<WorkerLogin>,
    /// How lists of devices are asked for.
    pub device_lists: DeviceLists,
}

/// Shares a session among workers.
#[derive(Debug)]
pub struct Broker {
    pub(crate) session: Session,
    pub(crate) server: String,
    pub(crate) username: String,
    pub(crate) upstream: Arc<Upstream>,
    pub(crate) metrics: Metrics,
    pub(crate) workers: WorkerSessions,
    pub(crate) open_calls: Arc<OpenCalls>,
    pub(crate) clock: Clock,
    /// Whether the broker is to end.
    pub(crate) stopping: watch::Sender<bool>,
    logins: Vec<WorkerLogin>,
    guesses: Guesses,
    device_lists: DeviceLists,
    wait_max: Duration,
}

/// A request of a worker, read to its end.
struct Asked {
    head: Parts,
    body: Bytes,
    locale: Locale,
    now: UnixMs,
}

impl Asked {
    fn token(&self) -> Option<&str> {
        let token = self.head.headers.get(TOKEN_HEADER)?;
        // An empty one is missing (AUTH-15), and one that is no text is unknown.
        (!token.is_empty()).then(|| token.to_str().unwrap_or_default())
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
    #[must_use]
    pub fn new(options: BrokerOptions) -> Arc<Broker> {
        let BrokerOptions { session: mut parts, upstream: server, workers, device_lists } = options;
        let metrics = Metrics::new();
        let upstream = Arc::new(metrics.upstream(parts.clock.clone()));
        parts.transport = upstream.observe(parts.transport);
        let Credentials { username, .. } = parts.credentials.clone();
        Arc::new(Broker {
            workers: WorkerSessions::new(parts.entropy.clone()),
            clock: parts.clock.clone(),
            wait_max: parts.pace.wait_max,
            session: Session::start(parts),
            open_calls: Arc::default(),
            stopping: watch::Sender::new(false),
            guesses: Guesses::default(),
            logins: workers,
            server,
            username,
            upstream,
            metrics,
            device_lists,
        })
    }

    /// Answers one request of a worker.
    pub(crate) async fn answer(&self, request: Request<Incoming>, peer: IpAddr) -> Answered {
        let (head, body) = request.into_parts();
        let locale = head.headers.get(LOCALE_HEADER).and_then(|value| value.to_str().ok());
        let locale = locale.and_then(Locale::best_match).unwrap_or(Locale::En);
        let body = match Limited::new(body, BODY_MAX_BYTES).collect().await {
            Ok(body) => body.to_bytes(),
            Err(error) => {
                let diagnostic = format!("the body cannot be read: {error}");
                return answer::refused(&Refusal::Unreadable(diagnostic), locale);
            }
        };
        let asked = Asked { head, body, locale, now: self.clock.now() };
        match self.route(&asked, peer).await {
            Ok(answered) => answered,
            Err(Failure::Refused(refusal)) => answer::refused(&refusal, locale),
            Err(Failure::NotAnswered(error, waited)) => {
                tracing::warn!(cause = %error, "a call was not answered");
                answer::not_answered(&error, waited, self.wait_max, locale)
            }
            Err(Failure::Unavailable) => answer::unavailable(locale),
        }
    }

    async fn route(&self, asked: &Asked, peer: IpAddr) -> Result<Answered, Failure> {
        let path = asked.head.uri.path();
        if asked.head.method != Method::POST {
            return Err(Refusal::NotFound.into());
        }
        match path {
            LogIn::ROUTE => self.log_in(asked, peer).await,
            SwitchGroup::ROUTE => self.switch_group(asked).await,
            LogOut::ROUTE => self.log_out(asked),
            _ => {
                let token = asked.token().unwrap_or_default();
                match self.workers.find(asked.now, token) {
                    Some(worker) => self.forward(asked, token, worker).await,
                    None if ENDPOINTS.iter().any(|known| known.route == path) => {
                        Err(Refusal::TokenInvalid.into())
                    }
                    None => Err(Refusal::NotFound.into()),
                }
            }
        }
    }

    /// Logs a worker in (AUTH-1): the groups are those of the account.
    async fn log_in(&self, asked: &Asked, peer: IpAddr) -> Result<Answered, Failure> {
        let [username, password] = fields::texts(&asked.body, ["username", "password"])?;
        let login = self.logins.iter().find(|login| login.admits(&username, &password));
        let name = self.guesses.check(peer, asked.now, login)?.name();
        let grant = self.grant().await?;
        let seen = self.upstream.seen().ok_or(Failure::Unavailable)?;
        self.open(asked, name, seen.default_group, &grant)
    }

    /// Selects another group for a worker (AUTH-17). Nothing is sent to the server, unless the
    /// group is not among those of the account that are known: it may be new.
    async fn switch_group(&self, asked: &Asked) -> Result<Answered, Failure> {
        let token = asked.token().ok_or(Refusal::TokenMissing)?;
        let worker = self.workers.find(asked.now, token).ok_or(Refusal::TokenInvalid)?;
        let [group] = fields::texts(&asked.body, ["groupId"])?;
        let group = GroupId::parse(group).map_err(|_| Refusal::GroupClosed)?;
        let mut grant = self.grant().await?;
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

    /// Opens a session for a worker, which is valid for as long as those of the server.
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
        let _open = self.open_calls.begin(worker.group.clone());
        let (lane, body) = self.lane(asked, &worker);
        let headers = passed_headers(&asked.head.headers);
        let call = Call { path, body, headers };
        let called = self.call_or_wait(token, lane, call).await?;
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

    /// Returns the lane of a call and its body.
    fn lane(&self, asked: &Asked, worker: &WorkerSession) -> (Lane, Bytes) {
        if self.device_lists == DeviceLists::Filtered
            && asked.head.uri.path() == DevicePage::ROUTE
            && let Some(body) = fields::with_group(&asked.body, &worker.group.to_string())
        {
            return (Lane::Any, body.into());
        }
        (Lane::Group(worker.group.clone()), asked.body.clone())
    }

    pub(crate) async fn call(&self, lane: Lane, call: Call) -> Result<Called, Failure> {
        let begun = Instant::now();
        let called = self.session.call(lane, call).await;
        called.map_err(|error| Failure::NotAnswered(error, begun.elapsed()))
    }

    async fn grant(&self) -> Result<Arc<Grant>, Failure> {
        let begun = Instant::now();
        let grant = self.session.grant().await;
        grant.map_err(|error| Failure::NotAnswered(error, begun.elapsed()))
    }
}

/// Returns the headers of a request that are sent to the server. Its token and those of its
/// connection are not among them, nor `Accept-Encoding`: the broker reads the code of an answer.
fn passed_headers(headers: &HeaderMap) -> HeaderMap {
    let mut passed = HeaderMap::new();
    for name in [header::CONTENT_TYPE.as_str(), LOCALE_HEADER] {
        if let (Some(value), Ok(name)) = (headers.get(name), name.parse::<header::HeaderName>()) {
            passed.insert(name, value.clone());
        }
    }
    passed
}
