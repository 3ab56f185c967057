//! CSV sales reports: a mapping file says how the rows of a report become orders.
//!
//! [`Mapping::parse`] reads the mapping, [`read`] holds it against a report and gives one
//! [`MappedOrder`] an order, in the wire names of an order file, so that it passes the very same
//! checks afterwards. Rows that are no orders come as [`RejectedRows`], each with its line; rows
//! that the mapping leaves out are counted. No row is lost silently, and none is taken twice.

mod amount;
mod field;
mod fill;
mod header;
mod hold;
mod mapping;
mod moment;
mod order;
mod rates;
mod row;
mod skip;
mod template;
#[cfg(test)]
mod tests;
mod told;
mod walk;

use std::io::Read;
use std::vec::IntoIter;

use kiosque_model::fleet::{DeviceEntry, ProductEntry};
use kiosque_model::time::Zone;
use serde_json::{Map, Value};

use self::header::{Header, names_of};
use self::hold::{Held, Seen};
pub use self::mapping::Mapping;
use self::order::{Checked, Desk};
pub use self::rates::{RatesError, read_rates};
pub use self::row::ROW_MAX_BYTES;
use self::row::Rows;

/// The longest report, in rows.
pub const ROWS_MAX: u64 = 1_000_000;
/// How much of a report is held, in bytes, while the rows of each order are gathered.
pub const HELD_MAX_BYTES: usize = 512 << 20;

/// An order that a report tells.
#[derive(Clone, Debug, PartialEq)]
pub struct MappedOrder {
    /// The line of the report that it begins on; the header is line 1.
    pub first_line: u64,
    /// The lines that its rows begin on.
    pub lines: Vec<u64>,
    /// What a line of an order file would say.
    pub order: Map<String, Value>,
    /// What its device is created from when it is unknown; `None`: it is not to be created.
    pub device: Option<DeviceEntry>,
    /// What its products are created from where they are unknown, each once.
    pub products: Vec<ProductEntry>,
}

/// Rows that are no order.
#[derive(Clone, Debug, PartialEq)]
pub struct RejectedRows {
    /// The lines that they begin on.
    pub lines: Vec<u64>,
    /// Which line and column is wrong, and what was expected.
    pub reason: String,
    /// The cells of each, by column, card and phone numbers masked; empty for a row too long.
    pub rows: Vec<Map<String, Value>>,
}

/// Holds a mapping against a report. Memory is bounded: when the mapping has `order.key`, rows are
/// held until the end, since those of one order may stand anywhere; otherwise they pass through.
///
/// # Errors
/// What keeps the report from being read at all: every column that is missing, for example.
pub fn read<'m, R: Read>(
    input: R,
    mapping: &'m Mapping,
    zone: &'m Zone,
) -> Result<Report<'m, R>, Vec<String>> {
    let unreadable = |fault: std::io::Error| vec![format!("the report cannot be read: {fault}")];
    let mut rows = Rows::open(input, &mapping.shape).map_err(unreadable)?;
    let names = match &mapping.shape.columns {
        Some(names) => Some(names.clone()),
        None => rows.next_row().map_err(unreadable)?.as_ref().map(names_of).transpose()?,
    };
    rows.restart_numbers();
    // A report without even a header has no orders, as an empty order file has none.
    let desk = names.map(|names| Header::bind(names, mapping)).transpose()?;
    Ok(Report {
        rows,
        desk: desk.map(|header| Desk { mapping, header, zone }),
        left_out: vec![0; mapping.skips.len()],
        mapping,
        seen: Seen::default(),
        held: Held::default(),
        ready: None,
        limits: Limits { rows: ROWS_MAX, held_bytes: HELD_MAX_BYTES },
    })
}

/// A report that is being read: an iterator over its orders and its rejected rows.
pub struct Report<'m, R> {
    rows: Rows<R>,
    desk: Option<Desk<'m>>,
    left_out: Vec<u64>,
    mapping: &'m Mapping,
    seen: Seen,
    held: Held,
    ready: Option<IntoIter<Vec<Checked>>>,
    limits: Limits,
}

#[derive(Clone, Copy, Debug)]
struct Limits {
    rows: u64,
    held_bytes: usize,
}

impl<R> Report<'_, R> {
    /// How many rows were read so far, whatever became of them.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.rows.number()
    }

    /// How many rows each `[[skip]]` has left out so far, beside what it looks for.
    #[must_use]
    pub fn left_out(&self) -> Vec<(String, u64)> {
        let skips = self.mapping.skips.iter().map(ToString::to_string);
        skips.zip(self.left_out.iter().copied()).collect()
    }
}

impl<R: Read> Iterator for Report<'_, R> {
    type Item = Result<MappedOrder, RejectedRows>;

    fn next(&mut self) -> Option<Self::Item> {
        let desk = self.desk.take()?;
        let next = self.next_with(&desk);
        // What cannot go on has let go of its rows, and ends here.
        self.desk = next.is_some().then_some(desk);
        next
    }
}

impl<R: Read> Report<'_, R> {
    fn next_with(&mut self, desk: &Desk<'_>) -> Option<Result<MappedOrder, RejectedRows>> {
        loop {
            if let Some(ready) = &mut self.ready {
                let rows = ready.next()?;
                return Some(self.seen.claim(desk, &rows));
            }
            let line = self.rows.line();
            let row = match self.rows.next_row() {
                Ok(row) => row,
                Err(fault) => {
                    return Some(Err(self.stop(line, &format!("cannot be read: {fault}"))));
                }
            };
            let Some(row) = row else {
                self.ready = Some(std::mem::take(&mut self.held).into_orders());
                continue;
            };
            if row.number > self.limits.rows {
                let reason = format!("is more than the {} rows of one report", self.limits.rows);
                return Some(Err(self.stop(row.line, &reason)));
            }
            let checked = desk.check(row);
            if let Some(skip) = desk.left_out_by(&checked) {
                self.left_out[skip] += 1;
            } else if self.mapping.key.is_empty() {
                return Some(self.seen.claim(desk, &[checked]));
            } else if let Some(rejected) = self.hold(desk, checked) {
                return Some(Err(rejected));
            }
        }
    }

    fn hold(&mut self, desk: &Desk<'_>, checked: Checked) -> Option<RejectedRows> {
        let line = checked.row.line;
        match desk.key(&checked) {
            Some(key) => self.held.put(key, checked),
            None => {
                let reason = checked.fault.clone().unwrap_or_else(|| desk.no_key(&checked.row));
                return Some(desk.rejected([&checked], &format!("line {line}: {reason}")));
            }
        }
        let bytes = self.limits.held_bytes;
        (self.held.bytes() > bytes).then(|| {
            let reason = format!("is beyond the {bytes} bytes held while orders are gathered");
            self.stop(line, &reason)
        })
    }

    /// Ends the reading for good. Orders that were still being gathered may lack rows that were
    /// not read, so none of them is taken.
    fn stop(&mut self, line: u64, reason: &str) -> RejectedRows {
        self.held = Held::default();
        self.ready = Some(Vec::new().into_iter());
        let kept = if self.mapping.key.is_empty() {
            "no row from here on was taken; the rows before were"
        } else {
            "no row of the report was taken; split it, keeping the rows of each order together"
        };
        RejectedRows {
            lines: vec![line],
            reason: format!("line {line}: {reason}: {kept}"),
            rows: vec![Map::new()],
        }
    }
}
