//! The totals of the days of a group, which are cached.

use std::sync::Arc;

use kiosque_model::sales::Turnover;
use kiosque_model::{Day, GroupNo, UnixMs};

use super::range::Range;
use crate::cache::{Cache, Key};
use crate::versions::Versions;

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
    pub(super) versions: Versions,
    pub(super) first_day: Day,
    pub(super) last_day: Day,
    /// The days with sales from `first_day` to `last_day`, in their order.
    pub(super) days: Vec<DayTotal>,
}

impl CacheEntry {
    /// Returns the entry of a group, if it is valid and answers for a range.
    pub(super) fn get(
        cache: &Cache,
        group: GroupNo,
        present: &Versions,
        range: &Range,
    ) -> Option<Arc<CacheEntry>> {
        let entry: Arc<CacheEntry> = cache.get(&Key::Days(group))?;
        entry.answers(present, range).then_some(entry)
    }

    /// Replaces the entry of a group.
    pub(super) fn insert(self, cache: &Cache, group: GroupNo) {
        let size = self.days.len() * size_of::<DayTotal>();
        cache.insert(Key::Days(group), size, Arc::new(self));
    }

    /// Returns the days of a range.
    pub(super) fn days_of(&self, range: &Range) -> &[DayTotal] {
        let start = self.days.partition_point(|total| total.day < range.first_day);
        let end = self.days.partition_point(|total| total.day <= range.last_day);
        self.days.get(start..end).unwrap_or_default()
    }

    /// Returns whether the entry is valid and has all sums of a range, without recounting partial
    /// days.
    fn answers(&self, present: &Versions, range: &Range) -> bool {
        self.versions.has_sales_of(present)
            && self.first_day <= range.first_day
            && range.last_day <= self.last_day
            && self.days_of(range).iter().all(|total| total.is_within(range))
    }
}
