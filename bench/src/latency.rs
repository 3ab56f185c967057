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
    pub(crate) fn percentile(&mut self, percent: usize) -> u32 {
        self.0.sort_unstable();
        let rank = (self.0.len() * percent).div_ceil(100).max(1);
        self.0.get(rank - 1).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_percentile_is_the_smallest_latency_that_covers_its_share() {
        let mut all = Latencies::default();
        assert_eq!(all.percentile(99), 0);
        for micros in (1..=200).rev() {
            let mut one = Latencies::default();
            one.note(Duration::from_micros(micros));
            all.merge(one);
        }
        let found = [1, 50, 99, 100].map(|percent| all.percentile(percent));
        assert_eq!((found, all.len()), ([2, 100, 198, 200], 200));
        all.note(Duration::from_secs(1 << 40));
        assert_eq!(all.percentile(100), u32::MAX);
    }
}
