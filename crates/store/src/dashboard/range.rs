//! The days of a time range.

use kiosque_model::{Day, UnixMs, Zone};

/// A non-empty time range, and its days.
#[derive(Clone, Debug)]
pub(super) struct Range {
    pub(super) start: UnixMs,
    /// The first instant after the range.
    pub(super) end: UnixMs,
    pub(super) first_day: Day,
    pub(super) last_day: Day,
    /// At most the first day and the last day.
    pub(super) partial_days: Vec<PartialDay>,
}

/// A day that is only partly in the range, and that part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PartialDay {
    pub(super) day: Day,
    pub(super) start: UnixMs,
    pub(super) end: UnixMs,
}

impl Range {
    /// Returns the range; `None` if it is empty.
    pub(super) fn of(start: UnixMs, end: UnixMs, zone: &Zone) -> Option<Range> {
        if start >= end {
            return None;
        }
        let (first_day, last_day) = (zone.day_of(start), zone.day_of(end.plus_ms(-1)));
        let mut days = vec![first_day, last_day];
        days.dedup();
        let partial_days = days.into_iter().filter_map(|day| {
            let (day_start, day_end) = (zone.start_of(day), zone.start_of(day.next()));
            let part = PartialDay { day, start: start.max(day_start), end: end.min(day_end) };
            (part.start > day_start || part.end < day_end).then_some(part)
        });
        let partial_days = partial_days.collect();
        Some(Range { start, end, first_day, last_day, partial_days })
    }

    /// Returns every day that has an instant in the range.
    pub(super) fn days(&self, zone: &Zone) -> Vec<Day> {
        let mut days = Vec::new();
        let mut day = self.first_day;
        while day < self.last_day {
            if zone.has(day) {
                days.push(day);
            }
            day = day.next();
        }
        days.push(self.last_day);
        days
    }
}
