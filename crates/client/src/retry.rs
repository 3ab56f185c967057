//! Retries of calls that read.

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use kiosque_clock::Entropy;

use crate::jitter;

/// Maximum attempts of one call, including the first one.
pub(crate) const TRIES_MAX: u32 = 4;
/// The maximum `Retry-After` that is obeyed. A longer one is left to the caller.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(60);

/// The remaining retries of all calls. Each call adds a fifth of a retry, so that a server that
/// fails every call gets a fifth more requests than calls, not four times as many.
#[derive(Debug)]
pub(crate) struct RetryBudget(AtomicU32);

/// Retries are counted in fifths.
const RETRY: u32 = 5;
const BUDGET_MAX: u32 = 10 * RETRY;

impl Default for RetryBudget {
    fn default() -> RetryBudget {
        RetryBudget(AtomicU32::new(BUDGET_MAX))
    }
}

impl RetryBudget {
    pub(crate) fn call_made(&self) {
        self.0.update(Relaxed, Relaxed, |fifths| (fifths + 1).min(BUDGET_MAX));
    }

    /// Takes a retry; false if none is left.
    pub(crate) fn take(&self) -> bool {
        self.0.try_update(Relaxed, Relaxed, |fifths| fifths.checked_sub(RETRY)).is_ok()
    }
}

/// Returns the wait before the next attempt, or `None` if the call is not tried again. `first` is
/// the wait after the first attempt, unless the answer has a `Retry-After`.
pub(crate) fn wait(
    entropy: &Entropy,
    first: Duration,
    tries: u32,
    retry_after: Option<Duration>,
) -> Option<Duration> {
    if tries >= TRIES_MAX {
        return None;
    }
    match retry_after {
        Some(after) if after > RETRY_AFTER_MAX => None,
        Some(after) => Some(after + jitter::below(entropy, Duration::from_secs(1))),
        None => Some(jitter::before_retry(entropy, first, tries)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_fifth_of_the_calls_may_be_repeated() {
        let budget = RetryBudget::default();
        let mut taken = 0;
        for _ in 0..1_000 {
            budget.call_made();
            while budget.take() {
                taken += 1;
            }
        }
        // The first ten are there at the beginning, less the part that did not fit.
        assert_eq!(taken, 10 + 999 / 5);
    }

    #[test]
    fn waits_double_and_have_a_random_part() {
        let most = Entropy::from_fn(|bytes| {
            bytes.fill(u8::MAX);
            Ok(())
        });
        let waits =
            [1, 2, 3, 4].map(|tries| wait(&most, SECOND, tries, None).map(|wait| wait.as_millis()));
        assert_eq!(waits, [Some(2_000), Some(3_000), Some(5_000), None]);
        let least = Entropy::from_fn(|bytes| {
            bytes.fill(0);
            Ok(())
        });
        assert_eq!(wait(&least, SECOND, 3, None), Some(Duration::from_secs(4)));
        let seven = Some(Duration::from_secs(7));
        assert_eq!(wait(&least, SECOND, 1, seven), seven);
        assert_eq!(wait(&most, SECOND, 1, seven), Some(Duration::from_secs(8)));
        assert_eq!(wait(&least, SECOND, 1, Some(Duration::from_secs(61))), None);
    }
}
