//! A mapping bound to a report's header: finds cells, and checks rows as a whole.

use std::sync::Arc;

use kiosque_model::mask::masked;
use kiosque_model::time::Zone;

use super::fields::Source;
use super::header::Header;
use super::mapping::Mapping;
use super::row::Row;
use super::template::{ColumnNo, Template};

/// A mapping bound to a report.
#[derive(Clone)]
pub(super) struct BoundMapping<'m> {
    pub(super) mapping: &'m Mapping,
    pub(super) header: Arc<Header>,
    pub(super) zone: &'m Zone,
}

impl BoundMapping<'_> {
    /// Returns the position of the first `[[skip]]` that leaves the row out.
    pub(super) fn skipped_by(&self, row: &Row) -> Option<usize> {
        let is_invalid = || self.row_error(row).is_some();
        self.mapping.skips.iter().position(|skip| {
            let cell = row.cell(self.header.position(skip.column));
            cell.is_some_and(|cell| skip.takes(cell, is_invalid))
        })
    }

    /// Returns the row's cells of `order.key`, trimmed as all texts are; `None` if one of them is
    /// empty or not text.
    pub(super) fn key(&self, row: &Row) -> Option<Vec<String>> {
        let cells = self.mapping.order.key.iter().map(|column| {
            let cell = row.cell(self.header.position(*column))?;
            let text = self.trimmed(std::str::from_utf8(cell).ok()?);
            (!text.trim().is_empty()).then(|| text.to_owned())
        });
        cells.collect()
    }

    /// Returns whether the cells of a row may be under the columns of others.
    pub(super) fn is_misshapen(&self, row: &Row) -> bool {
        row.flaw.is_some() || row.len() != self.header.width()
    }

    /// Returns the reason for rejecting a row without a key.
    pub(super) fn no_key(&self, row: &Row) -> String {
        let empty = |column: &&ColumnNo| row.text(self.header.position(**column)).trim().is_empty();
        let names: Vec<String> =
            self.mapping.order.key.iter().filter(empty).map(|column| self.name(*column)).collect();
        format!("column {} is empty", names.join(", "))
    }

    /// Returns the reason if a row is invalid as a whole, before any of its cells is interpreted.
    pub(super) fn row_error(&self, row: &Row) -> Option<String> {
        let runs_on = || {
            let open = "; is a quote left open?";
            let last = row.last_line;
            if last > row.line { format!(", and runs to line {last}{open}") } else { String::new() }
        };
        if let Some(flaw) = row.flaw {
            return Some(format!("the row {flaw}{}", runs_on()));
        }
        if self.is_misshapen(row) {
            let (has, width) = (row.len(), self.header.width());
            return Some(format!("the row has {has} cells under {width} columns{}", runs_on()));
        }
        let of_cell = row.cells().enumerate().find_map(|(position, cell)| {
            let error = match std::str::from_utf8(cell) {
                Err(_) => "bytes that are not UTF-8",
                Ok(text) if text.contains('\0') => "a NUL character",
                Ok(_) => return None,
            };
            Some(format!("column {}: has {error}", self.header.name(position)))
        });
        of_cell.or_else(|| self.header.number_in_report(row).err())
    }

    /// Returns a cell of a row that was checked.
    pub(super) fn cell<'r>(&self, row: &'r Row, column: ColumnNo) -> &'r str {
        self.trimmed(row.text(self.header.position(column)))
    }

    /// Returns a text, trimmed if the mapping trims cells.
    fn trimmed<'t>(&self, text: &'t str) -> &'t str {
        if self.mapping.format.trim { text.trim() } else { text }
    }

    /// Returns the name of a column.
    pub(super) fn name(&self, column: ColumnNo) -> String {
        self.mapping.columns.column(column).name.clone()
    }

    /// Returns a cell's text quoted, and masked if its column is secret.
    pub(super) fn quoted(&self, column: ColumnNo, text: &str) -> String {
        let secret = self.mapping.columns.column(column).secret;
        if secret { format!("{:?}", masked(text)) } else { format!("{text:?}") }
    }

    /// Returns the columns of a template for a message, or the mapping's key if there are none.
    pub(super) fn origin(&self, template: &Template, source: &Source) -> String {
        let names: Vec<String> = template.columns().map(|column| self.name(column)).collect();
        match names.as_slice() {
            [] => source.path.clone(),
            [one] => format!("column {one}"),
            several => format!("columns {}", several.join(", ")),
        }
    }
}
