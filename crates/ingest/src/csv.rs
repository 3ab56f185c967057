//! CSV sales reports, whose rows become orders through a mapping.
//!
//! [`Mapping::parse`] reads a mapping, and [`read`] applies it to a report. Each row is part of a
//! [`MappedOrder`], which must pass the checks of every [`OrderLine`], or part of
//! [`RejectedRows`], or is left out by the mapping and counted.

mod assemble;
mod bound_mapping;
mod fields;
mod head;
mod header;
mod mapping;
mod mapping_file;
mod mapping_parser;
mod numbers;
mod rates;
mod rejected_rows;
mod row;
mod row_groups;
mod row_values;
mod rows_of_orders;
mod skip;
mod template;
#[cfg(test)]
mod tests;
mod texts;
mod times;

use std::io::Read;
use std::sync::Arc;
use std::vec::IntoIter;

use kiosque_model::fleet::{DeviceEntry, ProductEntry};
use kiosque_model::time::Zone;

use self::bound_mapping::BoundMapping;
use self::head::WithHead;
pub use self::header::Header;
use self::header::names_of;
pub use self::mapping::Mapping;
pub use self::rates::{RatesError, ReadRates, read_rates};
use self::row::Rows;
pub use self::row::{ROW_MAX_BYTES, Row};
use self::row_groups::{RowGroups, SeenIds};
pub(crate) use self::rows_of_orders::RowsOfOrders;
use kiosque_contract::OrderLine;

/// The largest report, in rows.
pub const ROWS_MAX: u64 = 1_000_000;
/// The maximum size in memory of the rows that are grouped by order, in bytes.
pub const GROUPED_MAX_BYTES: usize = 512 << 20;

/// The longest reason, in bytes: a cell may be as long as a row.
const REASON_MAX_BYTES: usize = 1_000;

/// The reason of a row without a certain key. Corrected alone, in the file of rejected rows, it
/// would replace the order that was stored without it.
const OF_ANY_ORDER: &str =
    "the row may belong to any order, so correct it in the report, and import the report again";

/// An order of a report.
#[derive(Clone, Debug, PartialEq)]
pub struct MappedOrder {
    /// The line of the report where it begins, from 1.
    pub first_line: u64,
    /// Its rows.
    pub rows: Vec<Row>,
    /// The order.
    pub order: OrderLine,
    /// The device to create if it is unknown, or why it cannot be created; `None` if the mapping
    /// creates none.
    pub device: Option<Result<DeviceEntry, String>>,
    /// The products to create if they are unknown, each once.
    pub products: Vec<ProductEntry>,
}

/// Rows that are not an order.
#[derive(Clone, Debug, PartialEq)]
pub struct RejectedRows {
    /// The rows.
    pub rows: Vec<Row>,
    /// The invalid lines and columns, and the expected values.
    pub reason: String,
}

impl RejectedRows {
    fn new(rows: Vec<Row>, reason: &str) -> RejectedRows {
        let end = reason.floor_char_boundary(REASON_MAX_BYTES);
        let cut = if end < reason.len() { "…" } else { "" };
        RejectedRows { rows, reason: format!("{}{cut}", &reason[..end]) }
    }
}

/// Applies a mapping to a report. With `order.key`, rows stay in memory until the end, up to
/// [`GROUPED_MAX_BYTES`], since the rows of an order may be anywhere; otherwise each row is an
/// order. A file of the report's rejected rows is read like the report.
///
/// # Errors
/// Everything that prevents reading the report, such as missing columns.
pub fn read<'m, R: Read>(
    input: R,
    mapping: &'m Mapping,
    zone: &'m Zone,
) -> Result<Report<'m, R>, Vec<String>> {
    let unreadable = |error: std::io::Error| vec![format!("the report cannot be read: {error}")];
    let input = WithHead::read(input);
    if let Some(error) = input.other_kind() {
        return Err(vec![error]);
    }
    let format = match input.is_rejected_file(&mapping.format) {
        true => mapping.format.of_rejected_rows(),
        false => mapping.format.clone(),
    };
    let mut rows = Rows::open(input, &format).map_err(unreadable)?;
    let names = match format.columns.as_slice() {
        [] => rows.next_row().map_err(unreadable)?.as_ref().map(names_of).transpose()?,
        names => Some(names.to_vec()),
    };
    // The rows below the header have numbers from 1.
    rows.number = 0;
    // An empty report has no orders, like an empty order file.
    let header = names.map(|names| Header::bind(names, mapping)).transpose()?;
    Ok(Report {
        rows,
        bound: header.map(|header| BoundMapping { mapping, header: Arc::new(header), zone }),
        left_out: vec![0; mapping.skips.len()],
        mapping,
        seen: SeenIds::default(),
        groups: RowGroups::default(),
        ready: None,
        limits: Limits { rows: ROWS_MAX, grouped_bytes: GROUPED_MAX_BYTES },
    })
}

/// An iterator over the orders and the rejected rows of a report.
pub struct Report<'m, R> {
    rows: Rows<WithHead<R>>,
    bound: Option<BoundMapping<'m>>,
    /// Rows left out so far, by `[[skip]]`.
    left_out: Vec<u64>,
    mapping: &'m Mapping,
    seen: SeenIds,
    groups: RowGroups,
    /// The remaining groups, after all rows are read.
    ready: Option<IntoIter<Vec<Row>>>,
    limits: Limits,
}

#[derive(Clone, Copy, Debug)]
struct Limits {
    rows: u64,
    grouped_bytes: usize,
}

impl<R> Report<'_, R> {
    /// Returns the number of rows read so far.
    pub fn rows(&self) -> u64 {
        self.rows.number
    }

    /// Returns the line of the last row, once read, if it has no line end.
    pub(crate) fn cut_line(&self) -> Option<u64> {
        self.rows.cut_line
    }

    /// Returns an empty collection of rows; `None` if the report is empty.
    pub(crate) fn rows_of_orders(&self) -> Option<RowsOfOrders> {
        Some(RowsOfOrders::new(Arc::clone(&self.bound.as_ref()?.header)))
    }

    /// Returns each `[[skip]]` with the number of rows that it has left out so far.
    pub fn left_out(&self) -> Vec<(String, u64)> {
        let skips = self.mapping.skips.iter().map(ToString::to_string);
        skips.zip(self.left_out.iter().copied()).collect()
    }
}

impl<R: Read> Iterator for Report<'_, R> {
    type Item = Result<MappedOrder, RejectedRows>;

    fn next(&mut self) -> Option<Self::Item> {
        let mapping = &self.bound.clone()?;
        loop {
            if let Some(ready) = &mut self.ready {
                let rows = ready.next()?;
                return Some(self.seen.assemble(mapping, rows));
            }
            let line = self.rows.line();
            let row = match self.rows.next_row() {
                Ok(row) => row,
                Err(error) => {
                    return Some(Err(self.stop(line, &format!("cannot be read: {error}"))));
                }
            };
            let Some(mut row) = row else {
                self.ready = Some(std::mem::take(&mut self.groups).into_groups());
                continue;
            };
            if row.number > self.limits.rows {
                let reason = format!("is more than the {} rows of one report", self.limits.rows);
                return Some(Err(self.stop(row.line, &reason)));
            }
            if let Ok(Some(number)) = mapping.header.number_in_report(&row) {
                row.number = number;
            }
            if let Some(skip) = mapping.skipped_by(&row) {
                self.left_out[skip] += 1;
            } else if self.mapping.order.key.is_empty() {
                return Some(self.seen.assemble(mapping, vec![row]));
            } else if let Some(rejected) = self.add_to_group(mapping, row) {
                return Some(Err(rejected));
            }
        }
    }
}

impl<R> Report<'_, R> {
    /// Adds a row to the group of its order, unless that is impossible.
    fn add_to_group(&mut self, mapping: &BoundMapping<'_>, row: Row) -> Option<RejectedRows> {
        let line = row.line;
        match mapping.key(&row) {
            Some(key) => self.groups.add(key, row),
            None => {
                let reason = mapping.row_error(&row).unwrap_or_else(|| mapping.no_key(&row));
                let reason = format!("line {line}: {reason}; {OF_ANY_ORDER}");
                return Some(RejectedRows::new(vec![row], &reason));
            }
        }
        let bytes = self.limits.grouped_bytes;
        (self.groups.bytes() > bytes).then(|| {
            let reason =
                format!("exceeds the {bytes} bytes of rows that are grouped by order in memory");
            self.stop(line, &reason)
        })
    }

    /// Stops reading permanently. Groups may lack rows that were not read, so they are dropped.
    fn stop(&mut self, line: u64, reason: &str) -> RejectedRows {
        self.groups = RowGroups::default();
        self.ready = Some(Vec::new().into_iter());
        let consequence = if self.mapping.order.key.is_empty() {
            "no row from here on is imported; the rows before are"
        } else {
            "no row of the report is imported; split it, keeping the rows of each order together"
        };
        let row = Row { line, ..Row::default() };
        RejectedRows::new(vec![row], &format!("line {line}: {reason}: {consequence}"))
    }
}
