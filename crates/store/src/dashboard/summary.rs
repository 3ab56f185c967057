//! The summary: the sales of a range, and the devices that the group owns now.

use std::sync::Arc;

use kiosque_model::sales::Turnover;
use kiosque_model::{Claim, DeviceNo, GroupNo, UnixMs};

use super::{AnswerContext, DashboardQuery, Report, Request, RowContext, SalesBy};
use crate::cache::{Cache, Key};
use crate::db::{Bound, Decision, Step};
use crate::devices::{OnlineSince, bind_listed_count};
use crate::scoped_query::HintedGroup;
use crate::sql::{Row, row, statements};
use crate::{Error, Refused, Store};

row! {
    struct ActivityRow { device_no: DeviceNo, last_active_ms: Option<UnixMs> }
}

statements! {
    LAST_ACTIVE(group_no, now_ms) -> ActivityRow = "select o.device_no, l.last_active_ms
        from device_owners o
        join ledger l on l.group_no = $group_no and l.device_code = o.device_code
        where o.group_no = $group_no and o.since_ms <= $now_ms and o.until_ms > $now_ms
            and o.listed";
    LAST_ACTIVE_OF(group_no, now_ms) -> ActivityRow = "select o.device_no, l.last_active_ms
        from {rows r: code text} cross join device_owners o cross join ledger l
        where o.group_no = $group_no and o.device_code = r.code
            and o.since_ms <= $now_ms and o.until_ms > $now_ms and o.listed
            and l.group_no = $group_no and l.device_code = o.device_code";
}

/// The age, in milliseconds, at which a count of online devices is made again (DASH-28).
const COUNT_AGE_MAX: i64 = 1_000;
/// The online devices of larger groups are counted on the blocking pool.
const INLINE_DEVICES_MAX: i64 = 200;

/// The figures of the summary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// The sales of the range.
    pub turnover: Turnover,
    /// Enabled devices that the group owns now.
    pub devices: i64,
    /// Those of them that are online, as of a second ago at most (DASH-28).
    pub online_devices: i64,
}

impl Store {
    /// Returns the sum of all sales of the range, and the number of devices now.
    ///
    /// # Errors
    /// `TokenInvalid`, `GroupClosed`, `OutOfScope`, or the store failed.
    pub async fn summary(
        &self,
        claim: Claim,
        online: OnlineSince,
        query: DashboardQuery,
    ) -> Result<Summary, Refused> {
        let cache = Arc::clone(&self.cache);
        let hinted_group = query.group.is_none().then(|| claim.token.group_hint());
        self.report(claim, query, SummaryReport { hinted_group, online, cache }).await
    }
}

/// The number of the online devices of a group. To count them, all devices of the group are read.
/// It may be a second old, so that it is not validated by versions.
#[derive(Clone, Copy, Debug)]
struct OnlineCount {
    counted_at: UnixMs,
    since: OnlineSince,
    online: i64,
}

impl SummaryReport {
    /// Returns the count of a group, unless it is too old or was made with another window.
    fn cached(&self, group: GroupNo, now: UnixMs) -> Option<i64> {
        let count: Arc<OnlineCount> = self.cache.get(&Key::Online(group))?;
        let window = |now: UnixMs, since: OnlineSince| now.0.saturating_sub(since.0.0);
        let age = now.0.saturating_sub(count.counted_at.0);
        let is_usable = (0..COUNT_AGE_MAX).contains(&age)
            && window(now, self.online) == window(count.counted_at, count.since);
        is_usable.then_some(count.online)
    }
}

struct SummaryReport {
    /// The group that the token names, unless the request names another.
    hinted_group: Option<GroupNo>,
    online: OnlineSince,
    cache: Arc<Cache>,
}

#[derive(Default)]
struct SummaryRows {
    turnover: Turnover,
    devices: i64,
    /// Devices of the group or of the filter that are online, unless their number is cached.
    online_devices: i64,
    cached: Option<i64>,
}

/// A statement about devices.
enum SummaryStep {
    /// The number of devices, and the number of those online if it is cached.
    Count(Option<i64>),
    /// A device of the group.
    Device(HintedGroup),
    /// A device of the filter.
    FilteredDevice(HintedGroup),
}

impl Report for SummaryReport {
    type Rows = SummaryRows;
    type Step = SummaryStep;
    type Answer = Summary;
    const SALES: SalesBy = SalesBy::Range;

    fn on_sales(&self, rows: &mut SummaryRows, turnover: &Turnover) {
        rows.turnover.join(turnover);
    }

    fn steps<'a>(&'a self, request: &'a Request, group: HintedGroup) -> Vec<Step<'a, SummaryStep>> {
        let of_group = [group.into(), request.now.into()];
        if let Some(codes) = request.codes() {
            let devices = Bound::new(&LAST_ACTIVE_OF, of_group).with_rows(codes);
            return vec![devices.step(SummaryStep::FilteredDevice(group))];
        }
        let cached = self.cached(group.number(), request.now);
        let mut steps =
            vec![bind_listed_count(group, request.now).step(SummaryStep::Count(cached))];
        if cached.is_none() {
            steps.push(Bound::new(&LAST_ACTIVE, of_group).step(SummaryStep::Device(group)));
        }
        steps
    }

    fn may_scan(&self, request: &Request) -> bool {
        let cached = |group| self.cached(group, request.now);
        request.is_of_all_devices() && self.hinted_group.and_then(cached).is_none()
    }

    fn decide(&self, rows: &SummaryRows, step: &SummaryStep) -> Decision {
        match step {
            SummaryStep::Device(_) if rows.devices > INLINE_DEVICES_MAX => Decision::RunBlocking,
            _ => Decision::Run,
        }
    }

    fn on_row(
        &self,
        rows: &mut SummaryRows,
        step: &SummaryStep,
        row: &Row<'_>,
        context: &RowContext<'_>,
    ) -> Result<(), Error> {
        let is_online = |group: HintedGroup| {
            let ActivityRow { device_no, last_active_ms } = row.read()?;
            let key = (group.number(), device_no);
            let last_active = context.request.activity.merged(key, last_active_ms);
            Ok::<_, Error>(i64::from(self.online.holds(last_active)))
        };
        match step {
            SummaryStep::Count(cached) => {
                rows.devices = row.read()?;
                rows.cached = *cached;
            }
            SummaryStep::Device(group) => rows.online_devices += is_online(*group)?,
            SummaryStep::FilteredDevice(group) => {
                rows.devices += 1;
                rows.online_devices += is_online(*group)?;
            }
        }
        Ok(())
    }

    fn answer(self, rows: SummaryRows, context: &AnswerContext<'_>) -> Result<Summary, Refused> {
        let SummaryRows { turnover, devices, online_devices: counted, cached } = rows;
        if cached.is_none() && context.request.is_of_all_devices() {
            let (counted_at, since) = (context.request.now, self.online);
            let count = Arc::new(OnlineCount { counted_at, since, online: counted });
            self.cache.insert(Key::Online(context.group), size_of::<OnlineCount>(), count);
        }
        // An apply may have removed a device since they were counted.
        let online_devices = cached.unwrap_or(counted).min(devices);
        Ok(Summary { turnover, devices, online_devices })
    }
}
