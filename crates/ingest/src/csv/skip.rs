//! Rows that a mapping leaves out, and counts: `[[skip]]`.

use std::fmt;

use toml::Value;

use super::section::{MappingFaults, Section};
use super::template::{ColumnNo, Columns};

/// A `[[skip]]` of a mapping: a column and a test of its cell.
#[derive(Clone, Debug)]
pub(super) struct Skip {
    /// The column whose cell is tested.
    pub(super) column: ColumnNo,
    name: String,
    test: Test,
}

#[derive(Clone, Debug, PartialEq)]
enum Test {
    In(Vec<String>),
    NotIn(Vec<String>),
    Empty,
    NotEmpty,
}

const TESTS: &[&str] = &["equals", "in", "not_in", "empty"];

impl Skip {
    /// Reads every `[[skip]]` of a mapping.
    pub(super) fn all(
        root: &Section<'_>,
        columns: &mut Columns,
        faults: &mut MappingFaults,
    ) -> Vec<Skip> {
        let list = match root.get("skip") {
            None => return Vec::new(),
            Some(Value::Array(list)) => list,
            Some(_) => {
                faults.note("skip", "expected [[skip]] tables, in double brackets");
                return Vec::new();
            }
        };
        let mut skips = Vec::new();
        for (number, value) in (1..).zip(list) {
            let path = format!("skip {number}");
            match value {
                Value::Table(table) => {
                    let section = Section::of(path, table);
                    skips.extend(Skip::one(&section, columns, faults));
                }
                _ => faults.note(&path, "expected a table, [[skip]]"),
            }
        }
        skips
    }

    fn one(
        section: &Section<'_>,
        columns: &mut Columns,
        faults: &mut MappingFaults,
    ) -> Option<Skip> {
        let known: Vec<&str> = ["column"].into_iter().chain(TESTS.iter().copied()).collect();
        section.only(&known, faults);
        if section.get("column").is_none() {
            faults.note(&section.path("column"), "needed: the name of the column that decides");
        }
        let given: Vec<&str> =
            TESTS.iter().copied().filter(|test| section.get(test).is_some()).collect();
        let test = match given.as_slice() {
            ["equals"] => section.text("equals", faults).map(|text| Test::In(vec![text.into()])),
            ["in"] => section.texts("in", faults).map(Test::In),
            ["not_in"] => section.texts("not_in", faults).map(Test::NotIn),
            ["empty"] => section
                .flag("empty", faults)
                .map(|empty| if empty { Test::Empty } else { Test::NotEmpty }),
            _ => {
                let path = section.path("column");
                faults.note(&path, format_args!("expected one test with it: {}", TESTS.join(", ")));
                None
            }
        };
        let name = section.text("column", faults)?;
        let column = columns.number(name, &section.path("column"));
        Some(Skip { column, name: name.to_owned(), test: test? })
    }

    /// Returns whether the row with this cell is left out. The cells of a broken row may be under
    /// the wrong columns, so that only an exact match of a text leaves it out.
    pub(super) fn takes(&self, cell: &[u8], row: Wholeness) -> bool {
        let cell = cell.trim_ascii();
        let is_in = |texts: &[String]| texts.iter().any(|text| text.trim().as_bytes() == cell);
        match &self.test {
            Test::In(texts) => is_in(texts) && (row == Wholeness::Whole || !cell.is_empty()),
            _ if row == Wholeness::Broken => false,
            Test::NotIn(texts) => !is_in(texts),
            Test::Empty => cell.is_empty(),
            Test::NotEmpty => !cell.is_empty(),
        }
    }
}

/// Whether a row is sound as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wholeness {
    /// It has as many cells as columns, all of them text.
    Whole,
    /// It has a fault.
    Broken,
}

impl fmt::Display for Skip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.name;
        let list = |texts: &[String]| {
            let quoted: Vec<String> = texts.iter().map(|text| format!("{text:?}")).collect();
            quoted.join(", ")
        };
        match &self.test {
            Test::In(texts) if texts.len() == 1 => write!(f, "{name} is {}", list(texts)),
            Test::In(texts) => write!(f, "{name} is one of {}", list(texts)),
            Test::NotIn(texts) => write!(f, "{name} is none of {}", list(texts)),
            Test::Empty => write!(f, "{name} is empty"),
            Test::NotEmpty => write!(f, "{name} is not empty"),
        }
    }
}
