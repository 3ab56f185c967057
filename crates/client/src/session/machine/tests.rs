//! The waits of a shared session at their edges, and what happens during a login or a switch.

use std::sync::Arc;
use std::time::{Duration, Instant};

use kiosque_clock::Entropy;
use kiosque_model::{GroupId, UnixMs};

use super::Machine;
use crate::error::{Error, Refusal};
use crate::session::action::Action;
use crate::session::grant::{Failure, Grant, Granted};
use crate::session::lanes::{Lane, Length, Ticket};
use crate::session::pace::Pace;
use crate::transport::{Token, TransportError};

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

/// Returns a machine whose random parts of waits are as long as they can be.
fn machine(pace: Pace, now: Instant) -> Machine {
    let entropy = Entropy::from_fn(|bytes| {
        bytes.fill(u8::MAX);
        Ok(())
    });
    Machine::new(pace, entropy, now)
}

/// Returns a machine with a session of the group `g0`, and no calls.
fn logged_in(pace: Pace, now: Instant) -> Machine {
    let mut machine = machine(pace, now);
    machine.logged_in(now, Ok(granted("g0")));
    machine
}

fn group(id: &str) -> GroupId {
    GroupId::parse(id.to_owned()).unwrap()
}

fn lane(id: &str) -> Lane {
    Lane::Group(group(id))
}

fn granted(id: &str) -> Granted {
    let token = Token::new(format!("token of {id}"));
    let grant = Grant { token, group: group(id), groups: vec![], expires_at: UnixMs(0) };
    Granted { grant, lifetime: None, logged_in_at: UnixMs(0), age: Duration::ZERO }
}

fn refused(code: i32, retry_after_s: Option<u64>) -> Refusal {
    Refusal { code, msg: "refused".to_owned(), data: None, request_id: None, retry_after_s }
}

fn lost() -> Error {
    let (to, cause) = ("the server".to_owned(), "lost".to_owned());
    Error::Transport(TransportError { to, cause, is_final: false })
}

/// Returns the call that fails, and its error.
#[track_caller]
fn failure(action: Action) -> (Ticket, String) {
    let Action::Fail(ticket, error) = action else { panic!("{action:?}") };
    (ticket, error.to_string())
}

impl Machine {
    /// Adds a call of a group, and starts it.
    #[track_caller]
    fn start(&mut self, now: Instant, id: &str) -> Ticket {
        let added = self.add(now, lane(id), Length::Short);
        match self.next(now) {
            Action::Call(ticket, _) if ticket == added => ticket,
            other => panic!("{other:?}"),
        }
    }

    /// Asserts that nothing happens before a time, and returns what happens then.
    #[track_caller]
    fn rests(&mut self, now: Instant, until: Instant) -> Action {
        for time in [now, until.checked_sub(Duration::from_nanos(1)).unwrap()] {
            let Action::Rest(Some(rest)) = self.next(time) else { panic!("no rest") };
            assert_eq!(rest.saturating_duration_since(now), until.saturating_duration_since(now));
        }
        self.next(until)
    }
}

#[test]
fn a_session_that_is_replaced_again_is_taken_back_later() {
    let now = Instant::now();
    let mut machine = logged_in(Pace { hold_first: SECOND, ..Pace::default() }, now);
    let call = machine.start(now, "g0");
    machine.token_refused(now, call, refused(-4, None));
    // The first one is taken back at once.
    assert!(matches!(machine.next(now), Action::LogIn));
    machine.logged_in(now, Ok(granted("g0")));
    assert!(matches!(machine.next(now), Action::Call(same, _) if same == call));
    machine.token_refused(now, call, refused(-4, None));
    let until = now + SECOND + SECOND / 4;
    assert!(matches!(machine.rests(now, until), Action::LogIn));
    assert_eq!(machine.replaced(), 2);
}

#[test]
fn a_call_is_sent_with_the_number_of_its_refusals_and_fails_after_the_last() {
    let now = Instant::now();
    let mut machine = logged_in(Pace { refusals_max: 3, hold_from: 9, ..Pace::default() }, now);
    let call = machine.start(now, "g0");
    for refusals in 1..3 {
        machine.token_refused(now, call, refused(-4, None));
        assert!(matches!(machine.next(now), Action::LogIn));
        machine.logged_in(now, Ok(granted("g0")));
        let Action::Call(_, started) = machine.next(now) else { panic!("no call") };
        assert_eq!(started.refusals, refusals);
    }
    machine.token_refused(now, call, refused(-4, None));
    let error = Error::gave_up(3, Error::Refused(refused(-4, None)));
    assert_eq!(failure(machine.next(now)), (call, error.to_string()));
}

#[test]
fn a_refused_login_is_not_repeated_before_its_time() {
    let now = Instant::now();
    let mut machine = machine(Pace::default(), now);
    for (retry_after_s, wait) in [(Some(30), 30 * SECOND), (None, 10 * SECOND)] {
        let refusal = refused(-3, retry_after_s);
        machine.add(now, Lane::Any, Length::Short);
        assert!(matches!(machine.next(now), Action::LogIn));
        machine.logged_in(now, Err(Failure::Refused(refusal.clone())));
        assert!(matches!(machine.next(now), Action::Fail(..)));
        for at in [now, now + wait - MS] {
            let call = machine.add(at, Lane::Any, Length::Short);
            let error = Error::Refused(refusal.clone()).to_string();
            assert_eq!(failure(machine.next(at)), (call, error));
        }
        let after = now + wait;
        machine.add(after, Lane::Any, Length::Short);
        assert!(matches!(machine.next(after), Action::LogIn));
        // The next refusal is one of a new login.
        machine.logged_in(after, Ok(granted("g0")));
        while let Action::Call(ticket, _) = machine.next(after) {
            machine.ended(after, ticket);
        }
        machine.replace(after, None);
    }
}

#[test]
fn a_login_whose_answer_is_lost_is_tried_again_after_longer_waits() {
    let mut now = Instant::now();
    let mut machine = machine(Pace { tries_max: 4, ..Pace::default() }, now);
    let call = machine.add(now, Lane::Any, Length::Short);
    assert!(matches!(machine.next(now), Action::LogIn));
    for seconds in [1, 2, 4] {
        machine.logged_in(now, Err(Failure::Unclear(lost(), None)));
        let until = now + (seconds + 1) * SECOND;
        assert!(matches!(machine.rests(now, until), Action::LogIn));
        now = until;
    }
    machine.logged_in(now, Err(Failure::Unclear(lost(), None)));
    let Action::Fail(failed, Error::GaveUp { .. }) = machine.next(now) else {
        panic!("no failure")
    };
    assert_eq!(failed, call);
}

#[test]
fn a_call_fails_when_its_turn_does_not_come_in_time() {
    let (now, pace) = (Instant::now(), Pace { wait_max: SECOND, ..Pace::default() });
    let mut machine = machine(pace, now);
    let early = machine.add(now, lane("g0"), Length::Short);
    assert!(matches!(machine.next(now), Action::LogIn));
    let late = machine.add(now + MS, lane("g0"), Length::Short);
    assert_eq!(machine.waiting(), [(lane("g0"), (2, now))].into());
    assert_eq!(failure(machine.rests(now, now + SECOND)).0, early);
    assert_eq!(machine.waiting(), [(lane("g0"), (1, now + MS))].into());
    assert_eq!(failure(machine.next(now + 2 * SECOND)).0, late);
    assert!(machine.waiting().is_empty());
}

#[test]
fn a_turn_ends_when_another_group_waits() {
    let (now, pace) = (Instant::now(), Pace { turn: SECOND, ..Pace::default() });
    let mut machine = logged_in(pace, now);
    machine.add(now, lane("g1"), Length::Short);
    let call = machine.start(now + SECOND - MS, "g0");
    let end = now + SECOND;
    machine.add(end, lane("g0"), Length::Short);
    // The call in progress has the token that a switch would end.
    assert!(matches!(machine.next(end), Action::Rest(_)));
    machine.ended(end, call);
    assert!(matches!(machine.next(end), Action::Switch(_, to) if to == group("g1")));
}

#[test]
fn a_group_keeps_the_session_for_half_a_switch_after_an_answer() {
    let (now, took) = (Instant::now(), 4 * MS);
    let mut machine = logged_in(Pace::default(), now);
    machine.add(now, lane("g1"), Length::Short);
    assert!(matches!(machine.next(now), Action::Switch(..)));
    machine.switched(now, took, &group("g1"), Ok(granted("g1")));
    let Action::Call(call, _) = machine.next(now) else { panic!("no call") };
    machine.add(now, lane("g0"), Length::Short);
    let second = machine.start(now, "g1");
    machine.ended(now, call);
    // While a call is in progress, its end decides.
    let Action::Rest(rest) = machine.next(now) else { panic!("no rest") };
    assert_eq!(rest, Some(now + Pace::default().wait_max));
    machine.ended(now, second);
    let switch = machine.rests(now, now + took / 2);
    assert!(matches!(switch, Action::Switch(_, to) if to == group("g0")), "after the wait");
}

#[test]
fn a_refused_switch_ends_the_session_only_if_its_token_is_not_valid() {
    let now = Instant::now();
    for (code, is_over) in [(-4, true), (-5, false)] {
        let mut machine = logged_in(Pace::default(), now);
        let call = machine.add(now, lane("g1"), Length::Short);
        assert!(matches!(machine.next(now), Action::Switch(..)));
        machine.switched(now, MS, &group("g1"), Err(Failure::Refused(refused(code, None))));
        assert_eq!(machine.held().is_none(), is_over, "{code}");
        match machine.next(now) {
            Action::LogIn => assert!(is_over, "{code}"),
            action => {
                let error = Error::Refused(refused(-5, None)).to_string();
                assert_eq!(failure(action), (call, error), "{code}");
            }
        }
    }
}

/// Calls in progress would be refused if the login did not wait for them.
#[test]
fn a_forgotten_session_ends_after_the_calls_in_progress() {
    let now = Instant::now();
    let mut machine = logged_in(Pace::default(), now);
    machine.add(now, Lane::Any, Length::Short);
    let Action::Call(first, _) = machine.next(now) else { panic!("no call") };
    machine.replace(now, None);
    assert!(machine.held().is_none());
    machine.add(now, Lane::Any, Length::Short);
    assert!(matches!(machine.next(now), Action::Rest(_)), "a call is in progress");
    machine.ended(now, first);
    assert!(matches!(machine.next(now), Action::LogIn));
    machine.logged_in(now, Ok(granted("g1")));
    assert!(matches!(machine.next(now), Action::Call(..)), "the login is the next session");
}

/// The answer to a switch has no other groups than the forgotten session.
#[test]
fn a_session_that_is_forgotten_during_a_switch_ends_after_it() {
    let now = Instant::now();
    let mut machine = logged_in(Pace::default(), now);
    machine.add(now, lane("g1"), Length::Short);
    assert!(matches!(machine.next(now), Action::Switch(..)));
    machine.replace(now, None);
    machine.switched(now, MS, &group("g1"), Ok(granted("g1")));
    assert!(machine.held().is_none());
    assert!(matches!(machine.next(now), Action::LogIn));
}

#[test]
fn a_session_is_replaced_unless_a_login_is_in_progress() {
    let now = Instant::now();
    let mut machine = machine(Pace::default(), now);
    assert!(machine.held().is_none());
    machine.replace(now, Some((granted("g1"), group("g0"))));
    let held = |machine: &Machine| {
        machine.held().map(|(held, default)| (Arc::clone(&held.grant), default.clone()))
    };
    let replaced = (Arc::new(granted("g1").grant), group("g0"));
    assert_eq!(held(&machine), Some(replaced));
    machine.replace(now, None);
    assert_eq!(held(&machine), None);
    machine.add(now, Lane::Default, Length::Short);
    assert!(matches!(machine.next(now), Action::LogIn));
    machine.replace(now, Some((granted("g1"), group("g1"))));
    machine.logged_in(now, Err(Failure::Refused(refused(-3, None))));
    assert_eq!(held(&machine), None, "a login was in progress");
}
