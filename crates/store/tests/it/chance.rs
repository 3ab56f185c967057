//! Random numbers that are the same for the same seed.

pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Chance {
        Chance(seed)
    }

    /// SplitMix64.
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From 0 to one less than `end`.
    pub(crate) fn below(&mut self, end: i64) -> i64 {
        i64::try_from(self.next() % u64::try_from(end).unwrap()).unwrap()
    }

    pub(crate) fn count(&mut self, end: usize) -> usize {
        usize::try_from(self.below(i64::try_from(end).unwrap())).unwrap()
    }

    pub(crate) fn once_in(&mut self, times: i64) -> bool {
        self.below(times) == 0
    }

    pub(crate) fn pick<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.count(of.len())].clone()
    }

    /// Mostly nothing.
    pub(crate) fn maybe<T>(&mut self, some: impl FnOnce(&mut Chance) -> T) -> Option<T> {
        if self.once_in(3) { Some(some(self)) } else { None }
    }

    /// Some of these, each at most once, in any order.
    pub(crate) fn some<T: Clone>(&mut self, of: &[T]) -> Vec<T> {
        let mut left = of.to_vec();
        let count = self.count(of.len() + 1);
        (0..count).map(|_| left.remove(self.count(left.len()))).collect()
    }
}

/// The number of repetitions of a test: the full size is for `cargo xtask soak`.
pub(crate) fn size(small: u64, full: u64) -> u64 {
    if std::env::var_os("KIOSQUE_SOAK").is_some() { full } else { small }
}
