//! A mapping: how the columns of a sales report become orders. [`Mapping::parse`] reads it from
//! TOML.

use serde::de::{Error, IntoDeserializer};
use serde::{Deserialize, Deserializer};

use super::fields::{Field, Source, Spec};
use super::numbers::NumberFormat;
use super::skip::Skip;
use super::template::{ColumnNo, Columns};
use super::texts::texts;
use super::times::TimeFormats;
use kiosque_contract::{OrderLine, OrderLineItem};

/// How the rows of a report become orders. `docs/csv-mapping.md` describes the notation.
#[derive(Clone, Debug)]
pub struct Mapping {
    pub(super) format: FileFormat,
    pub(super) numbers: NumberFormat,
    pub(super) times: TimeFormats,
    pub(super) columns: Columns,
    /// Constants that may be meant as columns, each with its key.
    pub(super) bare_texts: Vec<(String, String)>,
    pub(super) order: OrderMapping,
    pub(super) line: Option<LineMapping>,
    pub(super) skips: Vec<Skip>,
    pub(super) device: Option<NewDevice>,
    pub(super) product: Option<NewProduct>,
}

/// How rows are converted to an order.
#[derive(Clone, Debug)]
pub(super) struct OrderMapping {
    /// The columns whose cells combine rows to an order; without any, each row is an order.
    pub(super) key: Vec<ColumnNo>,
    /// The fields that sources fill.
    pub(super) fields: Vec<Field<OrderLine>>,
    /// The amounts that are the sum of the lines.
    pub(super) sums: Vec<&'static Spec<OrderLine>>,
}

/// How a row is converted to a line of an order.
#[derive(Clone, Debug)]
pub(super) struct LineMapping {
    /// The fields that sources fill.
    pub(super) fields: Vec<Field<OrderLineItem>>,
    /// The column whose cell is blank in a row without a line; without it, each row has a line.
    pub(super) unless_empty: Option<ColumnNo>,
}

/// The last column of a file of rejected rows: the reason.
pub(super) const REASON_COLUMN: &str = "kiosque: reason";
/// The column before it, for mappings that use row numbers.
pub(super) const ROW_COLUMN: &str = "kiosque: row";

/// How a CSV file is written.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
pub(super) struct FileFormat {
    /// The separator of cells.
    #[serde(deserialize_with = "delimiter")]
    pub(super) delimiter: u8,
    /// The quote around cells; `None` if quotes have no meaning.
    #[serde(deserialize_with = "quote")]
    pub(super) quote: Option<u8>,
    /// The names of the columns, if the file has no header; otherwise empty.
    #[serde(deserialize_with = "texts")]
    pub(super) columns: Vec<String>,
    /// The number of lines before the header.
    pub(super) lines_above_header: u64,
    /// Whether white space around cells is removed.
    pub(super) trim: bool,
}

impl Default for FileFormat {
    fn default() -> FileFormat {
        FileFormat {
            delimiter: b',',
            quote: Some(b'"'),
            columns: Vec::new(),
            lines_above_header: 0,
            trim: false,
        }
    }
}

impl FileFormat {
    /// Returns the format of a file with the rejected rows of such a report.
    pub(super) fn of_rejected_rows(&self) -> FileFormat {
        FileFormat { columns: Vec::new(), lines_above_header: 0, ..self.clone() }
    }
}

fn delimiter<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u8, D::Error> {
    let text = String::deserialize(deserializer)?;
    match text.as_bytes() {
        [byte] if byte.is_ascii() && !matches!(byte, b'\r' | b'\n' | 0) => Ok(*byte),
        _ => Err(D::Error::custom(format_args!("expected one ASCII character, got {text:?}"))),
    }
}

fn quote<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u8>, D::Error> {
    let text = String::deserialize(deserializer)?;
    if text.is_empty() { Ok(None) } else { delimiter(text.into_deserializer()).map(Some) }
}

/// Reads a format whose quote is not its delimiter, and in which rejected rows can be written.
pub(super) fn file_format<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<FileFormat, D::Error> {
    let format = FileFormat::deserialize(deserializer)?;
    if format.quote == Some(format.delimiter) {
        return Err(D::Error::custom("quote and delimiter are the same character"));
    }
    let added = [ROW_COLUMN, REASON_COLUMN];
    let delimiter = char::from(format.delimiter);
    if format.quote.is_none() && added.iter().any(|name| name.contains(delimiter)) {
        return Err(D::Error::custom(format_args!(
            "{delimiter:?} cannot be the delimiter without a quote: files of rejected rows have \
             the column {REASON_COLUMN:?}; leave out quote = \"\""
        )));
    }
    Ok(format)
}

/// The sources of an unknown device, which is created.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub(super) struct NewDevice<S = Source> {
    pub(super) group: S,
    pub(super) name: Option<S>,
    pub(super) address: Option<S>,
    pub(super) model: Option<S>,
}

/// The sources of an unknown product, which is created.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub(super) struct NewProduct<S = Source> {
    pub(super) name: Option<S>,
    pub(super) category: Option<S>,
    pub(super) currency: Option<S>,
    pub(super) default_price: Option<S>,
}
