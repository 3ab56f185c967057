//! Settings: fields that the operator may set. A struct of settings derives [`clap::Args`], which
//! declares each field once: name, type, default, check and help text. Flags, environment
//! variables, the settings file and their documentation derive from these declarations.
//!
//! The first paragraph of a field's documentation is the short help. It ends with `[default: TEXT]`
//! if the default depends on the machine or is not a value.

use std::error::Error;
use std::str::FromStr;
use std::time::Duration;

use clap::{Args, Command};

/// A syntactically valid value that the setting cannot have. Only commands that use the setting
/// refuse it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct OutOfRange(pub String);

/// The result of parsing a value.
type Parsed<V> = Result<V, Box<dyn Error + Send + Sync>>;

/// Parses settings that are given as flags; the others get their defaults.
///
/// # Errors
/// A flag is unknown, or its value is invalid.
pub fn parse<T: Args>(flags: impl IntoIterator<Item = String>) -> Result<T, clap::Error> {
    let command = T::augment_args(Command::new("settings").no_binary_name(true));
    T::from_arg_matches(&command.try_get_matches_from(flags)?)
}

/// Returns the defaults of settings.
///
/// # Panics
/// A default is not valid for its setting.
pub fn defaults<T: Args>() -> T {
    parse([]).expect("each setting accepts its default")
}

/// Parses a number greater than zero.
///
/// # Errors
/// The text is not such a number.
pub fn positive<V>(text: &str) -> Parsed<V>
where
    V: FromStr<Err: Error + Send + Sync + 'static> + Default + PartialOrd,
{
    more_than_zero(text.parse()?)
}

/// Parses a number up to `MAX`.
///
/// # Errors
/// The text is not such a number.
pub fn at_most<const MAX: usize>(text: &str) -> Parsed<usize> {
    match text.parse()? {
        value if value <= MAX => Ok(value),
        _ => Err(OutOfRange(format!("must be at most {MAX}")).into()),
    }
}

/// Parses a number from 1 to `MAX`.
///
/// # Errors
/// The text is not such a number.
pub fn positive_at_most<const MAX: usize>(text: &str) -> Parsed<usize> {
    more_than_zero(at_most::<MAX>(text)?)
}

/// Parses a duration greater than zero.
///
/// # Errors
/// The text is not such a duration.
pub fn positive_duration(text: &str) -> Parsed<Duration> {
    more_than_zero(duration(text)?)
}

fn more_than_zero<V: Default + PartialOrd>(value: V) -> Parsed<V> {
    if value > V::default() {
        Ok(value)
    } else {
        Err(OutOfRange("must be more than 0".to_owned()).into())
    }
}

/// Parses a duration, written with units: `250ms`, `2s`, `2h`, `90d`.
///
/// # Errors
/// A message for the operator.
pub fn duration(text: &str) -> Result<Duration, String> {
    let invalid = || format!("{text:?} is not a duration; write it like 250ms, 2s, 2h or 90d");
    let span: jiff::Span = text.parse().map_err(|_| invalid())?;
    let length = span.to_duration(jiff::SpanRelativeTo::days_are_24_hours());
    Duration::try_from(length.map_err(|_| invalid())?).map_err(|_| invalid())
}

/// Formats a duration in the largest unit of which it has at least two whole ones, otherwise in
/// seconds.
pub fn written(duration: Duration) -> String {
    let seconds = duration.as_secs();
    if duration.subsec_nanos() > 0 {
        return format!("{}ms", duration.as_millis());
    }
    let units = [(86_400, "d"), (3_600, "h"), (60, "m")];
    let unit = units.iter().find(|(unit, _)| seconds.is_multiple_of(*unit) && seconds > *unit);
    let (unit, letter) = unit.unwrap_or(&(1, "s"));
    format!("{}{letter}", seconds / unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_parsed_with_units() {
        let seconds = |text: &str| duration(text).ok().map(|it| it.as_secs_f64());
        for (text, want) in [
            ("250ms", Some(0.25)),
            ("2s", Some(2.0)),
            ("2h", Some(7_200.0)),
            ("1h 30m", Some(5_400.0)),
            ("90d", Some(7_776_000.0)),
            ("-2s", None),
            ("2", None),
            ("1mo", None),
            ("", None),
        ] {
            assert_eq!(seconds(text), want, "{text:?}");
        }
    }

    #[test]
    fn zero_is_not_more_than_zero() {
        assert!(positive_duration("0s").is_err());
        assert_eq!(positive_duration("1ms").ok(), Some(Duration::from_millis(1)));
    }

    #[test]
    fn a_duration_is_written_as_it_may_be_given() {
        for text in ["0s", "1ms", "1500ms", "1s", "60s", "75s", "2m", "90m", "2h", "47h", "365d"] {
            assert_eq!(duration(text).map(written).as_deref(), Ok(text));
        }
    }
}
