//! A limit on wrong passwords by source, so that a process on this machine cannot guess the
//! account's password here without limit (LIM-7).

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Mutex;

use kiosque_locks::lock_ignoring_poison;
use kiosque_model::{Refusal, UnixMs};

/// Wrong passwords that a source may send in a row.
const FAILURES_MAX: i64 = 10;
/// The time after which a source may send one more.
const FAILURE_EVERY_MS: i64 = 60_000;
/// The largest number of sources that are counted; when there are more, all counts begin anew.
const SOURCES_MAX: usize = 1_024;

/// The wrong passwords of each source, as the time at which they are all forgotten.
#[derive(Debug, Default)]
pub(crate) struct Guesses(Mutex<HashMap<IpAddr, UnixMs>>);

impl Guesses {
    /// Records a login, and returns the worker that was `found` with its name and password.
    ///
    /// # Errors
    /// The password is wrong, or the source has sent too many wrong ones.
    pub(crate) fn check<T>(
        &self,
        source: IpAddr,
        now: UnixMs,
        found: Option<T>,
    ) -> Result<T, Refusal> {
        let mut sources = lock_ignoring_poison(&self.0);
        let forgotten_at = sources.get(&source).copied().unwrap_or(now).max(now);
        let next = forgotten_at.plus_ms(FAILURE_EVERY_MS);
        let too_long = next.0 - now.0 - FAILURES_MAX * FAILURE_EVERY_MS;
        if too_long > 0 {
            let retry_after_s = u32::try_from((too_long + 999) / 1_000).unwrap_or(u32::MAX);
            return Err(Refusal::TooManyFailures { retry_after_s });
        }
        if let Some(found) = found {
            return Ok(found);
        }
        if sources.len() >= SOURCES_MAX {
            sources.clear();
        }
        sources.insert(source, next);
        Err(Refusal::Credentials)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// LIM-7: after ten wrong passwords no further one is compared for a while, and the right one
    /// is refused as well.
    #[test]
    fn wrong_passwords_are_limited_by_source() {
        let (guesses, source, now) = (Guesses::default(), [127, 0, 0, 1].into(), UnixMs(1_000));
        let (right, wrong) = (Some(()), None::<()>);
        for _ in 0..FAILURES_MAX {
            assert_eq!(guesses.check(source, now, right), Ok(()));
            assert_eq!(guesses.check(source, now, wrong), Err(Refusal::Credentials));
        }
        let limited = |retry_after_s| Err(Refusal::TooManyFailures { retry_after_s });
        for login in [right, wrong] {
            assert_eq!(guesses.check(source, now, login), limited(60));
        }
        assert_eq!(guesses.check([127, 0, 0, 2].into(), now, right), Ok(()));
        assert_eq!(guesses.check(source, now.plus_ms(59_999), right), limited(1));
        let later = now.plus_ms(60_000);
        assert_eq!(guesses.check(source, later, wrong), Err(Refusal::Credentials));
        assert_eq!(guesses.check(source, later, right), limited(60));
    }
}
