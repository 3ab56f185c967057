//! The cells of tables and of CSV.

use kiosque_client::{Currency, Instants, Money, UnixMs, WallTime, Zone};
use kiosque_model::order::{PayStatus, ShipmentStatus};
use serde_json::Value;

use crate::lists::{Column, Kind};

/// The time zones of cells.
#[derive(Clone, Debug, Default)]
pub struct Display {
    /// The zone in which times are shown, if it is not the platform's.
    pub zone: Option<Zone>,
    /// The platform's zone, in which date strings are given.
    pub platform: Option<Zone>,
}

impl Display {
    /// Returns the cell of a table; `None` for an absent value.
    pub fn cell(&self, column: &Column, row: &Value) -> Option<String> {
        let value = row.get(column.name).filter(|value| !value.is_null())?;
        let shown = match column.kind {
            Kind::Plain => None,
            Kind::Instant => value.as_i64().map(|ms| self.instant(UnixMs(ms))),
            Kind::WallTime => value.as_str().map(|text| self.wall_time(text)),
            Kind::Minor => minor(value, row),
            Kind::Dollars => value.as_f64().map(|dollars| format!("{dollars:.2} USD")),
            Kind::Flag => flag(value),
            Kind::PayStatus => named(PayStatus::WORDS, value),
            Kind::ShipmentStatus => named(ShipmentStatus::WORDS, value),
        };
        Some(shown.unwrap_or_else(|| plain(value)))
    }

    /// Returns an instant in the zone of the display, or in UTC if no zone is known.
    pub fn instant(&self, at: UnixMs) -> String {
        let zone = self.zone.as_ref().or(self.platform.as_ref());
        zone.map_or_else(|| at.rfc3339(), |zone| zone.text(at))
    }

    /// Returns a date string of the platform in the zone of the display. One that has no instant,
    /// or two, is returned unchanged, with the reason.
    fn wall_time(&self, text: &str) -> String {
        let (Some(zone), Some(platform)) = (&self.zone, &self.platform) else {
            return text.to_owned();
        };
        if zone == platform {
            return text.to_owned();
        }
        match WallTime::parse(text).map(|time| time.in_zone(platform)) {
            Some(Instants::One(at)) => zone.text(at),
            Some(Instants::Two(..)) => format!("{text} (occurs twice in {platform})"),
            Some(Instants::None) => format!("{text} (does not occur in {platform})"),
            None => text.to_owned(),
        }
    }
}

/// Returns a value in CSV; empty for null.
pub(crate) fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn minor(value: &Value, row: &Value) -> Option<String> {
    let currency = Currency::parse(row.get("currency")?.as_str()?).ok()?;
    Some(Money::new(value.as_i64()?, currency).to_string())
}

fn flag(value: &Value) -> Option<String> {
    let is_set = value.as_bool().or_else(|| Some(value.as_i64()? != 0))?;
    Some(if is_set { "yes" } else { "no" }.to_owned())
}

fn named(names: &[&str], value: &Value) -> Option<String> {
    let name = names.get(usize::try_from(value.as_u64()?).ok()?)?;
    Some((*name).to_owned())
}

impl Column {
    /// Returns the cell of CSV: the value as the server sent it.
    pub fn csv_cell(&self, row: &Value) -> String {
        row.get(self.name).map(plain).unwrap_or_default()
    }

    /// Returns whether the cells of a table are aligned to the right.
    pub fn is_amount(&self) -> bool {
        matches!(self.kind, Kind::Minor | Kind::Dollars)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn cell(kind: Kind, value: Value, display: &Display) -> Option<String> {
        let column = Column { name: "x", kind, is_usual: true };
        display.cell(&column, &json!({"x": value, "currency": "JPY"}))
    }

    fn display(zone: Option<&str>) -> Display {
        let zone = zone.map(|name| Zone::named(name).expect("a zone"));
        Display { zone, platform: Zone::named("Europe/Paris").ok() }
    }

    #[test]
    fn values_are_shown_by_their_kind() {
        let paris = display(None);
        for (kind, value, shown) in [
            (Kind::Plain, json!("a"), "a"),
            (Kind::Plain, json!(7), "7"),
            (Kind::Minor, json!(250), "250 JPY"),
            (Kind::Dollars, json!(1.5), "1.50 USD"),
            (Kind::Flag, json!(1), "yes"),
            (Kind::Flag, json!(false), "no"),
            (Kind::PayStatus, json!(4), "refunded"),
            (Kind::PayStatus, json!(9), "9"),
            (Kind::ShipmentStatus, json!(2), "in progress"),
            (Kind::Instant, json!(1_772_445_600_000_i64), "2026-03-02 11:00:00"),
            (Kind::WallTime, json!("2026-03-02 11:00:00"), "2026-03-02 11:00:00"),
        ] {
            assert_eq!(cell(kind, value, &paris).as_deref(), Some(shown));
        }
        assert_eq!(cell(Kind::Plain, Value::Null, &paris), None);
        let unknown = Display::default();
        let at = cell(Kind::Instant, json!(1_772_445_600_000_i64), &unknown);
        assert_eq!(at.as_deref(), Some("2026-03-02T10:00:00.000Z"));
    }

    /// FMT-2: a date string with two instants, or none, is not converted.
    #[test]
    fn date_strings_are_converted_where_they_have_one_instant() {
        let tokyo = display(Some("Asia/Tokyo"));
        for (text, shown) in [
            ("2026-03-02 11:00:00", "2026-03-02 19:00:00"),
            ("2026-10-25 02:30:00", "2026-10-25 02:30:00 (occurs twice in Europe/Paris)"),
            ("2026-03-29 02:30:00", "2026-03-29 02:30:00 (does not occur in Europe/Paris)"),
            ("soon", "soon"),
        ] {
            assert_eq!(cell(Kind::WallTime, json!(text), &tokyo).as_deref(), Some(shown));
        }
    }
}
