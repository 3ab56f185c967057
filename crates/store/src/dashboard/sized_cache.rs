//! A cache of values that are bounded in bytes together.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard};

use kiosque_locks::lock_ignoring_poison;

/// Values by key. The cache is cleared when it is full; values return with the next requests.
#[derive(Debug)]
pub(crate) struct SizedCache<K, V> {
    /// In bytes.
    capacity: usize,
    entries: Mutex<Entries<K, V>>,
}

#[derive(Debug)]
struct Entries<K, V> {
    /// Each with its size.
    by_key: HashMap<K, (usize, Arc<V>)>,
    /// The sum of the sizes.
    size: usize,
}

impl<K, V> Default for Entries<K, V> {
    fn default() -> Self {
        Entries { by_key: HashMap::new(), size: 0 }
    }
}

impl<K: Eq + Hash, V> SizedCache<K, V> {
    pub(crate) fn new(capacity: usize) -> SizedCache<K, V> {
        SizedCache { capacity, entries: Mutex::default() }
    }

    pub(super) fn get(&self, key: &K) -> Option<Arc<V>> {
        self.entries().by_key.get(key).map(|(_, value)| Arc::clone(value))
    }

    /// Replaces the value of a key. One of more than a quarter of the capacity is not cached.
    pub(super) fn insert(&self, key: K, size: usize, value: Arc<V>) {
        let mut entries = self.entries();
        let replaced = entries.by_key.remove(&key);
        if let Some((size, _)) = &replaced {
            entries.size -= size;
        }
        if size > self.capacity / 4 {
            return;
        }
        let is_full = entries.size + size > self.capacity;
        let cleared = is_full.then(|| std::mem::take(&mut *entries));
        entries.size += size;
        entries.by_key.insert(key, (size, value));
        drop(entries);
        // Freed after the lock, since it takes long.
        drop((replaced, cleared));
    }

    fn entries(&self) -> MutexGuard<'_, Entries<K, V>> {
        lock_ignoring_poison(&self.entries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(cache: &SizedCache<usize, usize>) -> (usize, usize) {
        let entries = cache.entries();
        assert_eq!(entries.size, entries.by_key.values().map(|(size, _)| size).sum::<usize>());
        (entries.by_key.len(), entries.size)
    }

    #[test]
    fn the_cache_never_exceeds_its_capacity() {
        let cache = SizedCache::new(100);
        for round in 0..2 {
            for key in 0..4 {
                cache.insert(key, 25, Arc::new(key));
            }
            assert_eq!(counts(&cache), (4, 100), "round {round}");
        }
        cache.insert(3, 26, Arc::new(3));
        assert_eq!(counts(&cache), (3, 75), "a value that is too large");
        cache.insert(0, 20, Arc::new(7));
        assert_eq!(counts(&cache), (3, 70), "a value that is replaced");
        assert_eq!(cache.get(&0).as_deref(), Some(&7));
        cache.insert(5, 25, Arc::new(5));
        cache.insert(6, 6, Arc::new(6));
        assert_eq!(counts(&cache), (1, 6), "the cache is cleared when it is full");
    }
}
