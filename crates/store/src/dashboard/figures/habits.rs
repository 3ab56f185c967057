//! Whether a device sells and ships as it used to.

use kiosque_model::{Day, Need};

use crate::sums::device_block::DeviceFigures;

/// The number of previous weeks with which a device is compared.
const WEEKS: i64 = 4;
/// The days of a week.
const WEEK: i64 = 7;
/// The sales per week on the same weekday that make them a habit.
const HABIT_MIN: i64 = 3;
/// The number of failed shipments in the last week below which a device does not count as failing.
const FAILED_MIN: i64 = 3;
/// The number of shipments in the previous weeks needed to know the usual share of failures.
const SHIPMENTS_MIN: i64 = 20;

/// The latest sales of a device.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Habits {
    /// The sales on yesterday's weekday, in each of the previous weeks.
    on_weekday: [i64; 4],
    since_yesterday: i64,
    /// Shipped and failed orders of the last seven days, today included.
    week: [i64; 2],
    /// The same counts for the previous weeks.
    before: [i64; 2],
}

/// The state of a device now.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeviceState {
    pub(crate) is_online: bool,
    /// It moved since the beginning of yesterday.
    pub(crate) is_new: bool,
}

impl Habits {
    /// Returns the first day that is compared.
    pub(crate) const fn first_day(today: Day) -> Day {
        Day(today.0 + 1 - WEEK * (WEEKS + 1))
    }

    /// Adds the sales of a day.
    pub(crate) fn add(&mut self, today: Day, day: Day, figures: DeviceFigures) {
        let [orders, _, _, _, shipped, failed] = figures;
        let ago = today.0 - day.0;
        if ago <= 1 {
            self.since_yesterday += orders;
        } else if (ago - 1) % WEEK == 0
            && let Some(weeks) = usize::try_from(ago / WEEK - 1).ok()
            && let Some(sold) = self.on_weekday.get_mut(weeks)
        {
            *sold += orders;
        }
        let shipments = if ago < WEEK { &mut self.week } else { &mut self.before };
        shipments.iter_mut().zip([shipped, failed]).for_each(|(sum, orders)| *sum += orders);
    }

    /// Returns why the device needs attention. One that is new or not online need not have sold.
    pub(crate) fn needs(&self, state: DeviceState) -> impl Iterator<Item = Need> {
        let DeviceState { is_online, is_new } = state;
        let needs = [
            (Need::Silent, !is_online),
            (Need::Unsold, is_online && !is_new && self.has_stopped_selling()),
            (Need::Failing, self.fails_more()),
        ];
        needs.into_iter().filter_map(|(need, exists)| exists.then_some(need))
    }

    /// Returns whether the device has sold nothing since the beginning of yesterday, and sold at
    /// least three times on that weekday in each of the four previous weeks.
    fn has_stopped_selling(&self) -> bool {
        self.since_yesterday == 0 && self.on_weekday.iter().all(|sold| *sold >= HABIT_MIN)
    }

    /// Returns whether at least three shipments of the last seven days failed, and their share is
    /// more than twice the share in the four previous weeks, which had at least twenty shipments.
    fn fails_more(&self) -> bool {
        let ([shipped, failed], [shipped_before, failed_before]) = (self.week, self.before);
        let (all, all_before) = (shipped + failed, shipped_before + failed_before);
        failed >= FAILED_MIN
            && all_before >= SHIPMENTS_MIN
            && failed.saturating_mul(all_before) > 2 * failed_before.saturating_mul(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TODAY: Day = Day(20_000);

    fn habits(days: impl IntoIterator<Item = (i64, DeviceFigures)>) -> Habits {
        let mut habits = Habits::default();
        for (ago, figures) in days {
            habits.add(TODAY, Day(TODAY.0 - ago), figures);
        }
        habits
    }

    const fn sold(orders: i64) -> DeviceFigures {
        [orders, 0, 0, 0, 0, 0]
    }

    const fn shipped(shipped: i64, failed: i64) -> DeviceFigures {
        [shipped + failed, 0, 0, 0, shipped, failed]
    }

    #[test]
    fn a_device_that_sold_on_this_weekday_and_stopped_is_found() {
        let weekdays = [8, 15, 22, 29];
        let on_weekdays = |orders| weekdays.map(|ago| (ago, sold(orders)));
        assert!(habits(on_weekdays(3)).has_stopped_selling());
        assert!(!habits(on_weekdays(2)).has_stopped_selling(), "it sells little");
        let three_weeks = on_weekdays(9).into_iter().take(3);
        assert!(!habits(three_weeks).has_stopped_selling(), "its history is short");
        for ago in [0, 1] {
            let sells = on_weekdays(3).into_iter().chain([(ago, sold(1))]);
            assert!(!habits(sells).has_stopped_selling(), "it sold {ago} days ago");
        }
        let closed = (2..35).filter(|ago| (ago - 1) % 7 != 0).map(|ago| (ago, sold(9)));
        assert!(!habits(closed).has_stopped_selling(), "it is closed on this weekday");
        assert_eq!(Habits::first_day(TODAY), Day(TODAY.0 - 34), "day 29 ago is among them");
    }

    #[test]
    fn a_device_that_is_new_or_not_online_need_not_have_sold() {
        let stopped = habits([8, 15, 22, 29].map(|ago| (ago, sold(3))));
        let failing = habits([(6, shipped(7, 3)), (7, shipped(90, 10))]);
        for (habits, is_online, is_new, needs) in [
            (stopped, true, false, &[Need::Unsold][..]),
            (stopped, true, true, &[]),
            (stopped, false, false, &[Need::Silent]),
            (failing, true, true, &[Need::Failing]),
        ] {
            let state = DeviceState { is_online, is_new };
            assert_eq!(habits.needs(state).collect::<Vec<_>>(), needs, "{state:?}");
        }
    }

    #[test]
    fn a_device_whose_share_of_failures_more_than_doubled_is_found() {
        let of = |week: (i64, i64), before: (i64, i64)| {
            habits([(6, shipped(week.0, week.1)), (7, shipped(before.0, before.1))]).fails_more()
        };
        assert!(of((7, 3), (90, 10)));
        assert!(!of((8, 2), (90, 10)), "two failures are few");
        assert!(!of((12, 3), (90, 10)), "twice as many are not more than twice");
        assert!(of((100, 3), (20, 0)), "none failed before");
        assert!(!of((7, 3), (19, 0)), "its history is short");
    }
}
