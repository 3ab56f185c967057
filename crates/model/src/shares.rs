//! Shares of a limit on concurrent work: a single holder leaves half of it to others.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex};

use kiosque_locks::lock_ignoring_poison;

/// The places of a limit, by holder. A holder gets at most half of them, and at least one.
#[derive(Debug)]
pub struct ShareCounts<H> {
    free: usize,
    holder_max: usize,
    /// Holders without a place have no entry.
    held: HashMap<H, usize>,
}

/// Why a holder gets no further place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoShare {
    /// The holder has its full share.
    OfHolder,
    /// All places are taken.
    OfAll,
}

impl<H: Eq + Hash> ShareCounts<H> {
    /// Returns `total` free places.
    pub fn new(total: usize) -> ShareCounts<H> {
        ShareCounts { free: total, holder_max: (total / 2).max(1), held: HashMap::new() }
    }

    /// Returns the number of free places.
    pub fn free(&self) -> usize {
        self.free
    }

    /// Takes a place.
    ///
    /// # Errors
    /// The holder has its full share, or no place is free.
    pub fn take(&mut self, holder: H) -> Result<(), NoShare> {
        if self.held.get(&holder).is_some_and(|held| *held >= self.holder_max) {
            return Err(NoShare::OfHolder);
        }
        self.free = self.free.checked_sub(1).ok_or(NoShare::OfAll)?;
        *self.held.entry(holder).or_default() += 1;
        Ok(())
    }

    /// Returns a place.
    pub fn give_back(&mut self, holder: &H) {
        self.free += 1;
        if let Some(held) = self.held.get_mut(holder) {
            *held -= 1;
            if *held == 0 {
                self.held.remove(holder);
            }
        }
    }
}

/// Places that are returned when they are dropped. Nothing waits for them.
#[derive(Debug)]
pub struct Shares<H> {
    counts: Arc<Mutex<ShareCounts<H>>>,
    total: usize,
}

/// A place, held until it is dropped.
#[derive(Debug)]
pub struct Share<H: Eq + Hash> {
    counts: Arc<Mutex<ShareCounts<H>>>,
    holder: H,
}

impl<H: Clone + Eq + Hash> Shares<H> {
    /// Returns `total` free places.
    pub fn new(total: usize) -> Shares<H> {
        Shares { counts: Arc::new(Mutex::new(ShareCounts::new(total))), total }
    }

    /// Returns the number of places taken.
    pub fn taken(&self) -> usize {
        self.total.saturating_sub(lock_ignoring_poison(&self.counts).free())
    }

    /// Takes a place.
    ///
    /// # Errors
    /// The holder has its full share, or no place is free.
    pub fn take(&self, holder: H) -> Result<Share<H>, NoShare> {
        lock_ignoring_poison(&self.counts).take(holder.clone())?;
        Ok(Share { counts: Arc::clone(&self.counts), holder })
    }
}

impl<H: Eq + Hash> Drop for Share<H> {
    fn drop(&mut self) {
        lock_ignoring_poison(&self.counts).give_back(&self.holder);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_holder_leaves_half_of_the_places_to_others() {
        for (total, most) in [(1, 1), (2, 1), (3, 1), (7, 3), (64, 32)] {
            let shares = Shares::new(total);
            let mut held: Vec<_> = (0..most).map(|_| shares.take("a").expect("a place")).collect();
            let refused = shares.take("a").expect_err("no place");
            assert_eq!(refused, NoShare::OfHolder, "{total} places");
            held.extend((most..total).map(|at| shares.take(["b", "c"][at % 2]).expect("a place")));
            assert_eq!(shares.taken(), total);
            assert_eq!(shares.take("d").expect_err("no place"), NoShare::OfAll);
            held.remove(0);
            let again = shares.take("a").expect("a place");
            drop((held, again));
            assert_eq!(shares.taken(), 0);
            assert!(lock_ignoring_poison(&shares.counts).held.is_empty());
        }
    }
}
