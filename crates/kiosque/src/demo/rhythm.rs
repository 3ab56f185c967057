//! Demand by hour and weekday, for each kind of site. All sites use the platform's time zone, so
//! that a day of the demonstration is the same for all.

use jiff::civil::Weekday;

/// A kind of site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SiteKind {
    /// Busy at lunch, nearly empty at weekends.
    Office,
    /// Two rush hours, some demand at all times.
    Station,
    /// Late mornings, long evenings, half the demand at weekends.
    Campus,
    /// Even all day, busier at weekends.
    Airport,
}

/// A kind of day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DayKind {
    /// Monday to Friday.
    Working,
    /// Saturday and Sunday.
    Weekend,
}

impl DayKind {
    /// Returns the kind of a day of the week.
    pub(super) const fn of(weekday: Weekday) -> DayKind {
        match weekday {
            Weekday::Saturday | Weekday::Sunday => DayKind::Weekend,
            _ => DayKind::Working,
        }
    }
}

type Hours = [u32; 24];

const OFFICE: Hours =
    [0, 0, 0, 0, 0, 1, 6, 26, 48, 40, 30, 46, 92, 64, 30, 42, 36, 22, 12, 6, 3, 1, 0, 0];
const OFFICE_WEEKEND: Hours =
    [0, 0, 0, 0, 0, 0, 0, 2, 4, 8, 10, 12, 14, 12, 10, 8, 6, 4, 2, 1, 0, 0, 0, 0];
const STATION: Hours =
    [3, 1, 1, 1, 4, 18, 46, 84, 78, 40, 30, 36, 56, 44, 30, 34, 50, 88, 82, 52, 30, 22, 14, 8];
const STATION_WEEKEND: Hours =
    [8, 5, 2, 1, 2, 6, 14, 24, 34, 44, 50, 52, 56, 54, 52, 52, 54, 56, 52, 40, 32, 26, 20, 14];
const CAMPUS: Hours =
    [5, 2, 1, 0, 0, 0, 2, 12, 34, 42, 50, 58, 86, 70, 44, 48, 46, 40, 38, 36, 32, 26, 18, 10];
const CAMPUS_WEEKEND: Hours =
    [10, 6, 2, 1, 0, 0, 0, 2, 8, 16, 26, 34, 44, 42, 38, 36, 34, 32, 30, 28, 26, 24, 20, 14];
const AIRPORT: Hours =
    [4, 2, 2, 6, 24, 44, 48, 46, 42, 40, 42, 46, 52, 48, 42, 42, 44, 48, 46, 40, 30, 20, 12, 6];

impl SiteKind {
    /// Returns the weight of each hour in a day's demand.
    pub(super) const fn hours(self, day: DayKind) -> &'static Hours {
        match (self, day) {
            (SiteKind::Office, DayKind::Working) => &OFFICE,
            (SiteKind::Office, DayKind::Weekend) => &OFFICE_WEEKEND,
            (SiteKind::Station, DayKind::Working) => &STATION,
            (SiteKind::Station, DayKind::Weekend) => &STATION_WEEKEND,
            (SiteKind::Campus, DayKind::Working) => &CAMPUS,
            (SiteKind::Campus, DayKind::Weekend) => &CAMPUS_WEEKEND,
            (SiteKind::Airport, _) => &AIRPORT,
        }
    }

    /// Returns the demand on a day of the week, in percent of the usual demand.
    pub(super) const fn volume(self, weekday: Weekday) -> u32 {
        use Weekday::{Friday, Monday, Saturday, Sunday};
        match (self, weekday) {
            (SiteKind::Office, Monday) => 92,
            (SiteKind::Office, Friday) => 74,
            (SiteKind::Office, Saturday) => 10,
            (SiteKind::Office, Sunday) => 5,
            (SiteKind::Station, Friday) => 116,
            (SiteKind::Station, Saturday) => 84,
            (SiteKind::Station, Sunday) => 66,
            (SiteKind::Campus, Friday) => 82,
            (SiteKind::Campus, Saturday) => 40,
            (SiteKind::Campus, Sunday) => 46,
            (SiteKind::Airport, Friday | Sunday) => 122,
            (SiteKind::Airport, Saturday) => 110,
            (_, _) => 100,
        }
    }
}
