//! When people buy: each kind of place has its rush hours, its nights and its weekends. All
//! places live by the platform's clock, so that one day of the demonstration is one day of all.

use jiff::civil::Weekday;

/// What kind of place a kiosk stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Full at lunch, empty at weekends.
    Office,
    /// Two rush hours; never quite empty.
    Station,
    /// Late risers, long evenings, half empty at weekends.
    Campus,
    /// Even all day; holidays fill it at weekends.
    Airport,
}

/// How days differ in one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DayKind {
    /// Monday to Friday.
    Working,
    /// Saturday and Sunday.
    Weekend,
}

impl DayKind {
    /// The kind of a day of the week.
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

impl Place {
    /// How busy each hour is, of all that is bought in a day.
    pub(super) const fn hours(self, day: DayKind) -> &'static Hours {
        match (self, day) {
            (Place::Office, DayKind::Working) => &OFFICE,
            (Place::Office, DayKind::Weekend) => &OFFICE_WEEKEND,
            (Place::Station, DayKind::Working) => &STATION,
            (Place::Station, DayKind::Weekend) => &STATION_WEEKEND,
            (Place::Campus, DayKind::Working) => &CAMPUS,
            (Place::Campus, DayKind::Weekend) => &CAMPUS_WEEKEND,
            (Place::Airport, _) => &AIRPORT,
        }
    }

    /// How busy a day of the week is, in percent of a usual one.
    pub(super) const fn volume(self, weekday: Weekday) -> u32 {
        use Weekday::{Friday, Monday, Saturday, Sunday};
        match (self, weekday) {
            (Place::Office, Monday) => 92,
            (Place::Office, Friday) => 74,
            (Place::Office, Saturday) => 10,
            (Place::Office, Sunday) => 5,
            (Place::Station, Friday) => 116,
            (Place::Station, Saturday) => 84,
            (Place::Station, Sunday) => 66,
            (Place::Campus, Friday) => 82,
            (Place::Campus, Saturday) => 40,
            (Place::Campus, Sunday) => 46,
            (Place::Airport, Friday | Sunday) => 122,
            (Place::Airport, Saturday) => 110,
            (_, _) => 100,
        }
    }
}
