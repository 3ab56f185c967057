//! The search for an order: the algorithm of Wing and Gong, with Lowe's cache of tried states.
//!
//! A node of the search is the set of steps that have been placed and the session that they left.
//! Each step that was sent before any unplaced one was answered may come next. Two things keep the
//! search small. A step that only reads is placed as soon as its answer is right, since that
//! excludes no order of the others. And of the logins with unknown answers the oldest goes first,
//! since all of them have the same effect and none has an end.

use std::collections::HashSet;

use super::{Answer, Ask, Call, Op, Session, Timing};

/// The effect of a call, as far as its answer shows.
#[derive(Clone, Copy, Debug)]
enum Effect {
    Opens(Session),
    Swaps {
        token: u64,
        session: Session,
    },
    Ends {
        token: u64,
    },
    /// A login whose token no client knows.
    EndsAny,
    Advances {
        now_ms: i64,
    },
    Sees {
        token: u64,
        group: usize,
    },
    Refuses {
        token: u64,
    },
    /// No session gives this answer to this call.
    Impossible,
}

impl Effect {
    fn of(op: &Op) -> Effect {
        let ask = match op.call {
            Call::Session { ask, .. } => ask,
            Call::Advance { now_ms } => return Effect::Advances { now_ms },
        };
        match (ask, op.answer()) {
            (Ask::LogIn { default_group: group }, Answer::OpenedSession(session))
                if session.group == group =>
            {
                Effect::Opens(session)
            }
            (Ask::Switch { token, group }, Answer::OpenedSession(session))
                if session.group == group =>
            {
                Effect::Swaps { token, session }
            }
            (Ask::LogOut { token }, Answer::Ended) => Effect::Ends { token },
            (Ask::Use { token }, Answer::Seen { group }) => Effect::Sees { token, group },
            (Ask::Switch { token, .. } | Ask::LogOut { token }, Answer::Unknown) => {
                Effect::Ends { token }
            }
            (
                Ask::Switch { token, .. } | Ask::LogOut { token } | Ask::Use { token },
                Answer::Refused,
            ) => Effect::Refuses { token },
            (Ask::LogIn { .. }, Answer::Unknown) => Effect::EndsAny,
            _ => Effect::Impossible,
        }
    }

    fn only_reads(self) -> bool {
        matches!(self, Effect::Sees { .. } | Effect::Refuses { .. })
    }
}

/// A call as the search places it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    effect: Effect,
    asked_ns: u64,
    /// Without it, the step may be placed anywhere from its start on, or nowhere.
    answered_ns: Option<u64>,
}

impl Step {
    /// Returns `None` when the call says nothing about the session.
    pub(super) fn of(op: &Op, timing: Timing) -> Option<Step> {
        let answered_ns = match timing {
            Timing::Answered { at_ns } => Some(at_ns),
            Timing::UnderWay => None,
            Timing::NotYetAsked => return None,
        };
        let effect = Effect::of(op);
        let says_nothing =
            answered_ns.is_none() && (effect.only_reads() || matches!(effect, Effect::Impossible));
        (!says_nothing).then_some(Step { effect, asked_ns: op.asked_ns, answered_ns })
    }
}

/// The state between two steps. A session that has expired is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct State {
    now_ms: i64,
    session: Option<Session>,
}

impl State {
    fn has(&self, token: u64) -> bool {
        self.session.is_some_and(|session| session.token == token)
    }

    /// Returns the state after a step, if its answer is right in this one.
    fn after(self, effect: Effect) -> Option<State> {
        let opened = |session: Session| State {
            session: Some(session).filter(|session| self.now_ms < session.expires_at_ms),
            ..self
        };
        let none = State { session: None, ..self };
        match effect {
            Effect::Opens(session) => Some(opened(session)),
            Effect::Swaps { token, session } => self.has(token).then(|| opened(session)),
            Effect::Ends { token } => self.has(token).then_some(none),
            Effect::EndsAny => Some(none),
            Effect::Advances { now_ms } => {
                let now_ms = now_ms.max(self.now_ms);
                let session = self.session.filter(|session| now_ms < session.expires_at_ms);
                Some(State { now_ms, session })
            }
            Effect::Sees { token, group } => {
                let sees = |session: Session| session.token == token && session.group == group;
                self.session.is_some_and(sees).then_some(self)
            }
            Effect::Refuses { token } => (!self.has(token)).then_some(self),
            Effect::Impossible => None,
        }
    }
}

/// The steps that have been placed, one bit each.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Placed(Vec<u64>);

impl Placed {
    fn none_of(steps: usize) -> Placed {
        Placed(vec![0; steps.div_ceil(64)])
    }

    fn has(&self, step: usize) -> bool {
        self.0[step / 64] & (1 << (step % 64)) != 0
    }

    fn add(&mut self, step: usize) {
        self.0[step / 64] |= 1 << (step % 64);
    }

    fn with(&self, step: usize) -> Placed {
        let mut placed = self.clone();
        placed.add(step);
        placed
    }
}

/// Returns whether an order of the steps makes each answer right.
pub(super) fn is_explained(mut steps: Vec<Step>) -> bool {
    // Steps that were answered first most often happened first, and those without an answer often
    // not at all.
    steps.sort_by_key(|step| (step.answered_ns.unwrap_or(u64::MAX), step.asked_ns));
    let mut seen = HashSet::new();
    let start = State { now_ms: i64::MIN, session: None };
    let mut untried = vec![(Placed::none_of(steps.len()), start)];
    while let Some((mut placed, state)) = untried.pop() {
        place_reads(&steps, &mut placed, state);
        if horizon_ns(&steps, &placed).is_none() {
            return true;
        }
        if seen.insert((placed.clone(), state)) {
            // The last one is tried first.
            untried.extend(writes(&steps, &placed, state).into_iter().rev());
        }
    }
    false
}

/// Returns the time of the first answer of an unplaced step; `None` when all are placed.
fn horizon_ns(steps: &[Step], placed: &Placed) -> Option<u64> {
    let first = (0..steps.len()).find(|at| !placed.has(*at))?;
    steps[first].answered_ns
}

/// Returns the unplaced steps that may come next.
fn candidates(steps: &[Step], placed: &Placed) -> Vec<(usize, Effect)> {
    let Some(horizon_ns) = horizon_ns(steps, placed) else { return Vec::new() };
    let may_come = |at: &usize| !placed.has(*at) && steps[*at].asked_ns <= horizon_ns;
    (0..steps.len()).filter(may_come).map(|at| (at, steps[at].effect)).collect()
}

fn place_reads(steps: &[Step], placed: &mut Placed, state: State) {
    loop {
        let is_right =
            |(_, effect): &(usize, Effect)| effect.only_reads() && state.after(*effect).is_some();
        let right: Vec<_> = candidates(steps, placed).into_iter().filter(is_right).collect();
        if right.is_empty() {
            return;
        }
        right.into_iter().for_each(|(at, _)| placed.add(at));
    }
}

/// Returns each way to continue with a step that changes something.
fn writes(steps: &[Step], placed: &Placed, state: State) -> Vec<(Placed, State)> {
    let mut ways = Vec::new();
    let mut has_unknown_login = false;
    for (at, effect) in candidates(steps, placed) {
        if matches!(effect, Effect::EndsAny) && std::mem::replace(&mut has_unknown_login, true) {
            continue;
        }
        let after = state.after(effect).filter(|_| !effect.only_reads());
        // A step that need not be placed is useful only for the change that it makes.
        let after = after.filter(|after| steps[at].answered_ns.is_some() || *after != state);
        ways.extend(after.map(|after| (placed.with(at), after)));
    }
    ways
}
