//! The cache of a process. The total size of its values is bounded. A reader validates a value by
//! the versions of its group at which it was read, a first page by the ledger of its device, and
//! the number of online devices by its age.

use std::any::Any;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use kiosque_locks::lock_ignoring_poison;
use kiosque_model::{Day, DeviceCode, GroupNo};

/// The size of the cache in bytes.
pub(crate) const CACHE_BYTES: usize = 64 << 20;

/// The kind of a value, and its group.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Key {
    /// The sales of each day from one to another. Entries of past ranges remain until the cache is
    /// cleared.
    Days(GroupNo, Day, Day),
    /// The number of devices that are online.
    Online(GroupNo),
    /// The devices.
    Profile(GroupNo),
    /// The lowest prices of products.
    Prices(GroupNo),
    /// The first page of a device's current orders, of this size.
    FirstOrders(GroupNo, DeviceCode, i64),
    /// The aisles of the devices after a code, with the maximum number of devices and of bytes.
    Aisles(GroupNo, String, [usize; 2]),
}

/// Values by key. The cache is cleared when it is full; values return with the next requests.
#[derive(Debug)]
pub(crate) struct Cache {
    /// In bytes.
    capacity: usize,
    entries: Mutex<Entries>,
}

#[derive(Debug, Default)]
struct Entries {
    /// Each with its size.
    by_key: HashMap<Key, (usize, Arc<dyn Any + Send + Sync>)>,
    /// The sum of the sizes.
    size: usize,
}

/// The size of an entry without its value.
const ENTRY_BYTES: usize = 128;

impl Cache {
    pub(crate) fn new(capacity: usize) -> Cache {
        Cache { capacity, entries: Mutex::default() }
    }

    /// Returns the value of a key; a key's value always has the same type.
    pub(crate) fn get<T: Any + Send + Sync>(&self, key: &Key) -> Option<Arc<T>> {
        let value = self.entries().by_key.get(key).map(|(_, value)| Arc::clone(value))?;
        value.downcast().ok()
    }

    /// Replaces the value of a key. A value larger than a quarter of the capacity is not cached.
    pub(crate) fn insert(&self, key: Key, size: usize, value: Arc<impl Any + Send + Sync>) {
        let size = size.saturating_add(ENTRY_BYTES);
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
        // Dropped after the lock is released, since it takes long.
        drop((replaced, cleared));
    }

    fn entries(&self) -> MutexGuard<'_, Entries> {
        lock_ignoring_poison(&self.entries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(cache: &Cache) -> (usize, usize) {
        let entries = cache.entries();
        assert_eq!(entries.size, entries.by_key.values().map(|(size, _)| size).sum::<usize>());
        (entries.by_key.len(), entries.size)
    }

    #[test]
    fn the_cache_never_exceeds_its_capacity() {
        let cache = Cache::new(4_000);
        let insert = |key: i64, size: usize| {
            cache.insert(Key::Online(GroupNo(key)), size - ENTRY_BYTES, Arc::new(key));
        };
        for round in 0..2 {
            for key in 0..4 {
                insert(key, 1_000);
            }
            assert_eq!(counts(&cache), (4, 4_000), "round {round}");
        }
        insert(3, 1_001);
        assert_eq!(counts(&cache), (3, 3_000), "a value that is too large");
        insert(0, 900);
        assert_eq!(counts(&cache), (3, 2_900), "a value that is replaced");
        assert_eq!(cache.get(&Key::Online(GroupNo(0))).as_deref(), Some(&0_i64));
        assert_eq!(cache.get::<i64>(&Key::Profile(GroupNo(0))), None);
        insert(5, 1_000);
        insert(6, 200);
        assert_eq!(counts(&cache), (1, 200), "the cache is cleared when it is full");
    }
}
