//! The search for an order: the algorithm of Wing and Gong, with Lowe's cache of tried states.

use std::collections::HashSet;

use super::{Answer, Ask, Call, Op, Session};

/// A session row and a clock, as a server has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct State {
    now_ms: i64,
    session: Option<Session>,
}

/// The state before all calls.
pub(super) const START: State = State { now_ms: i64::MIN, session: None };

impl State {
    fn accepts(self, token: u64) -> bool {
        let accepts =
            |session: Session| session.token == token && self.now_ms < session.expires_at_ms;
        self.session.is_some_and(accepts)
    }

    /// Returns the state after a call, if it answers in this way.
    pub(super) fn after(self, op: &Op) -> Option<State> {
        let ask = match op.call {
            Call::Session { ask, .. } => ask,
            Call::Advance { now_ms } => {
                return Some(State { now_ms: now_ms.max(self.now_ms), ..self });
            }
        };
        let (token, group) = match ask {
            Ask::LogIn { default_group } => (None, default_group),
            Ask::Switch { token, group } => (Some(token), group),
            Ask::LogOut { token } | Ask::Use { token } => (Some(token), 0),
        };
        let accepted = token.is_none_or(|token| self.accepts(token));
        let session = match (ask, op.answer()) {
            (_, Answer::Refused) => return (!accepted).then_some(self),
            _ if !accepted => return None,
            (Ask::LogIn { .. } | Ask::Switch { .. }, Answer::OpenedSession(session)) => {
                (session.group == group).then_some(Some(session))?
            }
            (Ask::Use { .. }, Answer::Unknown) => self.session,
            // A token that no client knows is as good as none.
            (Ask::LogOut { .. }, Answer::Ended) | (_, Answer::Unknown) => None,
            (Ask::Use { .. }, Answer::Seen { group }) => {
                self.session.filter(|session| session.group == group).map(Some)?
            }
            _ => return None,
        };
        Some(State { session, ..self })
    }
}

/// Returns whether an order of the calls makes each answer right. Each call that was sent before
/// any unplaced one was answered may come next; one without an answer may come at any time after
/// that, or never.
pub(super) fn is_explained(mut ops: Vec<Op>) -> bool {
    // Calls that were answered first most often happened first.
    ops.sort_by_key(|op| op.answered_ns().unwrap_or(u64::MAX));
    let (mut tried, mut untried) = (HashSet::new(), vec![(vec![false; ops.len()], START)]);
    while let Some((placed, state)) = untried.pop() {
        let unplaced = || (0..ops.len()).filter(|at| !placed[*at]);
        let Some(first_ns) = unplaced().find_map(|at| ops[at].answered_ns()) else {
            return true;
        };
        if !tried.insert((placed.clone(), state)) {
            continue;
        }
        let may_come = unplaced().filter(|at| ops[*at].asked_ns <= first_ns);
        let ways = may_come.filter_map(|at| Some((at, state.after(&ops[at])?)));
        // A call that need not be placed is useful only for the change that it makes.
        let is_useful =
            |(at, after): &(usize, State)| *after != state || ops[*at].answered_ns().is_some();
        let mut ways: Vec<_> = ways.filter(is_useful).collect();
        // A call that changes nothing excludes no order of the others.
        if let Some(read) = ways.iter().position(|(_, after)| *after == state) {
            ways = vec![ways[read]];
        }
        untried.extend(ways.into_iter().rev().map(|(at, after)| {
            let mut placed = placed.clone();
            placed[at] = true;
            (placed, after)
        }));
    }
    false
}
