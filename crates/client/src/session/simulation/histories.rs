//! The rules of a shared session, in simulated histories.

use std::time::Duration;

use kiosque_testkit::{Rng, seed, size};

use super::super::action::Action;
use super::super::grant::Failure;
use super::super::lanes::{Lane, Length};
use super::super::pace::Pace;
use super::{Plan, World, group_id, refusal};
use crate::error::{Error, Refusal};

/// AUTH-11, AUTH-12, ENV-11: whatever is lost, late or replaced, every call is answered, for its
/// own group, and no login happens without a cause.
#[test]
fn every_call_is_answered_for_its_own_group() {
    let seed = seed();
    for history in 0..u64::try_from(size(300, 20_000)).expect("small") {
        let seed = seed.wrapping_add(history);
        println!("KIOSQUE_SEED={seed}");
        let mut rng = Rng::seeded(seed);
        let plan = Plan {
            calls: 20,
            think_us: rng.range(1..20_000),
            call_us: rng.range(100..20_000),
            switch_us: rng.range(500..100_000),
            lost: rng.choose(&[0, 4, 10]),
            slow: rng.choose(&[0, 30]),
            outsider_every: rng
                .choose(&[None, Some(1_000), Some(5_000)])
                .map(Duration::from_millis),
            lifetime: Duration::from_secs(rng.choose(&[1_000_000, 3])),
            ..Plan::calm(1 + rng.below(12))
        };
        let is_short = plan.lifetime < Duration::from_secs(60);
        let pace = Pace { wait_max: Duration::from_secs(36_000), ..Pace::default() };
        let pace = Pace { tries_max: 1_000, refusals_max: 1_000, ..pace };
        let mut world = World::new(plan, pace, seed);
        world.run(Duration::from_secs(36_000));
        assert!(world.errors.is_empty(), "{:?}", world.errors);
        assert!(world.done.iter().all(|done| *done == 20), "{:?}", world.done);
        assert!(is_short || world.log_ins <= 1 + world.causes, "{} logins", world.log_ins);
    }
}

/// Many answers with -4 for the same token cause one login, including those that arrive after it.
#[test]
fn many_refusals_of_one_token_cause_one_login() {
    let pace = Pace { calls_max: 64, ..Pace::default() };
    let mut world = World::new(Plan::calm(1), pace, 1);
    let now = world.now;
    let mut calls: Vec<_> =
        (0..64).map(|_| world.machine.add(now, Lane::Default, Length::Short)).collect();
    assert!(matches!(world.machine.next(now), Action::LogIn));
    let granted = world.server.open(now, 0);
    world.machine.logged_in(now, Ok(granted));
    let sent = |world: &mut World, calls: usize| {
        for _ in 0..calls {
            assert!(matches!(world.machine.next(now), Action::Call(..)));
        }
        assert!(matches!(world.machine.next(now), Action::Rest(_)));
    };
    sent(&mut world, 64);
    let (late, meanwhile) = (calls.split_off(48), calls.split_off(32));
    for call in calls {
        world.machine.token_refused(now, call, refusal());
    }
    assert!(matches!(world.machine.next(now), Action::LogIn));
    for call in meanwhile {
        world.machine.token_refused(now, call, refusal());
    }
    sent(&mut world, 0);
    let granted = world.server.open(now, 0);
    world.machine.logged_in(now, Ok(granted));
    sent(&mut world, 48);
    for call in late {
        world.machine.token_refused(now, call, refusal());
    }
    sent(&mut world, 16);
    assert_eq!(world.machine.replaced(), 1);
}

/// With 8 workers in 3 groups and no other user, one login lasts, each worker gets at least half of
/// the mean, and a switch serves at least 100 calls.
#[test]
fn groups_take_turns_and_each_worker_gets_its_share() {
    let mut world = World::new(Plan::calm(8), Pace::default(), 1);
    world.run(Duration::from_secs(60));
    let mean = world.done.iter().sum::<usize>() / world.done.len();
    assert!(world.done.iter().all(|done| *done * 2 >= mean), "{:?}", world.done);
    assert_eq!((world.log_ins, world.errors.len()), (1, 0));
    let switches = usize::try_from(world.switches).expect("small");
    assert!(switches > 10, "{switches} switches");
    let a_switch = world.done.iter().sum::<usize>() / switches;
    assert!(a_switch >= 100, "{a_switch} calls a switch");
}

/// AUTH-6: a session of 7 s is renewed before it ends, so that no call is refused.
#[test]
fn a_session_is_renewed_before_it_ends() {
    let plan = Plan { lifetime: Duration::from_secs(7), ..Plan::calm(1) };
    let mut world = World::new(plan, Pace::default(), 1);
    world.run(Duration::from_secs(60));
    assert_eq!((world.errors.len(), world.refused, world.machine.replaced()), (0, 0, 0));
    assert!((9..=10).contains(&world.log_ins), "{} logins", world.log_ins);
}

/// A session that ends because a slow call delayed its renewal was not replaced: no wait follows.
#[test]
fn a_session_that_ended_by_itself_is_renewed_at_once() {
    let plan = Plan { lifetime: Duration::from_secs(3), slow: 100, ..Plan::calm(1) };
    let mut world = World::new(plan, Pace::default(), 1);
    world.run(Duration::from_secs(60));
    assert_eq!((world.errors.len(), world.machine.replaced()), (0, 0));
    assert!(world.refused > 0 && world.log_ins > 10, "{} logins", world.log_ins);
}

/// AUTH-17: a switch continues a session, so one that lived for minutes in several groups ends a
/// series of replaced ones.
#[test]
fn a_session_is_as_old_as_its_login() {
    let mut world = World::new(Plan::calm(1), Pace::default(), 1);
    let mut now = world.now;
    for replaced in 0..4 {
        world.machine.add(now, Lane::Group(group_id(0)), Length::Short);
        assert!(matches!(world.machine.next(now), Action::LogIn), "after {replaced} evictions");
        let granted = world.server.open(now, 0);
        let logged_in_at = granted.logged_in_at;
        world.machine.logged_in(now, Ok(granted));
        let Action::Call(ticket, _) = world.machine.next(now) else { panic!("no call") };
        world.machine.ended(now, ticket);
        now += Duration::from_secs(120);
        world.machine.add(now, Lane::Group(group_id(1)), Length::Short);
        assert!(matches!(world.machine.next(now), Action::Switch(..)));
        let granted = world.server.open(now, 1);
        world.machine.switched(now, Duration::ZERO, &group_id(1), Ok(granted));
        let (held, _) = world.machine.held().expect("a session");
        assert_eq!(held.logged_in_at, logged_in_at);
        let Action::Call(ticket, _) = world.machine.next(now) else { panic!("no call") };
        world.machine.token_refused(now, ticket, refusal());
        assert!(matches!(world.machine.next(now), Action::LogIn), "after {replaced} evictions");
        let granted = world.server.open(now, 1);
        world.machine.logged_in(now, Ok(granted));
        let Action::Call(ticket, _) = world.machine.next(now) else { panic!("no call") };
        world.machine.ended(now, ticket);
        // The session ends, so that the next round begins with a login.
        world.machine.log_out();
        assert!(matches!(world.machine.next(now), Action::LogOut(_)));
        world.machine.logged_out();
    }
}

/// AUTH-8: after -2 no further login is attempted; after another refusal, not at once.
#[test]
fn a_refused_login_is_not_repeated() {
    for (code, seconds, log_ins) in [(-2, 36_000, 1), (-1, 9, 1), (-1, 11, 2)] {
        let mut world = World::new(Plan::calm(1), Pace::default(), 1);
        let mut now = world.now;
        for _ in 0..2 {
            let ticket = world.machine.add(now, Lane::Default, Length::Short);
            let mut error = None;
            while error.is_none() {
                match world.machine.next(now) {
                    Action::LogIn => {
                        world.log_ins += 1;
                        let refused = Failure::Refused(Refusal { code, ..refusal() });
                        world.machine.logged_in(now, Err(refused));
                    }
                    Action::Fail(failed, why) if failed == ticket => error = Some(why),
                    other => panic!("{other:?}"),
                }
            }
            assert_eq!(error.and_then(|error| error.code()), Some(code));
            now += Duration::from_secs(seconds);
        }
        assert_eq!(world.log_ins, log_ins, "code {code} after {seconds} s");
    }
}

/// AUTH-11: a switch that is refused with -4 again and again fails the calls that wait for it,
/// after as many refusals as a call.
#[test]
fn a_switch_that_is_refused_again_and_again_fails_its_calls() {
    let mut world = World::new(Plan::calm(1), Pace { refusals_max: 3, ..Pace::default() }, 1);
    let mut now = world.now;
    let calls = [(); 2].map(|()| world.machine.add(now, Lane::Group(group_id(1)), Length::Short));
    let mut failed = Vec::new();
    while failed.len() < calls.len() {
        match world.machine.next(now) {
            Action::LogIn => {
                world.log_ins += 1;
                let granted = world.server.open(now, 0);
                world.machine.logged_in(now, Ok(granted));
            }
            Action::Switch(_, group) => {
                world.switches += 1;
                let refused = Err(Failure::Refused(refusal()));
                world.machine.switched(now, Duration::ZERO, &group, refused);
            }
            Action::Fail(ticket, error) => failed.push((ticket, error.to_string())),
            Action::Rest(until) => now = until.expect("a login is held back"),
            other => panic!("{other:?}"),
        }
    }
    let error = "gave up after 3 attempts; the last failure: the server refused the call: code -4, \
                 Token is incorrect or invalid,please login again";
    assert_eq!(failed, calls.map(|ticket| (ticket, error.to_owned())));
    assert_eq!((world.log_ins, world.switches), (3, 3));
}

/// ENV-12, LIM-7: a `Retry-After` that no clock reaches is obeyed like a long one.
#[test]
fn a_wait_without_an_end_does_not_end_the_session() {
    let refusal = Refusal { code: -1, retry_after_s: Some(u64::MAX), ..refusal() };
    let busy = Error::Refused(refusal.clone());
    let wait = Some(Duration::from_secs(u64::MAX));
    for failure in [Failure::Refused(refusal), Failure::Unclear(busy, wait)] {
        let mut world = World::new(Plan::calm(1), Pace::default(), 1);
        let now = world.now;
        world.machine.add(now, Lane::Default, Length::Short);
        assert!(matches!(world.machine.next(now), Action::LogIn));
        world.machine.logged_in(now, Err(failure));
        let later = now + Duration::from_secs(3_600);
        world.machine.add(later, Lane::Default, Length::Short);
        for _ in 0..2 {
            let next = world.machine.next(later);
            assert!(matches!(next, Action::Fail(..) | Action::Rest(_)), "{next:?}");
        }
    }
}

/// A call that waits for something to happen does not hold up other groups, and is interrupted
/// once.
#[test]
fn a_long_call_is_interrupted_for_another_group() {
    let mut world = World::new(Plan::calm(1), Pace::default(), 1);
    let now = world.now;
    let long = world.machine.add(now, Lane::Default, Length::Long);
    assert!(matches!(world.machine.next(now), Action::LogIn));
    let granted = world.server.open(now, 0);
    world.machine.logged_in(now, Ok(granted));
    assert!(matches!(world.machine.next(now), Action::Call(ticket, _) if ticket == long));
    assert!(matches!(world.machine.next(now), Action::Rest(None)));
    world.machine.add(now, Lane::Group(group_id(1)), Length::Short);
    let Action::Interrupt(tickets) = world.machine.next(now) else { panic!("no interruption") };
    assert_eq!(tickets, [long]);
    assert!(matches!(world.machine.next(now), Action::Rest(_)));
    world.machine.ended(now, long);
    let later = now + Pace::default().linger_max;
    assert!(matches!(world.machine.next(later), Action::Switch(_, group) if group == group_id(1)));
}

/// Calls that wait for something to happen do not hold up the calls of their own group either,
/// however many there are.
#[test]
fn long_calls_leave_room_for_others() {
    let pace = Pace { calls_max: 2, ..Pace::default() };
    let mut world = World::new(Plan::calm(1), pace, 1);
    let now = world.now;
    let mut add = |length| world.machine.add(now, Lane::Default, length);
    let long = [(); 3].map(|()| add(Length::Long));
    let short = [(); 3].map(|()| add(Length::Short));
    assert!(matches!(world.machine.next(now), Action::LogIn));
    let granted = world.server.open(now, 0);
    world.machine.logged_in(now, Ok(granted));
    for expected in long.into_iter().chain(short.into_iter().take(2)) {
        assert!(matches!(world.machine.next(now), Action::Call(ticket, _) if ticket == expected));
    }
    assert!(matches!(world.machine.next(now), Action::Rest(_)));
    world.machine.ended(now, short[0]);
    assert!(matches!(world.machine.next(now), Action::Call(ticket, _) if ticket == short[2]));
}

/// A call whose turn does not come fails eventually, with the cause.
#[test]
fn a_call_does_not_wait_for_ever() {
    let pace = Pace { wait_max: Duration::from_secs(30), tries_max: u32::MAX, ..Pace::default() };
    let plan = Plan { lost: 1, calls: 1, ..Plan::calm(1) };
    let mut world = World::new(plan, pace, 1);
    world.run(Duration::from_secs(3_600));
    let Some(Error::GaveUp { last, .. }) = world.errors.first() else { panic!("no error") };
    assert!(matches!(**last, Error::Transport(_)), "{last}");
    assert!(world.now < world.begun + Duration::from_secs(60));
}
