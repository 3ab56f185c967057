//! Random numbers that are the same on every machine: splitmix64.

/// A stream of numbers that is determined by its seed.
#[derive(Clone, Debug)]
pub(crate) struct Rng(u64);

impl Rng {
    /// The stream of `seed`.
    pub(crate) const fn new(seed: u64) -> Rng {
        Rng(seed)
    }

    /// Returns a separate stream for the `index`-th thing made from `seed`.
    pub(crate) fn of(seed: u64, index: u64) -> Rng {
        let mut mixed = Rng(seed ^ index.wrapping_mul(0xD6E8_FEB8_6659_FD93));
        Rng(mixed.next())
    }

    /// The next number.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Returns a number below `bound`; 0 if there is none.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        u64::try_from((u128::from(self.next()) * u128::from(bound)) >> 64).unwrap_or_default()
    }

    /// Returns an index into something of length `len`.
    pub(crate) fn index(&mut self, len: usize) -> usize {
        let bound = u64::try_from(len).unwrap_or(u64::MAX);
        usize::try_from(self.below(bound)).unwrap_or_default()
    }

    /// Returns one of `choices`, which must not be empty.
    pub(crate) fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.index(choices.len())]
    }

    /// Returns true in `percent` of 100 cases.
    pub(crate) fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
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
        let drawn = take(Rng::new(3));
        assert!((0..7).all(|value| drawn.contains(&value)) && drawn.iter().all(|v| *v < 7));
    }
}
