//! The sessions that calls have passed by: their age, and those that a fault has ended.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use kiosque_clock::millis;
use kiosque_model::UnixMs;

/// Sessions that are remembered; the oldest are forgotten first.
const SESSIONS_MAX: usize = 4_096;

/// The sessions, by token.
#[derive(Default)]
pub(crate) struct Sessions {
    by_token: HashMap<String, Session>,
    /// Their tokens, the oldest first.
    order: VecDeque<String>,
}

struct Session {
    since: UnixMs,
    /// When a fault ends it, and the name of the fault.
    end: Option<(UnixMs, &'static str)>,
}

impl Sessions {
    /// Returns whether a session has this age. One that was not seen before begins now.
    pub(crate) fn is_aged(&mut self, token: &str, age: Duration, now: UnixMs) -> bool {
        now.0.saturating_sub(self.session(token, now).since.0) >= millis(age)
    }

    /// Ends a session at a time, unless a fault ends it earlier.
    pub(crate) fn end(&mut self, token: &str, at: UnixMs, fault: &'static str, now: UnixMs) {
        let session = self.session(token, now);
        if session.end.is_none_or(|(end, _)| at < end) {
            session.end = Some((at, fault));
        }
    }

    /// Returns the fault that has ended a session.
    pub(crate) fn ended_by(&self, token: &str, now: UnixMs) -> Option<&'static str> {
        let (end, fault) = self.by_token.get(token)?.end?;
        (now >= end).then_some(fault)
    }

    /// Remembers a session, which begins now unless it was seen before.
    pub(crate) fn session_begins(&mut self, token: &str, now: UnixMs) {
        self.session(token, now);
    }

    fn session(&mut self, token: &str, now: UnixMs) -> &mut Session {
        if !self.by_token.contains_key(token) {
            if self.order.len() >= SESSIONS_MAX
                && let Some(oldest) = self.order.pop_front()
            {
                self.by_token.remove(&oldest);
            }
            self.order.push_back(token.to_owned());
        }
        let begin = || Session { since: now, end: None };
        self.by_token.entry(token.to_owned()).or_insert_with(begin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_ends_at_its_first_end_and_the_oldest_are_forgotten() {
        let (mut sessions, start) = (Sessions::default(), UnixMs(1_000));
        sessions.session_begins("a", start);
        assert!(!sessions.is_aged("a", Duration::from_millis(5), start.plus_ms(4)));
        assert!(sessions.is_aged("a", Duration::from_millis(5), start.plus_ms(5)));
        sessions.end("a", start.plus_ms(9), "expire", start);
        sessions.end("a", start.plus_ms(20), "evict", start);
        assert_eq!(sessions.ended_by("a", start.plus_ms(8)), None);
        assert_eq!(sessions.ended_by("a", start.plus_ms(9)), Some("expire"));
        for number in 0..SESSIONS_MAX {
            sessions.session_begins(&number.to_string(), start);
        }
        assert_eq!(sessions.ended_by("a", start.plus_ms(9)), None);
        assert_eq!((sessions.by_token.len(), sessions.order.len()), (SESSIONS_MAX, SESSIONS_MAX));
    }
}
