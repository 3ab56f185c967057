//! Local times without an offset.

use std::fmt;

use jiff::civil::DateTime;
use kiosque_model::{Instants, Zone};

/// A date and time as shown by a wall clock (FMT-2), without the zone that determines the instant.
///
/// It is not an instant, and can only be converted to one in a zone: [`WallTime::in_zone`]. The
/// summary has the platform's zone in `timeZone`.
///
/// ```
/// use kiosque_client::{Instants, WallTime, Zone};
///
/// let paris = Zone::named("Europe/Paris").unwrap();
/// let start = WallTime::parse("2026-10-25 02:30:00").unwrap();
/// assert!(matches!(start.in_zone(&paris), Instants::Two(..)));
/// ```
///
/// ```compile_fail,E0277
/// use kiosque_client::{UnixMs, WallTime};
///
/// let start = WallTime::parse("2026-03-02 10:00:00").unwrap();
/// let instant: UnixMs = start.into();
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WallTime(DateTime);

impl WallTime {
    /// Parses the form of FMT-2, `yyyy-MM-dd HH:mm:ss`; `None` for any other text.
    pub fn parse(text: &str) -> Option<WallTime> {
        // The calendar would read second 60 as 59.
        let has_form = text.len() == 19 && !text.ends_with(":60");
        has_form.then(|| DateTime::strptime("%Y-%m-%d %H:%M:%S", text).ok()).flatten().map(WallTime)
    }

    /// Returns the instants that have this local time in a zone: one, or none or two when clocks
    /// change.
    pub fn in_zone(self, zone: &Zone) -> Instants {
        zone.instants(self.0)
    }

    /// Returns the date and time without a zone.
    pub fn civil(self) -> DateTime {
        self.0
    }
}

impl fmt::Display for WallTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.strftime("%Y-%m-%d %H:%M:%S"))
    }
}

#[cfg(test)]
mod tests {
    use kiosque_model::UnixMs;

    use super::*;

    /// FMT-2: a text without an offset is an instant only in a zone, and not always one.
    #[test]
    fn a_wall_time_has_no_one_or_two_instants() {
        let paris = Zone::named("Europe/Paris").expect("a zone");
        let at = |text| WallTime::parse(text).expect(text).in_zone(&paris);
        assert_eq!(at("2026-03-02 10:00:00"), Instants::One(UnixMs(1_772_442_000_000)));
        assert_eq!(at("2026-03-29 02:30:00"), Instants::None);
        let first = UnixMs(1_792_888_200_000);
        let second = first.plus_ms(3_600_000);
        assert_eq!(at("2026-10-25 02:30:00"), Instants::Two(first, second));
    }

    #[test]
    fn only_the_form_of_the_interface_is_a_wall_time() {
        for text in
            ["2026-03-02", "2026-03-02T10:00:00", "2026-02-30 10:00:00", "2026-03-02 10:00:60", ""]
        {
            assert_eq!(WallTime::parse(text), None, "{text}");
        }
        let text = "2026-03-02 10:00:00";
        assert_eq!(WallTime::parse(text).expect("a time").to_string(), text);
    }
}
