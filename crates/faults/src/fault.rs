//! A fault: its kind, the calls that it selects, and which of them it affects.

use std::num::NonZeroU64;
use std::time::Duration;

use strum::IntoStaticStr;

use crate::calls::Calls;

/// A fault of some answers, parsed from a text such as `every(7, code500(orders))`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub(crate) kind: Kind,
    /// The calls that it selects.
    pub(crate) calls: Vec<Calls>,
    pub(crate) trigger: Trigger,
    /// The text from which it was parsed.
    pub(crate) text: String,
}

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub(crate) enum Kind {
    /// The answer is sent late.
    Slow(Duration),
    /// HTTP 500 with `code` 500 and `Retry-After`.
    Code500(Duration),
    /// HTTP 503 with HTML and `Retry-After`.
    Http503(Duration),
    /// HTTP 404 with HTML.
    Html404,
    /// The connection is closed before the server sees the call.
    Reset,
    /// The connection is closed in the middle of the answer.
    CutBody,
    /// The connection is closed after the server has answered.
    LoseAnswer,
    /// Rows have arrived since the first page: each later page begins with the last rows of the
    /// previous one.
    ShiftPage(usize),
    /// This number of rows has arrived since the first page, for calls selected by `ShiftPage`.
    #[strum(serialize = "shift-page")]
    Shifted(usize),
    /// The rows are in reverse order.
    Resort,
    /// A row is missing.
    DropRow,
    /// `total` is too small.
    StaleTotal(usize),
    /// The session is replaced once it has this age: its token is refused from then on.
    Evict(Option<Duration>),
    /// The session ends early, as `expiresIn` shows.
    Expire(Duration),
    /// The server's clock is off by this number of milliseconds.
    Clock(i64),
}

/// Which of the selected calls have the fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trigger {
    /// All.
    Always,
    /// Each one whose number, from 1, is a multiple of this.
    Every(NonZeroU64),
    /// The one with this number.
    Nth(NonZeroU64),
    /// This number out of 10,000, chosen by the seed.
    Chance(u64),
}

impl Trigger {
    /// Returns whether the call with this number, from 1, has the fault; `draw` is its random
    /// number.
    pub(crate) fn fires(self, number: u64, draw: u64) -> bool {
        match self {
            Trigger::Always => true,
            Trigger::Every(period) => number.is_multiple_of(period.get()),
            Trigger::Nth(wanted) => number == wanted.get(),
            Trigger::Chance(of_10_000) => draw % 10_000 < of_10_000,
        }
    }
}

impl Fault {
    /// Returns the name of the fault in the header [`crate::FAULT_HEADER`].
    pub fn name(&self) -> &'static str {
        self.kind.name()
    }
}

impl Kind {
    /// Returns the name of a fault of this kind.
    pub(crate) fn name(self) -> &'static str {
        self.into()
    }
}
