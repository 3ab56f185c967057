//! Answers as rows.

use serde_json::{Map, Value};

use crate::error::CommandError;
use crate::lists::{Column, List};

/// An answer: as sent by the server, and as rows for tables and CSV.
#[derive(Clone, Debug)]
pub struct Listing {
    /// `data` of the answer, unchanged; the array of its records for a list.
    pub data: Value,
    /// The records, unchanged.
    pub records: Vec<Value>,
    /// The parts that a table shows below each other. The first part in rows is the main one.
    pub parts: Vec<Part>,
}

/// Rows with the same columns.
#[derive(Clone, Debug)]
pub struct Part {
    /// The columns.
    pub list: List,
    /// Whether a table has a line for each row or for each field.
    pub layout: Layout,
    /// Objects with a field for each column.
    pub rows: Vec<Value>,
}

/// How a table shows rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// A line for each row, below a header.
    Rows,
    /// A bar for each row on a terminal, and a line as in [`Layout::Rows`] elsewhere.
    Bars,
    /// A line for each field.
    Fields,
}

impl Listing {
    /// Returns a list of records that are rows.
    pub fn of(list: List, records: Vec<Value>) -> Listing {
        let rows = records.clone();
        Listing {
            data: Value::Array(records.clone()),
            records,
            parts: vec![Part { list, layout: Layout::Rows, rows }],
        }
    }

    /// Returns one record, with a line for each field.
    pub fn record(list: List, record: Value) -> Listing {
        let part = Part { list, layout: Layout::Fields, rows: vec![record.clone()] };
        Listing { data: record.clone(), records: vec![record], parts: vec![part] }
    }

    /// Returns the part whose columns may be selected, and which is written as CSV.
    pub fn main(&self) -> Option<&Part> {
        let rows = self.parts.iter().find(|part| part.layout != Layout::Fields);
        rows.or_else(|| self.parts.first())
    }
}

impl Part {
    /// Returns the columns of a list with these names, in order.
    ///
    /// # Errors
    /// A name that the list does not have.
    pub fn select(list: List, names: &[String]) -> Result<Vec<&'static Column>, CommandError> {
        let find = |name: &String| {
            list.iter().find(|column| column.name == name).ok_or_else(|| {
                let all: Vec<&str> = list.iter().map(|column| column.name).collect();
                CommandError::Usage(format!(
                    "--columns: there is no column {name:?}; the columns are {}",
                    all.join(",")
                ))
            })
        };
        names.iter().map(find).collect()
    }

    /// Returns only these columns of the rows.
    pub fn only(&self, columns: &[&'static Column]) -> Vec<Value> {
        let only = |row: &Value| {
            let field = |column: &&Column| {
                let value = row.get(column.name).cloned().unwrap_or_default();
                (column.name.to_owned(), value)
            };
            Value::Object(columns.iter().map(field).collect::<Map<String, Value>>())
        };
        self.rows.iter().map(only).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::reports::TREND;

    use super::*;

    #[test]
    fn columns_are_selected_by_name() {
        let names = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
            Part::select(TREND, &names)
        };
        let rows = vec![json!({"label": "2026-03-01", "amount": 1.5, "orderCount": 2})];
        let part = Part { list: TREND, layout: Layout::Rows, rows };
        let selected = names(&["orderCount", "label"]).expect("columns");
        assert_eq!(part.only(&selected), [json!({"orderCount": 2, "label": "2026-03-01"})]);
        let unknown = names(&["day"]).expect_err("no column").to_string();
        let all = "--columns: there is no column \"day\"; the columns are label,amount,orderCount";
        assert_eq!(unknown, all);
    }
}
