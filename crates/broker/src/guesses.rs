//! The limits on wrong passwords of workers (LIM-7 to LIM-9). A worker that sends wrong ones is
//! limited only under its name, and nothing on this machine or in a network can guess without
//! limit.

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use kiosque_clock::millis;
use kiosque_locks::lock_ignoring_poison;
use kiosque_model::failure_buckets::{Buckets, Ended, FailureBuckets, KEY_BYTES};
use kiosque_model::source::KNOWN_SOURCES_MAX;
use kiosque_model::{Limits, Refusal, Source, SourcePrefix, UnixMs};

use crate::worker::{Digest, WorkerLogin, digest};

/// The workers that may log in, and the wrong passwords sent with their names.
#[derive(Debug)]
pub(crate) struct Guesses {
    logins: Vec<WorkerLogin>,
    counts: Mutex<Counts>,
}

#[derive(Debug)]
struct Counts {
    /// Failed logins from sources that have not logged in with the name.
    of_unknown: FailureBuckets,
    /// Failed logins of each known source, which has the budget that LIM-8 gives all unknown ones
    /// together. On one machine a worker and a program that guesses its password may have the same
    /// source, so no source is unlimited.
    of_known: Buckets<(Arc<str>, SourcePrefix)>,
    /// The sources from which a login with a name succeeded, the latest last (LIM-9).
    known: BTreeMap<Arc<str>, VecDeque<Known>>,
}

/// A source from which a login with a name succeeded.
#[derive(Debug)]
struct Known {
    source: SourcePrefix,
    /// Sending it again is not another guess: a worker with an old password sends it repeatedly,
    /// and the workers with its name and source must not be refused for that.
    last_wrong: Option<Digest>,
}

impl Guesses {
    /// Returns no failures of these workers. The key must be random.
    pub(crate) fn new(logins: Vec<WorkerLogin>, limits: &Limits, key: [u8; KEY_BYTES]) -> Guesses {
        let failures = limits.login_failures_unknown_free;
        let refill_ms = millis(limits.login_failure_unknown_refill).saturating_mul(2);
        let counts = Counts {
            of_unknown: FailureBuckets::new(limits, key),
            of_known: Buckets::new(failures, refill_ms, limits.login_failures_kept),
            known: BTreeMap::new(),
        };
        Guesses { logins, counts: Mutex::new(counts) }
    }

    /// Returns the name of the worker that logs in.
    ///
    /// # Errors
    /// No worker has this name and password, or too many wrong passwords were sent.
    pub(crate) fn log_in(
        &self,
        peer: IpAddr,
        now: UnixMs,
        typed_name: &str,
        password: &str,
    ) -> Result<Arc<str>, Refusal> {
        let peer = Source::of(peer);
        let source = peer.prefix();
        let password = digest(password);
        let login = self.logins.iter().find(|login| *login.name == *typed_name);
        let right = login.filter(|login| login.password == password);
        let ended = if right.is_some() { Ended::Otherwise } else { Ended::Failed };
        let mut counts = lock_ignoring_poison(&self.counts);
        let Counts { of_unknown, of_known, known } = &mut *counts;
        let sources = login.and_then(|login| known.get_mut(&login.name));
        let found = sources.and_then(|all| all.iter_mut().find(|known| known.source == source));
        if let (Some(login), Some(found)) = (login, found) {
            if found.last_wrong == Some(password) {
                return Err(Refusal::Credentials);
            }
            let bucket = (Arc::clone(&login.name), source);
            of_known.take(&bucket, now)?;
            of_known.settle(&bucket, ended);
            if right.is_none() {
                found.last_wrong = Some(password);
            }
        } else {
            let taken = of_unknown.take(typed_name, peer.prefix_with_one_loopback(), now)?;
            of_unknown.settle(&taken, ended);
        }
        let name = &right.ok_or(Refusal::Credentials)?.name;
        remember(known.entry(Arc::clone(name)).or_default(), source);
        Ok(Arc::clone(name))
    }
}

/// Makes a source the latest of the known ones.
fn remember(known: &mut VecDeque<Known>, source: SourcePrefix) {
    let at = known.iter().position(|known| known.source == source);
    let found = at.and_then(|at| known.remove(at));
    known.push_back(found.unwrap_or(Known { source, last_wrong: None }));
    if i64::try_from(known.len()).unwrap_or(i64::MAX) > KNOWN_SOURCES_MAX {
        known.pop_front();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: UnixMs = UnixMs(1_772_445_600_000);

    fn guesses() -> Guesses {
        let logins = ["good", "bad"].map(|name| WorkerLogin::new(name, "right")).into();
        Guesses::new(logins, &Limits::default(), [7; KEY_BYTES])
    }

    fn wait_s(result: &Result<Arc<str>, Refusal>) -> Option<u32> {
        match result {
            Err(Refusal::TooManyFailures { retry_after_s }) => Some(*retry_after_s),
            _ => None,
        }
    }

    fn address(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    /// LIM-7: wrong passwords count by name, and all loopback addresses, like the addresses of a
    /// /64, are one source.
    #[test]
    fn wrong_passwords_are_limited_by_name_and_source() {
        for [first, same, other] in [
            ["127.0.0.1", "127.8.9.1", "192.0.2.1"],
            ["127.3.0.1", "::1", "::2"],
            ["2001:db8::1", "2001:db8::ffff:1", "2001:db8:0:1::1"],
        ] {
            let guesses = guesses();
            let log_in = |source: &str, now, name: &str, password: &str| {
                guesses.log_in(address(source), now, name, password)
            };
            for number in 0..10 {
                let source = [first, same][number % 2];
                let guess = log_in(source, NOW, "bad", &format!("guess {number}"));
                assert_eq!(guess, Err(Refusal::Credentials), "{source}");
            }
            for source in [first, same] {
                for password in ["another", "right"] {
                    assert_eq!(wait_s(&log_in(source, NOW, "bad", password)), Some(60));
                }
            }
            assert_eq!(log_in(first, NOW, "good", "right").as_deref(), Ok("good"));
            assert_eq!(log_in(other, NOW, "bad", "right").as_deref(), Ok("bad"));
            let later = NOW.plus_ms(60_000);
            assert_eq!(log_in(same, later, "bad", "right").as_deref(), Ok("bad"));
        }
    }

    /// LIM-9: a source that has logged in with a name is exempt from the failures of all others,
    /// and has a separate limit.
    #[test]
    fn a_worker_that_has_logged_in_is_exempt_from_failures_of_others() {
        let guesses = guesses();
        let log_in =
            |source: &str, password: &str| guesses.log_in(address(source), NOW, "good", password);
        assert!(log_in("127.0.0.1", "right").is_ok());
        for number in 0..5_000 {
            let source = format!("127.1.{}.{}", number / 200, 1 + number % 200);
            let limited = wait_s(&log_in(&source, &format!("guess {number}"))).is_some();
            assert_eq!(limited, number >= 10, "{number}");
            assert!(log_in("127.0.0.1", "right").is_ok(), "{number}");
        }
        for _ in 0..1_000 {
            assert_eq!(log_in("127.0.0.1", "an old password"), Err(Refusal::Credentials));
        }
        // The old password was one guess of the hundred.
        for number in 1..100 {
            let guess = log_in("127.0.0.1", &format!("guess {number}"));
            assert_eq!(guess, Err(Refusal::Credentials), "{number}");
        }
        assert_eq!(wait_s(&log_in("127.0.0.1", "right")), Some(4));
    }

    /// LIM-9: the counters are bounded, and none is lost while it matters.
    #[test]
    fn the_counts_are_bounded() {
        let limits = Limits { login_failures_kept: 50, ..Limits::default() };
        let logins = vec![WorkerLogin::new("good", "right")];
        let guesses = Guesses::new(logins, &limits, [7; KEY_BYTES]);
        let log_in = |source: &str, name: &str, password: &str| {
            guesses.log_in(address(source), NOW, name, password)
        };
        for number in 0..10 {
            let guess = log_in("192.0.2.1", "good", &format!("guess {number}"));
            assert_eq!(guess, Err(Refusal::Credentials));
        }
        for number in 0..2_000 {
            let guess = log_in("192.0.2.1", &format!("name {number}"), "guess");
            assert_eq!(guess, Err(Refusal::Credentials), "{number}");
        }
        assert_eq!(wait_s(&log_in("192.0.2.1", "good", "right")), Some(60));
        for number in 0..40 {
            assert!(log_in(&format!("198.51.100.{number}"), "good", "right").is_ok());
        }
        let counts = lock_ignoring_poison(&guesses.counts);
        let known: Vec<SourcePrefix> = counts.known["good"].iter().map(|it| it.source).collect();
        let latest = (8..40).map(|number| address(&format!("198.51.100.{number}")));
        assert_eq!(known, latest.map(|it| Source::of(it).prefix()).collect::<Vec<_>>());
    }
}
