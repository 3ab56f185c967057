//! Files of rejected rows, which can be imported with the report's mapping.
//!
//! They have the columns of the report and a last one for the reason. For a mapping that uses row
//! numbers, they also have the row numbers of the report: other numbers would change the orders'
//! ids.

use std::borrow::Cow;

use csv::{QuoteStyle, WriterBuilder};
use kiosque_model::mask::masked;

use super::header::Header;
use super::mapping::{FileFormat, REASON_COLUMN, ROW_COLUMN};
use super::row::Row;

impl Header {
    /// Returns the line of the header of a file.
    pub(crate) fn header_of_rejected(&self) -> Vec<u8> {
        let names = self.names[..self.report_width].iter();
        let names = names.map(|name| Cow::Borrowed(name.as_bytes())).collect();
        self.line(names, ROW_COLUMN, REASON_COLUMN)
    }

    /// Returns the line of a rejected row, with card and phone numbers masked.
    pub(super) fn rejected(&self, row: &Row, reason: &str) -> Vec<u8> {
        let is_whole = row.len() == self.width() && row.flaw.is_none();
        // A card number may be under any name in a row with missing or extra cells.
        let shifted = !is_whole && self.secret.contains(&true);
        let cells = row.cells().enumerate().map(|(position, cell)| {
            match shifted || self.secret.get(position).copied().unwrap_or_default() {
                true => Cow::Owned(masked(&String::from_utf8_lossy(cell)).into_bytes()),
                false => Cow::Borrowed(cell),
            }
        });
        let mut cells: Vec<Cow<'_, [u8]>> = cells.collect();
        cells.truncate(self.cells_of_report(row));
        if !is_whole && cells.len() == self.report_width {
            // Otherwise the row would seem complete when it is imported again.
            cells.push(Cow::default());
        }
        self.line(cells, &row.number.to_string(), reason)
    }

    fn line<'c>(
        &'c self,
        mut cells: Vec<Cow<'c, [u8]>>,
        number: &'c str,
        reason: &'c str,
    ) -> Vec<u8> {
        if self.has_numbers {
            cells.push(number.as_bytes().into());
        }
        cells.push(reason.as_bytes().into());
        let FileFormat { delimiter, quote, .. } = self.format;
        let mut writer = WriterBuilder::new();
        writer.delimiter(delimiter);
        match quote {
            Some(quote) => writer.quote(quote),
            None => {
                // No cell of such a report contains a delimiter, but a reason may.
                let is_special = |byte: &u8| *byte == delimiter || matches!(byte, b'\r' | b'\n');
                let bytes = cells.iter_mut().flat_map(|cell| cell.to_mut());
                bytes.filter(|byte| is_special(byte)).for_each(|byte| *byte = b' ');
                writer.quote_style(QuoteStyle::Never)
            }
        };
        let mut line = writer.from_writer(Vec::new());
        // Writing to memory does not fail.
        line.write_record(cells).ok();
        line.into_inner().unwrap_or_default()
    }
}
