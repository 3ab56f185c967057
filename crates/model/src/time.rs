//! Times and time zones. Times are Unix milliseconds; date strings without an offset (FMT-2) are in
//! the platform's time zone.

use std::fmt;

use jiff::Timestamp;
use jiff::civil::{Date, DateTime, Time};
use jiff::tz::{AmbiguousOffset, TimeZone};

/// A point in time: milliseconds since 1970-01-01 00:00 UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnixMs(pub i64);

impl UnixMs {
    /// Earliest supported time, in the year 5.
    pub const MIN: UnixMs = UnixMs(-62_000_000_000_000);

    /// Latest supported time, the end of 9999.
    pub const MAX: UnixMs = UnixMs(253_402_300_799_999);

    /// Returns this time plus `ms` milliseconds, saturating.
    #[must_use]
    pub const fn plus_ms(self, ms: i64) -> UnixMs {
        UnixMs(self.0.saturating_add(ms))
    }
}

/// Why a text is not a time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TimeFault {
    /// Neither RFC 3339 with an offset nor the form of FMT-2.
    #[error("{0:?} is not a time; give RFC 3339 with an offset, or yyyy-MM-dd HH:mm:ss in {1}")]
    NotATime(String, String),
    /// Well-formed, but the day or hour does not exist.
    #[error("{0:?} does not exist in the calendar")]
    Impossible(String),
    /// A local time that the zone skips when clocks are set forward.
    #[error("{0} was skipped when clocks of {1} were set forward; give an offset")]
    Skipped(String, String),
    /// A local time that occurs twice when clocks are set back.
    #[error("{0} occurred twice when clocks of {1} were set back; give an offset")]
    Ambiguous(String, String),
    /// Before 1970 or after 9999.
    #[error("{0:?} is outside the years 1970 to 9999")]
    OutOfRange(String),
}

/// The platform's time zone, which is the statistics time zone too.
#[derive(Clone, Debug)]
pub struct Zone {
    name: String,
    zone: TimeZone,
}

impl PartialEq for Zone {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl Zone {
    /// Returns the default zone.
    #[must_use]
    pub fn utc() -> Zone {
        Zone { name: "UTC".to_owned(), zone: TimeZone::UTC }
    }

    /// Returns the zone with an IANA name such as `Europe/Paris`.
    ///
    /// # Errors
    /// A message that names the text, if there is no such zone.
    pub fn named(name: &str) -> Result<Zone, String> {
        if name.eq_ignore_ascii_case("UTC") {
            return Ok(Zone::utc());
        }
        let unknown =
            || format!("{name:?} is not a time zone; give an IANA name such as Europe/Paris");
        let zone = jiff::tz::db().get(name).map_err(|_| unknown())?;
        let name = zone.iana_name().ok_or_else(unknown)?.to_owned();
        Ok(Zone { name, zone })
    }

    pub(crate) fn is_utc(&self) -> bool {
        self.name == "UTC"
    }

    /// Returns the IANA name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns a time in the form of FMT-2: `yyyy-MM-dd HH:mm:ss`, no offset.
    #[must_use]
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
    #[must_use]
    pub fn civil(&self, at: UnixMs) -> DateTime {
        let known = at.0.max(UnixMs::MIN.0);
        let at = Timestamp::from_millisecond(known).unwrap_or(Timestamp::MAX);
        self.zone.to_datetime(at)
    }

    /// Returns the first instant with this local date; the end of the gap if the zone skips it.
    pub(crate) fn first_instant(&self, date: Date) -> UnixMs {
        let midnight = self.zone.to_ambiguous_zoned(date.to_datetime(Time::midnight()));
        // A skipped midnight is the time after the gap; of two midnights, the first is used.
        let first = midnight.compatible().map(|zoned| zoned.timestamp().as_millisecond());
        UnixMs(first.unwrap_or(UnixMs::MAX.0))
    }

    /// Parses RFC 3339 with an offset, or the form of FMT-2 in this zone.
    ///
    /// # Errors
    /// The fault of the text.
    pub fn parse(&self, text: &str) -> Result<UnixMs, TimeFault> {
        match shape(text) {
            // The calendar would read second 60 as 59.
            Some(Shape::Local) if text.ends_with(":60") => {
                Err(TimeFault::Impossible(text.to_owned()))
            }
            Some(Shape::Local) => {
                let civil: DateTime = DateTime::strptime("%Y-%m-%d %H:%M:%S", text)
                    .map_err(|_| TimeFault::Impossible(text.to_owned()))?;
                self.resolve(civil)
            }
            Some(Shape::Offset) => {
                let at: Timestamp =
                    text.parse().map_err(|_| TimeFault::Impossible(text.to_owned()))?;
                in_range(at, text)
            }
            None => Err(TimeFault::NotATime(text.to_owned(), self.name.clone())),
        }
    }

    /// Parses the form of FMT-2. An ambiguous local time is the first of its two instants: the
    /// program's own output has no offset.
    ///
    /// # Errors
    /// The fault of the text.
    pub fn parse_first(&self, text: &str) -> Result<UnixMs, TimeFault> {
        match self.parse(text) {
            Err(TimeFault::Ambiguous(..)) => {}
            other => return other,
        }
        let impossible = |_| TimeFault::Impossible(text.to_owned());
        let civil = DateTime::strptime("%Y-%m-%d %H:%M:%S", text).map_err(impossible)?;
        let first = self.zone.to_ambiguous_zoned(civil).earlier().map_err(impossible)?;
        in_range(first.timestamp(), text)
    }

    /// Parses the forms of [`Zone::parse`], or a date, which means its midnight in this zone.
    ///
    /// # Errors
    /// The fault of the text.
    pub fn parse_time_or_date(&self, text: &str) -> Result<UnixMs, TimeFault> {
        if text.len() == 10 && matches_digits(text.as_bytes(), b"dddd-dd-dd") {
            self.parse(&format!("{text} 00:00:00"))
        } else {
            self.parse(text)
        }
    }

    /// Returns the instant of a local time.
    ///
    /// # Errors
    /// The zone skips the local time, or it occurs twice.
    pub fn resolve(&self, civil: DateTime) -> Result<UnixMs, TimeFault> {
        let text = || civil.strftime("%Y-%m-%d %H:%M:%S").to_string();
        let ambiguous = self.zone.to_ambiguous_zoned(civil);
        match ambiguous.offset() {
            AmbiguousOffset::Unambiguous { .. } => {}
            AmbiguousOffset::Gap { .. } => {
                return Err(TimeFault::Skipped(text(), self.name.clone()));
            }
            AmbiguousOffset::Fold { .. } => {
                return Err(TimeFault::Ambiguous(text(), self.name.clone()));
            }
        }
        let zoned = ambiguous.unambiguous().map_err(|_| TimeFault::OutOfRange(text()))?;
        in_range(zoned.timestamp(), &text())
    }
}

fn in_range(at: Timestamp, text: &str) -> Result<UnixMs, TimeFault> {
    // Rounding down keeps an order in its second.
    let ms = at.as_nanosecond().div_euclid(1_000_000);
    match i64::try_from(ms) {
        Ok(ms) if (0..=UnixMs::MAX.0).contains(&ms) => Ok(UnixMs(ms)),
        _ => Err(TimeFault::OutOfRange(text.to_owned())),
    }
}

enum Shape {
    Local,
    Offset,
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
        let first = zone.parse("2022-10-30T02:30:00+02:00");
        assert_eq!(zone.parse_first("2022-10-30 02:30:00"), first);
        assert!(zone.parse_first("2022-03-27 02:30:00").is_err());
    }

    #[test]
    fn an_unknown_zone_is_named() {
        assert!(Zone::named("Mars/Olympus").expect_err("no zone").contains("Mars/Olympus"));
        assert_eq!(Zone::named("utc").expect("utc").name(), "UTC");
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back_to_the_second(ms in 0..UnixMs::MAX.0 - 86_400_000) {
            let zone = paris();
            let at = UnixMs(ms);
            match zone.parse(&zone.text(at)) {
                Ok(back) => prop_assert_eq!(back.0, ms / 1000 * 1000),
                Err(fault) => prop_assert!(matches!(fault, TimeFault::Ambiguous(..))),
            }
        }

        #[test]
        fn no_text_panics(text in ".{0,40}") {
            let _ = paris().parse(&text);
            let _ = paris().parse_time_or_date(&text);
        }
    }
}
