//! Times and time zones. Times are Unix milliseconds; date strings without an offset (FMT-2) are in
//! the platform's time zone.

use std::fmt;
use std::time::Duration;

use jiff::civil::{Date, DateTime, Time};
use jiff::fmt::temporal::Pieces;
use jiff::tz::{AmbiguousOffset, Offset, TimeZone};
use jiff::{SignedDuration, Timestamp};

/// The calendar date and time of [`UnixMs`] 0 in UTC.
const EPOCH: DateTime = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);

/// The English text for a time that looks like seconds (REQ-15), after the name of its field.
pub const NOT_SECONDS: &str = "must be in milliseconds; ten digits look like seconds";

/// The English text for a time that looks like a finer unit (REQ-15), after the name of its field.
pub const NOT_A_FINER_UNIT: &str = "must be in milliseconds; sixteen digits look like \
    microseconds, nineteen like nanoseconds";

/// Returns whether a time, in Unix milliseconds, looks like seconds (REQ-15).
pub const fn looks_like_seconds(time: i64) -> bool {
    // Ten digits: seconds from 2001 on, and milliseconds of the first months of 1970.
    matches!(time, 1_000_000_000..=9_999_999_999)
}

/// Returns whether a time, in Unix milliseconds, looks like microseconds or nanoseconds (REQ-15).
pub const fn looks_finer_than_milliseconds(time: i64) -> bool {
    // 16 or 19 digits. The largest integers begin with 9: as an end, they mean no end.
    matches!(
        time,
        1_000_000_000_000_000..=8_999_999_999_999_999
            | 1_000_000_000_000_000_000..=8_999_999_999_999_999_999
    )
}

/// A point in time: milliseconds since 1970-01-01 00:00 UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnixMs(pub i64);

impl UnixMs {
    /// Earliest supported time, in the year 5.
    pub const MIN: UnixMs = UnixMs(-62_000_000_000_000);

    /// The end of 9999 in UTC. Times are supported to the end of 9999 in the platform's zone.
    pub const MAX: UnixMs = UnixMs(253_402_300_799_999);

    /// Returns this time plus `ms` milliseconds, saturating.
    #[must_use]
    pub const fn plus_ms(self, ms: i64) -> UnixMs {
        UnixMs(self.0.saturating_add(ms))
    }

    /// Formats the time as RFC 3339 to the millisecond, in UTC. The last hours of 9999 in a zone
    /// west of UTC have the offset of the westernmost zone: in UTC the year is 10000.
    pub fn rfc3339(self) -> String {
        let (at, offset) = match self <= UnixMs::MAX {
            true => (self, "Z"),
            false => (self.plus_ms(-12 * 3_600_000), "-12:00"),
        };
        format!("{:.3}{offset}", Zone::utc().civil(at))
    }
}

/// Why a text is not a time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TimeError {
    /// Neither RFC 3339 with an offset nor the form of FMT-2.
    #[error("{0:?} is not a time; give RFC 3339 with an offset, or {1} in {2}")]
    NotATime(String, &'static str, String),
    /// Well-formed, but the day or hour does not exist.
    #[error("{0:?} does not exist in the calendar")]
    Impossible(String),
    /// A local time that the zone skips when clocks are set forward.
    #[error("{0} was skipped when clocks of {1} were set forward; give an offset")]
    Skipped(String, String),
    /// A local time that occurs twice when clocks are set back.
    #[error("{0} occurred twice when clocks of {1} were set back; give an offset")]
    Ambiguous(String, String),
    /// Before 1970, or after 9999 in the platform's zone.
    #[error("{0:?} is outside the years 1970 to 9999")]
    OutOfRange(String),
}

/// The instants that a local time in a zone can mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instants {
    /// None: the zone skips it when clocks are set forward.
    None,
    /// One.
    One(UnixMs),
    /// Two, the earlier one first: it occurs twice when clocks are set back.
    Two(UnixMs, UnixMs),
}

/// The platform's time zone, which is also the statistics time zone.
#[derive(Clone, Debug, PartialEq)]
pub struct Zone(TimeZone);

impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Zone {
    /// Returns the default zone.
    pub fn utc() -> Zone {
        Zone(TimeZone::UTC)
    }

    /// Returns the zone with an IANA name such as `Europe/Paris`.
    ///
    /// # Errors
    /// There is no such zone; the message quotes the text.
    pub fn named(name: &str) -> Result<Zone, String> {
        // The library also has a zone without a name, which is called `Etc/Unknown`.
        let zone = jiff::tz::db().get(name).ok().filter(|zone| zone.iana_name().is_some());
        zone.map(Zone).ok_or_else(|| {
            format!("{name:?} is not a time zone; give an IANA name such as Europe/Paris")
        })
    }

    /// Returns whether both zones always have the same local times, as the aliases `Europe/Kyiv`
    /// and `Europe/Kiev` do. The time zone library does not list aliases.
    pub fn has_rules_of(&self, other: &Zone) -> bool {
        let rules = |zone: &TimeZone| {
            let changes = zone.following(Timestamp::MIN);
            changes.map(|change| (change.timestamp(), change.offset())).collect::<Vec<_>>()
        };
        let first = |zone: &TimeZone| zone.to_offset(Timestamp::MIN);
        self == other || first(&self.0) == first(&other.0) && rules(&self.0) == rules(&other.0)
    }

    pub(crate) fn is_utc(&self) -> bool {
        self.0 == TimeZone::UTC
    }

    /// Returns the IANA name.
    pub fn name(&self) -> &str {
        // Each zone is UTC, or from the database, and has a name.
        self.0.iana_name().unwrap_or_default()
    }

    /// Returns a time in the form of FMT-2: `yyyy-MM-dd HH:mm:ss`, no offset.
    pub fn text(&self, at: UnixMs) -> String {
        let at = self.civil(at);
        format!(
            "{:04}-{:02}-{:02} {:02}:{:02}:{:02}",
            at.year(),
            at.month(),
            at.day(),
            at.hour(),
            at.minute(),
            at.second()
        )
    }

    /// Returns the local time at `at`, clamped to the range of the calendar.
    pub fn civil(&self, at: UnixMs) -> DateTime {
        let known = at.0.max(UnixMs::MIN.0);
        if let Ok(at) = Timestamp::from_millisecond(known) {
            return self.0.to_datetime(at);
        }
        // The last day of 9999: timestamps end before it, dates do not.
        let local = known.saturating_add(self.last_offset_ms());
        EPOCH.checked_add(SignedDuration::from_millis(local)).unwrap_or(DateTime::MAX)
    }

    /// Returns the offset from UTC at the end of the calendar, in ms.
    fn last_offset_ms(&self) -> i64 {
        i64::from(self.0.to_offset(Timestamp::MAX).seconds()) * 1_000
    }

    /// Returns the first instant with this local date; the end of the gap if the zone skips it.
    pub(crate) fn first_instant(&self, date: Date) -> UnixMs {
        let midnight = date.to_datetime(Time::midnight());
        // A skipped midnight is the time after the gap; of two midnights, the first is used.
        match self.0.to_ambiguous_zoned(midnight).compatible() {
            Ok(first) => UnixMs(first.timestamp().as_millisecond()),
            // The last day of 9999.
            Err(_) => UnixMs(local_ms(midnight) - self.last_offset_ms()),
        }
    }

    /// Parses RFC 3339 with an offset, or the form of FMT-2 in this zone.
    ///
    /// # Errors
    /// Why the text is not a time.
    pub fn parse(&self, text: &str) -> Result<UnixMs, TimeError> {
        let impossible = || TimeError::Impossible(text.to_owned());
        match shape(text) {
            // The calendar would read second 60 as 59.
            Some(_) if text.as_bytes().get(17..19) == Some(b"60") => Err(impossible()),
            Some(Shape::Local) => {
                let civil = DateTime::strptime("%Y-%m-%d %H:%M:%S", text);
                self.resolve(civil.map_err(|_| impossible())?)
            }
            Some(Shape::Offset) => {
                let parts = Pieces::parse(text).map_err(|_| impossible())?;
                // The calendar has offsets of up to 25:59:59, RFC 3339 of up to 23:59.
                let offset = parts.to_numeric_offset().ok_or_else(impossible)?;
                if offset.seconds().abs() >= 24 * 3_600 {
                    return Err(impossible());
                }
                let time = parts.time().ok_or_else(impossible)?;
                self.instant(parts.date().to_datetime(time), offset, text)
            }
            None => {
                let form = "yyyy-MM-dd HH:mm:ss";
                Err(TimeError::NotATime(text.to_owned(), form, self.name().to_owned()))
            }
        }
    }

    /// Parses the form of FMT-2, which the program's own output has. Of the two instants of an
    /// ambiguous local time, it is the first, unless that is before `earliest`.
    ///
    /// # Errors
    /// Why the text is not a time.
    pub fn parse_from(&self, text: &str, earliest: UnixMs) -> Result<UnixMs, TimeError> {
        let parsed = self.parse(text);
        let Err(TimeError::Ambiguous(..)) = parsed else { return parsed };
        let civil = DateTime::strptime("%Y-%m-%d %H:%M:%S", text);
        match civil.map(|civil| self.instants(civil)) {
            // The text has no milliseconds.
            Ok(Instants::Two(first, second)) if first.plus_ms(999) < earliest => Ok(second),
            Ok(Instants::Two(first, _)) => Ok(first),
            _ => parsed,
        }
    }

    /// Parses what [`Zone::parse`] accepts, or a date, which means its first instant in this zone.
    ///
    /// # Errors
    /// Why the text is not a time.
    pub fn parse_time_or_date(&self, text: &str) -> Result<UnixMs, TimeError> {
        if !matches_digits(text.as_bytes(), b"dddd-dd-dd") {
            return self.parse(text).map_err(|error| match error {
                TimeError::NotATime(text, _, zone) => {
                    TimeError::NotATime(text, "yyyy-MM-dd or yyyy-MM-dd HH:mm:ss", zone)
                }
                error => error,
            });
        }
        let impossible = |_| TimeError::Impossible(text.to_owned());
        self.start_of_date(Date::strptime("%Y-%m-%d", text).map_err(impossible)?)
    }

    /// Returns the first instant of a date, also if the zone skips or repeats its midnight.
    ///
    /// # Errors
    /// The zone skips the whole day, or it begins before 1970.
    pub fn start_of_date(&self, date: Date) -> Result<UnixMs, TimeError> {
        let text = || date.to_string();
        let start = self.in_range(self.first_instant(date).0, &text())?;
        match self.civil(start).date() == date {
            true => Ok(start),
            false => Err(TimeError::Skipped(text(), self.name().to_owned())),
        }
    }

    /// Returns the instant of a local time.
    ///
    /// # Errors
    /// The zone skips the local time, or it occurs twice.
    pub fn resolve(&self, civil: DateTime) -> Result<UnixMs, TimeError> {
        let text = || civil.strftime("%Y-%m-%d %H:%M:%S").to_string();
        let ambiguous = self.0.to_ambiguous_zoned(civil);
        match ambiguous.offset() {
            AmbiguousOffset::Unambiguous { offset } => self.instant(civil, offset, &text()),
            AmbiguousOffset::Gap { .. } => Err(TimeError::Skipped(text(), self.name().to_owned())),
            AmbiguousOffset::Fold { .. } => {
                Err(TimeError::Ambiguous(text(), self.name().to_owned()))
            }
        }
    }

    /// Returns the instants of a local time.
    pub fn instants(&self, civil: DateTime) -> Instants {
        let at = |offset: Offset| UnixMs(local_ms(civil) - i64::from(offset.seconds()) * 1_000);
        match self.0.to_ambiguous_zoned(civil).offset() {
            AmbiguousOffset::Unambiguous { offset } => Instants::One(at(offset)),
            AmbiguousOffset::Gap { .. } => Instants::None,
            AmbiguousOffset::Fold { before, after } => Instants::Two(at(before), at(after)),
        }
    }

    /// Returns the instant of a date and time with an offset; errors quote `text`.
    ///
    /// # Errors
    /// The instant is before 1970, or after 9999 in this zone.
    pub fn instant(
        &self,
        civil: DateTime,
        offset: Offset,
        text: &str,
    ) -> Result<UnixMs, TimeError> {
        self.in_range(local_ms(civil) - i64::from(offset.seconds()) * 1_000, text)
    }

    fn in_range(&self, ms: i64, text: &str) -> Result<UnixMs, TimeError> {
        let last = local_ms(DateTime::MAX) - self.last_offset_ms();
        let is_in_range = (0..=last).contains(&ms);
        is_in_range.then_some(UnixMs(ms)).ok_or_else(|| TimeError::OutOfRange(text.to_owned()))
    }
}

/// Returns a duration in milliseconds, saturating far above any duration in use.
pub fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX / 4)
}

/// Returns the milliseconds from the epoch to a date and time, both without an offset. Rounding
/// down keeps an order in its second.
fn local_ms(civil: DateTime) -> i64 {
    let since = civil.duration_since(EPOCH);
    since.as_secs() * 1_000 + i64::from(since.subsec_nanos()).div_euclid(1_000_000)
}

enum Shape {
    Local,
    Offset,
}

/// Returns whether a text has the form of a time with an offset, which means the same in each zone.
pub fn has_offset(text: &str) -> bool {
    matches!(shape(text), Some(Shape::Offset))
}

/// Returns which of the two forms a text has, without checking it against the calendar.
fn shape(text: &str) -> Option<Shape> {
    let bytes = text.as_bytes();
    let (head, tail) = bytes.split_at_checked(19)?;
    if tail.is_empty() && matches_digits(head, b"dddd-dd-dd dd:dd:dd") {
        return Some(Shape::Local);
    }
    let separator = *head.get(10)?;
    let mut plain = [0; 19];
    plain.copy_from_slice(head);
    plain[10] = b' ';
    if !matches!(separator, b'T' | b't' | b' ') || !matches_digits(&plain, b"dddd-dd-dd dd:dd:dd") {
        return None;
    }
    let offset = match tail.strip_prefix(b".") {
        Some(rest) => {
            let digits = rest.iter().take_while(|b| b.is_ascii_digit()).count();
            if !(1..=9).contains(&digits) {
                return None;
            }
            &rest[digits..]
        }
        None => tail,
    };
    let zulu = matches!(offset, b"Z" | b"z");
    let signed = matches_digits(offset, b"+dd:dd") || matches_digits(offset, b"-dd:dd");
    (zulu || signed).then_some(Shape::Offset)
}

fn matches_digits(bytes: &[u8], pattern: &[u8]) -> bool {
    bytes.len() == pattern.len()
        && bytes.iter().zip(pattern).all(|(b, p)| match p {
            b'd' => b.is_ascii_digit(),
            other => b == other,
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn paris() -> Zone {
        Zone::named("Europe/Paris").expect("a known zone")
    }

    /// REQ-15.
    #[test]
    fn times_in_other_units_are_recognized_by_their_digits() {
        for (time, is_seconds) in [
            (-1_000_000_000, false),
            (999_999_999, false),
            (1_000_000_000, true),
            (9_999_999_999, true),
            (10_000_000_000, false),
        ] {
            assert_eq!(looks_like_seconds(time), is_seconds, "{time}");
        }
        let (micros, nanos) = (1_000_000_000_000_000, 1_000_000_000_000_000_000);
        for (time, is_finer) in [
            (micros - 1, false),
            (micros, true),
            (9 * micros - 1, true),
            (9 * micros, false),
            (nanos - 1, false),
            (nanos, true),
            (9 * nanos - 1, true),
            (i64::MAX, false),
        ] {
            assert_eq!(looks_finer_than_milliseconds(time), is_finer, "{time}");
        }
    }

    #[test]
    fn the_longest_duration_has_milliseconds_to_add_to() {
        let lengths = [Duration::from_micros(1_999), Duration::MAX].map(millis);
        assert_eq!(lengths, [1, i64::MAX / 4]);
    }

    #[test]
    fn the_last_hours_of_9999_west_of_utc_are_written_with_an_offset() {
        assert_eq!(UnixMs::MAX.rfc3339(), "9999-12-31T23:59:59.999Z");
        assert_eq!(UnixMs::MAX.plus_ms(1).rfc3339(), "9999-12-31T12:00:00.000-12:00");
    }

    #[test]
    fn a_zone_is_equal_to_one_of_its_name() {
        assert_eq!((paris().to_string(), paris()), ("Europe/Paris".to_owned(), paris()));
        assert_ne!(paris(), Zone::named("Europe/Berlin").expect("a known zone"));
        assert!(Zone::named("utc").is_ok_and(|zone| zone.is_utc()) && !paris().is_utc());
    }

    #[test]
    fn the_names_of_a_zone_have_the_same_rules() {
        let named = |name| Zone::named(name).expect(name);
        for (one, other, is_same) in [
            ("Europe/Kyiv", "Europe/Kiev", true),
            ("Etc/UTC", "UTC", true),
            ("Asia/Calcutta", "Asia/Kolkata", true),
            ("Europe/Paris", "Europe/Berlin", false),
            ("Asia/Dubai", "Etc/GMT-4", false),
            ("Etc/GMT-4", "Etc/GMT-5", false),
        ] {
            assert_eq!(named(one).has_rules_of(&named(other)), is_same, "{one}, {other}");
        }
    }

    #[test]
    fn both_forms_are_read_and_nothing_else() {
        let zone = paris();
        let cases: &[(&str, Option<i64>)] = &[
            ("2022-01-03 10:00:00", Some(1_641_200_400_000)),
            ("2022-01-03T09:00:00Z", Some(1_641_200_400_000)),
            ("2022-01-03t09:00:00z", Some(1_641_200_400_000)),
            ("2022-01-03T17:00:00.123456+08:00", Some(1_641_200_400_123)),
            ("2022-01-03T09:00:00", None),
            ("2022-01-03", None),
            ("2022-02-30 10:00:00", None),
            ("2022-01-03 24:00:00", None),
            ("2022-01-03 23:59:60", None),
            ("2022-01-03T23:59:60Z", None),
            ("2022-01-03T23:59:60.5+01:00", None),
            ("2016-12-31T23:59:60Z", None),
            ("9999-12-31 23:59:59", Some(253_402_297_199_000)),
            ("9999-12-31T22:59:59.999Z", Some(253_402_297_199_999)),
            ("9999-12-31T23:00:00Z", None),
            ("9999-12-31T23:59:59+23:00", Some(253_402_217_999_000)),
            ("2022-01-03T09:00:00+23:59", Some(1_641_114_060_000)),
            ("2022-01-03T09:00:00+24:00", None),
            ("2022-01-03T09:00:00-25:59", None),
            ("1970-01-01T00:59:59+01:00", None),
            ("1970-01-01 01:00:00", Some(0)),
            ("2022-01-03T09:00:00+0800", None),
            ("1969-12-31T23:59:59Z", None),
            ("0000-00-00 00:00:00", None),
            ("٢٠٢٢-01-03 10:00:00", None),
            ("", None),
        ];
        for (text, want) in cases {
            assert_eq!(zone.parse(text).ok().map(|at| at.0), *want, "{text:?}");
        }
    }

    #[test]
    fn a_time_with_an_offset_is_recognized_by_its_form() {
        for (text, is_recognized) in [
            ("2022-01-03T09:00:00Z", true),
            ("2022-01-03 09:00:00z", true),
            ("2022-01-03 10:00:00.5+01:00", true),
            ("2022-01-03 10:00:00", false),
            ("2022-01-03x09:00:00Z", false),
            ("2022-01-03T09-00-00Z", false),
            ("2022-01-03T10:00:00+01:00:30", false),
        ] {
            assert_eq!(has_offset(text), is_recognized, "{text}");
        }
    }

    #[test]
    fn a_skipped_or_repeated_local_time_is_refused_by_name() {
        let zone = paris();
        let skipped = zone.parse("2022-03-27 02:30:00").expect_err("skipped").to_string();
        assert_eq!(
            skipped,
            "2022-03-27 02:30:00 was skipped when clocks of Europe/Paris were set forward; \
             give an offset"
        );
        let twice = zone.parse("2022-10-30 02:30:00").expect_err("twice").to_string();
        assert_eq!(
            twice,
            "2022-10-30 02:30:00 occurred twice when clocks of Europe/Paris were set back; \
             give an offset"
        );
    }

    #[test]
    fn a_repeated_local_time_is_not_before_the_given_one() {
        let zone = paris();
        let at = |text: &str| zone.parse(text).expect("a time");
        let (first, second) = (at("2022-10-30T02:30:00+02:00"), at("2022-10-30T02:30:00+01:00"));
        for (earliest, want) in [
            (UnixMs(0), first),
            (first.plus_ms(999), first),
            (first.plus_ms(1_000), second),
            (second.plus_ms(999), second),
            // The text contradicts this one, and is read nevertheless.
            (second.plus_ms(1_000), second),
        ] {
            assert_eq!(zone.parse_from("2022-10-30 02:30:00", earliest), Ok(want), "{earliest:?}");
        }
        assert!(zone.parse_from("2022-03-27 02:30:00", first).is_err());
        let once = "2022-10-30 03:30:00";
        assert_eq!(zone.parse_from(once, first), zone.parse(once));
    }

    #[test]
    fn a_date_is_the_first_instant_of_its_day() {
        let date = |name: &str, text: &str| {
            let zone = Zone::named(name).expect(name);
            zone.parse_time_or_date(text).map(UnixMs::rfc3339).map_err(|error| error.to_string())
        };
        for (name, text, want) in [
            ("Europe/Paris", "2022-01-03", "2022-01-02T23:00:00.000Z"),
            // Midnight is skipped, or occurs twice.
            ("Africa/Cairo", "2026-04-24", "2026-04-23T22:00:00.000Z"),
            ("America/Havana", "2026-03-08", "2026-03-08T05:00:00.000Z"),
            ("America/Havana", "2025-11-02", "2025-11-02T04:00:00.000Z"),
            ("UTC", "1970-01-01", "1970-01-01T00:00:00.000Z"),
            ("UTC", "9999-12-31", "9999-12-31T00:00:00.000Z"),
        ] {
            assert_eq!(date(name, text).as_deref(), Ok(want), "{name} {text}");
        }
        for (name, text, want) in [
            ("UTC", "2022-02-30", "does not exist in the calendar"),
            ("Europe/Paris", "1970-01-01", "is outside the years 1970 to 9999"),
            ("UTC", "0000-01-01", "is outside the years 1970 to 9999"),
            ("Pacific/Apia", "2011-12-30", "was skipped when clocks of Pacific/Apia were set"),
        ] {
            let error = date(name, text).expect_err(text);
            assert!(error.contains(want) && error.contains(text), "{error}");
        }
    }

    /// The last millisecond of 9999 in Paris.
    const LAST_IN_PARIS: i64 = UnixMs::MAX.0 - 3_600_000;

    #[test]
    fn the_last_second_of_9999_is_a_time_in_every_zone() {
        for name in ["UTC", "Europe/Paris", "America/New_York", "Pacific/Kiritimati", "Etc/GMT+12"]
        {
            let zone = Zone::named(name).expect("a known zone");
            let last = zone.parse("9999-12-31 23:59:59").expect("a time");
            assert_eq!(zone.text(last), "9999-12-31 23:59:59", "{name}");
            assert_eq!(zone.day_of(last).to_string(), "9999-12-31", "{name}");
            assert!(zone.start_of(zone.day_of(last)) < last, "{name}");
            assert!(zone.start_of(zone.day_of(last).next()) > last, "{name}");
        }
    }

    #[test]
    fn an_unknown_zone_is_named() {
        for name in ["Mars/Olympus", "Etc/Unknown"] {
            assert!(Zone::named(name).expect_err("no zone").contains(name));
        }
        assert_eq!(Zone::named("utc").expect("utc").name(), "UTC");
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back_to_the_second(
            ms in prop_oneof![0..LAST_IN_PARIS, LAST_IN_PARIS - 100_000_000..=LAST_IN_PARIS],
        ) {
            let zone = paris();
            let at = UnixMs(ms);
            match zone.parse(&zone.text(at)) {
                Ok(back) => prop_assert_eq!(back.0, ms / 1000 * 1000),
                Err(error) => prop_assert!(matches!(error, TimeError::Ambiguous(..))),
            }
        }

        #[test]
        fn no_text_panics(text in ".{0,40}") {
            let _ = paris().parse(&text);
            let _ = paris().parse_time_or_date(&text);
        }
    }
}
