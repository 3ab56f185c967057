//! Cooperative yielding for CPU-bound loops. Without it, a request that becomes runnable on the
//! same core waits for a scheduler tick (4 ms) or more.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// How long a thread works before it yields.
const YIELD_INTERVAL: Duration = Duration::from_micros(100);
/// A request releases the core within this time. If the core comes back later, it went to another
/// CPU-bound thread; yielding to that thread every time would starve this one, so it backs off.
const REQUEST_MAX: Duration = Duration::from_millis(2);
/// The time without yields after the core came back late. Doubles each consecutive time, up to the
/// maximum.
const BACKOFF_INITIAL: Duration = Duration::from_millis(10);
const BACKOFF_MAX: Duration = Duration::from_millis(160);

/// When a thread yields next.
#[derive(Clone, Copy)]
struct YieldState {
    /// When the thread last got its core back.
    running_since: Option<Instant>,
    backoff_until: Option<Instant>,
    /// The length of the next back-off.
    backoff: Duration,
}

impl YieldState {
    const INITIAL: YieldState =
        YieldState { running_since: None, backoff_until: None, backoff: BACKOFF_INITIAL };

    /// Returns whether the thread should yield now.
    fn is_due(self, now: Instant) -> bool {
        let has_run = |since| now.duration_since(since) >= YIELD_INTERVAL;
        self.running_since.is_none_or(has_run) && self.backoff_until.is_none_or(|it| it <= now)
    }

    /// Returns the state after a yield.
    fn after_yield(self, yielded: Instant, resumed: Instant) -> YieldState {
        let running_since = Some(resumed);
        if resumed.duration_since(yielded) <= REQUEST_MAX {
            return YieldState { running_since, ..YieldState::INITIAL };
        }
        let backoff_until = Some(resumed + self.backoff);
        let backoff = (self.backoff * 2).min(BACKOFF_MAX);
        YieldState { running_since, backoff_until, backoff }
    }
}

thread_local! {
    static STATE: Cell<YieldState> = const { Cell::new(YieldState::INITIAL) };
}

/// Yields the core if this thread has worked long enough. Call it for each row or line of a loop.
pub fn yield_if_due() {
    let state = STATE.get();
    let now = Instant::now();
    if state.is_due(now) {
        std::thread::yield_now();
        STATE.set(state.after_yield(now, Instant::now()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_gets_its_core_back_late_backs_off_for_longer_each_time() {
        let yielded = Instant::now();
        let late = yielded + REQUEST_MAX * 3;
        let mut backoff = BACKOFF_INITIAL;
        for _ in 0..9 {
            let before = YieldState { backoff, ..YieldState::INITIAL };
            let now = before.after_yield(yielded, late);
            assert_eq!(now.backoff_until, Some(late + backoff));
            assert!(!now.is_due(late + YIELD_INTERVAL), "backs off");
            assert!(now.is_due(late + backoff));
            assert!(now.backoff == backoff * 2 || now.backoff == BACKOFF_MAX);
            backoff = now.backoff;
        }
        assert_eq!(backoff, BACKOFF_MAX);
        let resumed = yielded + REQUEST_MAX / 2;
        let before = YieldState { backoff, ..YieldState::INITIAL };
        let soon = before.after_yield(yielded, resumed);
        assert_eq!((soon.backoff_until, soon.backoff), (None, BACKOFF_INITIAL));
        assert!(!soon.is_due(resumed + YIELD_INTERVAL / 2), "works for an interval");
        assert!(soon.is_due(resumed + YIELD_INTERVAL));
    }
}
