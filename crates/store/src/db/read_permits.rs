//! Permits for long reads, shared out by account: one account cannot take them all, and waiting
//! accounts are served in turn.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use kiosque_locks::lock_ignoring_poison;
use kiosque_model::AccountNo;
use kiosque_model::shares::ShareCounts;
use tokio::sync::oneshot;

use crate::error::Error;

/// A pool of permits. Each account may hold at most half of them, and at least one.
#[derive(Debug)]
pub(super) struct ReadPermits {
    pool: Arc<Mutex<Pool>>,
    total: usize,
}

/// The right to run one long read; returned to the pool when it is dropped.
#[derive(Debug)]
pub(super) struct ReadPermit {
    account: AccountNo,
    /// `None` in a permit that no read accepted.
    pool: Option<Arc<Mutex<Pool>>>,
}

#[derive(Debug)]
struct Pool {
    permits: ShareCounts<AccountNo>,
    /// The accounts with waiting reads, the next one first.
    waiting: VecDeque<WaitingAccount>,
}

#[derive(Debug)]
struct WaitingAccount {
    account: AccountNo,
    reads: VecDeque<oneshot::Sender<ReadPermit>>,
}

impl ReadPermits {
    /// Returns as many permits as long reads may run concurrently on these cores: one more, because
    /// a read that waits for the disk uses no core.
    pub(super) fn for_cores(cores: usize) -> ReadPermits {
        let total = cores + 1;
        let pool = Pool { permits: ShareCounts::new(total), waiting: VecDeque::new() };
        ReadPermits { pool: Arc::new(Mutex::new(pool)), total }
    }

    /// Returns the number of permits.
    pub(super) fn total(&self) -> usize {
        self.total
    }

    /// Waits for a permit of an account.
    ///
    /// # Errors
    /// [`Error::TooMuchWork`] if there is none by `ends`.
    pub(super) async fn acquire(
        &self,
        account: AccountNo,
        ends: Instant,
    ) -> Result<ReadPermit, Error> {
        let granted = {
            let mut pool = lock_ignoring_poison(&self.pool);
            if pool.permits.take(account).is_ok() {
                return Ok(ReadPermit { account, pool: Some(Arc::clone(&self.pool)) });
            }
            pool.wait(account)
        };
        match tokio::time::timeout_at(ends.into(), granted).await {
            Ok(granted) => granted.map_err(|_| Error::Gone),
            Err(_) => Err(Error::TooMuchWork("earlier reads of the account took its share")),
        }
    }
}

impl Pool {
    fn wait(&mut self, account: AccountNo) -> oneshot::Receiver<ReadPermit> {
        let (grant, granted) = oneshot::channel();
        match self.waiting.iter_mut().find(|waiting| waiting.account == account) {
            Some(waiting) => waiting.reads.push_back(grant),
            None => {
                self.waiting.push_back(WaitingAccount { account, reads: VecDeque::from([grant]) });
            }
        }
        granted
    }

    /// Grants free permits to waiting reads: one to each account in turn.
    fn grant(&mut self, permits: &Arc<Mutex<Pool>>) {
        // Each turn grants a permit, or finds that the account has no share left or no read that
        // still waits.
        let mut without_grant = 0;
        while self.permits.free() > 0 && without_grant < self.waiting.len() {
            let Some(mut waiting) = self.waiting.pop_front() else { return };
            let account = waiting.account;
            let mut is_granted = false;
            while !is_granted && !waiting.reads.is_empty() && self.permits.take(account).is_ok() {
                is_granted = waiting.reads.pop_front().is_some_and(|read| {
                    let permit = ReadPermit { account, pool: Some(Arc::clone(permits)) };
                    // The caller of a read that no longer waits has gone.
                    read.send(permit).map_err(ReadPermit::disarm).is_ok()
                });
                if !is_granted {
                    self.permits.give_back(&account);
                }
            }
            without_grant = if is_granted { 0 } else { without_grant + 1 };
            if !waiting.reads.is_empty() {
                self.waiting.push_back(waiting);
            }
        }
    }
}

impl ReadPermit {
    /// Drops the permit without returning it to the pool.
    fn disarm(mut self) {
        self.pool = None;
    }
}

impl Drop for ReadPermit {
    fn drop(&mut self) {
        let Some(permits) = self.pool.take() else { return };
        let mut pool = lock_ignoring_poison(&permits);
        pool.permits.give_back(&self.account);
        pool.grant(&permits);
    }
}

#[cfg(test)]
mod tests {
    use std::pin::{Pin, pin};
    use std::task::{Context, Poll, Waker};
    use std::time::Duration;

    use super::*;

    const A: AccountNo = AccountNo(1);
    const B: AccountNo = AccountNo(2);
    const C: AccountNo = AccountNo(3);

    fn later() -> Instant {
        Instant::now() + Duration::from_secs(3_600)
    }

    fn poll<F: Future>(future: Pin<&mut F>) -> Option<F::Output> {
        match future.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(done) => Some(done),
            Poll::Pending => None,
        }
    }

    #[tokio::test]
    async fn one_account_holds_half_of_the_permits_at_most() {
        for (cores, account_max) in [(1, 1), (2, 1), (3, 2), (8, 4)] {
            let permits = ReadPermits::for_cores(cores);
            let mut held = Vec::new();
            for account in [A, B] {
                for _ in 0..account_max {
                    held.push(permits.acquire(account, later()).await.expect("a share"));
                }
                if account == A {
                    assert!(poll(pin!(permits.acquire(A, later()))).is_none(), "{cores} cores");
                }
            }
            drop(held);
            assert_eq!(lock_ignoring_poison(&permits.pool).permits.free(), cores + 1);
        }
    }

    #[tokio::test]
    async fn waiting_accounts_are_served_in_turn() {
        let permits = ReadPermits::for_cores(1);
        let first = permits.acquire(A, later()).await.expect("a share");
        let other = permits.acquire(B, later()).await.expect("a share");
        let (mut a1, mut a2) =
            (pin!(permits.acquire(A, later())), pin!(permits.acquire(A, later())));
        let (mut b1, mut c1) =
            (pin!(permits.acquire(B, later())), pin!(permits.acquire(C, later())));
        assert!(poll(a1.as_mut()).is_none() && poll(a2.as_mut()).is_none());
        assert!(poll(b1.as_mut()).is_none() && poll(c1.as_mut()).is_none());
        drop(first);
        let a1 = poll(a1.as_mut()).expect("A is first").expect("a permit");
        assert!(poll(c1.as_mut()).is_none());
        drop(other);
        let b1 = poll(b1.as_mut()).expect("B is next").expect("a permit");
        // A has a second read, but C has not had a turn.
        drop(a1);
        let c1 = poll(c1.as_mut()).expect("C is next").expect("a permit");
        assert!(poll(a2.as_mut()).is_none());
        drop(b1);
        assert!(poll(a2.as_mut()).is_some());
        drop(c1);
    }

    #[tokio::test]
    async fn a_read_that_no_longer_waits_takes_no_permit() {
        let permits = ReadPermits::for_cores(1);
        let held = permits.acquire(A, later()).await.expect("a share");
        {
            let mut gone = pin!(permits.acquire(A, later()));
            assert!(poll(gone.as_mut()).is_none());
        }
        let mut waits = pin!(permits.acquire(A, later()));
        assert!(poll(waits.as_mut()).is_none());
        // Granted, and cancelled before it could begin.
        {
            let mut granted = pin!(permits.acquire(A, later()));
            assert!(poll(granted.as_mut()).is_none());
            drop(held);
            let permit = poll(waits.as_mut()).expect("a permit");
            drop(permit);
        }
        let pool = lock_ignoring_poison(&permits.pool);
        assert_eq!((pool.permits.free(), pool.waiting.len()), (2, 0));
    }

    #[tokio::test]
    async fn a_share_that_is_taken_for_too_long_is_too_much_work() {
        let permits = ReadPermits::for_cores(1);
        let _held = permits.acquire(A, later()).await.expect("a share");
        let refused = permits.acquire(A, Instant::now()).await;
        assert!(matches!(refused, Err(Error::TooMuchWork(_))), "{refused:?}");
        assert!(permits.acquire(B, Instant::now()).await.is_ok());
    }
}
