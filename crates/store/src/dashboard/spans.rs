//! The parts of a range that are read as months, and those that are read as days.

use kiosque_model::{Day, UnixMs};

use super::range::Range;
use crate::devices::CodeFilter;
use crate::scoped_query::HintedGroup;
use crate::sql::Value;

/// A range, divided for reading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Spans {
    /// The first instant of the range, and the first one after it.
    bounds: (UnixMs, UnixMs),
    /// All days of the range, in their order.
    days: Vec<DaySpan>,
}

/// Days in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct DaySpan {
    /// The first day of their month, if the month has ended. The days are not read if the month is
    /// closed and all of its sales lie in the range: then the month is read.
    month: Option<Day>,
    first_day: Day,
    last_day: Day,
}

impl Spans {
    /// Divides a range into the months that have ended, and later days.
    pub(super) fn by_month(range: &Range, today: Day) -> Spans {
        let mut days = Vec::new();
        let mut first_day = range.first_day;
        while first_day <= range.last_day {
            let month_end = first_day.last_of_month();
            let has_ended = month_end < today;
            let last_day = if has_ended { month_end.min(range.last_day) } else { range.last_day };
            let month = has_ended.then(|| first_day.first_of_month());
            days.push(DaySpan { month, first_day, last_day });
            first_day = last_day.next();
        }
        Spans { bounds: (range.start, range.end), days }
    }

    /// Returns a range as days alone.
    pub(super) fn by_day(range: &Range) -> Spans {
        let Range { first_day, last_day, .. } = *range;
        let days = vec![DaySpan { month: None, first_day, last_day }];
        Spans { bounds: (range.start, range.end), days }
    }

    /// Returns the first days of the first and of the last month that has ended.
    pub(super) fn months(&self) -> Option<(Day, Day)> {
        let mut months = self.days.iter().filter_map(|span| span.month);
        let first = months.next()?;
        Some((first, months.next_back().unwrap_or(first)))
    }

    /// Returns the first day of the month that has ended, if all days of the range are in it. The
    /// range is then read as this month, or as days.
    pub(super) fn only_month(&self) -> Option<Day> {
        match self.days.as_slice() {
            [span] => span.month,
            _ => None,
        }
    }

    /// Returns the parameters that every statement about the range has: the group and the bounds.
    pub(super) fn params(&self, group: HintedGroup) -> [Value<'static>; 3] {
        [group.into(), self.bounds.0.into(), self.bounds.1.into()]
    }

    /// Returns the days as the rows of a bulk statement: month, first day, last day.
    pub(super) fn day_rows<'a>(&self) -> Vec<Vec<Value<'a>>> {
        self.days.iter().map(DaySpan::values).collect()
    }

    /// The same for each device of a filter, with its code.
    pub(super) fn day_rows_of<'a>(&self, codes: &'a [CodeFilter]) -> Vec<Vec<Value<'a>>> {
        for_each_code(self.days.iter().map(DaySpan::values), &distinct(codes))
    }

    /// Returns the months that have ended for each device of a filter, as the rows of a bulk
    /// statement: month, code.
    pub(super) fn month_rows_of<'a>(&self, codes: &'a [CodeFilter]) -> Vec<Vec<Value<'a>>> {
        let months = self.days.iter().filter_map(|span| span.month);
        for_each_code(months.map(|month| vec![month.into()]), &distinct(codes))
    }
}

impl DaySpan {
    fn values<'a>(&self) -> Vec<Value<'a>> {
        vec![self.month.into(), self.first_day.into(), self.last_day.into()]
    }
}

/// Returns the codes of a filter. The sales of a repeated code count once.
fn distinct(codes: &[CodeFilter]) -> Vec<&str> {
    let codes = codes.iter().filter_map(|code| code.as_ref().ok());
    let mut codes: Vec<&str> = codes.map(|code| code.as_str()).collect();
    codes.sort_unstable();
    codes.dedup();
    codes
}

fn for_each_code<'a>(
    rows: impl Iterator<Item = Vec<Value<'a>>>,
    codes: &[&'a str],
) -> Vec<Vec<Value<'a>>> {
    let of_row = |row: Vec<Value<'a>>| {
        let with_code = |code: &&'a str| [row.as_slice(), &[(*code).into()]].concat();
        codes.iter().map(with_code).collect::<Vec<_>>()
    };
    rows.flat_map(of_row).collect()
}

#[cfg(test)]
mod tests {
    use kiosque_model::Zone;

    use super::*;

    fn day(text: &str) -> Day {
        Day::of(text.parse().expect("a date"))
    }

    fn spans(zone: &str, start: &str, end: &str) -> Spans {
        let zone = Zone::named(zone).expect("a zone");
        let time = |text: &str| zone.parse_first(text).expect("a time");
        let range = Range::of(time(start), time(end), &zone).expect("a range");
        Spans::by_month(&range, day("2026-04-01"))
    }

    #[test]
    fn months_that_have_ended_are_apart() {
        for (start, end, expected) in [
            ("2026-01-01 00:00:00", "2026-02-01 00:00:00", vec!["2026-01-01 to 2026-01-31"]),
            (
                "2026-01-31 10:00:00",
                "2026-04-02 00:00:00",
                vec![
                    "2026-01-31 to 2026-01-31",
                    "2026-02-01 to 2026-02-28",
                    "2026-03-01 to 2026-03-31",
                    "2026-04-01 to 2026-04-01, no month",
                ],
            ),
            (
                "2026-03-31 23:59:59",
                "2026-06-09 12:00:00",
                vec!["2026-03-31 to 2026-03-31", "2026-04-01 to 2026-06-09, no month"],
            ),
            (
                "2026-04-01 12:00:00",
                "2026-04-01 12:00:01",
                vec!["2026-04-01 to 2026-04-01, no month"],
            ),
        ] {
            for zone in ["UTC", "Europe/Paris", "America/Sao_Paulo"] {
                let spans = spans(zone, start, end);
                let text = |span: &DaySpan| {
                    let days = format!("{} to {}", span.first_day, span.last_day);
                    match span.month {
                        Some(month) => {
                            assert_eq!(month, span.first_day.first_of_month());
                            days
                        }
                        None => format!("{days}, no month"),
                    }
                };
                let texts: Vec<String> = spans.days.iter().map(text).collect();
                assert_eq!(texts, expected, "{start} to {end} in {zone}");
            }
        }
    }

    #[test]
    fn rows_of_a_filter_name_each_device_once() {
        let spans = spans("UTC", "2026-02-27 00:00:00", "2026-04-05 00:00:00");
        let code = |text: &str| kiosque_model::DeviceCode::parse(text);
        let codes = [code("b"), code("a"), code("b")];
        assert_eq!(spans.months(), Some((day("2026-02-01"), day("2026-03-01"))));
        assert_eq!(spans.only_month(), None);
        assert_eq!(spans.day_rows().len(), 3);
        assert_eq!(spans.day_rows_of(&codes).len(), 6);
        assert_eq!(spans.month_rows_of(&codes).len(), 4);
    }
}
