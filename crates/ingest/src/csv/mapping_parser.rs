//! Reads a mapping from TOML.

use toml::Table;

use super::field_sources::{LineSources, OrderSources, SourceReader, time_keys};
use super::fields::Field;
use super::mapping::{FileFormat, Mapping};
use super::numbers::{NumberFormat, Unit};
use super::section::{MappingFaults, Section};
use super::skip::Skip;
use super::template::Columns;
use super::times::TimeFormats;
use crate::rejected::MASKED_FIELDS;
use kiosque_contract::OrderLine;

const SECTIONS: &[&str] = &["report", "time", "amount", "order", "line", "skip", "create"];

impl Mapping {
    /// Reads a mapping.
    ///
    /// # Errors
    /// Every fault, with its key and the expected value.
    pub fn parse(text: &str) -> Result<Mapping, Vec<String>> {
        let table: Table =
            toml::from_str(text).map_err(|fault| vec![fault.to_string().trim_end().to_owned()])?;
        let mut faults = MappingFaults::default();
        let root = Section::root(&table);
        root.only(SECTIONS, &mut faults);
        let format = format(&root.section("report", &mut faults), &mut faults);
        let times = times(&root.section("time", &mut faults), &mut faults);
        let numbers = numbers(&root.section("amount", &mut faults), &mut faults);
        let mut columns = Columns::default();
        let mut sources = SourceReader::new(&numbers, &times, &mut columns, &mut faults);

        let OrderSources { key, fields: mut order, sums } = sources.order(&root);
        let LineSources { column: line_column, fields: line } = sources.line(&root, &sums);
        let device = sources.device(&root);
        let product = sources.product(&root);
        let bare_texts = sources.into_bare_texts();
        let skips = Skip::all(&root, &mut columns, &mut faults);
        // The currency comes first, since amounts need it. The sort is stable.
        order.sort_by_key(|field| field.spec.name != "currency");
        mark_secrets(&order, &mut columns);
        if !faults.0.is_empty() {
            return Err(faults.0);
        }
        Ok(Mapping {
            format,
            numbers,
            times,
            columns,
            bare_texts,
            key,
            order,
            sums,
            line,
            line_column,
            skips,
            device,
            product,
        })
    }
}

/// Marks the columns of card and phone numbers, which are masked wherever a row is shown.
fn mark_secrets(order: &[Field<OrderLine>], columns: &mut Columns) {
    let secret = |field: &&Field<OrderLine>| MASKED_FIELDS.contains(&field.spec.name);
    for field in order.iter().filter(secret) {
        for column in field.source.columns() {
            columns.named[column.index()].secret = true;
        }
    }
}

fn format(section: &Section<'_>, faults: &mut MappingFaults) -> FileFormat {
    const KNOWN: &[&str] = &["delimiter", "quote", "columns", "lines_above_header", "trim"];
    section.only(KNOWN, faults);
    let ascii = |key: &str, text: &str, faults: &mut MappingFaults| match text.as_bytes() {
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
    FileFormat {
        delimiter,
        quote,
        columns: section.texts("columns", faults),
        lines_above_header,
        trim: section.flag("trim", faults).unwrap_or(false),
    }
}

fn times(section: &Section<'_>, faults: &mut MappingFaults) -> TimeFormats {
    section.only(&["format", "zone"], faults);
    let (formats, zone) = time_keys(section, faults);
    TimeFormats::new(formats.unwrap_or_default(), zone)
}

fn numbers(section: &Section<'_>, faults: &mut MappingFaults) -> NumberFormat {
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
    let defaults = NumberFormat::of(unit);
    let numbers = NumberFormat {
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
