//! One session for all callers of an account.
//!
//! An account has one session with one selected group (AUTH-12), so callers that each log in and
//! switch end each other's sessions. Clones share a [`Session`] instead: each call specifies its
//! group, calls of the same group run together, and the session switches when they are done.
//!
//! - Before a switch, calls in progress end. The group whose call is the oldest is next.
//! - A group has the session for [`Pace::turn`] while other groups wait. After an answer the
//!   session waits for [`Pace::linger_max`] before it switches: the worker is about to call again.
//! - Of many answers with -4, the first one causes a login; their calls are sent again.
//! - A session that other users of the account replace repeatedly is taken back after a wait that
//!   doubles.
//! - A switch whose answer is lost is followed by a login: the token is then unknown.
//! - After -2, no further login is attempted.

mod action;
mod driver;
mod grant;
mod held;
mod holdback;
mod lanes;
mod machine;
mod pace;
#[cfg(test)]
mod simulation;
mod stored;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use kiosque_clock::{Clock, Entropy};
use tokio::sync::{mpsc, oneshot};

pub use grant::{Grant, Group};
pub use lanes::Lane;
pub(crate) use lanes::Length;
pub use pace::Pace;
pub use stored::StoredSession;

use crate::error::Error;
use crate::password::Password;
use crate::transport::{Answer, Request, Transport, TransportError};
use driver::{Driver, Message, Work};

/// A login name with its password.
#[derive(Clone, Debug)]
pub struct Credentials {
    /// The login name of the account.
    pub username: String,
    /// Its password.
    pub password: Password,
}

/// The parts of a session.
#[derive(Clone, Debug)]
pub struct SessionParts {
    /// Sends requests.
    pub transport: Transport,
    /// The account.
    pub credentials: Credentials,
    /// The times that determine how it is shared.
    pub pace: Pace,
    /// The clock for computing the end of a session.
    pub clock: Clock,
    /// The source of random waits.
    pub entropy: Entropy,
    /// A session of an earlier program, to be used instead of a login.
    pub resume: Option<StoredSession>,
}

/// A session, shared by its clones. Nothing is sent before the first call.
#[derive(Clone, Debug)]
pub struct Session(mpsc::UnboundedSender<Message>);

/// The answer to a call, with the circumstances under which it was received.
#[derive(Clone, Debug)]
pub struct Called {
    /// The answer; one with -4 only if each attempt was answered with it.
    pub answer: Answer,
    /// The token with which it was sent, and its group.
    pub grant: Arc<Grant>,
    /// The number of the session's token: each login and each switch adds one.
    pub epoch: u64,
    /// The time for which the call waited for its turn.
    pub waited: Duration,
    /// How often it was sent.
    pub tries: u32,
}

/// The number of events since the session was created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionCounts {
    /// Logins that were sent.
    pub log_ins: u64,
    /// Switches that were sent.
    pub switches: u64,
    /// Sessions that other users of the account replaced.
    pub replaced: u64,
}

impl Session {
    /// Returns a session, which a task of the current tokio runtime shares out until its last clone
    /// is dropped. It is not logged out then: other processes may use it.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn start(parts: SessionParts) -> Session {
        let (sender, receiver) = mpsc::unbounded_channel();
        tokio::spawn(Driver::new(parts, receiver).run());
        Session(sender)
    }

    /// Sends a request that only reads, in a lane.
    ///
    /// # Errors
    /// There is no session, or no complete answer arrived. An answer with a `code` other than
    /// success is not an error here.
    pub async fn call(&self, lane: Lane, request: Request) -> Result<Called, Error> {
        self.send(lane, request, Length::Short).await?.ok_or_else(ended)
    }

    /// Sends a request that the server answers when something happens. Returns `None` if it was
    /// interrupted because calls of another group were waiting.
    ///
    /// # Errors
    /// As [`Session::call`].
    pub async fn call_long(&self, lane: Lane, request: Request) -> Result<Option<Called>, Error> {
        self.send(lane, request, Length::Long).await
    }

    pub(crate) async fn send(
        &self,
        lane: Lane,
        request: Request,
        length: Length,
    ) -> Result<Option<Called>, Error> {
        self.ask(|reply| Message::Call { lane, length, work: Work::Send(request, reply) }).await?
    }

    /// Returns the current token, its group and the groups of the account. Logs in if there is no
    /// session.
    ///
    /// # Errors
    /// There is no session.
    pub async fn grant(&self) -> Result<Arc<Grant>, Error> {
        let (lane, length) = (Lane::Any, Length::Short);
        self.ask(|reply| Message::Call { lane, length, work: Work::Describe(reply) }).await?
    }

    /// Logs out, once no call is in progress. A later call logs in again.
    ///
    /// # Errors
    /// No complete answer arrived. The session may have ended or not.
    pub async fn log_out(&self) -> Result<(), Error> {
        self.ask(Message::LogOut).await?
    }

    /// Returns the current session for a later program; `None` if there is none, or if it is about
    /// to change.
    ///
    /// # Errors
    /// The runtime of the session has ended.
    pub async fn stored(&self) -> Result<Option<StoredSession>, Error> {
        self.ask(Message::Store).await
    }

    /// Replaces the current session by one that another program has stored, unless a login or a
    /// switch is in progress; or forgets it, so that the next call logs in, once the calls in
    /// progress are answered. Connections remain open.
    ///
    /// # Errors
    /// The runtime of the session has ended.
    pub async fn resume(&self, session: Option<StoredSession>) -> Result<(), Error> {
        self.ask(|reply| Message::Resume(session, reply)).await
    }

    /// Returns the number of events so far.
    ///
    /// # Errors
    /// The runtime of the session has ended.
    pub async fn counts(&self) -> Result<SessionCounts, Error> {
        self.ask(Message::Count).await
    }

    /// Returns the lanes with calls that wait for their turn: their number, and when the oldest was
    /// made.
    ///
    /// # Errors
    /// The runtime of the session has ended.
    pub async fn waiting(&self) -> Result<BTreeMap<Lane, (usize, Instant)>, Error> {
        self.ask(Message::Waiting).await
    }

    async fn ask<T>(
        &self,
        message: impl FnOnce(oneshot::Sender<T>) -> Message,
    ) -> Result<T, Error> {
        let (reply, receiver) = oneshot::channel();
        self.0.send(message(reply)).map_err(|_| ended())?;
        receiver.await.map_err(|_| ended())
    }
}

/// The error of a session whose task has ended with its runtime.
pub(crate) fn ended() -> Error {
    let cause = "its task has ended".to_owned();
    let to = "the shared session".to_owned();
    Error::Transport(TransportError { to, cause, is_final: true })
}
