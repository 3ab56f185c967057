use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::Source;

const START: i64 = 1_772_445_600_000;

fn limits() -> Limits {
    Limits::default()
}

fn attempts(limits: &Limits) -> FailureBuckets {
    FailureBuckets::new(limits, [7; KEY_BYTES])
}

fn source(number: u32) -> SourcePrefix {
    Source::of(std::net::Ipv4Addr::from_bits(0xC633_6400 + number).into()).prefix()
}

fn at(ms: i64) -> UnixMs {
    UnixMs(START + ms)
}

/// Makes an attempt with a wrong password; returns how long it must wait if it is refused.
fn fail(attempts: &mut FailureBuckets, name: &str, number: u32, now: UnixMs) -> Option<i64> {
    match attempts.take(name, source(number), now) {
        Ok(taken) => {
            attempts.settle(&taken, Ended::Failed);
            None
        }
        Err(limited) => Some(limited.wait_ms),
    }
}

fn failures(attempts: &mut FailureBuckets, name: &str, number: u32, now: UnixMs) -> usize {
    (0..1_000).take_while(|_| fail(attempts, name, number, now).is_none()).count()
}

/// LIM-7: ten failures are free, then one after each interval, and never more than ten.
#[test]
fn a_source_may_fail_ten_times_and_then_once_a_minute() {
    let mut attempts = attempts(&limits());
    for (ms, free, wait_ms) in [
        (0, 10, 60_000),
        (0, 0, 60_000),
        (59_999, 0, 1),
        (60_000, 1, 60_000),
        (180_000, 2, 60_000),
        (181_000, 0, 59_000),
        (3_600_000, 10, 60_000),
    ] {
        assert_eq!(failures(&mut attempts, "ops", 1, at(ms)), free, "at {ms} ms");
        assert_eq!(fail(&mut attempts, "ops", 1, at(ms)), Some(wait_ms), "at {ms} ms");
    }
    // Another source and another name have separate buckets.
    assert_eq!(failures(&mut attempts, "ops", 2, at(3_600_000)), 10);
    assert_eq!(failures(&mut attempts, "ops ", 1, at(3_600_000)), 10);
}

#[test]
fn only_the_first_attempt_of_a_source_is_its_first() {
    let mut attempts = attempts(&limits());
    let mut is_first =
        |number| attempts.take("ops", source(number), at(0)).map(|taken| taken.is_first());
    assert_eq!([1, 1, 2].map(|number| is_first(number).expect("a token")), [true, false, true]);
}

/// LIM-8: any number of sources together get no further with one name than the shared limits: in an
/// hour, as far as with one bucket of a hundred tokens that regains one every two seconds.
#[test]
fn unknown_sources_share_nineteen_hundred_failures_an_hour() {
    let mut attempts = attempts(&limits());
    // Sources that are all new get furthest.
    let mut new = 0..;
    let mut failed_at = |second: i64| {
        let now = at(second * 1_000);
        new.by_ref().take_while(|number| fail(&mut attempts, "ops", *number, now).is_none()).count()
    };
    assert_eq!(failed_at(0), 100 + 450);
    assert_eq!((1..3_600).map(failed_at).sum::<usize>(), 899 + 449);
    assert_eq!(fail(&mut attempts, "ops", 1_000_000, at(3_599_000)), Some(1_000));
    // An attempt that was refused for the name took no token from the source.
    assert_eq!(failures(&mut attempts, "ops", 1_000_000, at(3_600_000 + 4_000 * 100)), 10);
}

/// LIM-8: while two hundred sources keep guessing, a new source gets through with its first
/// attempt, and with later ones as long as they do not fail.
#[test]
fn a_new_source_gets_through_while_others_guess() {
    let mut attempts = attempts(&limits());
    let mut failed = 0;
    for second in 0..600 {
        let now = at(second * 1_000);
        for number in 0..200 {
            failed += usize::from(fail(&mut attempts, "ops", number, now).is_none());
        }
        let first = attempts.take("ops", source(1_000), now).expect("a first attempt");
        let second = attempts.take("ops", source(1_000), now).expect_err("not the first one");
        assert!(second.may_be_returned);
        attempts.settle(&first, Ended::Otherwise);
    }
    // Half of the sources used up the shared attempts; the others had their first attempts.
    assert_eq!(failed, 100 + 149 + 100);
}

/// LIM-10: the right password takes no token, at whatever rate.
#[test]
fn a_successful_attempt_returns_its_tokens() {
    let mut attempts = attempts(&limits());
    for _ in 0..1_000 {
        let taken = attempts.take("ops", source(1), at(0)).expect("nothing has failed");
        attempts.settle(&taken, Ended::Otherwise);
    }
    assert_eq!(failures(&mut attempts, "ops", 1, at(0)), 10);
}

/// A token is taken before the password is compared: simultaneous attempts get no further than
/// successive ones, and one that only they limit may wait for a token to be returned.
#[test]
fn concurrent_attempts_are_as_many_as_successive_ones() {
    let mut attempts = attempts(&limits());
    let taken: Vec<TakenTokens> =
        (0..10).map(|_| attempts.take("ops", source(1), at(0)).expect("ten are free")).collect();
    let limited = attempts.take("ops", source(1), at(0)).expect_err("there were ten");
    assert_eq!(limited, Limited { wait_ms: 60_000, may_be_returned: true });
    for one in &taken[1..] {
        attempts.settle(one, Ended::Failed);
    }
    attempts.settle(&taken[0], Ended::Otherwise);
    assert_eq!(failures(&mut attempts, "ops", 1, at(0)), 1);
    let limited = attempts.take("ops", source(1), at(0)).expect_err("ten have failed");
    assert!(!limited.may_be_returned);
}

#[test]
fn after_the_clock_is_set_back_the_wait_is_bounded() {
    let mut attempts = attempts(&limits());
    failures(&mut attempts, "ops", 1, at(0));
    let back = at(-86_400_000);
    assert_eq!(fail(&mut attempts, "ops", 1, back), Some(60_000));
    // The name's bucket is checked once the source's bucket allows the attempt.
    assert_eq!(fail(&mut attempts, "ops", 1, back.plus_ms(120_000)), Some(4_000));
    assert_eq!(failures(&mut attempts, "ops", 1, back.plus_ms(128_000)), 2);
}

/// Requests wait and are checked in a different order: no request gains by it.
#[test]
fn reordered_attempts_gain_nothing() {
    let mut attempts = attempts(&limits());
    assert_eq!(failures(&mut attempts, "ops", 1, at(0)), 10);
    for number in 0..1_000 {
        let early = at(-i64::from(number % 60) * 1_000 + 1);
        assert_eq!(fail(&mut attempts, "ops", 1, early), Some(59_999), "{number}");
    }
    assert_eq!(failures(&mut attempts, "ops", 1, at(60_000)), 1);
}

/// Memory is bounded, and filling it with other names does not free a limited one.
#[test]
fn the_number_of_buckets_is_bounded_and_eviction_frees_no_limited_name() {
    let limits = Limits { login_failures_kept: 50, ..limits() };
    let mut attempts = attempts(&limits);
    assert_eq!(failures(&mut attempts, "victim", 1, at(0)), 10);
    for number in 0..10_000 {
        fail(&mut attempts, &format!("absent {number}"), 1, at(0));
        let FailureBuckets { by_source, by_name, first_by_source, .. } = &attempts;
        for buckets in [by_source, by_name, first_by_source] {
            assert!(buckets.full_at.len() <= 50 && buckets.by_time.len() <= 50);
            assert!(buckets.under_way.is_empty());
        }
    }
    // Nor do nine failures at each of twice as many names as the maximum.
    for number in 0..100 {
        (0..9).for_each(|_| _ = fail(&mut attempts, &format!("other {number}"), 1, at(0)));
    }
    assert_eq!(fail(&mut attempts, "victim", 1, at(0)), Some(60_000));
    // A full bucket is not stored.
    fail(&mut attempts, "last", 1, at(86_400_000));
    assert_eq!(attempts.by_source.full_at.len(), 1);
    assert_eq!(attempts.by_name.full_at.len(), 1);
}

/// The stored hashes reveal no typed name without the key.
#[test]
fn bucket_ids_depend_on_the_key() {
    let one = FailureBuckets::new(&limits(), [1; KEY_BYTES]);
    let other = FailureBuckets::new(&limits(), [2; KEY_BYTES]);
    assert_ne!(one.id("ops", ""), other.id("ops", ""));
    assert_ne!(one.id("ops", "1"), one.id("ops1", ""));
}

proptest! {
    /// Compared with a model that stores each failure: in no period do more attempts fail than were
    /// free and were added, and no allowed attempt is refused.
    #[test]
    fn buckets_agree_with_a_list_of_failures(
        steps in prop::collection::vec((0_i64..90_000, 0_u32..3, any::<bool>()), 1..200),
        free in 1_u32..6,
    ) {
        let limits = Limits {
            login_failures_free: free,
            login_failure_refill: Duration::from_secs(60),
            login_failures_unknown_free: 1_000_000,
            ..limits()
        };
        let mut attempts = attempts(&limits);
        let mut now = START;
        // For each source, its tokens in units of a millisecond's refill, and their time.
        let whole = i64::from(free) * 60_000;
        let mut model = [(whole, START); 3];
        for (pass, number, right) in steps {
            now += pass;
            let (tokens, since) = &mut model[number as usize];
            *tokens = whole.min(*tokens + now - *since);
            *since = now;
            match attempts.take("ops", source(number), UnixMs(now)) {
                Ok(taken) => {
                    prop_assert!(*tokens >= 60_000);
                    let ended = if right { Ended::Otherwise } else { Ended::Failed };
                    attempts.settle(&taken, ended);
                    *tokens -= if right { 0 } else { 60_000 };
                }
                Err(limited) => prop_assert_eq!(limited.wait_ms, 60_000 - *tokens),
            }
        }
    }
}

/// ENV-12: Retry-After is in whole seconds, and at least one.
#[test]
fn a_wait_is_rounded_up_to_seconds() {
    for (wait_ms, seconds) in [(-5, 1), (0, 1), (1, 1), (1_000, 1), (1_001, 2), (59_999, 60)] {
        let refusal = Refusal::from(Limited { wait_ms, may_be_returned: false });
        assert_eq!(refusal, Refusal::TooManyFailures { retry_after_s: seconds }, "{wait_ms}");
    }
}
