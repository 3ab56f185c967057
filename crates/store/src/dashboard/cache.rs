//! A per-group cache of daily totals, validated on each request by version counters. The counters
//! are read in the snapshot that proves the session: while they are unchanged, so are all rows that
//! an entry was made of.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use kiosque_locks::lock_ignoring_poison;
use kiosque_model::sales::Turnover;
use kiosque_model::{Day, GroupNo, UnixMs};

use super::range::Range;
use crate::db::Bound;
use crate::scoped_query::HintedGroup;
use crate::sql::{row, statements};

row! {
    /// Counters that grow with every change of the rows that an entry is made of: the orders of the
    /// group, and the exchange rates.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(super) struct CacheVersion { last_change_no: i64, rates: i64 }
}

statements! {
    /// SQLite only. On PostgreSQL, nodes with an older program may not increment all of these, and
    /// Citus does not keep all of the tables on one node.
    VERSION(group_no) -> CacheVersion = "select c.last_change_no,
            (select last from counters where name = 'rates') as rates
        from group_changes c where c.group_no = $group_no";
}

/// The capacity in days, of about 100 bytes each. The cache is cleared when it is full;
/// entries return with the next requests.
const CAPACITY: usize = 100_000;
/// The size of the largest entry; larger groups are not cached.
const ENTRY_SIZE_MAX: usize = CAPACITY / 10;

/// The sales of a day in all currencies.
#[derive(Clone, Copy, Debug)]
pub(super) struct DayTotal {
    pub(super) day: Day,
    pub(super) turnover: Turnover,
    /// No sale was before this, and none after `last_sale`.
    pub(super) first_sale: UnixMs,
    pub(super) last_sale: UnixMs,
}

impl DayTotal {
    /// Returns whether all of its sales lie in a range that includes the day or a part of it.
    pub(super) fn is_within(&self, range: &Range) -> bool {
        range.start <= self.first_sale && self.last_sale < range.end
    }
}

/// The cached rows of a group.
#[derive(Debug)]
pub(super) struct CacheEntry {
    pub(super) version: CacheVersion,
    pub(super) first_day: Day,
    pub(super) last_day: Day,
    /// The days with sales from `first_day` to `last_day`, in their order.
    pub(super) days: Vec<DayTotal>,
}

impl CacheEntry {
    /// Returns the days of a range.
    pub(super) fn days_of(&self, range: &Range) -> &[DayTotal] {
        let start = self.days.partition_point(|total| total.day < range.first_day);
        let end = self.days.partition_point(|total| total.day <= range.last_day);
        self.days.get(start..end).unwrap_or_default()
    }

    fn size(&self) -> usize {
        1 + self.days.len()
    }

    /// Returns whether the entry is valid and has all sums of a range, without recounting partial
    /// days.
    fn answers(&self, version: &CacheVersion, range: &Range) -> bool {
        self.version == *version
            && self.first_day <= range.first_day
            && range.last_day <= self.last_day
            && self.days_of(range).iter().all(|total| total.is_within(range))
    }
}

/// The cache of all groups.
#[derive(Debug, Default)]
pub(crate) struct DashboardCache(Mutex<Entries>);

#[derive(Debug, Default)]
struct Entries {
    by_group: HashMap<GroupNo, Arc<CacheEntry>>,
    /// The sum of their sizes.
    size: usize,
}

impl DashboardCache {
    /// Binds the statement that reads the version of a group.
    pub(super) fn bind_version(group: HintedGroup) -> Bound<'static> {
        Bound::new(&VERSION, [group.into()])
    }

    /// Returns the entry of a group, if it is valid and answers for a range.
    pub(super) fn get(
        &self,
        group: GroupNo,
        version: &CacheVersion,
        range: &Range,
    ) -> Option<Arc<CacheEntry>> {
        let entry = Arc::clone(self.entries().by_group.get(&group)?);
        entry.answers(version, range).then_some(entry)
    }

    /// Replaces the entry of a group.
    pub(super) fn insert(&self, group: GroupNo, entry: CacheEntry) {
        let mut entries = self.entries();
        let replaced = entries.by_group.remove(&group);
        if let Some(replaced) = &replaced {
            entries.size -= replaced.size();
        }
        let size = entry.size();
        if size > ENTRY_SIZE_MAX {
            return;
        }
        let is_full = entries.size + size > CAPACITY;
        let cleared = is_full.then(|| std::mem::take(&mut *entries));
        entries.size += size;
        entries.by_group.insert(group, Arc::new(entry));
        drop(entries);
        // Freed after the lock, since it takes long.
        drop((replaced, cleared));
    }

    fn entries(&self) -> MutexGuard<'_, Entries> {
        lock_ignoring_poison(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(days: usize) -> CacheEntry {
        let (day, at) = (Day(0), UnixMs(0));
        let turnover = Turnover::default();
        let total = DayTotal { day, turnover, first_sale: at, last_sale: at };
        let version = CacheVersion { last_change_no: 0, rates: 0 };
        CacheEntry { version, first_day: day, last_day: day, days: vec![total; days] }
    }

    fn counts(cache: &DashboardCache) -> (usize, usize) {
        let entries = cache.entries();
        let size = entries.by_group.values().map(|entry| entry.size()).sum();
        assert_eq!(entries.size, size);
        (entries.by_group.len(), size)
    }

    #[test]
    fn the_cache_never_exceeds_its_capacity() {
        let cache = DashboardCache::default();
        // Each entry has a tenth of the capacity.
        let most = ENTRY_SIZE_MAX - 1;
        for round in 0..2 {
            for group in 0..10 {
                cache.insert(GroupNo(group), entry(most));
            }
            assert_eq!(counts(&cache), (10, CAPACITY), "round {round}");
        }
        cache.insert(GroupNo(3), entry(most + 1));
        assert_eq!(counts(&cache), (9, CAPACITY - ENTRY_SIZE_MAX), "an entry that is too large");
        cache.insert(GroupNo(10), entry(most));
        cache.insert(GroupNo(11), entry(5));
        assert_eq!(counts(&cache), (1, 6), "the cache is cleared when it is full");
    }
}
