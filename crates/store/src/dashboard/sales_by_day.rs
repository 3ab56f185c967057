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
use crate::versions::{Versioned, versions};
use crate::views::Reports;

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
        let filter = query.group.as_ref();
        let is_cached = !self.0.db.sends_ahead();
        let key = |group| Key::Days(group, range.first_day, range.last_day);
        let presumed = presumed_group(self.0, claim, filter).filter(|_| is_cached);
        let cached =
            presumed.and_then(|group| self.0.cache.get::<Versioned<Vec<DayTotal>>>(&key(group)));
        // Days with sales outside of the range are counted from their orders.
        if let Some((group, cached)) = presumed.zip(cached)
            && cached.value.iter().all(|total| total.is_within(range))
        {
            let about = |group| (versions(group), others(group));
            let (scope, (present, others)) = scoped(self.0, claim, filter, about).await?;
            let is_valid = present.is_some_and(|present| cached.versions.has_sales_of(&present));
            if is_valid && scope.group() == group {
                return Ok((scope, days_within(&cached.value, range), others));
            }
        }
        let about = |group| {
            let sales = (sums::days(range, group), sums::parts(range, group));
            (is_cached.then(|| versions(group)), (sales, others(group)))
        };
        let (scope, (versions, ((sums, parts), others))) =
            scoped(self.0, claim, filter, about).await?;
        let mut days = days_within(&sums.days, range);
        each_in_parts(&parts, &Devices::All, &sums.rates, |day, _, turnover| {
            days.entry(day).or_default().join(turnover);
        });
        if let Some(versions) = versions.flatten() {
            let size = sums.days.len() * size_of::<DayTotal>();
            let read = Versioned { versions, value: sums.days };
            self.0.cache.insert(key(scope.group()), size, Arc::new(read));
        }
        Ok((scope, days, others))
    }
}
