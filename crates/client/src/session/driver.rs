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
use super::{Called, SessionCounts, SessionParts};
use crate::answer::{SUCCESS, error_of, refusal_of};
use crate::error::{Error, NotAnEnvelope};
use crate::transport::{Answer, Request, Token, TransportError};

const TOKEN_INVALID: i32 = Code::TokenInvalid.number();

/// A message to the task.
pub(super) enum Message {
    Call { lane: Lane, length: Length, work: Work },
    LogOut(oneshot::Sender<Result<(), Error>>),
    Count(oneshot::Sender<SessionCounts>),
    Waiting(oneshot::Sender<BTreeMap<Lane, (usize, Instant)>>),
    Store(oneshot::Sender<Option<StoredSession>>),
    Resume(Option<StoredSession>, oneshot::Sender<()>),
}

/// The work of a call, and its caller.
pub(super) enum Work {
    Send(Request, oneshot::Sender<Result<Option<Called>, Error>>),
    Describe(oneshot::Sender<Result<Arc<Grant>, Error>>),
}

/// The end of something in progress.
enum Event {
    Called(CallEnd),
    LoggedIn(Result<Granted, Failure>),
    Switched(Duration, GroupId, Result<Granted, Failure>),
    LoggedOut(Result<(), Error>),
}

/// The end of a call.
struct CallEnd {
    ticket: Ticket,
    started: Started,
    request: Request,
    reply: oneshot::Sender<Result<Option<Called>, Error>>,
    outcome: CallOutcome,
}

enum CallOutcome {
    Answered(Result<Answer, TransportError>),
    CallerGone,
    Interrupted,
}

/// The task of a session.
pub(super) struct Driver {
    parts: SessionParts,
    machine: Machine,
    messages: mpsc::UnboundedReceiver<Message>,
    waiting: HashMap<Ticket, Work>,
    interrupts: HashMap<Ticket, oneshot::Sender<()>>,
    under_way: FuturesUnordered<BoxFuture<'static, Event>>,
    log_outs: Vec<oneshot::Sender<Result<(), Error>>>,
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
                    Some(message) => self.receive(message),
                    None => return,
                },
                Some(event) = self.under_way.next() => self.apply(event),
                () = sleep_until(rest) => {}
            }
        }
    }

    fn receive(&mut self, message: Message) {
        match message {
            Message::Call { lane, length, work } => {
                let ticket = self.machine.add(Instant::now(), lane, length);
                self.waiting.insert(ticket, work);
            }
            Message::LogOut(reply) => {
                self.machine.log_out();
                self.log_outs.push(reply);
            }
            Message::Count(reply) => {
                let counts = SessionCounts { replaced: self.machine.replaced(), ..self.counts };
                // A caller that has gone needs no answer; the same holds for all replies here.
                let _ = reply.send(counts);
            }
            Message::Waiting(reply) => drop(reply.send(self.machine.waiting())),
            Message::Store(reply) => drop(reply.send(self.stored())),
            Message::Resume(session, reply) => {
                // The current session has a history, which decides how an eviction is judged.
                if session.is_none() || session != self.stored() {
                    let granted = session.and_then(|it| it.into_granted(&self.parts.clock));
                    self.machine.replace(Instant::now(), granted);
                }
                let _ = reply.send(());
            }
        }
    }

    fn stored(&self) -> Option<StoredSession> {
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
                self.under_way.push(Box::pin(async move {
                    let outcome = tokio::select! {
                        answer = sent => CallOutcome::Answered(answer),
                        () = reply.closed() => CallOutcome::CallerGone,
                        Ok(()) = interrupted => CallOutcome::Interrupted,
                    };
                    Event::Called(CallEnd { ticket, started, request, reply, outcome })
                }));
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

    /// Returns the future of an answer, within the time limit of one call.
    fn send(
        &self,
        request: Request,
        token: Option<Token>,
    ) -> BoxFuture<'static, Result<Answer, TransportError>> {
        let transport = self.parts.transport.clone();
        let most = self.parts.pace.call_timeout;
        Box::pin(async move {
            let to = request.path.clone();
            let answer = tokio::time::timeout(most, transport.send(request, token)).await;
            answer.unwrap_or_else(|_| Err(late(to, most)))
        })
    }

    fn log_in(&mut self) {
        self.counts.log_ins += 1;
        let credentials = self.parts.credentials.clone();
        let clock = self.parts.clock.clone();
        let transport = self.parts.transport.clone();
        let most = self.parts.pace.call_timeout;
        self.under_way.push(Box::pin(async move {
            let password = match credentials.password.reveal().await {
                Ok(password) => password,
                Err(error) => return Event::LoggedIn(Err(Failure::Unusable(error))),
            };
            let body = LoginRequest { username: credentials.username, password };
            let sent = transport.send(request::<LogIn>(&body), None);
            let answer = tokio::time::timeout(most, sent).await;
            let answer = answer.unwrap_or_else(|_| Err(late(LogIn::PATH.to_owned(), most)));
            Event::LoggedIn(granted(answer, &clock))
        }));
    }

    fn switch(&mut self, grant: &Grant, group: GroupId) {
        self.counts.switches += 1;
        let body = SwitchGroupRequest { group_id: group.to_string() };
        let sent = self.send(request::<SwitchGroup>(&body), Some(grant.token.clone()));
        let clock = self.parts.clock.clone();
        let begun = Instant::now();
        self.under_way.push(Box::pin(async move {
            let granted = granted(sent.await, &clock);
            Event::Switched(begun.elapsed(), group, granted)
        }));
    }

    fn log_out(&mut self, grant: Option<Arc<Grant>>) {
        let request = Request::new(LogOut::PATH.to_owned(), Bytes::new());
        let sent = grant.map(|grant| self.send(request, Some(grant.token.clone())));
        self.under_way.push(Box::pin(async move {
            let Some(sent) = sent else { return Event::LoggedOut(Ok(())) };
            Event::LoggedOut(match sent.await {
                // A session that another user has replaced has also ended.
                Ok(answer) if matches!(answer.code(), Some(SUCCESS | TOKEN_INVALID)) => Ok(()),
                Ok(answer) => Err(error_of(&answer)),
                Err(error) => Err(Error::Transport(error)),
            })
        }));
    }

    fn apply(&mut self, event: Event) {
        let now = Instant::now();
        match event {
            Event::Called(end) => self.called(now, end),
            Event::LoggedIn(result) => self.machine.logged_in(now, result),
            Event::Switched(took, group, result) => {
                self.machine.switched(now, took, &group, result);
            }
            Event::LoggedOut(result) => {
                self.machine.logged_out();
                for reply in self.log_outs.drain(..) {
                    let _ = reply.send(result.clone());
                }
            }
        }
    }

    fn called(&mut self, now: Instant, end: CallEnd) {
        let CallEnd { ticket, started, request, reply, outcome } = end;
        self.interrupts.remove(&ticket);
        if let CallOutcome::Answered(Ok(answer)) = &outcome
            && answer.code() == Some(TOKEN_INVALID)
            && let Some(refusal) = refusal_of(answer)
        {
            self.waiting.insert(ticket, Work::Send(request, reply));
            self.machine.token_refused(now, ticket, refusal);
            return;
        }
        self.machine.ended(now, ticket);
        let result = match outcome {
            CallOutcome::CallerGone => return,
            CallOutcome::Interrupted => Ok(None),
            CallOutcome::Answered(Err(error)) => Err(Error::Transport(error)),
            CallOutcome::Answered(Ok(answer)) => Ok(Some(Called {
                answer,
                grant: started.grant,
                epoch: started.epoch,
                waited: started.waited,
                tries: started.refusals + 1,
            })),
        };
        let _ = reply.send(result);
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

fn late(to: String, most: Duration) -> TransportError {
    TransportError { to, cause: format!("it did not arrive within {most:?}"), is_final: false }
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
