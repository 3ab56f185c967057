//! Reading times as reports write them.

use std::ops::Range;

use jiff::fmt::strtime::{self, BrokenDownTime};
use jiff::{Timestamp, Zoned, tz::TimeZone};
use kiosque_model::time::{TimeError, UnixMs, Zone};
use serde::de::Error;
use serde::{Deserialize, Deserializer};

use super::texts::texts;

/// The formats of a report's times, and the zone of times without an offset.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
pub(super) struct TimeFormats {
    /// Formats that are tried in this order. Without any, times are read as in an order file.
    #[serde(rename = "format", deserialize_with = "formats")]
    pub(super) formats: Vec<TimeFormat>,
    #[serde(deserialize_with = "zone")]
    pub(super) zone: Option<Zone>,
}

/// A format of times.
#[derive(Clone, Debug)]
pub(super) struct TimeFormat {
    text: String,
    /// The fields that repeat a part of an earlier field.
    repeated: Vec<Repeated>,
}

/// A field of a format that repeats a part of an earlier field.
#[derive(Clone, Debug, PartialEq)]
struct Repeated {
    /// Where the field begins.
    start: usize,
    /// Whether an earlier field gives the half of the day for the last hour.
    half_known: bool,
}

/// Reads formats that include a date.
pub(super) fn formats<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<TimeFormat>, D::Error> {
    let formats = texts(deserializer)?;
    let error = formats.iter().find_map(|format| Some((format, format_error(format)?)));
    match error {
        Some((format, error)) => Err(D::Error::custom(format_args!("{format:?} {error}"))),
        None => Ok(formats.into_iter().map(TimeFormat::new).collect()),
    }
}

/// Reads the name of a zone.
pub(super) fn zone<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Zone>, D::Error> {
    Zone::named(&String::deserialize(deserializer)?).map(Some).map_err(D::Error::custom)
}

impl TimeFormats {
    /// Returns a copy with `formats` and `zone` replaced, where they are given.
    pub(super) fn with(&self, formats: Vec<TimeFormat>, zone: Option<Zone>) -> TimeFormats {
        TimeFormats {
            formats: if formats.is_empty() { self.formats.clone() } else { formats },
            zone: zone.or_else(|| self.zone.clone()),
        }
    }

    /// Reads a time. Without an offset it is in the mapping's zone, or else in the platform's; a
    /// date without a time means its first instant.
    ///
    /// # Errors
    /// A message that quotes the text.
    pub(super) fn read(&self, text: &str, platform: &Zone) -> Result<UnixMs, String> {
        let text = text.trim();
        let zone = self.zone.as_ref().unwrap_or(platform);
        if self.formats.is_empty() {
            return zone.parse_time_or_date(text).map_err(|error| without_format(&error, text));
        }
        let mut impossible = false;
        for format in &self.formats {
            let Ok(parts) = strtime::parse(&format.text, text) else { continue };
            if let Some((part, first, last)) = format.contradiction(text, &parts) {
                return Err(format!("{text:?} gives the {part} twice, as {first} and as {last}"));
            }
            match instant(&parts, zone, text) {
                Some(read) => return read.map_err(|error| error.to_string()),
                None => impossible = true,
            }
        }
        if impossible {
            return Err(TimeError::Impossible(text.to_owned()).to_string());
        }
        let formats: Vec<&str> = self.formats.iter().map(|format| &*format.text).collect();
        Err(format!("{text:?} is not a time of the format {}", formats.join(" or ")))
    }
}

impl TimeFormat {
    fn new(text: String) -> TimeFormat {
        let sample = afternoon();
        let mut given = [false; PARTS.len()];
        let (mut half_given, mut half_known) = (false, false);
        let mut repeated = Vec::new();
        for field in fields(&text) {
            let part = &text[field.clone()];
            let alone = BrokenDownTime::from(&sample).to_string(part);
            let Ok(parts) = alone.and_then(|alone| strtime::parse(part, alone)) else { continue };
            let gives = numbers(&parts).map(|number| number.is_some());
            if gives.iter().zip(&given).any(|(now, before)| *now && *before) {
                repeated.push(Repeated { start: field.start, half_known });
            }
            half_given |= parts.meridiem().is_some();
            let of_24_hours = parts.hour().map(|hour| hour == sample.hour());
            half_known = half_given || of_24_hours.unwrap_or(half_known);
            given.iter_mut().zip(gives).for_each(|(given, gives)| *given |= gives);
        }
        TimeFormat { text, repeated }
    }

    /// Returns a part of a time for which two fields give different values, and both values. The
    /// parser uses the last one.
    fn contradiction(&self, text: &str, last: &BrokenDownTime) -> Option<(&'static str, i64, i64)> {
        self.repeated.iter().find_map(|repeated| {
            let before = &self.text[..repeated.start];
            let (first, _) = BrokenDownTime::parse_prefix(before, text).ok()?;
            let mut all = PARTS.into_iter().zip(numbers(&first).into_iter().zip(numbers(last)));
            all.find_map(|(part, (first, last))| {
                let (first, last) = first.zip(last)?;
                // A later field may say which half of the day it is.
                let same = if part == HOUR && !repeated.half_known {
                    first % 12 == last % 12
                } else {
                    first == last
                };
                (!same).then_some((part, first, last))
            })
        })
    }
}

/// The parts of a time that a format can give.
const PARTS: [&str; 7] = ["year", "month", "day", HOUR, "minute", "second", "fraction of a second"];
const HOUR: &str = "hour";

/// Returns the values of [`PARTS`].
fn numbers(parts: &BrokenDownTime) -> [Option<i64>; PARTS.len()] {
    let date = [parts.year(), parts.month().map(i16::from), parts.day().map(i16::from)];
    let time = [parts.hour(), parts.minute(), parts.second()];
    let [year, month, day] = date.map(|number| number.map(i64::from));
    let [hour, minute, second] = time.map(|number| number.map(i64::from));
    [year, month, day, hour, minute, second, parts.subsec_nanosecond().map(i64::from)]
}

/// Returns the places of the fields of a format, such as `%Y`.
fn fields(format: &str) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + format[at..].find('%')?;
        let mut after = format[start..].char_indices().skip(1);
        let (end, letter) = after.find(|(_, c)| c.is_ascii_alphabetic() || *c == '%')?;
        at = start + end + letter.len_utf8();
        Some(start..at)
    })
}

/// Formats that are suggested if they fit a text, and an example of the notation.
const SUGGESTED: [&str; 4] =
    ["%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%d %H:%M", "%d.%m.%Y %H:%M:%S%.f", "%d.%m.%Y %H:%M"];
const EXAMPLE: &str = "%d.%m.%Y %H:%M:%S";

/// Returns the error for a text that was read without a format, with a format that fits it.
fn without_format(error: &TimeError, text: &str) -> String {
    if !matches!(error, TimeError::NotATime(..)) {
        return error.to_string();
    }
    let fits = SUGGESTED.iter().find(|format| strtime::parse(format, text).is_ok());
    match fits {
        Some(format) => {
            format!("{text:?} is not a time in the default format; set time.format = {format:?}")
        }
        None => format!("{error}; or set time.format, such as {EXAMPLE:?}"),
    }
}

/// Returns the error in a format, if any. A format must parse a date that it has formatted.
fn format_error(format: &str) -> Option<String> {
    if !format.contains('%') {
        return Some(format!("has no fields; formats are those of strftime, such as {EXAMPLE}"));
    }
    if let Some(unknown) = unknown_field(format) {
        return Some(format!(
            "has the unknown field {unknown}; known fields include %Y %m %d %H %M %S %.f %z"
        ));
    }
    let sample = afternoon();
    let Ok(text) = BrokenDownTime::from(&sample).to_string(format) else {
        return Some(format!("is not a time format, such as {EXAMPLE}"));
    };
    let Ok(parts) = strtime::parse(format, &text) else {
        return Some("is a format that can be written but not read".to_owned());
    };
    if parts.timestamp().is_none() && parts.to_date().is_err() {
        return Some("has no date: year, month and day are needed".to_owned());
    }
    if parts.timestamp().is_none() && parts.to_time().is_err() {
        return Some("has minutes or seconds without the hour".to_owned());
    }
    if parts.hour().is_some_and(|hour| hour != sample.hour()) {
        return Some("has an hour of the 12-hour clock (%I) without AM or PM (%p)".to_owned());
    }
    if parts.hour().is_none() && parts.meridiem().is_some() {
        return Some("has AM or PM (%p) without the hour".to_owned());
    }
    None
}

/// Returns a time at which hours differ between the 12-hour and the 24-hour clock.
fn afternoon() -> Zoned {
    let time = Timestamp::new(981_216_306, 123_456_789).unwrap_or_default();
    Zoned::new(time, TimeZone::UTC)
}

/// Returns the first unknown field of a format. Names of zones are not read.
fn unknown_field(format: &str) -> Option<&str> {
    let sample = Zoned::new(Timestamp::UNIX_EPOCH, TimeZone::UTC);
    fields(format).map(|field| &format[field]).find(|field| {
        field.ends_with('Q') || BrokenDownTime::from(&sample).to_string(field).is_err()
    })
}

/// Returns the instant of the parts; `None` if the calendar has no such day or hour.
fn instant(parts: &BrokenDownTime, zone: &Zone, text: &str) -> Option<Result<UnixMs, TimeError>> {
    if parts.timestamp().is_none() {
        let civil = parts.to_datetime().ok()?;
        return Some(match parts.offset() {
            Some(offset) => zone.instant(civil, offset, text),
            None if parts.hour().is_none() => zone.start_of_date(civil.date()),
            None => zone.resolve(civil),
        });
    }
    let fraction = i128::from(parts.subsec_nanosecond().unwrap_or_default());
    let nanosecond = parts.to_timestamp().ok()?.as_nanosecond() + fraction;
    // Rounds down, like every other time that the platform reads.
    let ms = nanosecond.div_euclid(1_000_000);
    let known = i64::try_from(ms).ok().filter(|ms| (0..=UnixMs::MAX.0).contains(ms));
    Some(known.map(UnixMs).ok_or_else(|| TimeError::OutOfRange(text.to_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zone(name: &str) -> Zone {
        Zone::named(name).expect("a known zone")
    }

    fn read(formats: &[&str], text: &str) -> Result<String, String> {
        let formats = formats.iter().map(|format| TimeFormat::new((*format).to_owned())).collect();
        TimeFormats { formats, zone: None }.read(text, &zone("Europe/Paris")).map(UnixMs::rfc3339)
    }

    #[test]
    fn times_are_read_by_the_first_format_that_fits() {
        let both = ["%d.%m.%Y %H:%M:%S%.f", "%m/%d/%Y"];
        for (formats, text, want) in [
            (&both as &[_], "1/2/2022", Some("2022-01-01T23:00:00.000Z")),
            (&both, "01.02.2022 10:00:00,5", None),
            (&both, "01.02.2022 10:00:00.1239", Some("2022-02-01T09:00:00.123Z")),
            (&both, " 01.02.2022 10:00:00 ", Some("2022-02-01T09:00:00.000Z")),
            (&["%m/%d/%Y", "%d/%m/%Y"], "31/12/2022", Some("2022-12-30T23:00:00.000Z")),
            (&["%Y-%m-%d %I:%M %p"], "2022-07-01 01:30 PM", Some("2022-07-01T11:30:00.000Z")),
            (
                &["%Y-%m-%dT%H:%M:%S%z"],
                "2022-07-01T01:30:00-0400",
                Some("2022-07-01T05:30:00.000Z"),
            ),
            (&["%s"], "1656639000", Some("2022-07-01T01:30:00.000Z")),
            (&["%s%.f"], "1656639000.5209", Some("2022-07-01T01:30:00.520Z")),
            (&[], "2022-07-01", Some("2022-06-30T22:00:00.000Z")),
            (&[], "2022-07-01 00:00:00", Some("2022-06-30T22:00:00.000Z")),
            (&[], "2022-07-01T00:00:00+02:00", Some("2022-06-30T22:00:00.000Z")),
            (&[], "07/01/2022", None),
        ] {
            assert_eq!(read(formats, text).ok().as_deref(), want, "{text:?}");
        }
    }

    #[test]
    fn a_date_whose_midnight_is_skipped_is_the_first_instant_of_its_day() {
        let formats = vec![TimeFormat::new("%m/%d/%Y".to_owned())];
        for (formats, text) in [(formats, "4/24/2026"), (Vec::new(), "2026-04-24")] {
            let read = TimeFormats { formats, zone: None }.read(text, &zone("Africa/Cairo"));
            assert_eq!(read.map(UnixMs::rfc3339).as_deref(), Ok("2026-04-23T22:00:00.000Z"));
        }
    }

    #[test]
    fn an_invalid_time_is_reported_with_its_text() {
        for (formats, text, want) in [
            (&["%m/%d/%Y"] as &[_], "2/30/2022", "\"2/30/2022\" does not exist in the calendar"),
            (&["%m/%d/%Y"], "1-2-2022", "\"1-2-2022\" is not a time of the format %m/%d/%Y"),
            (&["%Y", "%F"], "x", "\"x\" is not a time of the format %Y or %F"),
            (&["%F %T"], "1969-01-01 00:00:00", "\"1969-01-01 00:00:00\" is outside the years"),
            (
                &["%F %T"],
                "2022-03-27 02:30:00",
                "was skipped when clocks of Europe/Paris were set forward",
            ),
            (
                &["%F %T"],
                "2022-10-30 02:30:00",
                "occurred twice when clocks of Europe/Paris were set back",
            ),
        ] {
            let error = read(formats, text).expect_err(text);
            assert!(error.contains(want), "{error}");
        }
    }

    /// A time with its minutes in two places is not read by the last of them.
    #[test]
    fn a_field_that_is_given_twice_may_not_contradict_itself() {
        let twice = "%m/%d/%y %I:%M %p %M:%S%.f";
        for (format, text, want) in [
            (twice, "3/1/24 11:00 AM 59:59.9", Err("the minute twice, as 0 and as 59")),
            (twice, "3/1/24 11:59 PM 59:59.9", Ok("2024-03-01T22:59:59.900Z")),
            ("%F %d. %T", "2024-03-01 2. 10:00:00", Err("the day twice, as 1 and as 2")),
            ("%F %d. %T", "2024-03-01 1. 10:00:00", Ok("2024-03-01T09:00:00.000Z")),
            ("%I %p %T %F", "11 PM 23:00:00 2024-03-01", Ok("2024-03-01T22:00:00.000Z")),
            ("%I %p %T %F", "10 PM 23:00:00 2024-03-01", Err("the hour twice, as 22 and as 23")),
            ("%F %H:%M %I:%M %p", "2024-03-01 13:00 01:00 PM", Ok("2024-03-01T12:00:00.000Z")),
            (
                "%F %H:%M %I:%M %p",
                "2024-03-01 01:00 01:00 PM",
                Err("the hour twice, as 1 and as 13"),
            ),
            ("%F %I:%M %H:%M", "2024-03-01 01:00 13:00", Ok("2024-03-01T12:00:00.000Z")),
            ("%F %I:%M %H:%M", "2024-03-01 01:00 14:00", Err("the hour twice, as 1 and as 14")),
            ("%F %H:%M %I:%M", "2024-03-01 13:00 01:00", Err("the hour twice, as 13 and as 1")),
            ("%T%.f %F %S", "10:00:07.5 2024-03-01 07", Ok("2024-03-01T09:00:07.500Z")),
        ] {
            let found = read(&[format], text);
            let want = want.map(str::to_owned).map_err(|error| format!("{text:?} gives {error}"));
            assert_eq!(found, want, "{format} {text}");
        }
        assert_eq!(TimeFormat::new("%A %d.%m.%Y %I:%M:%S%.f %p %z".to_owned()).repeated, []);
    }

    #[test]
    fn the_mappings_zone_overrides_the_platforms() {
        let times = TimeFormats {
            formats: vec![TimeFormat::new("%F %T".to_owned())],
            zone: Some(zone("Asia/Tokyo")),
        };
        let at = times.read("2022-01-01 09:00:00", &Zone::utc()).expect("a time");
        assert_eq!(at.rfc3339(), "2022-01-01T00:00:00.000Z");
    }

    #[test]
    fn a_format_that_gives_no_date_is_refused_before_any_row() {
        for good in ["%m/%d/%Y", "%d.%m.%y %H:%M", "%F %T%.3f", "%s", "%b %e, %Y", "%Y-%jT%H"] {
            assert_eq!(format_error(good), None, "{good}");
        }
        for bad in ["", "%H:%M", "%m/%d", "%Y-%m-%d %M:%S", "%!", "%", "yyyy-MM-dd", "%F %Q"] {
            assert!(format_error(bad).is_some(), "{bad}");
        }
        for (bad, want) in [
            (
                "yyyy-MM-dd HH:mm:ss.SSS",
                "has no fields; formats are those of strftime, such as %d.%m.%Y %H:%M:%S",
            ),
            ("%Y-%m-%d %H:%M:%Q", "has the unknown field %Q; known fields include %Y"),
            ("%F %:Q", "has the unknown field %:Q;"),
            ("%F %E", "has the unknown field %E;"),
            ("%H:%M", "has no date: year, month and day are needed"),
            ("%F %I:%M", "has an hour of the 12-hour clock (%I) without AM or PM (%p)"),
            ("%F %p", "has AM or PM (%p) without the hour"),
        ] {
            let error = format_error(bad).expect(bad);
            assert!(error.starts_with(want), "{error}");
        }
    }

    #[test]
    fn a_time_that_needs_a_format_is_reported_with_one_that_fits() {
        for (text, format) in [
            ("2024-03-01 10:15:50.520", "%Y-%m-%d %H:%M:%S%.f"),
            ("2024-03-01 10:15", "%Y-%m-%d %H:%M"),
            ("01.03.2024 10:15", "%d.%m.%Y %H:%M"),
        ] {
            let error = read(&[], text).expect_err(text);
            let want = format!(
                "{text:?} is not a time in the default format; set time.format = {format:?}"
            );
            assert_eq!(error, want);
        }
        let error = read(&[], "3/1/24").expect_err("no format fits");
        assert!(error.ends_with("; or set time.format, such as \"%d.%m.%Y %H:%M:%S\""), "{error}");
    }
}
