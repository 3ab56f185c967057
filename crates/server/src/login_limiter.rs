//! Limits failed logins: a login from an unknown source takes a token of its failure buckets before
//! its password is verified (LIM-7). [`crate::failure_buckets`] has the buckets.

use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use kiosque_locks::lock_ignoring_poison;
use kiosque_model::{Limits, Place, Refusal};
use tokio::sync::{Notify, Semaphore};
use tokio::time::{Instant, timeout_at};

use crate::failure_buckets::{Ended, FailureBuckets, KEY_BYTES, Limited, Taken};
use kiosque_clock::Clock;

/// The gate.
#[derive(Debug)]
pub(crate) struct LoginLimiter {
    attempts: Mutex<FailureBuckets>,
    settled: Notify,
    /// Those that may wait for what others give back: as many as may wait for a hash slot.
    waiting: Semaphore,
    patience: Duration,
}

/// An attempt that passed the gate. It counts as failed unless it says otherwise: a caller that
/// hangs up must not guess for free.
pub(crate) struct Attempt<'a> {
    gate: &'a LoginLimiter,
    taken: Taken,
    ended: Ended,
}

impl Attempt<'_> {
    /// The attempt ended without a wrong password.
    pub(crate) fn did_not_fail(&mut self) {
        self.ended = Ended::Otherwise;
    }
}

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        self.gate.attempts().settle(&self.taken, self.ended);
        self.gate.settled.notify_waiters();
    }
}

impl LoginLimiter {
    pub(crate) fn new(limits: &Limits, key: [u8; KEY_BYTES]) -> LoginLimiter {
        LoginLimiter {
            attempts: Mutex::new(FailureBuckets::new(limits, key)),
            settled: Notify::new(),
            waiting: Semaphore::new(limits.hash_queue),
            patience: limits.hash_wait,
        }
    }

    /// Passes, or says when to come again. Workers that all log in for the first time at once, with
    /// the right password, are more than may fail: who is limited by them alone waits a little.
    pub(crate) async fn pass(
        &self,
        typed_name: &str,
        place: Place,
        clock: &Clock,
    ) -> Result<Attempt<'_>, Refusal> {
        let patience_ends = Instant::now() + self.patience;
        let mut waiting = None;
        loop {
            let settled = self.settled.notified();
            let limited = match self.attempts().take(typed_name, place, clock.now()) {
                Ok(taken) => return Ok(Attempt { gate: self, taken, ended: Ended::Failed }),
                Err(limited) => limited,
            };
            if !limited.others_under_way {
                return Err(refusal(limited));
            }
            if waiting.is_none() {
                waiting = Some(self.waiting.try_acquire().map_err(|_| refusal(limited))?);
            }
            let patient = timeout_at(patience_ends, settled).await;
            patient.map_err(|_| refusal(limited))?;
        }
    }

    fn attempts(&self) -> MutexGuard<'_, FailureBuckets> {
        lock_ignoring_poison(&self.attempts)
    }
}

fn refusal(limited: Limited) -> Refusal {
    let seconds = limited.wait_ms.div_euclid(1_000) + i64::from(limited.wait_ms % 1_000 > 0);
    Refusal::TooManyFailures { retry_after_s: u32::try_from(seconds.max(1)).unwrap_or(u32::MAX) }
}
