//! Locks of the standard library without poisoning.
//!
//! A lock is poisoned when a thread panics while holding it, because the value may be half changed.
//! The values behind our locks are valid after every statement that changes them. The state after a
//! panic is documented at the value where it matters, and is never unsound. Refusing every later
//! request instead would turn one panic into an outage.

use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Locks a mutex, whether or not a thread panicked while holding it.
pub fn lock_ignoring_poison<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Locks for reading, whether or not a thread panicked while holding the lock.
pub fn read_ignoring_poison<T: ?Sized>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

/// Locks for writing, whether or not a thread panicked while holding the lock.
pub fn write_ignoring_poison<T: ?Sized>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_under_a_lock_stops_no_other_thread() {
        let (mutex, lock) = (Mutex::new(1), RwLock::new(1));
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _mutex = mutex.lock();
            let _lock = lock.write();
            panic!("while holding both");
        }));
        assert!(panicked.is_err() && mutex.is_poisoned() && lock.is_poisoned());
        *lock_ignoring_poison(&mutex) += 1;
        *write_ignoring_poison(&lock) += 1;
        assert_eq!((*lock_ignoring_poison(&mutex), *read_ignoring_poison(&lock)), (2, 2));
    }
}
