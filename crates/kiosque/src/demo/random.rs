//! A deterministic pseudorandom generator: splitmix64, which needs one number of state and no
//! dependency.

use kiosque_clock::{GOLDEN, mixed};

/// A generator whose sequence is determined by its key.
pub(super) struct Random(u64);

impl Random {
    /// Returns the generator for a key. The sequences of adjacent keys are unrelated.
    pub(super) const fn keyed(key: u64) -> Random {
        Random(mixed(key ^ 0x4B69_6F73_7175_6521))
    }

    /// Returns a number from 0 to `bound` - 1.
    pub(super) const fn below(&mut self, bound: u32) -> u32 {
        let drawn = mixed(self.0) >> 32;
        self.0 = self.0.wrapping_add(GOLDEN);
        ((drawn * bound as u64) >> 32) as u32
    }

    /// Returns a number from `low` to `high`, inclusive.
    pub(super) fn between(&mut self, low: u32, high: u32) -> i64 {
        i64::from(low + self.below(high - low + 1))
    }

    /// Returns true with a probability of `permille` in a thousand.
    pub(super) const fn happens(&mut self, permille: u32) -> bool {
        self.below(1000) < permille
    }

    /// Returns the index of a weight, drawn with proportional probability.
    pub(super) fn weighted(&mut self, weights: impl Iterator<Item = u32> + Clone) -> usize {
        let mut left = self.below(weights.clone().sum());
        weights
            .take_while(|weight| {
                let passed = left >= *weight;
                left = left.saturating_sub(*weight);
                passed
            })
            .count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_gives_the_same_numbers_each_time() {
        let draw = |key| {
            let mut random = Random::keyed(key);
            [(); 4].map(|()| random.below(1_000_000))
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
    }

    #[test]
    fn weights_are_followed_and_nothing_weighs_nothing() {
        let mut random = Random::keyed(1);
        let mut seen = [0; 3];
        for _ in 0..10_000 {
            seen[random.weighted([1, 0, 3].into_iter())] += 1;
        }
        assert_eq!(seen[1], 0);
        assert!((2_300..2_700).contains(&seen[0]), "{seen:?}");
    }
}
