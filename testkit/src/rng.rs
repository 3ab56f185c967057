//! Seeded randomness, so that a failing run can be repeated.

use std::hash::{BuildHasher, RandomState};
use std::ops::Range;

use kiosque_clock::{GOLDEN, mixed};

/// A small generator (SplitMix64): the same seed gives the same numbers on every machine.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// Returns a generator that starts from `seed`.
    pub fn seeded(seed: u64) -> Rng {
        Rng(seed)
    }

    /// Returns a separate generator for the `index`-th thing that is made from `seed`.
    pub fn of(seed: u64, index: u64) -> Rng {
        Rng(Rng(seed ^ index.wrapping_mul(0xD6E8_FEB8_6659_FD93)).next())
    }

    fn next(&mut self) -> u64 {
        let number = mixed(self.0);
        self.0 = self.0.wrapping_add(GOLDEN);
        number
    }

    /// Returns a number from 0 to `end - 1`.
    pub fn below(&mut self, end: usize) -> usize {
        let end = u64::try_from(end).unwrap();
        usize::try_from(self.next() % end).unwrap()
    }

    /// Returns a number of the range.
    pub fn range(&mut self, range: Range<i64>) -> i64 {
        let width = u64::try_from(range.end - range.start).unwrap();
        range.start + i64::try_from(self.next() % width).unwrap()
    }

    /// Returns true with a probability of 1 in `times`.
    pub fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// Returns one of the elements.
    pub fn choose<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())].clone()
    }

    /// Returns `Some` with a probability of 1 in 3.
    pub fn option<T>(&mut self, some: impl FnOnce(&mut Rng) -> T) -> Option<T> {
        if self.one_in(3) { Some(some(self)) } else { None }
    }

    /// Returns any number of the elements, each at most once, in any order.
    pub fn subset<T: Clone>(&mut self, of: &[T]) -> Vec<T> {
        let mut left = of.to_vec();
        let count = self.below(of.len() + 1);
        (0..count).map(|_| left.remove(self.below(left.len()))).collect()
    }
}

/// Returns the seed in `KIOSQUE_SEED`, to repeat a run, or a new one. A test prints it.
pub fn seed() -> u64 {
    match std::env::var("KIOSQUE_SEED") {
        Ok(seed) => seed.parse().unwrap(),
        Err(_) => RandomState::new().hash_one(0) >> 32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_follows_from_its_seed_and_stays_in_bounds() {
        let take = |mut rng: Rng| (0..1_000).map(|_| rng.below(7)).collect::<Vec<_>>();
        assert_eq!(take(Rng::of(1, 5)), take(Rng::of(1, 5)));
        assert_ne!(take(Rng::of(1, 5)), take(Rng::of(1, 6)));
        assert_ne!(take(Rng::of(1, 5)), take(Rng::of(2, 5)));
        let drawn = take(Rng::seeded(3));
        assert!((0..7).all(|value| drawn.contains(&value)) && drawn.iter().all(|v| *v < 7));
    }
}
