//! The options that a store is opened with.

use std::path::Path;
use std::time::Duration;

use kiosque_model::{UnixMs, Zone};

use super::SessionLease;

/// Whether a directory or database without data is filled or refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenAbsent {
    /// Create the data.
    Create,
    /// Fail.
    Refuse,
}

/// The location of the data.
#[derive(Clone, Copy, Debug)]
pub enum StoreLocation<'a> {
    /// A file in this directory.
    Directory(&'a Path),
    /// A PostgreSQL database: `postgres://…`. Of several hosts, the one that accepts writes is
    /// used.
    Postgres(&'a str),
}

/// Options for opening a store.
#[derive(Clone, Debug)]
pub struct OpenOptions<'a> {
    /// The location of the data.
    pub place: StoreLocation<'a>,
    /// The behaviour without data.
    pub when_absent: WhenAbsent,
    /// The platform's time zone. `None`: the recorded one, or UTC for new data.
    pub zone: Option<&'a Zone>,
    /// How long a request waits for the store.
    pub wait: Duration,
    /// The lease under which this node answers for sessions; unused for a directory.
    pub lease: SessionLease,
    /// The current time.
    pub now: UnixMs,
}

/// Whether a transaction runs on data that was closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClosedData {
    Refused,
    /// To open the data, and to repeat the move that closed it.
    Accepted,
}
