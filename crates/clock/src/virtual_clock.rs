//! A clock for demonstrations: it starts at any time, and may run faster than real time.

use std::time::{Duration, Instant};

use kiosque_model::UnixMs;

use crate::millis;

/// A clock that shows a given time at its creation, and runs at its speed from then on.
#[derive(Clone, Copy, Debug)]
pub struct VirtualClock {
    start: UnixMs,
    begun: Instant,
    speed: u32,
}

impl VirtualClock {
    /// Returns a clock that shows `start` now. A second of it lasts 1/`speed` of a second.
    pub fn starting(start: UnixMs, speed: u32) -> VirtualClock {
        VirtualClock { start, begun: Instant::now(), speed: speed.max(1) }
    }

    pub(crate) fn now(&self) -> UnixMs {
        self.after(self.begun.elapsed())
    }

    /// Returns the time shown after `elapsed`.
    fn after(&self, elapsed: Duration) -> UnixMs {
        self.start.plus_ms(millis(elapsed.saturating_mul(self.speed)))
    }

    pub(crate) fn lasts(&self, duration: Duration) -> Duration {
        duration / self.speed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_begins_at_its_start_and_runs_at_its_speed() {
        let clock = VirtualClock::starting(UnixMs(1_000), 60);
        assert_eq!(clock.after(Duration::ZERO), UnixMs(1_000));
        assert_eq!(clock.after(Duration::from_micros(1_500_500)), UnixMs(91_030));
        assert_eq!(clock.lasts(Duration::from_secs(30)), Duration::from_millis(500));
        let first = clock.now();
        assert!(first >= UnixMs(1_000) && clock.now() >= first);
    }
}
