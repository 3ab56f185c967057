//! The rows of the orders of a report, for those that are rejected later.

use std::collections::HashMap;
use std::sync::Arc;

use super::header::Header;
use super::rejected_rows::{RejectedFormat, RejectedRow};
use super::row::Row;

/// The rows of the orders of a report that are not stored yet.
pub(crate) struct RowsOfOrders {
    header: Arc<Header>,
    format: Arc<RejectedFormat>,
    by_first_line: HashMap<u64, Vec<Row>>,
}

impl RowsOfOrders {
    pub(super) fn new(header: Arc<Header>, format: Arc<RejectedFormat>) -> RowsOfOrders {
        RowsOfOrders { header, format, by_first_line: HashMap::new() }
    }

    /// Returns the format in which the rows are written.
    pub(crate) fn format(&self) -> &Arc<RejectedFormat> {
        &self.format
    }

    /// Adds the rows of an order.
    pub(crate) fn add(&mut self, first_line: u64, rows: Vec<Row>) {
        self.by_first_line.insert(first_line, rows);
    }

    /// Returns the first line of the order that the row on a line belongs to.
    pub(crate) fn first_line_of(&self, line: u64) -> Option<u64> {
        let mut orders = self.by_first_line.iter();
        let found = orders.find(|(_, rows)| rows.iter().any(|row| row.line == line));
        found.map(|(first_line, _)| *first_line)
    }

    /// Returns rows as they are written.
    pub(crate) fn rejected(&self, rows: &[Row]) -> Vec<RejectedRow> {
        rows.iter().map(|row| self.header.rejected(row)).collect()
    }

    /// Removes the rows of an order, and returns them as they are written.
    pub(crate) fn remove(&mut self, first_line: u64) -> Vec<RejectedRow> {
        let rows = self.by_first_line.remove(&first_line).unwrap_or_default();
        self.rejected(&rows)
    }
}
