//! Limits failed logins: a login from an unknown source takes a token of its failure buckets before
//! its password is verified (LIM-7). [`kiosque_model::failure_buckets`] has the buckets.

use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use kiosque_locks::lock_ignoring_poison;
use kiosque_model::failure_buckets::{Ended, FailureBuckets, KEY_BYTES, TakenTokens};
use kiosque_model::{Limits, Refusal, SourcePrefix};
use tokio::sync::{Notify, Semaphore};
use tokio::time::{Instant, timeout_at};

use kiosque_clock::Clock;

/// A rate limiter for failed logins.
#[derive(Debug)]
pub(crate) struct LoginLimiter {
    attempts: Mutex<FailureBuckets>,
    settled: Notify,
    /// Attempts that may wait for a returned token: as many as may wait for a hash slot.
    waiting: Semaphore,
    wait_max: Duration,
}

/// An admitted attempt. It counts as failed unless [`Attempt::did_not_fail`] is called, so that a
/// caller that disconnects cannot guess for free.
pub(crate) struct Attempt<'a> {
    limiter: &'a LoginLimiter,
    taken: TakenTokens,
    ended: Ended,
}

impl Attempt<'_> {
    /// Returns whether this is the first attempt of its source in a day.
    pub(crate) fn is_first(&self) -> bool {
        self.taken.is_first()
    }

    /// Records that the attempt ended without a wrong password.
    pub(crate) fn did_not_fail(&mut self) {
        self.ended = Ended::Otherwise;
    }
}

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        self.limiter.attempts().settle(&self.taken, self.ended);
        self.limiter.settled.notify_waiters();
    }
}

impl LoginLimiter {
    pub(crate) fn new(limits: &Limits, key: [u8; KEY_BYTES]) -> LoginLimiter {
        LoginLimiter {
            attempts: Mutex::new(FailureBuckets::new(limits, key)),
            settled: Notify::new(),
            waiting: Semaphore::new(limits.hash_queue),
            wait_max: limits.hash_wait,
        }
    }

    /// Admits an attempt, or returns the time to wait. Many workers may log in for the first time
    /// at once, with the right password: an attempt that is only limited by attempts in progress
    /// waits for a returned token.
    pub(crate) async fn admit(
        &self,
        typed_name: &str,
        prefix: SourcePrefix,
        clock: &Clock,
    ) -> Result<Attempt<'_>, Refusal> {
        let deadline = Instant::now() + self.wait_max;
        let mut waiting = None;
        loop {
            let settled = self.settled.notified();
            let limited = match self.attempts().take(typed_name, prefix, clock.now()) {
                Ok(taken) => return Ok(Attempt { limiter: self, taken, ended: Ended::Failed }),
                Err(limited) => limited,
            };
            if !limited.may_be_returned {
                return Err(limited.into());
            }
            if waiting.is_none() {
                waiting = Some(self.waiting.try_acquire().map_err(|_| limited)?);
            }
            let in_time = timeout_at(deadline, settled).await;
            in_time.map_err(|_| limited)?;
        }
    }

    fn attempts(&self) -> MutexGuard<'_, FailureBuckets> {
        lock_ignoring_poison(&self.attempts)
    }
}
