//! The use of a server by integrators since its start.

use std::time::Duration;

use crate::time::UnixMs;

/// The requests of an account for a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionUsage {
    /// The path of the function.
    pub route: &'static str,
    /// Its requests.
    pub requests: u64,
    /// The number of refused requests among them.
    pub refused: u64,
    /// The number of requests among them that the server could not answer.
    pub failed: u64,
    /// The mean time until the answer.
    pub mean: Duration,
    /// The longest time until an answer.
    pub slowest: Duration,
}

/// The failed logins of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guesses {
    /// The number of failed logins.
    pub logins: u64,
    /// The time of the last one.
    pub last: UnixMs,
}
