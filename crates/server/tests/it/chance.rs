//! Chance that a seed repeats.

use kiosque_clock::Entropy;

/// A small generator (splitmix64): the same seed gives the same numbers everywhere.
#[derive(Clone, Debug)]
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn seeded(seed: u64) -> Chance {
        Chance(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number from 0 to one less than `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        let end = u64::try_from(end).unwrap();
        usize::try_from(self.next() % end).unwrap()
    }

    /// A number of the half-open range.
    pub(crate) fn within(&mut self, range: std::ops::Range<i64>) -> i64 {
        let width = u64::try_from(range.end - range.start).unwrap();
        range.start + i64::try_from(self.next() % width).unwrap()
    }

    /// True once in `times`.
    pub(crate) fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

/// The seed of this run: `KIOSQUE_SEED`, to repeat one, or a fresh one. A test prints it.
pub(crate) fn seed() -> u64 {
    match std::env::var("KIOSQUE_SEED") {
        Ok(seed) => seed.parse().unwrap(),
        Err(_) => u64::from(u32::from_be_bytes(Entropy::system().bytes().unwrap())),
    }
}
