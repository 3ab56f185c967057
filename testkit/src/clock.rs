//! A clock that tests set.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use kiosque_clock::Clock;
use kiosque_model::UnixMs;

/// A clock that shows the same time until a test changes it. Clones show the same time.
#[derive(Clone, Debug)]
pub struct ManualClock(Arc<AtomicI64>);

impl ManualClock {
    /// Returns a clock that shows `time`.
    pub fn new(time: UnixMs) -> ManualClock {
        ManualClock(Arc::new(AtomicI64::new(time.0)))
    }

    /// Returns the clock in the form that the program takes.
    pub fn clock(&self) -> Clock {
        Clock::Manual(Arc::clone(&self.0))
    }

    /// Returns the time shown.
    pub fn now(&self) -> UnixMs {
        UnixMs(self.0.load(Ordering::SeqCst))
    }

    /// Shows `time` from now on.
    pub fn set(&self, time: UnixMs) {
        self.0.store(time.0, Ordering::SeqCst);
    }

    /// Moves the time forward, in whole milliseconds.
    pub fn advance(&self, by: Duration) {
        let ms = i64::try_from(by.as_millis()).unwrap();
        self.0.fetch_add(ms, Ordering::SeqCst);
    }
}
