//! Files of rejected rows, which can be imported with the report's mapping.
//!
//! They have the columns of the report and a last one for the reason. For a mapping that uses row
//! numbers, they also have the row numbers of the report: other numbers would change the orders'
//! ids.

use std::borrow::Cow;

use csv::{QuoteStyle, WriterBuilder};

use super::mapping::{FileFormat, REASON_COLUMN, ROW_COLUMN};

/// A rejected row, with card and phone numbers masked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RejectedRow {
    /// Its number in the report, from 1.
    pub number: u64,
    /// Its cells; empty for a row that is too long or was not read.
    pub cells: Vec<Vec<u8>>,
}

/// The format of a file of rejected rows: the report's format, with a header.
#[derive(Clone, Debug, PartialEq)]
pub struct RejectedFormat {
    /// The columns of the report.
    pub(super) columns: Vec<String>,
    pub(super) file: FileFormat,
    /// Whether the rows have their numbers in a column.
    pub(super) has_numbers: bool,
}

impl RejectedFormat {
    /// Returns the line of the header.
    pub fn header(&self) -> Vec<u8> {
        let number = self.has_numbers.then_some(ROW_COLUMN.as_bytes());
        let columns = self.columns.iter().map(String::as_bytes);
        self.line(columns.chain(number).chain([REASON_COLUMN.as_bytes()]))
    }

    /// Returns the line of a row.
    pub fn row(&self, row: &RejectedRow, reason: &str) -> Vec<u8> {
        let number = row.number.to_string();
        let number = self.has_numbers.then_some(number.as_bytes());
        let cells = row.cells.iter().map(Vec::as_slice);
        self.line(cells.chain(number).chain([reason.as_bytes()]))
    }

    fn line<'c>(&self, cells: impl Iterator<Item = &'c [u8]>) -> Vec<u8> {
        let FileFormat { delimiter, quote, .. } = self.file;
        let mut writer = WriterBuilder::new();
        writer.delimiter(delimiter);
        let cells = cells.map(|cell| match quote {
            Some(_) => Cow::Borrowed(cell),
            // No cell of such a report contains a delimiter, but a reason may.
            None => {
                let is_special = |byte: u8| byte == delimiter || matches!(byte, b'\r' | b'\n');
                cell.iter().map(|byte| if is_special(*byte) { b' ' } else { *byte }).collect()
            }
        });
        match quote {
            Some(quote) => writer.quote(quote),
            None => writer.quote_style(QuoteStyle::Never),
        };
        let mut line = writer.from_writer(Vec::new());
        // Writing to memory does not fail.
        line.write_record(cells).ok();
        line.into_inner().unwrap_or_default()
    }
}
