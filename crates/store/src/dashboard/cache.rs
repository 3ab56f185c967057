//! What a group's days and devices came to, remembered for as long as nothing moves them. With each
//! question its numbers are read, in the snapshot that proves the session; while they are the same,
//! so is all that was read beside them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use kiosque_locks::lock_ignoring_poison;
use kiosque_model::sales::Turnover;
use kiosque_model::{Day, GroupNo, UnixMs};

use super::ReportQuery;
use super::devices::Counted;
use crate::Error;
use crate::db::Bound;
use crate::scoped_query::HintedGroup;
use crate::sql::{Row, statements};

statements! {
    /// For a file alone. On PostgreSQL nodes of an older program may not count all of these on, and
    /// on Citus not all of the tables lie together.
    NUMBERS = "select c.last_change_no, c.heard_no,
            (select last from counters where name = 'fleet'),
            (select last from counters where name = 'rates')
        from group_changes c where c.group_no = $1";
}

/// Days and devices that are remembered in all, about 100 bytes each. When there are more, all are
/// forgotten: who asks again is remembered again.
const ENTRIES_MAX: usize = 100_000;
/// Of one group; one that has more is read each time.
const ENTRIES_OF_GROUP_MAX: usize = ENTRIES_MAX / 10;

/// CacheVersion that grow whenever something moves what is remembered: the group's orders, what is
/// written of its devices' signs of life, the fleet, the exchange rates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CacheVersion([i64; 4]);

impl CacheVersion {
    pub(super) fn bind(group: HintedGroup) -> Bound<'static> {
        Bound::new(&NUMBERS, [group.into()])
    }

    pub(super) fn read(row: &Row<'_>) -> Result<CacheVersion, Error> {
        Ok(CacheVersion([row.int(0)?, row.int(1)?, row.int(2)?, row.int(3)?]))
    }
}

/// The sales of a day, of all currencies together.
#[derive(Clone, Copy, Debug)]
pub(super) struct DaySum {
    pub(super) day: Day,
    pub(super) turnover: Turnover,
    /// None of them was before this, and none after `last_sale`.
    pub(super) first_sale: UnixMs,
    pub(super) last_sale: UnixMs,
}

impl DaySum {
    /// Whether some of its sales may lie outside of what is asked about.
    pub(super) fn is_cut(&self, view: &ReportQuery) -> bool {
        self.first_sale < view.ask.start || self.last_sale >= view.ask.end
    }
}

/// What was read of a group.
#[derive(Debug)]
pub(super) struct CacheEntry {
    pub(super) numbers: CacheVersion,
    /// When; what is true of a later time may not have been true before.
    pub(super) at: UnixMs,
    /// All days from the first to the last that were asked about.
    pub(super) span: (Day, Day),
    /// Those of them on which something was sold, in their order.
    pub(super) days: Vec<DaySum>,
    pub(super) devices: Option<Arc<Counted>>,
}

impl CacheEntry {
    /// The days of a span.
    pub(super) fn days_in(&self, (first, last): (Day, Day)) -> &[DaySum] {
        let begins = self.days.partition_point(|sum| sum.day < first);
        let ends = self.days.partition_point(|sum| sum.day <= last);
        self.days.get(begins..ends).unwrap_or_default()
    }

    fn entries(&self) -> usize {
        1 + self.days.len() + self.devices.as_ref().map_or(0, |devices| devices.len())
    }

    /// Whether it says all that is asked.
    fn answers(&self, view: &ReportQuery, numbers: &CacheVersion, span: (Day, Day)) -> bool {
        let covers = self.span.0 <= span.0 && span.1 <= self.span.1;
        self.numbers == *numbers
            && covers
            && self.at <= view.now
            && !self.days_in(span).iter().any(|sum| sum.is_cut(view))
    }
}

/// What is remembered of each group.
#[derive(Debug, Default)]
pub(crate) struct DashboardCache(Mutex<Groups>);

#[derive(Debug, Default)]
struct Groups {
    of: HashMap<GroupNo, Arc<CacheEntry>>,
    entries: usize,
}

impl DashboardCache {
    /// What is remembered of a group, if it is still true and says all that is asked.
    pub(super) fn get(
        &self,
        group: GroupNo,
        numbers: &CacheVersion,
        view: &ReportQuery,
        span: (Day, Day),
    ) -> Option<Arc<CacheEntry>> {
        let known = Arc::clone(self.groups().of.get(&group)?);
        known.answers(view, numbers, span).then_some(known)
    }

    pub(super) fn remember(&self, group: GroupNo, mut read: CacheEntry) {
        let mut groups = self.groups();
        let before = groups.of.remove(&group);
        if let Some(before) = &before {
            groups.entries -= before.entries();
            if read.devices.is_none() && before.numbers == read.numbers {
                // A function that tells of no devices has not read them.
                read.devices.clone_from(&before.devices);
                read.at = read.at.max(before.at);
            }
        }
        let entries = read.entries();
        if entries > ENTRIES_OF_GROUP_MAX {
            return;
        }
        let full = groups.entries + entries > ENTRIES_MAX;
        let forgotten = full.then(|| std::mem::take(&mut *groups));
        groups.entries += entries;
        groups.of.insert(group, Arc::new(read));
        drop(groups);
        // To throw much away takes time that others need not wait for.
        drop((before, forgotten));
    }

    fn groups(&self) -> MutexGuard<'_, Groups> {
        lock_ignoring_poison(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(days: usize) -> CacheEntry {
        let (day, at) = (Day(0), UnixMs(0));
        let turnover = Turnover::default();
        let sum = DaySum { day, turnover, first_sale: at, last_sale: at };
        let days = vec![sum; days];
        CacheEntry { numbers: CacheVersion([0; 4]), at, span: (day, day), days, devices: None }
    }

    fn kept(memory: &DashboardCache) -> (usize, usize) {
        let groups = memory.groups();
        let entries = groups.of.values().map(|read| read.entries()).sum();
        assert_eq!(groups.entries, entries);
        (groups.of.len(), entries)
    }

    #[test]
    fn no_more_is_remembered_than_there_is_room_for() {
        let memory = DashboardCache::default();
        // With itself each takes a tenth of all.
        let most = ENTRIES_OF_GROUP_MAX - 1;
        for again in 0..2 {
            for group in 0..10 {
                memory.remember(GroupNo(group), read(most));
            }
            assert_eq!(kept(&memory), (10, ENTRIES_MAX), "time {again}");
        }
        memory.remember(GroupNo(3), read(most + 1));
        assert_eq!(kept(&memory), (9, ENTRIES_MAX - ENTRIES_OF_GROUP_MAX), "one that is too large");
        memory.remember(GroupNo(10), read(most));
        memory.remember(GroupNo(11), read(5));
        assert_eq!(kept(&memory), (1, 6), "all are forgotten when there is no room");
    }
}
