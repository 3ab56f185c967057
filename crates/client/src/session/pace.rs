//! The times that determine how a session is shared.

use std::time::Duration;

/// How long a group may have the session, how many calls run concurrently, and how long calls wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// The time after which the session switches to another group with waiting calls.
    pub turn: Duration,
    /// The maximum time for which the session waits for further calls of its group after an answer,
    /// before it switches: a worker that has just received an answer has no call waiting, but is
    /// about to make one. Half the duration of a switch if that is shorter.
    pub linger_max: Duration,
    /// The maximum number of concurrent calls, not counting those that wait for something to
    /// happen: the server limits their number (LIM-20), and other calls must not wait for them.
    pub calls_max: usize,
    /// The time limit of one call at the server.
    pub call_timeout: Duration,
    /// The time after which a call that could not be sent fails.
    pub wait_max: Duration,
    /// The time before the session's end at which it is renewed; a tenth of its length if that is
    /// shorter.
    pub renew_before: Duration,
    /// The number of consecutive sessions that were replaced within a minute each, from which on
    /// the next login is held back.
    pub hold_from: u32,
    /// The wait before the first login that is held back. It doubles with each further one.
    pub hold_first: Duration,
    /// The longest such wait.
    pub hold_max: Duration,
    /// The wait after the first attempt of a call, to which a random part is added. It doubles with
    /// each further attempt, so that a server can be started again meanwhile.
    pub retry_first: Duration,
    /// Attempts of a login or of a switch whose outcome is unknown.
    pub tries_max: u32,
    /// The number of times that one call may be refused with -4.
    pub refusals_max: u32,
}

impl Default for Pace {
    fn default() -> Pace {
        Pace {
            turn: Duration::from_millis(200),
            linger_max: Duration::from_millis(5),
            calls_max: 8,
            call_timeout: Duration::from_secs(30),
            wait_max: Duration::from_secs(300),
            renew_before: Duration::from_secs(60),
            hold_from: 2,
            hold_first: Duration::from_millis(250),
            hold_max: Duration::from_secs(60),
            retry_first: Duration::from_secs(1),
            tries_max: 4,
            refusals_max: 10,
        }
    }
}
