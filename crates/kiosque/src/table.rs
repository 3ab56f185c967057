//! Tables for people: columns, padded with spaces. A column of numbers is aligned to the right.

use std::fmt;

/// The text of an absent value.
pub(crate) const ABSENT: &str = "-";

/// A table with a header.
pub(crate) struct Table<const N: usize> {
    rows: Vec<[String; N]>,
}

impl<const N: usize> Table<N> {
    pub(crate) fn new(header: [&str; N]) -> Table<N> {
        Table { rows: vec![header.map(printable)] }
    }

    /// Adds a row.
    pub(crate) fn add(&mut self, cells: [String; N]) {
        self.rows.push(cells.map(|cell| printable(&cell)));
    }

    /// Returns the width of a column, and whether it has numbers alone.
    fn column(&self, at: usize) -> (usize, bool) {
        let cells = || self.rows.iter().filter_map(|row| row.get(at));
        let width = cells().map(|cell| cell.chars().count()).max().unwrap_or_default();
        let is_number = |cell: &String| cell == ABSENT || cell.parse::<i64>().is_ok();
        (width, cells().skip(1).all(is_number) && cells().skip(1).any(|cell| cell != ABSENT))
    }
}

impl<const N: usize> fmt::Display for Table<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns: [(usize, bool); N] = std::array::from_fn(|at| self.column(at));
        for row in &self.rows {
            let mut line = String::new();
            for (cell, (width, is_number)) in row.iter().zip(columns) {
                if !line.is_empty() {
                    line.push_str("  ");
                }
                line.push_str(&match is_number {
                    true => format!("{cell:>width$}"),
                    false => format!("{cell:<width$}"),
                });
            }
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

/// Returns a text without control characters, which could move the cursor of a terminal.
pub(crate) fn printable(text: &str) -> String {
    let replaced = |c: char| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c };
    text.chars().map(replaced).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_padded_and_numbers_are_aligned_to_the_right() {
        let mut table = Table::new(["CODE", "ORDERS", "LAST", "NAME"]);
        let mut add = |cells: [&str; 4]| table.add(cells.map(str::to_owned));
        add(["K-001", "7", "-", "Gare\u{1b}[2J"]);
        add(["K-2", "1200", "-", ""]);
        let lines = [
            "CODE   ORDERS  LAST  NAME\n",
            "K-001       7  -     Gare\u{fffd}[2J\n",
            "K-2      1200  -\n",
        ];
        assert_eq!(table.to_string(), lines.concat());
    }

    #[test]
    fn an_empty_table_has_a_header() {
        assert_eq!(Table::new(["NAME", "RIGHTS"]).to_string(), "NAME  RIGHTS\n");
    }
}
