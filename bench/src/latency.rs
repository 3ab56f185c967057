//! How long answers took.

/// Latencies of one run, in microseconds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Latencies(Vec<u32>);

impl Latencies {
    /// Notes one answer.
    pub(crate) fn note(&mut self, took: std::time::Duration) {
        self.0.push(u32::try_from(took.as_micros()).unwrap_or(u32::MAX));
    }

    /// Adds another worker's latencies.
    pub(crate) fn merge(&mut self, other: Latencies) {
        self.0.extend(other.0);
    }

    /// How many answers there were.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the latency that `percent` of 100 answers do not exceed; 0 without an answer.
    pub(crate) fn percentile(&self, percent: usize) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let rank = (sorted.len() * percent).div_ceil(100).max(1);
        sorted.get(rank - 1).copied().map_or(0.0, f64::from)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_percentile_is_the_smallest_latency_that_covers_its_share() {
        let mut all = Latencies::default();
        assert_eq!(all.percentile(99), 0.0);
        for micros in (1..=200).rev() {
            let mut one = Latencies::default();
            one.note(Duration::from_micros(micros));
            all.merge(one);
        }
        let found = [1, 50, 99, 100].map(|percent| all.percentile(percent));
        assert_eq!((found, all.len()), ([2.0, 100.0, 198.0, 200.0], 200));
        all.note(Duration::from_secs(1 << 40));
        assert_eq!(all.percentile(100), f64::from(u32::MAX));
    }
}
