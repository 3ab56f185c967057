//! Tables for people: columns, padded with spaces. A column of numbers is aligned to the right.

use std::fmt;

use kiosque_model::controls_terminal;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The text of an absent value.
pub(crate) const ABSENT: &str = "-";

/// Returns the cell of a value that may be absent.
pub(crate) fn cell(value: Option<impl ToString>) -> String {
    value.map_or_else(|| ABSENT.to_owned(), |value| value.to_string())
}

/// A table with a header.
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
    /// Columns that are aligned to the right although they do not only contain numbers.
    pub(crate) amounts: Vec<usize>,
    /// The width of a terminal, to which lines are truncated.
    pub(crate) width_max: Option<usize>,
}

impl Table {
    pub(crate) fn new(header: &[&str]) -> Table {
        let header = header.iter().copied().map(printable).collect();
        Table { rows: vec![header], amounts: Vec::new(), width_max: None }
    }

    /// Returns a table with a row for each item.
    pub(crate) fn of<T, const N: usize>(
        header: [&str; N],
        items: &[T],
        row: impl Fn(&T) -> [String; N],
    ) -> Table {
        let mut table = Table::new(&header);
        items.iter().for_each(|item| table.add(&row(item)));
        table
    }

    /// Adds a row with a cell for each column.
    pub(crate) fn add(&mut self, cells: &[String]) {
        self.rows.push(cells.iter().map(|cell| printable(cell)).collect());
    }

    /// Returns the width of a column, and whether it is aligned to the right.
    fn column(&self, at: usize) -> (usize, bool) {
        let cells = || self.rows.iter().filter_map(|row| row.get(at));
        let width = cells().map(|cell| cell.width()).max().unwrap_or_default();
        let is_number = |cell: &String| cell == ABSENT || cell.parse::<i64>().is_ok();
        let is_numbers =
            cells().skip(1).all(is_number) && cells().skip(1).any(|cell| cell != ABSENT);
        (width, is_numbers || self.amounts.contains(&at))
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.rows.first().map_or(0, Vec::len);
        let columns: Vec<(usize, bool)> = (0..count).map(|at| self.column(at)).collect();
        for row in &self.rows {
            let mut line = String::new();
            for (cell, (width, is_right)) in row.iter().zip(&columns) {
                if !line.is_empty() {
                    line.push_str("  ");
                }
                let padding = " ".repeat(width.saturating_sub(cell.width()));
                line.push_str(&match is_right {
                    true => padding + cell,
                    false => cell.clone() + &padding,
                });
            }
            let line = line.trim_end();
            match self.width_max {
                Some(width) => writeln!(f, "{}", cut(line, width))?,
                None => writeln!(f, "{line}")?,
            }
        }
        Ok(())
    }
}

/// Returns a line truncated to the width of a terminal, with an ellipsis if it was cut.
pub(crate) fn cut(line: &str, width: usize) -> String {
    if line.width() <= width {
        return line.to_owned();
    }
    let mut kept = String::new();
    let mut left = width.saturating_sub(1);
    for c in line.chars() {
        let Some(rest) = left.checked_sub(c.width().unwrap_or_default()) else { break };
        left = rest;
        kept.push(c);
    }
    kept + "…"
}

/// Returns a text without characters that control a terminal: they could move its cursor, or show
/// the text in another order.
pub(crate) fn printable(text: &str) -> String {
    let replaced = |c: char| if controls_terminal(c) { char::REPLACEMENT_CHARACTER } else { c };
    text.chars().map(replaced).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_padded_and_numbers_are_aligned_to_the_right() {
        let mut table = Table::new(&["CODE", "ORDERS", "LAST", "NAME"]);
        let mut add = |cells: [&str; 4]| table.add(&cells.map(str::to_owned));
        add(["K-001", "7", "-", "Gare\u{1b}[2J"]);
        add(["K-2", "1200", "-", ""]);
        let lines = [
            "CODE   ORDERS  LAST  NAME\n",
            "K-001       7  -     Gare\u{fffd}[2J\n",
            "K-2      1200  -\n",
        ];
        assert_eq!(table.to_string(), lines.concat());
    }

    /// A name of a device may have any characters.
    #[test]
    fn no_cell_changes_the_direction_of_writing() {
        let mut table = Table::new(&["CODE", "NAME"]);
        table.add(&["K-001", "\u{202e}erag\u{202c} \u{2066}1\u{2069}"].map(str::to_owned));
        let name = "\u{fffd}erag\u{fffd} \u{fffd}1\u{fffd}";
        assert_eq!(table.to_string(), format!("CODE   NAME\nK-001  {name}\n"));
    }

    #[test]
    fn an_empty_table_has_a_header() {
        assert_eq!(Table::new(&["NAME", "RIGHTS"]).to_string(), "NAME  RIGHTS\n");
    }

    /// A character of a wide script takes two columns of a terminal.
    #[test]
    fn columns_are_padded_and_cut_by_their_width_on_a_terminal() {
        let mut table = Table::new(&["NAME", "PAID", "CODE"]);
        for (name, paid, code) in [("東京", "5.00 EUR", "a"), ("Gare", "12.50 EUR", "b")] {
            table.add(&[name, paid, code].map(str::to_owned));
        }
        table.amounts = vec![1];
        let lines = "NAME       PAID  CODE\n東京   5.00 EUR  a\nGare  12.50 EUR  b\n";
        assert_eq!(table.to_string(), lines);
        table.width_max = Some(8);
        assert_eq!(table.to_string(), "NAME   …\n東京   …\nGare  1…\n");
        assert_eq!([cut("東京", 4), cut("東京", 3), cut("東京", 2)], ["東京", "東…", "…"]);
    }
}
