//! The columns of a report, and the positions of a mapping's columns among them.

use super::mapping::{FileFormat, Mapping, REASON_COLUMN, ROW_COLUMN};
use super::row::Row;
use super::template::ColumnNo;

/// The header of a report, with the positions of the mapping's columns.
#[derive(Debug)]
pub struct Header {
    pub(super) names: Vec<String>,
    positions: Vec<usize>,
    /// Whether the cells of a column are masked where they are shown.
    pub(super) secret: Vec<bool>,
    /// The columns of the report; a file of rejected rows has additional ones.
    pub(super) report_width: usize,
    /// The format of the report.
    pub(super) format: FileFormat,
    /// Whether rejected rows have their numbers in a column.
    pub(super) has_numbers: bool,
}

impl Header {
    /// Finds every column that the mapping uses.
    ///
    /// # Errors
    /// All columns that are missing or duplicate, and constants that look like columns.
    pub(super) fn bind(names: Vec<String>, mapping: &Mapping) -> Result<Header, Vec<String>> {
        let mut errors = Vec::new();
        let mut positions = Vec::new();
        let mut secret = vec![false; names.len()];
        for column in &mapping.columns.named {
            let mut found = (0..).zip(&names).filter(|(_, name)| **name == column.name);
            let needed = || format!("{:?} (needed by {})", column.name, column.used_by.join(", "));
            match (found.next(), found.next()) {
                (Some((position, _)), None) => {
                    positions.push(position);
                    secret[position] = column.secret;
                }
                (Some(_), Some(_)) => {
                    errors.push(format!("the report has two columns {}", needed()));
                }
                (None, _) => {
                    let near = nearly(&column.name, &names);
                    errors.push(format!("the report has no column {}{near}", needed()));
                }
            }
        }
        if positions.len() < mapping.columns.named.len() {
            errors.push(columns_there(&names, mapping));
        }
        for (path, text) in mapping.bare_texts.iter().filter(|(_, text)| names.contains(text)) {
            errors.push(format!(
                "{path}: {text:?} is a text here, but the report has a column of that name; write \
                 \"{{{text}}}\" for the column or {{ constant = {text:?} }} for the text"
            ));
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        let added = match names.as_slice() {
            [.., row, reason] if row == ROW_COLUMN && reason == REASON_COLUMN => 2,
            [.., reason] if reason == REASON_COLUMN => 1,
            _ => 0,
        };
        let report_width = names.len() - added;
        let format = mapping.format.clone();
        let has_numbers = mapping.columns.has_row_number;
        Ok(Header { names, positions, secret, report_width, format, has_numbers })
    }

    /// Returns the number that a rejected row had in its report, if the row specifies one.
    ///
    /// # Errors
    /// The cell is not a number.
    pub(super) fn number_in_report(&self, row: &Row) -> Result<Option<u64>, String> {
        if self.names.get(self.report_width).is_none_or(|name| name != ROW_COLUMN) {
            return Ok(None);
        }
        let text = row.text(self.cells_of_report(row));
        match text.trim().parse() {
            Ok(number) => Ok(Some(number)),
            Err(_) if row.len() != self.width() => Ok(None),
            Err(_) => Err(format!(
                "column {ROW_COLUMN}: {text:?} is not the number of a row in the report"
            )),
        }
    }

    /// Returns why a row of a file of rejected rows was rejected before.
    pub(super) fn earlier_reason<'r>(&self, row: &'r Row) -> Option<&'r str> {
        let position = row.len().checked_sub(1)?;
        (self.report_width < self.width()).then(|| row.text(position))
    }

    /// Returns the number of cells of the report in a row. In a file of rejected rows they may be
    /// too few or too many: the cells that were added are the last ones.
    pub(super) fn cells_of_report(&self, row: &Row) -> usize {
        if row.len() == self.width() {
            return self.report_width;
        }
        let is_added = self.earlier_reason(row).is_some_and(|reason| reason.starts_with("line"));
        let added = if is_added { self.width() - self.report_width } else { 0 };
        row.len().saturating_sub(added)
    }

    /// Returns the number of cells that a row must have.
    pub(super) fn width(&self) -> usize {
        self.names.len()
    }

    /// Returns the position of a column.
    pub(super) fn position(&self, column: ColumnNo) -> usize {
        self.positions[column.index()]
    }

    /// Returns the name of the column at a position.
    pub(super) fn name(&self, position: usize) -> String {
        let name = self.names.get(position).filter(|name| !name.is_empty());
        name.cloned().unwrap_or_else(|| format!("column {}", position + 1))
    }
}

/// Returns the column names of a header row.
///
/// # Errors
/// The header is not text.
pub(super) fn names_of(row: &Row) -> Result<Vec<String>, Vec<String>> {
    let line = row.line;
    if let Some(flaw) = row.flaw {
        return Err(vec![format!("line {line}: the header {flaw}")]);
    }
    let names: Option<Vec<String>> =
        row.cells().map(|cell| Some(std::str::from_utf8(cell).ok()?.trim().to_owned())).collect();
    names.ok_or_else(|| {
        vec![format!("line {line}: the header has bytes that are not UTF-8; save it as UTF-8")]
    })
}

fn nearly(name: &str, names: &[String]) -> String {
    let bare = |text: &str| {
        let letters = text.chars().filter(|c| c.is_alphanumeric());
        letters.flat_map(char::to_lowercase).collect::<String>()
    };
    match names.iter().find(|known| bare(known) == bare(name)) {
        Some(known) => format!("; is it {known:?}?"),
        None => String::new(),
    }
}

fn columns_there(names: &[String], mapping: &Mapping) -> String {
    let delimiter = char::from(mapping.format.delimiter);
    if let [one] = names
        && let Some(other) = one.chars().find(|c| ",;\t|".contains(*c) && *c != delimiter)
    {
        return format!(
            "the report's only column is {one:?}; should report.delimiter be {other:?}?"
        );
    }
    let quoted: Vec<String> = names.iter().map(|name| format!("{name:?}")).collect();
    format!("the report's columns are {}", quoted.join(", "))
}
