//! A limit of once a second.

use std::sync::atomic::{AtomicI64, Ordering};

use kiosque_model::UnixMs;

/// Permits something once a second, so that callers can neither fill the log nor cause many writes.
#[derive(Debug)]
pub(crate) struct OncePerSecond(AtomicI64);

impl OncePerSecond {
    pub(crate) const fn new() -> OncePerSecond {
        OncePerSecond(AtomicI64::new(i64::MIN))
    }

    /// Returns whether a second has passed since this was last true, or the clock was set back.
    pub(crate) fn permits(&self, now: UnixMs) -> bool {
        let last = self.0.load(Ordering::Relaxed);
        let order = Ordering::Relaxed;
        now.0.abs_diff(last) >= 1_000 && self.0.compare_exchange(last, now.0, order, order).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callers_cannot_fill_the_log() {
        let limit = OncePerSecond::new();
        let lines = (0..10).filter(|number| limit.permits(UnixMs(5_000 + number * 250)));
        assert_eq!(lines.count(), 3);
        assert!(limit.permits(UnixMs(0)), "a clock that is set back");
        assert!(!limit.permits(UnixMs(999)));
    }
}
