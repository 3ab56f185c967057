//! The sales of each day of a range. Sums of all devices are cached on SQLite; on PostgreSQL,
//! validating the cache costs as much as it saves.

use std::collections::BTreeMap;
use std::sync::Arc;

use kiosque_model::sales::Turnover;
use kiosque_model::{Claim, Day, Scope};

use super::DashboardQuery;
use super::figures::days::{DayTotal, days_within, each_in_parts};
use super::filter::Devices;
use super::range::Range;
use super::{device_sums, sums};
use crate::cache::Key;
use crate::db::Readings;
use crate::error::Refused;
use crate::scoped::{HintedGroup, presumed_group, scoped};
use crate::versions::{Versions, versions};
use crate::views::Reports;

/// The sales of the days of a group, and the versions at which they were read.
#[derive(Debug)]
struct CachedDays {
    versions: Versions,
    first_day: Day,
    last_day: Day,
    /// The days with sales from `first_day` to `last_day`, in their order.
    days: Vec<DayTotal>,
}

impl CachedDays {
    /// Returns the days of a range, if all its days are cached and none must be counted from its
    /// orders.
    fn of(&self, range: &Range) -> Option<&[DayTotal]> {
        let start = self.days.partition_point(|total| total.day < range.first_day);
        let end = self.days.partition_point(|total| total.day <= range.last_day);
        let days = self.days.get(start..end)?;
        let has_range = self.first_day <= range.first_day && range.last_day <= self.last_day;
        (has_range && days.iter().all(|total| total.is_within(range))).then_some(days)
    }
}

impl Reports<'_> {
    /// Reads the sales of each day with sales in the range of a query, and `others`, in one
    /// snapshot.
    pub(super) async fn sales_by_day<R: Readings>(
        self,
        claim: &Claim,
        query: &DashboardQuery,
        range: Option<&Range>,
        others: impl Fn(HintedGroup) -> R,
    ) -> Result<(Scope, BTreeMap<Day, Turnover>, R::Rows), Refused> {
        if let Some(range) = range
            && query.is_of_all_devices()
        {
            return self.sales_of_all_devices_by_day(claim, query, range, others).await;
        }
        let sales = |group, devices: &Devices| {
            let range = range?;
            Some((device_sums::by_day(devices, range, group), sums::parts(range, group)))
        };
        let about = |group, devices: &Devices| (sales(group, devices), others(group));
        let (scope, devices, (sales, others)) = self.scoped_to_devices(claim, query, about).await?;
        let Some((sums, parts)) = sales else { return Ok((scope, BTreeMap::new(), others)) };
        let mut days = sums.sales;
        each_in_parts(&parts, &devices, &sums.rates, |day, _, turnover| {
            days.entry(day).or_default().join(turnover);
        });
        Ok((scope, days, others))
    }

    async fn sales_of_all_devices_by_day<R: Readings>(
        self,
        claim: &Claim,
        query: &DashboardQuery,
        range: &Range,
        others: impl Fn(HintedGroup) -> R,
    ) -> Result<(Scope, BTreeMap<Day, Turnover>, R::Rows), Refused> {
        let (filter, is_cached) = (query.group.as_ref(), !self.0.db.sends_ahead());
        let presumed = presumed_group(self.0, claim, filter).filter(|_| is_cached);
        let cached = presumed.and_then(|group| self.0.cache.get::<CachedDays>(&Key::Days(group)));
        if let Some((group, cached)) = presumed.zip(cached)
            && let Some(days) = cached.of(range)
        {
            let about = |group| (versions(group), others(group));
            let (scope, (present, others)) = scoped(self.0, claim, filter, about).await?;
            let is_valid = present.is_some_and(|present| cached.versions.has_sales_of(&present));
            if is_valid && scope.group() == group {
                return Ok((scope, days_within(days, range), others));
            }
        }
        let about = |group| {
            let sales = (sums::days(range, group), sums::parts(range, group));
            (is_cached.then(|| versions(group)), sales, others(group))
        };
        let (scope, (versions, (sums, parts), others)) =
            scoped(self.0, claim, filter, about).await?;
        let mut days = days_within(&sums.days, range);
        each_in_parts(&parts, &Devices::All, &sums.rates, |day, _, turnover| {
            days.entry(day).or_default().join(turnover);
        });
        if let Some(versions) = versions.flatten() {
            let (first_day, last_day) = (range.first_day, range.last_day);
            let size = sums.days.len() * size_of::<DayTotal>();
            let read = CachedDays { versions, first_day, last_day, days: sums.days };
            self.0.cache.insert(Key::Days(scope.group()), size, Arc::new(read));
        }
        Ok((scope, days, others))
    }
}
