//! The sessions that have been seen in calls: their age, their readers, and those that a fault has
//! ended.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use kiosque_clock::millis;
use kiosque_model::UnixMs;

use crate::shifted::{Reader, hash};

/// Maximum number of sessions that are kept; the oldest are forgotten first.
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
    reader: Reader,
    /// When a fault ends it, and the name of the fault.
    end: Option<(UnixMs, &'static str)>,
}

/// A session that begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Begun<'a> {
    pub(crate) token: &'a str,
    pub(crate) opener: Opener<'a>,
    pub(crate) group: Option<&'a str>,
}

/// What a session begins with.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Opener<'a> {
    /// A login with this name.
    Login(&'a str),
    /// A switch of the session with this token.
    Switch(&'a str),
}

impl Sessions {
    /// Returns the reader of a session. A session that began elsewhere is a separate reader.
    pub(crate) fn reader(&self, token: &str) -> Reader {
        let other = || Reader { account: hash(token), group: 0 };
        self.by_token.get(token).map_or_else(other, |session| session.reader)
    }

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

    /// Records a session, which begins now unless it was seen before.
    pub(crate) fn session_begins(&mut self, begun: Begun<'_>, now: UnixMs) {
        let account = match begun.opener {
            Opener::Login(name) => hash(name),
            Opener::Switch(token) => self.reader(token).account,
        };
        self.session(begun.token, now).reader = Reader { account, group: hash(begun.group) };
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
        let reader = self.reader(token);
        let begin = || Session { since: now, reader, end: None };
        self.by_token.entry(token.to_owned()).or_insert_with(begin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begun(token: &str) -> Begun<'_> {
        Begun { token, opener: Opener::Login("walker"), group: Some("north") }
    }

    /// AUTH-11: a login creates a new token, and its account and group continue reading.
    #[test]
    fn a_reader_outlives_its_tokens() {
        let (mut sessions, now) = (Sessions::default(), UnixMs(1_000));
        let switch =
            |token, from, group| Begun { token, opener: Opener::Switch(from), group: Some(group) };
        sessions.session_begins(begun("a"), now);
        sessions.session_begins(switch("b", "a", "south"), now);
        sessions.session_begins(switch("c", "b", "north"), now);
        sessions.session_begins(begun("d"), now);
        let guest = Begun { opener: Opener::Login("guest"), ..begun("e") };
        sessions.session_begins(guest, now);
        sessions.session_begins(switch("g", "elsewhere", "north"), now);
        let [a, b, c, d, e, g] = ["a", "b", "c", "d", "e", "g"].map(|it| sessions.reader(it));
        assert!(a == c && a == d && a != b && a != e && a != g && e != g);
        assert_eq!(g.account, sessions.reader("elsewhere").account);
    }

    #[test]
    fn a_session_ends_at_its_first_end_and_the_oldest_are_forgotten() {
        let (mut sessions, start) = (Sessions::default(), UnixMs(1_000));
        sessions.session_begins(begun("a"), start);
        assert!(!sessions.is_aged("a", Duration::from_millis(5), start.plus_ms(4)));
        assert!(sessions.is_aged("a", Duration::from_millis(5), start.plus_ms(5)));
        sessions.end("a", start.plus_ms(9), "expire", start);
        sessions.end("a", start.plus_ms(20), "evict", start);
        assert_eq!(sessions.ended_by("a", start.plus_ms(8)), None);
        assert_eq!(sessions.ended_by("a", start.plus_ms(9)), Some("expire"));
        for number in 0..SESSIONS_MAX {
            sessions.session_begins(begun(&number.to_string()), start);
        }
        assert_eq!(sessions.ended_by("a", start.plus_ms(9)), None);
        assert_eq!((sessions.by_token.len(), sessions.order.len()), (SESSIONS_MAX, SESSIONS_MAX));
    }
}
