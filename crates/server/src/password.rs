//! Password hashing on blocking threads, with a limit on concurrent hashes. An unknown login name
//! takes the same work as a known one.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use kiosque_locks::lock_ignoring_poison;
use kiosque_model::Limits;
use kiosque_password::{UNMATCHABLE, WorkingMemory, verify_in};
use tokio::sync::Semaphore;

use crate::failure::Failure;

/// Permits for concurrent password hashes, with a bounded queue.
#[derive(Debug)]
pub(crate) struct HashSlots {
    slots: Arc<Semaphore>,
    queue: Arc<Semaphore>,
    capacity: usize,
    slot_count: usize,
    wait: Duration,
    memory: Arc<Mutex<Vec<WorkingMemory>>>,
}

/// The part of the queue for a slot that a login may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QueueShare {
    All,
    /// The other half is for logins that may use all of it.
    Half,
}

impl HashSlots {
    pub(crate) fn new(limits: &Limits) -> HashSlots {
        let capacity = limits.hash_slots + limits.hash_queue;
        HashSlots {
            slots: Arc::new(Semaphore::new(limits.hash_slots)),
            queue: Arc::new(Semaphore::new(capacity)),
            capacity,
            slot_count: limits.hash_slots,
            wait: limits.hash_wait,
            memory: Arc::default(),
        }
    }

    /// Returns whether a password matches a hash, verified in a slot. Without a hash it takes the
    /// same work and does not match.
    ///
    /// # Errors
    /// The queue is full, or no slot became free in time.
    pub(crate) async fn verify(
        &self,
        hash: Option<String>,
        password: String,
        share: QueueShare,
    ) -> Result<bool, Failure> {
        let busy = || Failure::busy("too many logins at a time; try again");
        let reserved = match share {
            QueueShare::All => 0,
            QueueShare::Half => self.capacity.saturating_sub(self.slot_count) / 2,
        };
        if self.queue.available_permits() <= reserved {
            return Err(busy());
        }
        let _queued = Arc::clone(&self.queue).try_acquire_owned().map_err(|_| busy())?;
        let slot = tokio::time::timeout(self.wait, Arc::clone(&self.slots).acquire_owned()).await;
        let Ok(Ok(slot)) = slot else {
            return Err(Failure::busy("the login waited too long for a hash slot; try again"));
        };
        let free = Arc::clone(&self.memory);
        let queue = Arc::clone(&self.queue);
        let capacity = self.capacity;
        let compared = tokio::task::spawn_blocking(move || {
            // The task owns the slot, since it continues if the caller disconnects.
            let _slot = slot;
            let mut memory = lock_ignoring_poison(&free).pop().unwrap_or_default();
            let stored = hash.as_deref().unwrap_or(UNMATCHABLE);
            let matches = verify_in(&mut memory, stored, &password);
            // Working memory is reused while logins wait, and freed otherwise.
            if capacity.saturating_sub(queue.available_permits()) > 1 {
                lock_ignoring_poison(&free).push(memory);
            } else {
                lock_ignoring_poison(&free).clear();
            }
            matches && hash.is_some()
        });
        compared.await.map_err(|error| Failure::internal(&error))
    }

    /// Returns the number of logins being hashed and the number waiting for a slot.
    pub(crate) fn load(&self) -> (usize, usize) {
        // The queue is read first: a login takes its permit before a slot's.
        let all = self.capacity.saturating_sub(self.queue.available_permits());
        let hashing = self.slot_count.saturating_sub(self.slots.available_permits());
        (hashing, all.saturating_sub(hashing))
    }

    /// Runs other password work in a slot, waiting for one without a limit.
    pub(crate) async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Failure> {
        let slot = Arc::clone(&self.slots).acquire_owned().await;
        let slot = slot.map_err(|closed| Failure::internal(&closed))?;
        let done = tokio::task::spawn_blocking(move || {
            let _slot = slot;
            work()
        });
        done.await.map_err(|error| Failure::internal(&error))
    }
}
