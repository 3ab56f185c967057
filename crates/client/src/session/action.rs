//! The actions that the rules of a session request, and the calls that they start.

use std::sync::Arc;
use std::time::{Duration, Instant};

use kiosque_model::GroupId;

use super::grant::Grant;
use super::lanes::{Lane, Length, Ticket, Waiting};
use crate::error::Error;

/// What to do next.
#[derive(Debug)]
pub(super) enum Action {
    /// Send this call.
    Call(Ticket, Started),
    /// Report an error to the caller.
    Fail(Ticket, Error),
    /// Log in.
    LogIn,
    /// Switch to a group.
    Switch(Arc<Grant>, GroupId),
    /// Log out, if there is a session.
    LogOut(Option<Arc<Grant>>),
    /// End these calls: another lane needs the session, and they only wait for something to happen.
    Interrupt(Vec<Ticket>),
    /// Wait for an event, or until a time.
    Rest(Option<Instant>),
}

/// The conditions under which a call is sent.
#[derive(Clone, Debug)]
pub(super) struct Started {
    pub(super) grant: Arc<Grant>,
    /// The number of the session's current token.
    pub(super) epoch: u64,
    pub(super) waited: Duration,
    /// How often the call was refused with -4 before.
    pub(super) refusals: u32,
}

/// A call in progress.
#[derive(Debug)]
pub(super) struct Running {
    pub(super) lane: Lane,
    pub(super) epoch: u64,
    /// [`Length::Short`] once it was interrupted.
    pub(super) length: Length,
    pub(super) waiting: Waiting,
}
