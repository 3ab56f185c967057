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

use self::bound_mapping::{BoundMapping, CheckedRow};
use self::head::WithHead;
use self::header::{Header, names_of};
pub use self::mapping::Mapping;
pub use self::rates::{RatesError, ReadRates, read_rates};
pub use self::rejected_rows::{RejectedFormat, RejectedRow};
pub use self::row::ROW_MAX_BYTES;
use self::row::{Row, Rows};
use self::row_groups::{RowGroups, SeenIds};
pub(crate) use self::rows_of_orders::RowsOfOrders;
use kiosque_contract::OrderLine;

/// The largest report, in rows.
pub const ROWS_MAX: u64 = 1_000_000;
/// The maximum size in memory of the rows that are grouped by order, in bytes.
pub const GROUPED_MAX_BYTES: usize = 512 << 20;

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
    pub(crate) rows: Vec<Row>,
    /// The order.
    pub order: OrderLine,
    /// The device to create if it is unknown, or why it cannot be created; `None` if the mapping
    /// creates none.
    pub device: Option<Result<DeviceEntry, String>>,
    /// The products to create if they are unknown, each once.
    pub products: Vec<ProductEntry>,
}

impl MappedOrder {
    /// Returns the lines where its rows begin.
    pub fn lines(&self) -> impl Iterator<Item = u64> {
        self.rows.iter().map(|row| row.line)
    }
}

/// Rows that are not an order.
#[derive(Clone, Debug, PartialEq)]
pub struct RejectedRows {
    /// The lines where they begin.
    pub lines: Vec<u64>,
    /// The invalid lines and columns, and the expected values.
    pub reason: String,
    /// The rows, with card and phone numbers masked.
    pub rows: Vec<RejectedRow>,
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
    ready: Option<IntoIter<Vec<CheckedRow>>>,
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

    /// Returns an empty collection of rows, and the format in which they are written; `None` if the
    /// report is empty.
    pub(crate) fn rows_of_orders(&self) -> Option<RowsOfOrders> {
        let header = &self.bound.as_ref()?.header;
        let format = RejectedFormat {
            columns: header.columns().to_vec(),
            file: self.mapping.format.clone(),
            has_numbers: self.mapping.columns.has_row_number,
        };
        Some(RowsOfOrders::new(Arc::clone(header), Arc::new(format)))
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
        let bound = self.bound.take()?;
        let next = self.next_with(&bound);
        // Without a mapping, the iterator has ended permanently.
        self.bound = next.is_some().then_some(bound);
        next
    }
}

impl<R: Read> Report<'_, R> {
    fn next_with(
        &mut self,
        mapping: &BoundMapping<'_>,
    ) -> Option<Result<MappedOrder, RejectedRows>> {
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
            let Some(row) = row else {
                self.ready = Some(std::mem::take(&mut self.groups).into_groups());
                continue;
            };
            if row.number > self.limits.rows {
                let reason = format!("is more than the {} rows of one report", self.limits.rows);
                return Some(Err(self.stop(row.line, &reason)));
            }
            let checked = mapping.check(row);
            if let Some(skip) = mapping.skipped_by(&checked) {
                self.left_out[skip] += 1;
            } else if self.mapping.order.key.is_empty() {
                return Some(self.seen.assemble(mapping, vec![checked]));
            } else if let Some(rejected) = self.add_to_group(mapping, checked) {
                return Some(Err(rejected));
            }
        }
    }

    /// Adds a row to the group of its order, unless that is impossible.
    fn add_to_group(
        &mut self,
        mapping: &BoundMapping<'_>,
        checked: CheckedRow,
    ) -> Option<RejectedRows> {
        let line = checked.row.line;
        match mapping.key(&checked) {
            Some(key) => self.groups.add(key, checked),
            None => {
                let reason = checked.error.clone().unwrap_or_else(|| mapping.no_key(&checked.row));
                let reason = format!("line {line}: {reason}; {OF_ANY_ORDER}");
                return Some(mapping.reject([&checked], &reason));
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
        RejectedRows {
            lines: vec![line],
            reason: format!("line {line}: {reason}: {consequence}"),
            rows: vec![RejectedRow::default()],
        }
    }
}
