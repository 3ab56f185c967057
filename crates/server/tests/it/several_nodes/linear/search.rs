//! The search for an order: every one is tried, with Lowe's cache of tried states.

use std::cmp::Reverse;
use std::collections::HashSet;

use super::{Answer, Ask, Call, Op, Session};

/// A session row and a clock, as a server has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct State {
    now_ms: i64,
    session: Option<Session>,
}

/// The state before all calls.
const START: State = State { now_ms: i64::MIN, session: None };

impl State {
    fn accepts(self, token: u64) -> bool {
        let accepts =
            |session: Session| session.token == token && self.now_ms < session.expires_at_ms;
        self.session.is_some_and(accepts)
    }

    /// Returns the state after a call, if it answers in this way.
    fn after(self, op: &Op) -> Option<State> {
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
/// any of those left was answered may come next; one without an answer may come at any time after
/// that, or never.
pub(super) fn is_explained(ops: &[Op]) -> bool {
    // Calls that were answered first most often happened first. The last one is tried first.
    let mut all: Vec<Op> = ops.to_vec();
    all.sort_by_key(|op| Reverse(op.answered_ns().unwrap_or(u64::MAX)));
    let (mut tried, mut untried) = (HashSet::new(), vec![(all, START)]);
    while let Some((left, state)) = untried.pop() {
        let Some(first_ns) = left.iter().filter_map(Op::answered_ns).min() else { return true };
        for at in (0..left.len()).filter(|at| left[*at].asked_ns <= first_ns) {
            let mut others = left.clone();
            let Some(after) = state.after(&others.remove(at)) else { continue };
            if tried.insert((others.clone(), after)) {
                untried.push((others, after));
            }
        }
    }
    false
}
