//! The parts of a range that are summed and cached separately.

use std::cmp::Ordering;

use kiosque_model::Day;

/// The days of a week.
const WEEK: i64 = 7;

/// Consecutive days, including the first and the last one.
pub(super) type Segment = (Day, Day);

/// Divides a range into segments: whole months that have ended; weeks, which are cut at the ends of
/// months, at the ends of the range and before today; and today. So a sale today changes the sums
/// of one day, and a change of an earlier day the sums of a week or month, while the other segments
/// are read from the cache. Overlapping ranges share their segments.
pub(super) fn segments(first: Day, last: Day, today: Day) -> Vec<Segment> {
    let mut segments = Vec::new();
    let mut start = first;
    while start <= last {
        let end = end_of(start, last, today);
        segments.push((start, end));
        start = end.next();
    }
    segments
}

fn end_of(start: Day, last: Day, today: Day) -> Day {
    let month_end = start.last_of_month();
    let is_whole_month = start == start.first_of_month() && month_end <= last;
    if is_whole_month && month_end < today {
        return month_end;
    }
    let week_end = Day(start.0 + WEEK - 1 - start.0.rem_euclid(WEEK));
    let end = week_end.min(month_end).min(last);
    match start.cmp(&today) {
        Ordering::Less => end.min(Day(today.0 - 1)),
        Ordering::Equal => today,
        Ordering::Greater => end,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(text: &str) -> Day {
        Day::of(text.parse().unwrap())
    }

    fn cut(first: &str, last: &str, today: &str) -> Vec<String> {
        let segments = segments(day(first), day(last), day(today));
        segments.iter().map(|(first, last)| format!("{first} {last}")).collect()
    }

    #[test]
    fn months_weeks_and_today_are_segments() {
        let weeks = cut("2026-03-03", "2026-03-20", "2026-03-18");
        assert_eq!(
            weeks,
            [
                "2026-03-03 2026-03-04",
                "2026-03-05 2026-03-11",
                "2026-03-12 2026-03-17",
                "2026-03-18 2026-03-18",
                "2026-03-19 2026-03-20",
            ]
        );
        let months = cut("2026-01-30", "2026-03-01", "2026-03-01");
        assert_eq!(
            months,
            ["2026-01-30 2026-01-31", "2026-02-01 2026-02-28", "2026-03-01 2026-03-01"]
        );
        // The weeks of a month that has not ended are segments.
        assert_eq!(cut("2026-03-01", "2026-03-31", "2026-03-31").len(), 6);
    }

    /// Every day is in one segment, in order, and today is a separate one.
    #[test]
    fn segments_divide_a_range() {
        for first in 20_500..20_600 {
            for length in [1, 2, 6, 7, 28, 91, 364] {
                let (last, today) = (Day(first + length - 1), Day(20_580));
                let segments = segments(Day(first), last, today);
                let mut next = Day(first);
                for (start, end) in segments {
                    assert_eq!(start, next);
                    assert!(start <= end && end <= last);
                    assert!(start == end || !(start..=end).contains(&today), "{start} {end}");
                    next = end.next();
                }
                assert_eq!(next, last.next());
            }
        }
    }
}
