//! Checks whether the answers that many clients got from several nodes can be the answers of one
//! session.
//!
//! The promise is AUTH-22: once the answer to a login, switch or log out is sent, no request that
//! starts later is accepted with an older token, on any node; and a valid token is not refused. In
//! other words, the history of an account is linearizable: its calls can be put into one order, in
//! which a call that was answered before another was sent comes before it, and in which each answer
//! is what a single session row gives. Accounts are independent, so each is checked alone.
//!
//! A call whose answer is unknown (HTTP 500, a broken connection, a timeout) may take effect at any
//! time after it was sent, or never. No client knows the token that it may have made, so all that
//! such a call can do is to end the valid one.
//!
//! A request reads the clock once, when it starts. A login that overlaps a move of the clock may
//! therefore open a session that has already expired, and it still ends the one before. That is why
//! answers carry the session's expiry: the order is judged by it.

mod examples;
mod search;

use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::Mutex;
use std::time::Instant;

/// A session as an answer describes it. The recorder numbers the tokens, each with its own number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Session {
    pub(crate) token: u64,
    pub(crate) group: usize,
    pub(crate) expires_at_ms: i64,
}

/// A request of a client for the session of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Ask {
    LogIn { default_group: usize },
    Switch { token: u64, group: usize },
    LogOut { token: u64 },
    Use { token: u64 },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Call {
    Session {
        node: usize,
        account: usize,
        ask: Ask,
    },
    /// Moves the clock of all nodes forward to this reading, for every account. The reading is
    /// known before the clock moves, so one client at a time moves it.
    Advance {
        now_ms: i64,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Answer {
    /// The answer to a login or a switch.
    OpenedSession(Session),
    /// The answer to a log out.
    Ended,
    /// The answer to a use: the group whose data it contained.
    Seen { group: usize },
    /// The token is not the valid one: -4.
    Refused,
    /// The clock has moved.
    Advanced,
    /// An answer that does not say whether the call took effect: HTTP 500, a broken connection, a
    /// timeout.
    Unknown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Reply {
    pub(crate) at_ns: u64,
    pub(crate) answer: Answer,
}

/// One call of one client. Its instants are nanoseconds since the history began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Op {
    pub(crate) client: usize,
    pub(crate) call: Call,
    /// Before anything of the request was sent.
    pub(crate) asked_ns: u64,
    /// After the whole answer was read. Without a reply, the answer is unknown.
    pub(crate) reply: Option<Reply>,
}

/// Records a history while clients run.
#[derive(Debug)]
pub(crate) struct Recorder {
    start: Instant,
    ops: Mutex<Vec<Op>>,
}

/// A call without an answer so far.
#[derive(Debug)]
#[must_use = "a call without a recorded answer counts as unknown"]
pub(crate) struct UnderWay(usize);

impl Recorder {
    pub(crate) fn start() -> Recorder {
        Recorder { start: Instant::now(), ops: Mutex::new(Vec::new()) }
    }

    fn elapsed_ns(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_nanos()).unwrap()
    }

    /// Must be called before anything is sent. A client that stops after this leaves a call whose
    /// answer is unknown, as it should.
    pub(crate) fn asks(&self, client: usize, call: Call) -> UnderWay {
        let asked_ns = self.elapsed_ns();
        let mut ops = self.ops.lock().unwrap();
        ops.push(Op { client, call, asked_ns, reply: None });
        UnderWay(ops.len() - 1)
    }

    /// Must be called when the whole answer has arrived, and before any other client learns its
    /// token.
    pub(crate) fn answered(&self, call: UnderWay, answer: Answer) {
        let at_ns = self.elapsed_ns();
        self.ops.lock().unwrap()[call.0].reply = Some(Reply { at_ns, answer });
    }

    /// Returns the history so far.
    pub(crate) fn ops(&self) -> Vec<Op> {
        self.ops.lock().unwrap().clone()
    }
}

/// Looks for an order that explains every answer of the history, account by account. Returns an
/// account without one, and its calls in the order in which they were sent, as text.
pub(crate) fn check(ops: &[Op]) -> Result<(), String> {
    let accounts: BTreeSet<usize> = ops.iter().filter_map(|op| op.call.account()).collect();
    for account in accounts {
        let concerns = |op: &&Op| op.call.account().is_none_or(|other| other == account);
        let mut of_account: Vec<Op> = ops.iter().filter(concerns).copied().collect();
        of_account.sort_by_key(|op| op.asked_ns);
        if !search::is_explained(&of_account) {
            let mut text = format!("account {account}: the answers fit no order of these calls\n");
            for Op { client, call, asked_ns, reply } in &of_account {
                writeln!(text, "{asked_ns} ns, client {client}: {call:?}, {reply:?}").unwrap();
            }
            return Err(text);
        }
    }
    Ok(())
}

impl Call {
    /// Returns the one account that it concerns.
    fn account(self) -> Option<usize> {
        match self {
            Call::Session { account, .. } => Some(account),
            Call::Advance { .. } => None,
        }
    }
}

impl Op {
    /// Returns the time of the answer, if it says whether the call took effect.
    fn answered_ns(&self) -> Option<u64> {
        self.reply.filter(|reply| reply.answer != Answer::Unknown).map(|reply| reply.at_ns)
    }

    fn answer(&self) -> Answer {
        self.reply.map_or(Answer::Unknown, |reply| reply.answer)
    }
}
