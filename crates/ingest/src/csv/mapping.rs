//! A mapping file: how the columns of a sales report become orders.

use kiosque_model::GroupId;
use kiosque_model::time::Zone;
use toml::Table;

use super::amount::{Numbers, Unit};
use super::field::{Field, Source};
use super::fill::Filling;
use super::moment::{Moments, format_fault};
use super::skip::Skip;
use super::template::{ColumnNo, Columns};
use super::walk::{Faults, Section};

/// How a report of one shape becomes orders; the language is described in `docs/csv-mapping.md`.
#[derive(Clone, Debug)]
pub struct Mapping {
    pub(super) shape: Shape,
    pub(super) numbers: Numbers,
    pub(super) moments: Moments,
    pub(super) columns: Columns,
    pub(super) bare_texts: Vec<(String, String)>,
    pub(super) key: Vec<ColumnNo>,
    pub(super) order: Vec<Field>,
    pub(super) sums: Vec<&'static str>,
    pub(super) line: Option<Vec<Field>>,
    pub(super) skips: Vec<Skip>,
    pub(super) device: Option<NewDevice>,
    pub(super) product: Option<NewProduct>,
}

/// How the file is written.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Shape {
    /// Between cells.
    pub(super) delimiter: u8,
    /// Around cells; `None`: a quote is a character like any other.
    pub(super) quote: Option<u8>,
    /// The columns' names, when the file has no header that names them.
    pub(super) columns: Option<Vec<String>>,
    /// Lines to pass before the header.
    pub(super) lines_above_header: u64,
    /// Whether white space around cells is no part of them.
    pub(super) trim: bool,
}

/// What an unknown device is made from.
#[derive(Clone, Debug)]
pub(super) struct NewDevice {
    pub(super) group: Source,
    pub(super) name: Option<Source>,
    pub(super) address: Option<Source>,
    pub(super) model: Option<Source>,
}

/// What an unknown product is made from.
#[derive(Clone, Debug)]
pub(super) struct NewProduct {
    pub(super) name: Option<Source>,
    pub(super) category: Option<Source>,
    pub(super) currency: Option<Source>,
    pub(super) default_price: Option<Source>,
}

const SECTIONS: &[&str] = &["report", "time", "amount", "order", "line", "skip", "create"];

impl Mapping {
    /// Reads a mapping.
    ///
    /// # Errors
    /// Everything that is wrong with it at once, each with its key and what was expected.
    pub fn parse(text: &str) -> Result<Mapping, Vec<String>> {
        let table: Table =
            toml::from_str(text).map_err(|fault| vec![fault.to_string().trim_end().to_owned()])?;
        let mut faults = Faults::default();
        let root = Section::root(&table);
        root.only(SECTIONS, &mut faults);
        let shape = shape(&root.section("report", &mut faults), &mut faults);
        let moments = moments(&root.section("time", &mut faults), &mut faults);
        let numbers = numbers(&root.section("amount", &mut faults), &mut faults);
        let mut columns = Columns::default();
        let mut filling = Filling::new(&numbers, &moments, &mut columns, &mut faults);

        let (key, mut order, sums) = filling.order(&root);
        let line = filling.line(&root, &sums);
        let device = filling.device(&root);
        let product = filling.product(&root);
        let bare_texts = filling.into_bare_texts();
        let skips = Skip::all(&root, &mut columns, &mut faults);
        // Stable, so that the currency, which amounts need, stays first.
        order.sort_by_key(|field| field.name != "currency");
        mark_secrets(&order, &mut columns);
        if !faults.0.is_empty() {
            return Err(faults.0);
        }
        Ok(Mapping {
            shape,
            numbers,
            moments,
            columns,
            bare_texts,
            key,
            order,
            sums,
            line,
            skips,
            device,
            product,
        })
    }
}

/// Card and phone numbers are masked wherever a row is shown, whatever else their column fills.
fn mark_secrets(order: &[Field], columns: &mut Columns) {
    let secret = |field: &&Field| matches!(field.name, "cardNumber" | "phone");
    for field in order.iter().filter(secret) {
        for column in field.source.columns() {
            columns.named[column.index()].secret = true;
        }
    }
}

fn shape(section: &Section<'_>, faults: &mut Faults) -> Shape {
    const KNOWN: &[&str] = &["delimiter", "quote", "columns", "lines_above_header", "trim"];
    section.only(KNOWN, faults);
    let ascii = |key: &str, text: &str, faults: &mut Faults| match text.as_bytes() {
        [byte] if byte.is_ascii() && !matches!(byte, b'\r' | b'\n' | 0) => Some(*byte),
        _ => {
            let path = section.path(key);
            faults.note(&path, format_args!("expected one ASCII character, got {text:?}"));
            None
        }
    };
    let delimiter = section.text("delimiter", faults);
    let delimiter = delimiter.and_then(|text| ascii("delimiter", text, faults)).unwrap_or(b',');
    let quote = match section.text("quote", faults) {
        Some("") => None,
        Some(text) => ascii("quote", text, faults),
        None => Some(b'"'),
    };
    if quote == Some(delimiter) {
        faults.note(&section.path("quote"), "expected another character than the delimiter");
    }
    let lines_above_header = section.get("lines_above_header").map_or(0, |value| {
        let lines = value.as_integer().and_then(|lines| u64::try_from(lines).ok());
        lines.unwrap_or_else(|| {
            let path = section.path("lines_above_header");
            faults.note(&path, "expected a number of lines, 0 or more");
            0
        })
    });
    Shape {
        delimiter,
        quote,
        columns: section.texts("columns", faults),
        lines_above_header,
        trim: section.flag("trim", faults).unwrap_or(false),
    }
}

fn moments(section: &Section<'_>, faults: &mut Faults) -> Moments {
    section.only(&["format", "zone"], faults);
    let (formats, zone) = time_keys(section, faults);
    Moments::new(formats.unwrap_or_default(), zone)
}

/// `format` and `zone`, which stand in `[time]` and in a field's own table.
pub(super) fn time_keys(
    section: &Section<'_>,
    faults: &mut Faults,
) -> (Option<Vec<String>>, Option<Zone>) {
    let formats = section.texts("format", faults);
    for format in formats.iter().flatten() {
        if let Some(fault) = format_fault(format) {
            faults.note(&section.path("format"), format_args!("{format:?} {fault}"));
        }
    }
    let zone = section.text("zone", faults).and_then(|name| {
        Zone::named(name).map_err(|fault| faults.note(&section.path("zone"), fault)).ok()
    });
    (formats, zone)
}

fn numbers(section: &Section<'_>, faults: &mut Faults) -> Numbers {
    section.only(&["unit", "decimal", "thousands", "symbol"], faults);
    let unit = match section.text("unit", faults) {
        Some("major") => Unit::Major,
        Some("minor") => Unit::Minor,
        given => {
            if given.is_some() || section.get("unit").is_none() {
                faults.note(
                    &section.path("unit"),
                    "needed: \"major\" when 3.50 is three dollars fifty, \"minor\" when 350 is",
                );
            }
            Unit::Major
        }
    };
    let defaults = Numbers::of(unit);
    let numbers = Numbers {
        decimal: section.character("decimal", faults).unwrap_or(defaults.decimal),
        thousands: section.character("thousands", faults),
        symbol: section.text("symbol", faults).map(str::to_owned),
        unit,
    };
    if numbers.thousands == Some(numbers.decimal) {
        faults.note(&section.path("thousands"), "expected another character than amount.decimal");
    }
    for (key, mark) in [("decimal", Some(numbers.decimal)), ("thousands", numbers.thousands)] {
        if mark.is_some_and(|mark| mark.is_ascii_digit() || mark == '-') {
            faults.note(&section.path(key), "expected neither a digit nor a minus");
        }
    }
    numbers
}

/// The group that a constant names must be one that can exist.
pub(super) fn check_group(group: &Source, faults: &mut Faults) {
    if let Some(Err(fault)) = group.as_constant().map(GroupId::parse) {
        faults.note(&group.path, fault);
    }
}
