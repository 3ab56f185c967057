//! Decides the faults of each call.

use std::fmt;
use std::sync::{Mutex, MutexGuard};

use kiosque_clock::{millis, mixed};
use kiosque_locks::lock_ignoring_poison;
use kiosque_model::UnixMs;

use crate::calls::{Call, Calls};
use crate::fault::{Fault, Kind, Trigger};
use crate::sessions::{Begun, Sessions};
use crate::shifted::{ListPage, Shifted};

/// The faults of a proxy, and the number of calls that each has counted.
pub struct Faults {
    faults: Vec<Fault>,
    seed: u64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The number of calls that each fault has selected.
    counts: Vec<u64>,
    sessions: Sessions,
    shifted: Shifted,
}

/// The faults of one call.
pub(crate) struct Plan {
    /// The fault that has ended the session of the call.
    pub(crate) ended_by: Option<&'static str>,
    /// All others, in the order in which they were given.
    pub(crate) faults: Vec<Planned>,
}

/// A fault of one call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Planned {
    pub(crate) kind: Kind,
    /// A random number, determined by the seed, the fault and the count of its calls.
    pub(crate) draw: u64,
}

impl Faults {
    /// Returns faults that draw their random numbers from a seed.
    pub fn new(faults: Vec<Fault>, seed: u64) -> Faults {
        let state = State { counts: vec![0; faults.len()], ..State::default() };
        Faults { faults, seed, state: Mutex::new(state) }
    }

    /// Decides the faults of a call, and counts it. Calls for lists have a page.
    pub(crate) fn plan(
        &self,
        call: Option<Call>,
        page: Option<ListPage>,
        token: Option<&str>,
        now: UnixMs,
    ) -> Plan {
        let mut state = self.state();
        let State { counts, sessions, shifted } = &mut *state;
        let mut planned = Vec::<Planned>::new();
        for ((index, fault), count) in (0..).zip(&self.faults).zip(counts) {
            let selects = |call| fault.calls.iter().any(|calls| calls.contains(call));
            if !call.is_some_and(selects) {
                continue;
            }
            *count += 1;
            let draw = mixed(mixed(mixed(self.seed).wrapping_add(index)).wrapping_add(*count));
            let fires = fault.trigger.fires(*count, draw);
            if let (Kind::ShiftPage(rows), Some(page)) = (fault.kind, page)
                && fault.trigger != Trigger::Always
            {
                let reader = token.map(|token| sessions.reader(token));
                let rows = shifted.rows(reader, page, if fires { rows } else { 0 });
                // The rows of several such faults arrive in one list.
                planned.retain(|other| !matches!(other.kind, Kind::Shifted(_)));
                if rows > 0 {
                    planned.push(Planned { kind: Kind::Shifted(rows), draw });
                }
                continue;
            }
            if !fires {
                continue;
            }
            match (fault.kind, token) {
                (Kind::Evict(age), Some(token)) => {
                    if sessions.is_aged(token, age.unwrap_or_default(), now) {
                        sessions.end(token, now, fault.name(), now);
                    }
                }
                (Kind::Evict(_), None) => {}
                (kind, _) => planned.push(Planned { kind, draw: mixed(draw) }),
            }
        }
        let token = token.filter(|_| call.is_some_and(|call| Calls::WithToken.contains(call)));
        let ended_by = token.and_then(|token| sessions.ended_by(token, now));
        Plan { ended_by, faults: planned }
    }

    /// Records the session of a login or a switch; `expire` ends it early.
    pub(crate) fn session_begins(&self, begun: Begun<'_>, expire: Option<Kind>, now: UnixMs) {
        let mut state = self.state();
        state.sessions.session_begins(begun, now);
        if let Some(Kind::Expire(after)) = expire {
            let end = now.plus_ms(millis(after));
            state.sessions.end(begun.token, end, Kind::Expire(after).name(), now);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock_ignoring_poison(&self.state)
    }
}

/// Formats the faults, each as given, and their seed.
impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for fault in &self.faults {
            write!(f, "{} ", fault.text)?;
        }
        write!(f, "(seed {})", self.seed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::PageAsked;
    use crate::sessions::Opener;

    const NOW: UnixMs = UnixMs(1_795_000_000_000);

    /// Returns the call with this name.
    fn call(name: &str) -> Option<Call> {
        Calls::named(name)?.each().next()
    }

    /// Returns the names of the faults of 40 order lists, with the random number of each.
    fn planned(texts: &[&str], seed: u64) -> Vec<Vec<(&'static str, u64)>> {
        let faults = texts.iter().map(|text| text.parse().expect(text)).collect();
        let faults = Faults::new(faults, seed);
        let plan_of = |_| {
            let plan = faults.plan(call("orders"), None, Some("token"), NOW);
            let others = plan.faults.iter().map(|it| (it.kind.name(), it.draw));
            others.chain(plan.ended_by.map(|name| (name, 0))).collect()
        };
        (0..40).map(plan_of).collect()
    }

    fn numbers_of(planned: &[Vec<(&'static str, u64)>], name: &str) -> Vec<usize> {
        let has = |call: &Vec<(&str, u64)>| call.iter().any(|(other, _)| *other == name);
        (1..).zip(planned).filter(|(_, call)| has(call)).map(|(number, _)| number).collect()
    }

    #[test]
    fn a_seed_decides_the_faults_and_their_random_numbers() {
        let texts = ["chance(25%, drop-row)", "chance(25%, reset)", "every(7, code500(orders))"];
        let (first, again, other) = (planned(&texts, 7), planned(&texts, 7), planned(&texts, 8));
        assert_eq!(first, again);
        assert_ne!(numbers_of(&first, "drop-row"), numbers_of(&other, "drop-row"));
        assert_ne!(numbers_of(&first, "drop-row"), numbers_of(&first, "reset"));
        assert!((2..20).contains(&numbers_of(&first, "drop-row").len()), "{first:?}");
        assert_eq!(numbers_of(&first, "code500"), [7, 14, 21, 28, 35]);
        assert_eq!(numbers_of(&planned(&["nth(3, reset)"], 1), "reset"), [3]);
        assert_eq!(numbers_of(&planned(&["chance(100%, reset)"], 1), "reset").len(), 40);
        assert!(numbers_of(&planned(&["reset(devices)"], 1), "reset").is_empty());
    }

    #[test]
    fn an_evicted_session_stays_ended_and_others_continue() {
        let ended = numbers_of(&planned(&["nth(5, evict)"], 1), "evict");
        assert_eq!(ended, (5..=40).collect::<Vec<_>>());
        let aged = "evict(after=5m)".parse().expect("a fault");
        let faults = Faults::new(vec![aged], 1);
        let ended = |token, ms| {
            let plan = faults.plan(call("devices"), None, Some(token), NOW.plus_ms(ms));
            plan.ended_by.is_some()
        };
        let begun = Begun { token: "a", opener: Opener::Login("walker"), group: None };
        faults.session_begins(begun, None, NOW);
        assert!(!ended("a", 299_999) && !ended("b", 299_999));
        assert!(ended("a", 300_000) && ended("a", 300_001) && !ended("b", 300_001));
        // A login takes no token, so none is refused.
        let login = faults.plan(call("login"), None, Some("a"), NOW.plus_ms(300_001));
        assert_eq!(login.ended_by, None);
    }

    /// PAGE-8: the orders of several faults arrive in one list. Without `every`, `nth` and `chance`
    /// each call is shifted separately.
    #[test]
    fn a_list_is_shifted_by_all_faults_together() {
        let shifted = |texts: &[&str]| {
            let faults = texts.iter().map(|text| text.parse().expect(text)).collect();
            let faults = Faults::new(faults, 1);
            [1, 2, 3, 4, 1, 2].map(|current| {
                let page = ListPage { list: 7, page: PageAsked { current, size: 9 } };
                let plan = faults.plan(call("orders"), Some(page), Some("token"), NOW);
                plan.faults.iter().map(|fault| fault.kind).collect::<Vec<_>>()
            })
        };
        let rows = |rows| vec![Kind::Shifted(rows)];
        let both = ["every(2, shift-page(rows=2))", "nth(3, shift-page(rows=3))"];
        assert_eq!(shifted(&both), [vec![], rows(2), rows(5), rows(7), vec![], rows(2)]);
        let plain = shifted(&["shift-page"]);
        assert!(plain.iter().all(|kinds| *kinds == [Kind::ShiftPage(1)]), "{plain:?}");
    }
}
