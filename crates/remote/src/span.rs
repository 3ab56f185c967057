//! Times of the command line.

use std::str::FromStr;
use std::time::Duration;

use kiosque_client::{UnixMs, Zone};
use kiosque_clock::millis;
use kiosque_model::setting::duration;
use kiosque_model::time::has_offset;

use crate::error::CommandError;

/// A time as given: `now`, a duration before now, or a date with or without a time of day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TimeText {
    /// The present time.
    Now,
    /// A duration before now.
    Ago(Duration),
    /// A date, a local time, or a time with an offset.
    At(String),
}

impl FromStr for TimeText {
    type Err = String;

    fn from_str(text: &str) -> Result<TimeText, String> {
        if text == "now" {
            return Ok(TimeText::Now);
        }
        // The zone is known later; the form is checked in any zone.
        if text.starts_with(|c: char| c.is_ascii_digit()) && text.get(4..5) == Some("-") {
            return Ok(TimeText::At(text.to_owned()));
        }
        duration(text).map(TimeText::Ago).map_err(|_| {
            format!(
                "{text:?} is not a time, or is too long ago; write now, a duration such as 24h or \
                 7d, yyyy-MM-dd, \"yyyy-MM-dd HH:mm:ss\", or RFC 3339 with an offset"
            )
        })
    }
}

impl TimeText {
    /// Returns whether the instant depends on a time zone.
    pub fn needs_zone(&self) -> bool {
        matches!(self, TimeText::At(text) if !has_offset(text))
    }

    /// Returns the instant. A local time is in `zone`.
    ///
    /// # Errors
    /// The time does not exist, occurs twice when clocks change, or there is no zone.
    pub fn instant(&self, now: UnixMs, zone: Option<&Zone>) -> Result<UnixMs, CommandError> {
        match self {
            TimeText::Now => Ok(now),
            TimeText::Ago(ago) => Ok(now.plus_ms(-millis(*ago))),
            TimeText::At(text) => {
                let missing = "the server does not send its time zone; specify --time-zone";
                let utc = (!self.needs_zone()).then(Zone::utc);
                let zone = zone.or(utc.as_ref());
                let zone = zone.ok_or_else(|| CommandError::Usage(missing.to_owned()))?;
                zone.parse_time_or_date(text)
                    .map_err(|error| CommandError::Usage(error.to_string()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_now_a_duration_before_it_or_a_date_of_the_zone() {
        let (now, paris) = (UnixMs(1_772_445_600_000), Zone::named("Europe/Paris").ok());
        let instant = |text: &str| {
            let time: TimeText = text.parse().expect(text);
            time.instant(now, paris.as_ref()).expect(text).0
        };
        assert_eq!(instant("now"), now.0);
        assert_eq!(instant("24h"), now.0 - 86_400_000);
        assert_eq!(instant("7d"), now.0 - 7 * 86_400_000);
        assert_eq!(instant("2026-03-02"), 1_772_406_000_000);
        assert_eq!(instant("2026-03-02 11:00:00"), now.0);
        assert_eq!(instant("2026-03-02T10:00:00Z"), now.0);
        for text in ["", "yesterday", "7", "-7d"] {
            assert!(text.parse::<TimeText>().is_err(), "{text}");
        }
    }

    /// FMT-2: a time with an offset is an instant without a zone, which then need not be known.
    #[test]
    fn a_time_with_an_offset_needs_no_zone() {
        for (text, needs_zone) in [
            ("now", false),
            ("24h", false),
            ("2026-03-02T10:00:00Z", false),
            ("2026-03-02 11:00:00.000+01:00", false),
            ("2026-03-02 11:00:00", true),
            ("2026-03-02", true),
        ] {
            let time: TimeText = text.parse().expect(text);
            assert_eq!(time.needs_zone(), needs_zone, "{text}");
            let instant = time.instant(UnixMs(1_772_445_600_000), None);
            assert_eq!(instant.is_err(), needs_zone, "{text}: {instant:?}");
        }
        let time: TimeText = "2026-03-02T11:00:00+01:00".parse().expect("a time");
        assert_eq!(time.instant(UnixMs(0), None).expect("an instant").0, 1_772_445_600_000);
    }

    /// FMT-2: a local time that occurs twice is not guessed.
    #[test]
    fn a_local_time_that_occurs_twice_is_refused() {
        let paris = Zone::named("Europe/Paris").ok();
        let twice: TimeText = "2026-10-25 02:30:00".parse().expect("a time");
        let Err(CommandError::Usage(message)) = twice.instant(UnixMs(0), paris.as_ref()) else {
            panic!("an instant")
        };
        assert!(message.contains("occurred twice"), "{message}");
        let none = twice.instant(UnixMs(0), None).expect_err("no zone").to_string();
        assert!(none.contains("--time-zone"), "{none}");
    }
}
