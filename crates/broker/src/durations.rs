//! The median of the latest durations of something.

use std::collections::VecDeque;
use std::time::Duration;

/// The number of durations that are considered.
const LATEST: usize = 256;

/// The latest durations of something.
#[derive(Debug, Default)]
pub(crate) struct Durations(VecDeque<Duration>);

impl Durations {
    pub(crate) fn add(&mut self, duration: Duration) {
        if self.0.len() >= LATEST {
            self.0.pop_front();
        }
        self.0.push_back(duration);
    }

    /// Returns the median; `None` without a duration.
    pub(crate) fn median(&self) -> Option<Duration> {
        let mut durations: Vec<Duration> = self.0.iter().copied().collect();
        durations.sort_unstable();
        durations.get(durations.len() / 2).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_durations_count() {
        let mut durations = Durations::default();
        assert_eq!(durations.median(), None);
        for milliseconds in [7, 1, 3] {
            durations.add(Duration::from_millis(milliseconds));
        }
        assert_eq!(durations.median(), Some(Duration::from_millis(3)));
        for _ in 0..LATEST {
            durations.add(Duration::ZERO);
        }
        assert_eq!((durations.0.len(), durations.median()), (LATEST, Some(Duration::ZERO)));
    }
}
