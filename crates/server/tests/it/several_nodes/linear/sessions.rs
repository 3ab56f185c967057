//! Sessions in memory, on several nodes, that keep the promise or break it by a planted fault.

use kiosque_testkit::Rng;

use super::{Answer, Ask, Call, Session};

pub(super) const NODES: usize = 3;
pub(super) const VALIDITY_MS: i64 = 7_200_000;
/// The maximum age of a node's cached row.
const COPY_LASTS_NS: u64 = 1_000_000;
/// One write in this many is lost where writes are lost.
const LOSES_ONE_IN: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// A node accepts every token that its cached row accepts, and reads the row only otherwise.
    CopyAccepts,
    /// A node reads its cached row alone.
    CopyDecides,
    /// The token is compared with the row, and the group comes from the cache.
    CopyShowsGroup,
    /// A switch compares the token when it starts, and not when it writes.
    SwitchComparesEarly,
    /// A log out compares the account alone.
    LogOutComparesNothing,
    /// Now and then a login, switch or log out is answered and not stored.
    LosesWrites,
    /// The expiry is ignored.
    ForgetsExpiry,
}

pub(super) const FAULTS: [Fault; 7] = [
    Fault::CopyAccepts,
    Fault::CopyDecides,
    Fault::CopyShowsGroup,
    Fault::SwitchComparesEarly,
    Fault::LogOutComparesNothing,
    Fault::LosesWrites,
    Fault::ForgetsExpiry,
];

/// The state that a request has read before it takes effect.
#[derive(Clone, Copy, Debug)]
pub(super) struct Started {
    now_ms: i64,
    row: Option<Session>,
}

/// A node's cached copy of an account's row.
#[derive(Clone, Copy, Debug)]
struct Copied {
    at_ns: u64,
    row: Option<Session>,
}

#[derive(Debug)]
pub(super) struct Sessions {
    now_ms: i64,
    rows: Vec<Option<Session>>,
    copies: Vec<[Option<Copied>; NODES]>,
    issued: u64,
    fault: Option<Fault>,
    rng: Rng,
}

impl Sessions {
    pub(super) fn of(accounts: usize, fault: Option<Fault>, rng: Rng) -> Sessions {
        let (rows, copies) = (vec![None; accounts], vec![[None; NODES]; accounts]);
        Sessions { now_ms: 0, rows, copies, issued: 0, fault, rng }
    }

    pub(super) fn now_ms(&self) -> i64 {
        self.now_ms
    }

    pub(super) fn start(&self, call: Call) -> Started {
        let row = call.account().and_then(|account| self.rows[account]);
        Started { now_ms: self.now_ms, row }
    }

    /// Performs all effects of a call at one instant.
    pub(super) fn perform(&mut self, at_ns: u64, call: Call, started: Started) -> Answer {
        let (node, account, ask) = match call {
            Call::Session { node, account, ask } => (node, account, ask),
            Call::Advance { now_ms } => {
                self.now_ms = self.now_ms.max(now_ms);
                return Answer::Advanced;
            }
        };
        let row = self.rows[account];
        match ask {
            Ask::LogIn { default_group } => self.open(account, default_group, started),
            Ask::Switch { token, group } => {
                let early = self.fault == Some(Fault::SwitchComparesEarly);
                let compared = if early { started.row } else { row };
                match self.proven(compared, token, started) {
                    Some(_) => self.open(account, group, started),
                    None => Answer::Refused,
                }
            }
            Ask::LogOut { token } => {
                let unheard = self.fault == Some(Fault::LogOutComparesNothing) && row.is_some();
                if !unheard && self.proven(row, token, started).is_none() {
                    return Answer::Refused;
                }
                self.keep(account, None);
                Answer::Ended
            }
            Ask::Use { token } => {
                let copy = self.copy(at_ns, node, account);
                let seen = self.seen(row, copy, token, started);
                seen.map_or(Answer::Refused, |group| Answer::Seen { group })
            }
        }
    }

    fn open(&mut self, account: usize, group: usize, started: Started) -> Answer {
        self.issued += 1;
        let expires_at_ms = started.now_ms + VALIDITY_MS;
        let session = Session { token: self.issued, group, expires_at_ms };
        self.keep(account, Some(session));
        Answer::OpenedSession(session)
    }

    fn keep(&mut self, account: usize, row: Option<Session>) {
        let loses = self.fault == Some(Fault::LosesWrites) && self.rng.one_in(LOSES_ONE_IN);
        if !loses {
            self.rows[account] = row;
        }
    }

    fn proven(&self, row: Option<Session>, token: u64, started: Started) -> Option<Session> {
        let runs = |session: &Session| {
            started.now_ms < session.expires_at_ms || self.fault == Some(Fault::ForgetsExpiry)
        };
        row.filter(|session| session.token == token).filter(runs)
    }

    /// Returns the group that a use is shown.
    fn seen(
        &self,
        row: Option<Session>,
        copy: Option<Session>,
        token: u64,
        started: Started,
    ) -> Option<usize> {
        let by_row = self.proven(row, token, started);
        let by_copy = self.proven(copy, token, started);
        let session = match self.fault {
            Some(Fault::CopyAccepts) => by_copy.or(by_row),
            Some(Fault::CopyDecides) => by_copy,
            Some(Fault::CopyShowsGroup) => by_row.map(|session| copy.unwrap_or(session)),
            _ => by_row,
        };
        session.map(|session| session.group)
    }

    fn copy(&mut self, at_ns: u64, node: usize, account: usize) -> Option<Session> {
        let copy = &mut self.copies[account][node];
        let fresh = copy.filter(|copy| at_ns - copy.at_ns < COPY_LASTS_NS);
        copy.insert(fresh.unwrap_or(Copied { at_ns, row: self.rows[account] })).row
    }
}
