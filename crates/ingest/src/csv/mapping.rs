//! A mapping: how the columns of a sales report become orders. [`Mapping::parse`] reads it from
//! TOML.

use serde_json::{Map, Value};

use super::fields::{Field, Source, Spec};
use super::numbers::NumberFormat;
use super::skip::Skip;
use super::template::{ColumnNo, Columns};
use super::times::TimeFormats;
use kiosque_contract::Object;
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
    pub(super) key: Vec<ColumnNo>,
    pub(super) order: Vec<Field<OrderLine>>,
    /// The amounts of an order that are the sum of its lines.
    pub(super) sums: Vec<&'static Spec<OrderLine>>,
    pub(super) line: Option<Vec<Field<OrderLineItem>>>,
    /// The column whose cell is blank in a row without a line; without it, each row has one.
    pub(super) line_column: Option<ColumnNo>,
    pub(super) skips: Vec<Skip>,
    pub(super) device: Option<NewDevice>,
    pub(super) product: Option<NewProduct>,
}

/// How a CSV file is written.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FileFormat {
    /// The separator of cells.
    pub(super) delimiter: u8,
    /// The quote around cells; `None` if quotes have no meaning.
    pub(super) quote: Option<u8>,
    /// The names of the columns, if the file has no header.
    pub(super) columns: Option<Vec<String>>,
    /// The number of lines before the header.
    pub(super) lines_above_header: u64,
    /// Whether white space around cells is removed.
    pub(super) trim: bool,
}

impl FileFormat {
    /// Returns the format of a file with the rejected rows of such a report.
    pub(super) fn of_rejected_rows(&self) -> FileFormat {
        FileFormat { columns: None, lines_above_header: 0, ..self.clone() }
    }
}

/// The sources of an unknown device, which is created.
#[derive(Clone, Debug)]
pub(super) struct NewDevice {
    pub(super) group: Source,
    pub(super) name: Option<Source>,
    pub(super) address: Option<Source>,
    pub(super) model: Option<Source>,
}

/// The sources of an unknown product, which is created.
#[derive(Clone, Debug)]
pub(super) struct NewProduct {
    pub(super) name: Option<Source>,
    pub(super) category: Option<Source>,
    pub(super) currency: Option<Source>,
    pub(super) default_price: Option<Source>,
}

impl Mapping {
    /// Returns an order as a line of an order file, its fields in the order of the mapping's.
    #[must_use]
    pub fn to_json(&self, order: &OrderLine) -> Map<String, Value> {
        let mut json = object(&self.order, order);
        for sum in &self.sums {
            sum.add_to(&mut json, order);
        }
        if let (Some(fields), Some(lines)) = (&self.line, &order.detail_vo_list) {
            let lines = lines.iter().map(|Object(line)| Value::Object(object(fields, line)));
            json.insert("detailVOList".to_owned(), Value::Array(lines.collect()));
        }
        json
    }
}

fn object<T>(fields: &[Field<T>], of: &T) -> Map<String, Value> {
    let mut json = Map::new();
    for field in fields {
        field.spec.add_to(&mut json, of);
    }
    json
}
