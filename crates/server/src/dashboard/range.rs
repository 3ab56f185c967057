//! The range of a dashboard (DASH-2 to DASH-6).

use kiosque_contract::DashboardFilter;
use kiosque_model::refusal::ViolationKind;
use kiosque_model::{DAY_MS, UnixMs, Zone};

use crate::call::Call;
use crate::request::Violations;

/// The length of the longest month. No maximum excludes a range that begins with its month because
/// it has no start.
const MONTH_DAYS_MAX: i64 = 31;

/// Returns the first instant of a filter's range and the first one after it. Without a start the
/// range begins with the current month, or with the month of its last instant if that is earlier.
pub(super) fn of(filter: &DashboardFilter, zone: &Zone, now: UnixMs) -> (UnixMs, UnixMs) {
    let until = filter.end_timestamp.map(UnixMs);
    let from = filter.start_timestamp.map(UnixMs).unwrap_or_else(|| {
        let this_month = zone.start_of_month(now);
        match until {
            Some(end) if end <= this_month => zone.start_of_month(end.plus_ms(-1)).min(end),
            _ => this_month,
        }
    });
    (from, until.unwrap_or(now))
}

/// Adds a violation for each problem of the range: times in another unit, an end before the start,
/// and more than `days_max` days. A violation names `endTimestamp` only if it was sent.
pub(super) fn validate(
    filter: &DashboardFilter,
    call: &Call<'_>,
    days_max: i64,
    violations: &mut Violations,
) {
    let (start, end) = ("startTimestamp", "endTimestamp");
    violations.check_milliseconds(start, filter.start_timestamp);
    violations.check_milliseconds(end, filter.end_timestamp);
    // An invalid end does not make the start invalid.
    if violations.concern(start) || violations.concern(end) {
        return;
    }
    let zone = call.app.store.zone();
    let (from, until) = of(filter, zone, call.now);
    let days_max = match filter.start_timestamp {
        Some(_) => days_max,
        None => days_max.max(MONTH_DAYS_MAX),
    };
    let (after, too_long) = match filter.end_timestamp {
        Some(_) => (ViolationKind::AfterEnd, ViolationKind::RangeTooLong(days_max)),
        None => (ViolationKind::AfterNow, ViolationKind::RangeToNowTooLong(days_max)),
    };
    if from > until {
        violations.add(start, after);
    }
    if is_longer((from, until), zone, days_max) {
        violations.add(start, too_long);
    }
}

/// Returns whether a range is longer than `days`, by elapsed time and by the calendar: days of the
/// zone may have 25 hours, and a range of 24 hours may begin in the middle of one.
fn is_longer((from, until): (UnixMs, UnixMs), zone: &Zone, days: i64) -> bool {
    until.0.saturating_sub(from.0) > days.saturating_mul(DAY_MS)
        && self::days((from, until), zone) > days
}

/// Returns the number of days that a range touches.
pub(super) fn days((from, until): (UnixMs, UnixMs), zone: &Zone) -> i64 {
    zone.day_of(until.plus_ms(-1)).0 - zone.day_of(from).0 + 1
}
