//! The summary: the sales of a range, and the devices that the group owns now.

use std::sync::Arc;

use kiosque_model::sales::Turnover;
use kiosque_model::{Claim, DeviceNo, GroupNo, UnixMs};

use super::DashboardQuery;
use super::figures::days::sum;
use super::filter::rows_of;
use crate::cache::Key;
use crate::db::{Bound, Reading};
use crate::devices::{OnlineSince, listed_count};
use crate::error::Refused;
use crate::scoped::HintedGroup;
use crate::sql::{Row, statements};
use crate::views::Reports;

statements! {
    LAST_ACTIVE(group_no, now_ms) -> (DeviceNo, Option<UnixMs>) = "select o.device_no,
            l.last_active_ms
        from device_owners o
        join ledger l on l.group_no = $group_no and l.device_code = o.device_code
        where o.group_no = $group_no and o.since_ms <= $now_ms and o.until_ms > $now_ms
            and o.listed";
    LAST_ACTIVE_OF(group_no, now_ms) -> (DeviceNo, Option<UnixMs>) = "select o.device_no,
            l.last_active_ms
        from {each r: code text} cross join device_owners o cross join ledger l
        where o.group_no = $group_no and o.device_code = r.code
            and o.since_ms <= $now_ms and o.until_ms > $now_ms and o.listed
            and l.group_no = $group_no and l.device_code = o.device_code";
}

/// The age, in milliseconds, at which online devices are counted again (DASH-28).
const COUNT_AGE_MAX: i64 = 1_000;

/// The figures of the summary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// The sales of the range.
    pub turnover: Turnover,
    /// Enabled devices that the group owns now.
    pub devices: i64,
    /// The online ones among them, as of at most a second ago (DASH-28).
    pub online_devices: i64,
}

/// The number of the online devices of a group. Counting reads all devices of the group. The number
/// may be a second old, so it is not validated by versions.
#[derive(Clone, Copy, Debug)]
struct OnlineCount {
    counted_at: UnixMs,
    since: OnlineSince,
    online: i64,
}

impl Reports<'_> {
    /// Returns the sum of all sales of the range, and the number of devices now.
    ///
    /// # Errors
    /// `TokenInvalid`, `GroupClosed`, `OutOfScope`, or the store failed.
    pub async fn summary(
        self,
        claim: Claim,
        online: OnlineSince,
        query: DashboardQuery,
    ) -> Result<Summary, Refused> {
        let (range, now) = (query.range(&self.0.zone), claim.now);
        if let Some(codes) = query.codes() {
            let about = |group: HintedGroup| {
                let devices = Bound::new(&LAST_ACTIVE_OF, [group.into(), now.into()]);
                self.counts(group, online, devices.with_rows(rows_of(&codes)))
            };
            let (_, days, counts) =
                self.sales_by_day(&claim, &query, range.as_ref(), about).await?;
            return Ok(Summary { turnover: sum(&days), ..counts });
        }
        let about = |group: HintedGroup| {
            let online = match self.known_online(group.number(), online, now) {
                Some(online_devices) => {
                    Reading::of(Summary { online_devices, ..Summary::default() })
                }
                None => {
                    let devices = Bound::new(&LAST_ACTIVE, [group.into(), now.into()]);
                    self.counts(group, online, devices)
                }
            };
            (listed_count(group, now), online)
        };
        let (scope, days, (devices, counts)) =
            self.sales_by_day(&claim, &query, range.as_ref(), about).await?;
        // A count that was known has no devices, and keeps its age.
        if counts.devices > 0 {
            let count =
                OnlineCount { counted_at: now, since: online, online: counts.online_devices };
            let key = Key::Online(scope.group());
            self.0.cache.insert(key, size_of::<OnlineCount>(), Arc::new(count));
        }
        let devices = devices.unwrap_or_default();
        // An apply may have removed a device since they were counted.
        let online_devices = counts.online_devices.min(devices);
        Ok(Summary { turnover: sum(&days), devices, online_devices })
    }

    /// Counts the devices of a statement, and the online ones among them.
    fn counts(self, group: HintedGroup, online: OnlineSince, devices: Bound) -> Reading<Summary> {
        let activity = Arc::clone(&self.0.activity);
        devices.fold(Summary::default(), move |counts: &mut Summary, row: &Row<'_>| {
            let (device_no, last_active_ms) = row.read()?;
            let last_active = activity.merged((group.number(), device_no), last_active_ms);
            counts.devices += 1;
            counts.online_devices += i64::from(online.holds(last_active));
            Ok(())
        })
    }

    /// Returns the count of a group, unless it is too old or was made with another window.
    fn known_online(self, group: GroupNo, online: OnlineSince, now: UnixMs) -> Option<i64> {
        let count: Arc<OnlineCount> = self.0.cache.get(&Key::Online(group))?;
        let window = |now: UnixMs, since: OnlineSince| now.0.saturating_sub(since.0.0);
        let age = now.0.saturating_sub(count.counted_at.0);
        let is_usable = (0..COUNT_AGE_MAX).contains(&age)
            && window(now, online) == window(count.counted_at, count.since);
        is_usable.then_some(count.online)
    }
}
