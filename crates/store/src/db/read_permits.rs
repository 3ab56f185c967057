//! Permits for long reads, shared out by account: one account cannot take them all, and waiting
//! accounts are served in turn.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use kiosque_locks::lock_ignoring_poison;
use kiosque_model::AccountNo;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::error::Error;

/// A pool of permits. Each account may hold at most half of them, and at least one.
#[derive(Debug)]
pub(super) struct ReadPermits {
    total: usize,
    pool: Arc<Semaphore>,
    /// The accounts with reads that run or wait, and others until the next read.
    accounts: Mutex<HashMap<AccountNo, Arc<Share>>>,
}

/// The share of an account.
#[derive(Debug)]
struct Share {
    permits: Arc<Semaphore>,
    /// Held by the read of the account that waits for the pool: further ones would wait before the
    /// reads of other accounts.
    turn: tokio::sync::Mutex<()>,
}

/// The right to run one long read; returned when it is dropped, first to the pool: other accounts
/// that wait come before the next read of this one.
#[derive(Debug)]
pub(super) struct ReadPermit {
    _of_pool: OwnedSemaphorePermit,
    _of_share: OwnedSemaphorePermit,
    _share: Arc<Share>,
}

impl ReadPermits {
    /// Returns as many permits as long reads may run concurrently on these cores: one more, because
    /// a read that waits for the disk uses no core.
    pub(super) fn for_cores(cores: usize) -> ReadPermits {
        let total = cores + 1;
        ReadPermits { total, pool: Arc::new(Semaphore::new(total)), accounts: Mutex::default() }
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
        let share = self.share(account);
        let granted = async {
            let of_share = Arc::clone(&share.permits).acquire_owned().await;
            let _turn = share.turn.lock().await;
            (of_share, Arc::clone(&self.pool).acquire_owned().await)
        };
        match tokio::time::timeout_at(ends.into(), granted).await {
            Ok((Ok(of_share), Ok(of_pool))) => {
                Ok(ReadPermit { _of_pool: of_pool, _of_share: of_share, _share: share })
            }
            Ok(_) => Err(Error::Gone),
            Err(_) => Err(Error::TooMuchWork("earlier reads of the account took its share")),
        }
    }

    fn share(&self, account: AccountNo) -> Arc<Share> {
        let mut accounts = lock_ignoring_poison(&self.accounts);
        accounts.retain(|_, share| Arc::strong_count(share) > 1);
        let new = || {
            let permits = Arc::new(Semaphore::new((self.total / 2).max(1)));
            Arc::new(Share { permits, turn: tokio::sync::Mutex::default() })
        };
        Arc::clone(accounts.entry(account).or_insert_with(new))
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
            assert_eq!(permits.pool.available_permits(), cores + 1);
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
        let c1 = poll(c1.as_mut()).expect("C has had no turn").expect("a permit");
        assert!(poll(a1.as_mut()).is_none());
        drop(other);
        let a1 = poll(a1.as_mut()).expect("A is next").expect("a permit");
        assert!(poll(b1.as_mut()).is_none());
        // A has a second read, but B has waited longer.
        drop(a1);
        assert!(poll(a2.as_mut()).is_none());
        let b1 = poll(b1.as_mut()).expect("B is next").expect("a permit");
        drop(c1);
        assert!(poll(a2.as_mut()).is_some());
        drop(b1);
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
        assert_eq!(permits.pool.available_permits(), 2);
        let _other = permits.acquire(B, later()).await.expect("a share");
        assert_eq!(lock_ignoring_poison(&permits.accounts).len(), 1);
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
