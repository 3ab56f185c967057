//! The columns of a report, and where the columns of a mapping are among them.

use kiosque_model::mask::masked;
use serde_json::{Map, Value};

use super::mapping::Mapping;
use super::row::Row;
use super::template::ColumnNo;

/// The header of a report, with the positions of the mapping's columns.
#[derive(Debug)]
pub(super) struct Header {
    names: Vec<String>,
    positions: Vec<usize>,
    secret: Vec<bool>,
}

impl Header {
    /// Finds every column that the mapping names.
    ///
    /// # Errors
    /// All columns that are missing or duplicate, and constants that look like columns.
    pub(super) fn bind(names: Vec<String>, mapping: &Mapping) -> Result<Header, Vec<String>> {
        let mut faults = Vec::new();
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
                    faults.push(format!("the report has two columns {}", needed()));
                }
                (None, _) => {
                    let near = nearly(&column.name, &names);
                    faults.push(format!("the report has no column {}{near}", needed()));
                }
            }
        }
        if positions.len() < mapping.columns.named.len() {
            faults.push(columns_there(&names, mapping));
        }
        for (path, text) in mapping.bare_texts.iter().filter(|(_, text)| names.contains(text)) {
            faults.push(format!(
                "{path}: {text:?} is a text here, but the report has a column of that name; write \
                 \"{{{text}}}\" for the column or {{ constant = {text:?} }} for the text"
            ));
        }
        if faults.is_empty() { Ok(Header { names, positions, secret }) } else { Err(faults) }
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

    /// Returns the cells of a rejected row by column, with card and phone numbers masked.
    pub(super) fn cells(&self, row: &Row) -> Map<String, Value> {
        // A card number may be under any name in a row with missing or extra cells.
        let shifted = row.len() != self.width() || row.flaw.is_some();
        let shifted = shifted && self.secret.contains(&true);
        let mut cells = Map::new();
        for (position, cell) in row.cells().enumerate() {
            let text = String::from_utf8_lossy(cell);
            let secret = shifted || self.secret.get(position).copied().unwrap_or_default();
            let text = if secret { masked(&text) } else { text.into_owned() };
            let mut name = self.name(position);
            if cells.contains_key(&name) {
                name = format!("{name} (column {})", position + 1);
            }
            cells.insert(name, Value::from(text));
        }
        cells
    }
}

/// Returns the columns that a header row names.
///
/// # Errors
/// The header is not text.
pub(super) fn names_of(row: &Row) -> Result<Vec<String>, Vec<String>> {
    let line = row.line;
    let first = row.cell(0).unwrap_or_default();
    if first.starts_with(b"\xff\xfe") || first.starts_with(b"\xfe\xff") {
        return Err(vec!["the report is UTF-16; save it as UTF-8".to_owned()]);
    }
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
