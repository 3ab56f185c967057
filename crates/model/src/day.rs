//! Days of the statistics time zone. A day starts at the first instant that has its date in the
//! zone, and ends at the start of the next day. Days thus follow clock changes (23 and 25 hours),
//! and each instant belongs to exactly one day.

use std::fmt;

use jiff::civil::Date;

use crate::time::{UnixMs, Zone};

const EPOCH: Date = Date::constant(1970, 1, 1);
/// Days before [`UnixMs::MIN`] and after 9999 are clamped to these.
const DAY_MIN: i64 = -717_594;
const DAY_MAX: i64 = 2_932_896;
/// Days whose UTC date is computed by division; the calendar gives the same result.
const KNOWN_DAYS: std::ops::Range<i64> = DAY_MIN + 2..DAY_MAX - 2;
/// A day in milliseconds.
pub const DAY_MS: i64 = 86_400_000;

/// A calendar day, counted from 1970-01-01.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Day(pub i64);

impl Day {
    /// Returns the day of a date.
    pub fn of(date: Date) -> Day {
        Day(i64::from(EPOCH.until(date).map_or(0, |span| span.get_days())))
    }

    /// Returns the date of the day.
    pub fn date(self) -> Date {
        let days = i32::try_from(self.0.clamp(DAY_MIN, DAY_MAX)).unwrap_or(0);
        EPOCH.saturating_add(jiff::Span::new().days(days))
    }

    /// Returns the next day.
    #[must_use]
    pub const fn next(self) -> Day {
        Day(self.0 + 1)
    }

    /// Returns the first day of the month.
    pub fn first_of_month(self) -> Day {
        Day::of(self.date().first_of_month())
    }

    /// Returns the last day of the month.
    pub fn last_of_month(self) -> Day {
        Day::of(self.date().last_of_month())
    }
}

/// `yyyy-MM-dd`
impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let date = self.date();
        write!(f, "{:04}-{:02}-{:02}", date.year(), date.month(), date.day())
    }
}

impl Zone {
    /// Returns the first instant of a day.
    pub fn start_of(&self, day: Day) -> UnixMs {
        if self.is_utc() && KNOWN_DAYS.contains(&day.0) {
            return UnixMs(day.0 * DAY_MS);
        }
        // The last day of the calendar has no end.
        if day.0 > DAY_MAX { UnixMs(i64::MAX) } else { self.first_instant(day.date()) }
    }

    /// Returns whether a day has an instant. Some zones have skipped a whole day.
    pub fn has(&self, day: Day) -> bool {
        self.start_of(day) < self.start_of(day.next())
    }

    /// Returns the day that an instant belongs to.
    pub fn day_of(&self, at: UnixMs) -> Day {
        let day = Day(at.0.div_euclid(DAY_MS));
        if self.is_utc() && KNOWN_DAYS.contains(&day.0) {
            return day;
        }
        let day = Day::of(self.civil(at).date());
        // When clocks are set back over midnight, the day that has started continues.
        if day.0 < DAY_MAX && at >= self.start_of(day.next()) { day.next() } else { day }
    }

    /// Returns the first instant of the month that `at` belongs to.
    pub fn start_of_month(&self, at: UnixMs) -> UnixMs {
        self.first_instant(self.day_of(at).date().first_of_month())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HOUR: i64 = 3_600_000;
    const DAY: i64 = 24 * HOUR;

    fn zone(name: &str) -> Zone {
        Zone::named(name).expect("a zone")
    }

    fn day(text: &str) -> Day {
        Day::of(text.parse().expect("a date"))
    }

    #[test]
    fn days_follow_clock_changes() {
        for (name, text, begins, hours) in [
            ("UTC", "2024-02-29", "2024-02-29T00:00:00Z", 24),
            ("UTC", "2023-12-31", "2023-12-31T00:00:00Z", 24),
            ("Europe/Paris", "2026-03-29", "2026-03-28T23:00:00Z", 23),
            ("Europe/Paris", "2026-10-25", "2026-10-24T22:00:00Z", 25),
            ("America/New_York", "2022-03-13", "2022-03-13T05:00:00Z", 23),
            ("America/New_York", "2022-11-06", "2022-11-06T04:00:00Z", 25),
            ("America/New_York", "2022-12-31", "2022-12-31T05:00:00Z", 24),
            ("Asia/Kathmandu", "2026-01-01", "2025-12-31T18:15:00Z", 24),
            // Clocks go from 23:59:59 to 01:00: the day begins an hour late and is 23 hours long.
            ("America/Sao_Paulo", "2018-11-04", "2018-11-04T03:00:00Z", 23),
            // Clocks go from 24:00 back to 23:00: the day has 25 hours.
            ("America/Sao_Paulo", "2018-02-17", "2018-02-17T02:00:00Z", 25),
            // 00:00 to 01:00 happens twice; the day begins with the first.
            ("America/Havana", "2025-11-02", "2025-11-02T04:00:00Z", 25),
            // From 00:01 back to 23:01: the day that has begun continues.
            ("America/St_Johns", "2010-11-07", "2010-11-07T02:30:00Z", 25),
            ("America/St_Johns", "2010-11-06", "2010-11-06T02:30:00Z", 24),
            // Half an hour.
            ("Australia/Lord_Howe", "2026-04-05", "2026-04-04T13:00:00Z", 24),
        ] {
            let zone = zone(name);
            let begins = zone.parse(begins).expect("a time");
            assert_eq!(zone.text(zone.start_of(day(text))), zone.text(begins), "{name} {text}");
            assert_eq!(zone.start_of(day(text)), begins, "{name} {text}");
            let length = zone.start_of(day(text).next()).0 - begins.0;
            assert_eq!(length / HOUR, hours, "{name} {text}");
            for ms in (0..length).step_by(1_800_000).chain([length - 1]) {
                assert_eq!(zone.day_of(begins.plus_ms(ms)), day(text), "{name} {text} + {ms} ms");
            }
            assert_eq!(zone.day_of(begins.plus_ms(length)), day(text).next(), "{name} {text}");
        }
    }

    #[test]
    fn a_day_that_a_zone_left_out_has_no_instant() {
        let apia = zone("Pacific/Apia");
        assert_eq!(apia.start_of(day("2011-12-30")), apia.start_of(day("2011-12-31")));
        assert_eq!(
            [29, 30, 31].map(|of| apia.has(day(&format!("2011-12-{of}")))),
            [true, false, true]
        );
        assert_eq!(apia.day_of(apia.start_of(day("2011-12-31"))), day("2011-12-31"));
    }

    /// The calendar ends with 9999, and requests may contain any number.
    #[test]
    fn the_first_and_the_last_instants_have_days_of_their_own() {
        for (name, at, text) in [
            ("America/New_York", UnixMs(0), "1969-12-31"),
            ("America/New_York", UnixMs(18_000_000), "1970-01-01"),
            ("UTC", UnixMs(-1), "1969-12-31"),
            ("UTC", UnixMs(253_402_207_200_999), "9999-12-30"),
            ("UTC", UnixMs(253_402_214_399_999), "9999-12-30"),
            ("UTC", UnixMs(253_402_214_400_000), "9999-12-31"),
            ("America/New_York", UnixMs(253_402_214_400_000), "9999-12-30"),
            ("America/New_York", UnixMs(253_402_232_400_000), "9999-12-31"),
            ("Asia/Tokyo", UnixMs(253_402_207_200_999), "9999-12-31"),
            ("Asia/Tokyo", UnixMs::MAX, "9999-12-31"),
            ("UTC", UnixMs(i64::MAX), "9999-12-31"),
            ("UTC", UnixMs(i64::MIN), "0005-04-19"),
        ] {
            assert_eq!(zone(name).day_of(at).to_string(), text, "{name} {at:?}");
        }
    }

    #[test]
    fn months_begin_on_their_first_day() {
        for (name, at, begins) in [
            ("UTC", "2026-03-01T00:00:00Z", "2026-03-01T00:00:00Z"),
            ("UTC", "2026-02-28T23:59:59.999Z", "2026-02-01T00:00:00Z"),
            ("America/New_York", "2023-01-01T04:59:59Z", "2022-12-01T05:00:00Z"),
            ("Asia/Tokyo", "2022-12-31T15:00:00Z", "2022-12-31T15:00:00Z"),
        ] {
            let zone = zone(name);
            let time = |text| zone.parse(text).expect("a time");
            assert_eq!(zone.start_of_month(time(at)), time(begins), "{name} {at}");
        }
    }

    #[test]
    fn months_have_a_first_and_a_last_day() {
        for (of, first, last) in [
            ("2024-02-11", "2024-02-01", "2024-02-29"),
            ("2023-12-31", "2023-12-01", "2023-12-31"),
            ("9999-12-01", "9999-12-01", "9999-12-31"),
        ] {
            assert_eq!(
                (day(of).first_of_month(), day(of).last_of_month()),
                (day(first), day(last))
            );
        }
    }

    proptest! {
        #[test]
        fn days_of_utc_are_those_of_the_calendar(
            at in prop_oneof![
                UnixMs::MIN.0 - 9 * DAY..=UnixMs::MAX.0 + 9 * DAY,
                UnixMs::MIN.0 - 9 * DAY..=UnixMs::MIN.0 + 9 * DAY,
                UnixMs::MAX.0 - 9 * DAY..=UnixMs::MAX.0 + 9 * DAY,
                -9 * DAY..=9 * DAY,
            ]
        ) {
            let (utc, calendar) = (Zone::utc(), zone("Etc/UTC"));
            prop_assert_eq!(utc.day_of(UnixMs(at)), calendar.day_of(UnixMs(at)));
            let day = Day(at.div_euclid(DAY));
            prop_assert_eq!(utc.start_of(day), calendar.start_of(day));
        }

        #[test]
        fn every_instant_lies_in_the_day_it_belongs_to(
            ms in prop_oneof![UnixMs::MIN.0..UnixMs::MAX.0, -DAY..DAY],
            name in prop::sample::select(vec![
                "UTC", "Europe/Paris", "America/New_York", "America/St_Johns", "Pacific/Apia",
                "Australia/Lord_Howe", "America/Havana", "Africa/Casablanca",
            ]),
        ) {
            let (zone, at) = (zone(name), UnixMs(ms));
            let day = zone.day_of(at);
            prop_assert!(zone.start_of(day) <= at && at < zone.start_of(day.next()));
        }

        #[test]
        fn no_instant_panics(ms in any::<i64>()) {
            let day = zone("Europe/Paris").day_of(UnixMs(ms));
            prop_assert_eq!(day.to_string().len(), 10);
        }
    }
}
