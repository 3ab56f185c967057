//! Memory of large answers: those that are sent in parts, because they are longer than one part.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use kiosque_listener::Content;
use kiosque_locks::lock_ignoring_poison;
use kiosque_model::{AccountNo, Limits};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::answer::Data;
use crate::failure::Failure;

/// The usual length of a part. Answers up to this length are not large.
pub(crate) const PART_BYTES: usize = 256 << 10;
/// The memory of an answer in parts: the part being sent, and the next one.
pub(crate) const PARTS_BYTES: usize = 2 * PART_BYTES;
/// The unit of permits.
const UNIT_BYTES: usize = 1 << 10;
/// One account may use this fraction of the memory.
const SHARES: usize = 4;

/// Permits for the memory of large answers, in total and for each account.
#[derive(Debug)]
pub(crate) struct LargeAnswers {
    all: Arc<Semaphore>,
    units: usize,
    share: usize,
    /// Only accounts with a live session have an entry.
    accounts: Mutex<HashMap<AccountNo, Arc<Semaphore>>>,
    wait: Duration,
}

/// Memory of a large answer, until it is dropped.
#[derive(Debug)]
pub(crate) struct LargeAnswerPermit {
    _of_account: OwnedSemaphorePermit,
    _of_all: OwnedSemaphorePermit,
}

impl LargeAnswers {
    pub(crate) fn new(limits: &Limits) -> LargeAnswers {
        let units = (limits.large_answers_max_bytes / UNIT_BYTES).clamp(1, Semaphore::MAX_PERMITS);
        LargeAnswers {
            all: Arc::new(Semaphore::new(units)),
            units,
            share: units.div_ceil(SHARES),
            accounts: Mutex::default(),
            wait: limits.store_wait,
        }
    }

    /// Returns a permit if memory for `bytes` is free now. An answer that is larger than its
    /// account's share takes the whole share.
    pub(crate) fn try_admit(&self, account: AccountNo, bytes: usize) -> Option<LargeAnswerPermit> {
        let (of_account, units) = self.of(account, bytes);
        Some(LargeAnswerPermit {
            _of_account: of_account.try_acquire_many_owned(units).ok()?,
            _of_all: Arc::clone(&self.all).try_acquire_many_owned(units).ok()?,
        })
    }

    /// Returns a permit once memory for `bytes` is free.
    ///
    /// # Errors
    /// None was free for as long as a request may wait.
    pub(crate) async fn admit(
        &self,
        account: AccountNo,
        bytes: usize,
    ) -> Result<LargeAnswerPermit, Failure> {
        let (of_account, units) = self.of(account, bytes);
        let acquire = async {
            // The share first: those who wait for theirs withhold nothing from others.
            let of_account = of_account.acquire_many_owned(units).await.ok()?;
            let of_all = Arc::clone(&self.all).acquire_many_owned(units).await.ok()?;
            Some(LargeAnswerPermit { _of_account: of_account, _of_all: of_all })
        };
        let permit = tokio::time::timeout(self.wait, acquire).await.ok().flatten();
        permit.ok_or_else(LargeAnswers::busy)
    }

    /// Returns an answer that is already JSON. A large one holds a permit until it has been sent.
    ///
    /// # Errors
    /// No memory is free.
    pub(crate) fn admit_whole<T>(
        &self,
        account: AccountNo,
        mut json: Vec<u8>,
    ) -> Result<Data<T>, Failure> {
        if json.len() <= PART_BYTES {
            return Ok(Data::of_json(json));
        }
        let permit = self.try_admit(account, json.len()).ok_or_else(LargeAnswers::busy)?;
        let later = Bytes::from(json.split_off(PART_BYTES));
        let later = stream::unfold((later, permit), |(mut later, permit)| async move {
            let part = later.split_to(later.len().min(PART_BYTES));
            (!part.is_empty()).then_some((Ok(part), (later, permit)))
        });
        Ok(Data::of_json(Content::in_parts(json.into(), Box::pin(later))))
    }

    /// Returns the failure of a request for whose answer there is no memory.
    pub(crate) fn busy() -> Failure {
        Failure::busy("too many large answers are being sent; read them, then try again")
    }

    /// Returns the memory in use, in units of 1 KiB.
    pub(crate) fn used(&self) -> usize {
        self.units.saturating_sub(self.all.available_permits())
    }

    fn of(&self, account: AccountNo, bytes: usize) -> (Arc<Semaphore>, u32) {
        let share = || Arc::new(Semaphore::new(self.share));
        let mut accounts = lock_ignoring_poison(&self.accounts);
        let of_account = Arc::clone(accounts.entry(account).or_insert_with(share));
        let units = bytes.div_ceil(UNIT_BYTES).clamp(1, self.share);
        (of_account, u32::try_from(units).unwrap_or(u32::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn one_account_leaves_most_of_the_memory_to_others() {
        let limits = Limits {
            large_answers_max_bytes: 8 * PARTS_BYTES,
            store_wait: Duration::ZERO,
            ..Limits::default()
        };
        let answers = LargeAnswers::new(&limits);
        let [one, two] = [AccountNo(1), AccountNo(2)];
        let first = answers.try_admit(one, PARTS_BYTES).expect("a quarter is two answers");
        let second = answers.admit(one, PARTS_BYTES).await.expect("a quarter is two answers");
        assert!(answers.try_admit(one, 1).is_none());
        assert!(answers.admit(one, 1).await.is_err());
        let whole = answers.try_admit(two, usize::MAX).expect("all of the share of the other");
        assert!(answers.try_admit(two, 1).is_none());
        drop((first, whole));
        assert!(answers.try_admit(one, PARTS_BYTES).is_some());
        assert!(answers.try_admit(two, 1).is_some());
        drop(second);
        let others: Vec<_> =
            (3..8).filter_map(|other| answers.try_admit(AccountNo(other), usize::MAX)).collect();
        assert_eq!(others.len(), SHARES, "the memory of all accounts is bounded");
    }
}
