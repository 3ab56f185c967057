//! The task of a session: it sends what [`Machine`] decides, and reports the events to it.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};
use kiosque_contract::endpoint::{LogIn, LogOut, SwitchGroup};
use kiosque_contract::{Code, Endpoint, LoginRequest, SwitchGroupRequest};
use kiosque_model::GroupId;
use serde::Serialize;
use tokio::sync::{mpsc, oneshot};

use super::action::{Action, Started};
use super::grant::{Failure, Grant, Granted};
use super::lanes::{Lane, Length, Ticket};
use super::machine::Machine;
use super::stored::StoredSession;
use super::{Called, Credentials, SessionCounts, SessionParts};
use crate::answer::{SUCCESS, error_of, refusal_of};
use crate::error::{Error, NotAnEnvelope};
use crate::transport::{Answer, Request, Token, Transport, TransportError};

const TOKEN_INVALID: i32 = Code::TokenInvalid.number();

/// What the task does next: a message to it, or the end of something in progress.
pub(super) type Message = Box<dyn FnOnce(&mut Driver) + Send>;

/// The sender of the reply to a caller.
type Reply<T> = oneshot::Sender<Result<T, Error>>;

/// The work of a call, and its caller.
pub(super) enum Work {
    Send(Request, Reply<Option<Called>>),
    Describe(Reply<Arc<Grant>>),
}

/// The task of a session.
pub(super) struct Driver {
    parts: SessionParts,
    machine: Machine,
    messages: mpsc::UnboundedReceiver<Message>,
    waiting: HashMap<Ticket, Work>,
    interrupts: HashMap<Ticket, oneshot::Sender<()>>,
    under_way: FuturesUnordered<BoxFuture<'static, Message>>,
    log_outs: Vec<Reply<()>>,
    counts: SessionCounts,
}

impl Driver {
    pub(super) fn new(parts: SessionParts, messages: mpsc::UnboundedReceiver<Message>) -> Driver {
        Driver {
            machine: Machine::new(parts.pace, parts.entropy.clone(), Instant::now()),
            parts,
            messages,
            waiting: HashMap::new(),
            interrupts: HashMap::new(),
            under_way: FuturesUnordered::new(),
            log_outs: Vec::new(),
            counts: SessionCounts::default(),
        }
    }

    /// Runs until the last clone of the session is dropped.
    pub(super) async fn run(mut self) {
        // A session that an earlier program has stored.
        let stored = self.parts.resume.take();
        let stored = stored.and_then(|stored| stored.into_granted(&self.parts.clock));
        self.machine.replace(Instant::now(), stored);
        loop {
            let rest = self.act();
            tokio::select! {
                message = self.messages.recv() => match message {
                    Some(message) => message(&mut self),
                    None => return,
                },
                Some(end) = self.under_way.next() => end(&mut self),
                () = sleep_until(rest) => {}
            }
        }
    }

    /// Adds a call.
    pub(super) fn add(&mut self, lane: Lane, length: Length, work: Work) {
        let ticket = self.machine.add(Instant::now(), lane, length);
        self.waiting.insert(ticket, work);
    }

    /// Logs out as soon as no call is in progress.
    pub(super) fn log_out_later(&mut self, reply: Reply<()>) {
        self.machine.log_out();
        self.log_outs.push(reply);
    }

    /// Replaces the current session, unless it is the same: it has a history, which decides how an
    /// eviction is judged.
    pub(super) fn resume(&mut self, session: Option<StoredSession>) {
        if session.is_none() || session != self.stored() {
            let granted = session.and_then(|it| it.into_granted(&self.parts.clock));
            self.machine.replace(Instant::now(), granted);
        }
    }

    pub(super) fn counts(&self) -> SessionCounts {
        SessionCounts { replaced: self.machine.replaced(), ..self.counts }
    }

    pub(super) fn waiting(&self) -> BTreeMap<Lane, (usize, Instant)> {
        self.machine.waiting()
    }

    pub(super) fn stored(&self) -> Option<StoredSession> {
        self.machine.held().map(|(held, group)| StoredSession::new(held, group))
    }

    /// Does everything that can be done now. Returns the time at which there may be more.
    fn act(&mut self) -> Option<Instant> {
        loop {
            match self.machine.next(Instant::now()) {
                Action::Rest(until) => return until,
                Action::Call(ticket, started) => self.call(ticket, started),
                Action::Fail(ticket, error) => self.fail(ticket, error),
                Action::LogIn => self.log_in(),
                Action::Switch(grant, group) => self.switch(&grant, group),
                Action::LogOut(grant) => self.log_out(grant),
                Action::Interrupt(tickets) => {
                    for interrupt in tickets.iter().filter_map(|one| self.interrupts.remove(one)) {
                        let _ = interrupt.send(());
                    }
                }
            }
        }
    }

    fn call(&mut self, ticket: Ticket, started: Started) {
        match self.waiting.remove(&ticket) {
            Some(Work::Send(request, mut reply)) if !reply.is_closed() => {
                let (interrupt, interrupted) = oneshot::channel();
                self.interrupts.insert(ticket, interrupt);
                let sent = self.send(request.clone(), Some(started.grant.token.clone()));
                self.start(async move {
                    let answer = tokio::select! {
                        answer = sent => Some(answer),
                        // The caller has gone, and gets no reply.
                        () = reply.closed() => None,
                        Ok(()) = interrupted => None,
                    };
                    move |driver: &mut Driver| {
                        driver.called(ticket, started, (request, reply), answer)
                    }
                });
            }
            Some(Work::Describe(reply)) => {
                let _ = reply.send(Ok(started.grant));
                self.machine.ended(Instant::now(), ticket);
            }
            _ => self.machine.ended(Instant::now(), ticket),
        }
    }

    fn fail(&mut self, ticket: Ticket, error: Error) {
        match self.waiting.remove(&ticket) {
            Some(Work::Send(_, reply)) => drop(reply.send(Err(error))),
            Some(Work::Describe(reply)) => drop(reply.send(Err(error))),
            None => {}
        }
    }

    /// Starts work, and what it returns when it ends.
    fn start<E>(&mut self, work: impl Future<Output = E> + Send + 'static)
    where
        E: FnOnce(&mut Driver) + Send + 'static,
    {
        self.under_way.push(Box::pin(async move { Box::new(work.await) as Message }));
    }

    /// Returns the future of an answer, within the time limit of one call.
    fn send(
        &self,
        request: Request,
        token: Option<Token>,
    ) -> impl Future<Output = Result<Answer, TransportError>> + Send + use<> {
        sent(self.parts.transport.clone(), self.parts.pace.call_timeout, request, token)
    }

    fn log_in(&mut self) {
        self.counts.log_ins += 1;
        let Credentials { username, password } = self.parts.credentials.clone();
        let (transport, clock) = (self.parts.transport.clone(), self.parts.clock.clone());
        let most = self.parts.pace.call_timeout;
        self.start(async move {
            let granted = match password.reveal().await {
                Ok(password) => {
                    let request = request::<LogIn>(&LoginRequest { username, password });
                    granted(sent(transport, most, request, None).await, &clock)
                }
                Err(error) => Err(Failure::Unusable(error)),
            };
            move |driver: &mut Driver| driver.machine.logged_in(Instant::now(), granted)
        });
    }

    fn switch(&mut self, grant: &Grant, group: GroupId) {
        self.counts.switches += 1;
        let body = SwitchGroupRequest { group_id: group.to_string() };
        let sent = self.send(request::<SwitchGroup>(&body), Some(grant.token.clone()));
        let (clock, begun) = (self.parts.clock.clone(), Instant::now());
        self.start(async move {
            let (granted, took) = (granted(sent.await, &clock), begun.elapsed());
            move |driver: &mut Driver| {
                driver.machine.switched(Instant::now(), took, &group, granted)
            }
        });
    }

    fn log_out(&mut self, grant: Option<Arc<Grant>>) {
        let request = Request::new(LogOut::PATH.to_owned(), Bytes::new());
        let sent = grant.map(|grant| self.send(request, Some(grant.token.clone())));
        self.start(async move {
            let result = match sent {
                None => Ok(()),
                Some(sent) => match sent.await {
                    // A session that another user has replaced has also ended.
                    Ok(answer) if matches!(answer.code(), Some(SUCCESS | TOKEN_INVALID)) => Ok(()),
                    Ok(answer) => Err(error_of(&answer)),
                    Err(error) => Err(Error::Transport(error)),
                },
            };
            move |driver: &mut Driver| {
                driver.machine.logged_out();
                for reply in driver.log_outs.drain(..) {
                    let _ = reply.send(result.clone());
                }
            }
        });
    }

    /// A call ended: with an answer, without one, or because it was interrupted.
    fn called(
        &mut self,
        ticket: Ticket,
        started: Started,
        (request, reply): (Request, Reply<Option<Called>>),
        answer: Option<Result<Answer, TransportError>>,
    ) {
        let now = Instant::now();
        self.interrupts.remove(&ticket);
        if let Some(Ok(answer)) = &answer
            && answer.code() == Some(TOKEN_INVALID)
            && let Some(refusal) = refusal_of(answer)
        {
            self.waiting.insert(ticket, Work::Send(request, reply));
            self.machine.token_refused(now, ticket, refusal);
            return;
        }
        self.machine.ended(now, ticket);
        let called = |answer| Called {
            answer,
            grant: started.grant,
            epoch: started.epoch,
            waited: started.waited,
            tries: started.refusals + 1,
        };
        let _ = reply.send(answer.transpose().map(|it| it.map(called)).map_err(Error::Transport));
    }
}

async fn sleep_until(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time.into()).await,
        None => std::future::pending().await,
    }
}

fn request<E: Endpoint>(body: &impl Serialize) -> Request {
    // A struct of texts has no value that JSON lacks.
    let body = serde_json::to_vec(body).unwrap_or_default().into();
    Request::new(E::PATH.to_owned(), body)
}

/// Sends a request within a time limit.
async fn sent(
    transport: Transport,
    most: Duration,
    request: Request,
    token: Option<Token>,
) -> Result<Answer, TransportError> {
    let to = request.path.clone();
    let answer = tokio::time::timeout(most, transport.send(request, token)).await;
    answer.unwrap_or_else(|_| {
        let cause = format!("it did not arrive within {most:?}");
        Err(TransportError { to, cause, is_final: false })
    })
}

/// Reads the answer to a login or a switch.
fn granted(
    answer: Result<Answer, TransportError>,
    clock: &kiosque_clock::Clock,
) -> Result<Granted, Failure> {
    let answer = answer.map_err(|error| match error.is_final {
        true => Failure::Unusable(Error::Transport(error)),
        false => Failure::Unclear(Error::Transport(error), None),
    })?;
    if answer.status >= 500 {
        let after = answer.retry_after_s().map(Duration::from_secs);
        return Err(Failure::Unclear(error_of(&answer), after));
    }
    if answer.code() != Some(SUCCESS) {
        let unusable = || Failure::Unusable(Error::NotAnEnvelope(NotAnEnvelope::of(&answer)));
        return Err(refusal_of(&answer).map_or_else(unusable, Failure::Refused));
    }
    // The answer may have a token, and is not shown.
    let grant = Grant::of(&answer).map_err(|reason| {
        Failure::Unusable(Error::NotAnEnvelope(NotAnEnvelope::because(&answer, reason)))
    })?;
    Ok(Granted::new(grant, clock))
}
