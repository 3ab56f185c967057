//! The rows of the orders of a report, for those that are rejected later.

use std::collections::HashMap;
use std::sync::Arc;

use super::header::Header;
use super::row::Row;
use crate::rejected::{Content, Reason, Rejected};

/// The rows of the orders of a report that are not stored yet.
pub(crate) struct RowsOfOrders {
    header: Arc<Header>,
    file_header: Arc<[u8]>,
    by_first_line: HashMap<u64, Vec<Row>>,
}

impl RowsOfOrders {
    pub(super) fn new(header: Arc<Header>) -> RowsOfOrders {
        let file_header = header.header_of_rejected().into();
        RowsOfOrders { header, file_header, by_first_line: HashMap::new() }
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

    /// Removes the rows of an order.
    pub(crate) fn remove(&mut self, first_line: u64) -> Vec<Row> {
        self.by_first_line.remove(&first_line).unwrap_or_default()
    }

    /// Returns rows as they are reported and written.
    pub(crate) fn rejected(
        &self,
        rows: &[Row],
        order_id: Option<String>,
        reason: &str,
    ) -> Rejected {
        let reason = Reason::new(reason);
        let lines = rows.iter().flat_map(|row| self.header.rejected(row, &reason)).collect();
        let content = Content::Rows { header: Arc::clone(&self.file_header), lines };
        Rejected { line: rows.first().map_or(0, |row| row.line), order_id, reason, content }
    }
}
