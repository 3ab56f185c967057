//! Whether the answers that many clients got from several nodes can be those of one session.
//!
//! The promise: once the answer to a login, switch or log out is sent, no request that starts
//! later is accepted with an older token, on any node; and a token that stands is not refused. That
//! is to say that the history of an account is linearizable: its calls can be put into one order,
//! in which a call that was answered before another was asked stands before it, and in which each
//! answer is the one that a single session row would give. Accounts do not touch each other, so
//! each is checked alone.
//!
//! A call whose answer is not known (HTTP 500, a broken connection, a timeout) may take effect at
//! any time after it was asked, or never. The token that it may have made is known to nobody, so
//! all that such a call can do is to end the token that stood.
//!
//! A request reads the clock once, when it starts. A login that overlaps a move of the clock may
//! therefore open a session that has already run out, and ends the one before it all the same. That
//! is why answers carry the session's expiry: the order is judged by it.

mod examples;
mod permutations;
mod planted;
mod schedule;
mod search;
mod sessions;
mod violation;

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::time::Instant;

use search::Step;
pub(crate) use violation::Violation;

/// A session as an answer tells of it. Tokens are numbered by whoever records, each with a number
/// that no other has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Session {
    pub(crate) token: u64,
    pub(crate) group: usize,
    pub(crate) expires_at_ms: i64,
}

/// What a client asks of the session of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ask {
    LogIn { default_group: usize },
    Switch { token: u64, group: usize },
    LogOut { token: u64 },
    Use { token: u64 },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    Session {
        node: usize,
        account: usize,
        ask: Ask,
    },
    /// The clock that all nodes read goes on to this reading, and never back. It concerns every
    /// account. The reading is known before the clock moves, so one client at a time moves it.
    Advance {
        now_ms: i64,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// To a login or a switch.
    OpenedSession(Session),
    /// To a log out.
    Ended,
    /// To a use: the group whose data it was shown.
    Seen { group: usize },
    /// The token is not the one that stands: -4.
    Refused,
    /// The clock has moved.
    Advanced,
    /// An answer that does not say what was done: HTTP 500, a broken connection, a timeout.
    Unknown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reply {
    pub(crate) at_ns: u64,
    pub(crate) answer: Answer,
}

/// One call of one client. Its instants are nanoseconds since the history began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Op {
    pub(crate) client: usize,
    pub(crate) call: Call,
    /// Before anything of the request was sent.
    pub(crate) asked_ns: u64,
    /// After the whole answer was read. Without a reply, the answer is unknown.
    pub(crate) reply: Option<Reply>,
}

/// Takes down a history while clients run.
#[derive(Debug)]
pub(crate) struct Recorder {
    start: Instant,
    ops: Mutex<Vec<Op>>,
}

/// A call that is under way.
#[derive(Debug)]
#[must_use = "a call whose answer is not told counts as unknown"]
pub(crate) struct UnderWay(usize);

impl Recorder {
    pub(crate) fn start() -> Recorder {
        Recorder { start: Instant::now(), ops: Mutex::new(Vec::new()) }
    }

    fn elapsed_ns(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_nanos()).unwrap()
    }

    /// To be called before anything is sent. A client that stops after this leaves a call whose
    /// answer is unknown, as it should.
    pub(crate) fn asks(&self, client: usize, call: Call) -> UnderWay {
        let asked_ns = self.elapsed_ns();
        let mut ops = self.ops.lock().unwrap();
        ops.push(Op { client, call, asked_ns, reply: None });
        UnderWay(ops.len() - 1)
    }

    /// To be called when the whole answer is there, and before anyone is told of its token.
    pub(crate) fn answered(&self, call: UnderWay, answer: Answer) {
        let at_ns = self.elapsed_ns();
        self.ops.lock().unwrap()[call.0].reply = Some(Reply { at_ns, answer });
    }

    /// The history so far.
    pub(crate) fn ops(&self) -> Vec<Op> {
        self.ops.lock().unwrap().clone()
    }
}

/// Looks for an order that explains every answer of the history, account by account.
pub(crate) fn check(ops: &[Op]) -> Result<(), Violation> {
    let accounts: BTreeSet<usize> = ops.iter().filter_map(|op| op.call.account()).collect();
    for account in accounts {
        let concerns = |op: &&Op| op.call.account().is_none_or(|other| other == account);
        let mut of_account: Vec<Op> = ops.iter().filter(concerns).copied().collect();
        of_account.sort_by_key(|op| op.asked_ns);
        check_account(account, &of_account)?;
    }
    Ok(())
}

/// The ops are in order of when they were asked.
fn check_account(account: usize, ops: &[Op]) -> Result<(), Violation> {
    let mut ends: Vec<End> = (0..).zip(ops).filter_map(|(at, op)| End::of(at, op)).collect();
    ends.sort_unstable();
    let Some(last) = ends.last() else { return Ok(()) };
    if is_explained(ops, *last) {
        return Ok(());
    }
    // Whatever explains a history explains each of its beginnings.
    let first = ends.partition_point(|end| is_explained(ops, *end));
    Err(Violation::new(account, ops, ends[first]))
}

fn is_explained(ops: &[Op], end: End) -> bool {
    let steps = (0..).zip(ops).filter_map(|(at, op)| Step::of(op, end.timing(at, op))).collect();
    search::is_explained(steps)
}

/// Where a beginning of a history ends: with the answer of this op, which is a part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct End {
    at_ns: u64,
    op: usize,
}

/// What the beginning of a history knows of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Timing {
    Answered { at_ns: u64 },
    UnderWay,
    NotYetAsked,
}

impl End {
    fn of(op: usize, of: &Op) -> Option<End> {
        let reply = of.reply.filter(|reply| reply.answer != Answer::Unknown)?;
        Some(End { at_ns: reply.at_ns, op })
    }

    fn timing(self, at: usize, op: &Op) -> Timing {
        match End::of(at, op) {
            Some(end) if end <= self => Timing::Answered { at_ns: end.at_ns },
            _ if op.asked_ns <= self.at_ns => Timing::UnderWay,
            _ => Timing::NotYetAsked,
        }
    }
}

impl Call {
    /// The one account that it concerns.
    fn account(self) -> Option<usize> {
        match self {
            Call::Session { account, .. } => Some(account),
            Call::Advance { .. } => None,
        }
    }
}

impl Op {
    fn answer(&self) -> Answer {
        self.reply.map_or(Answer::Unknown, |reply| reply.answer)
    }
}
