//! A clock that continues while the machine is suspended.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

#[cfg(target_os = "linux")]
const CLOCK: ClockId = ClockId::Boottime;
/// Elsewhere this clock includes the time of suspension.
#[cfg(not(target_os = "linux"))]
const CLOCK: ClockId = ClockId::Monotonic;

/// A time since the machine started, including the time of suspension. `Instant` stops during
/// suspension: a machine that resumes would take an expired lease for a valid one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct BootTime(pub(super) Duration);

impl BootTime {
    pub(super) fn now() -> BootTime {
        BootTime(Duration::try_from(clock_gettime(CLOCK)).unwrap_or_default())
    }

    pub(super) fn plus(self, duration: Duration) -> BootTime {
        BootTime(self.0.saturating_add(duration))
    }

    /// Returns the time that has passed since `earlier`; zero if that is later.
    pub(super) fn since(self, earlier: BootTime) -> Duration {
        self.0.saturating_sub(earlier.0)
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// The first figure of `/proc/uptime` is the time since boot with suspension, in hundredths of
    /// a second. In a machine that was never suspended, other clocks agree with it.
    #[test]
    fn it_is_the_uptime_of_the_machine() {
        let before = BootTime::now();
        let text = std::fs::read_to_string("/proc/uptime").expect("the uptime");
        let after = BootTime::now();
        let seconds: f64 = text.split(' ').next().and_then(|it| it.parse().ok()).expect("seconds");
        let hundredth = 0.01;
        assert!(before.0.as_secs_f64() - hundredth <= seconds, "{before:?} {text}");
        assert!(seconds <= after.0.as_secs_f64() + hundredth, "{after:?} {text}");
    }
}
