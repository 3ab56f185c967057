//! Rows that a mapping leaves out, and counts: `[[skip]]`.

use std::fmt;

use serde::Deserialize;

use super::template::ColumnNo;
use super::texts::texts;

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

/// A `[[skip]]` as the mapping has it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub(super) struct SkipSection {
    pub(super) column: String,
    equals: Option<String>,
    #[serde(default, deserialize_with = "texts")]
    r#in: Vec<String>,
    #[serde(default, deserialize_with = "texts")]
    not_in: Vec<String>,
    empty: Option<bool>,
}

impl Skip {
    /// Reads the test of a column.
    ///
    /// # Errors
    /// The section has no test, or several.
    pub(super) fn new(column: ColumnNo, section: SkipSection) -> Result<Skip, &'static str> {
        let texts = |texts: Vec<String>| (!texts.is_empty()).then_some(texts);
        let equals = section.equals.map(|text| Test::In(vec![text]));
        let empty = section.empty.map(|empty| if empty { Test::Empty } else { Test::NotEmpty });
        let is_in = texts(section.r#in).map(Test::In);
        let not_in = texts(section.not_in).map(Test::NotIn);
        let mut tests = [equals, is_in, not_in, empty].into_iter().flatten();
        match (tests.next(), tests.next()) {
            (Some(test), None) => Ok(Skip { column, name: section.column, test }),
            _ => Err("expected exactly one of equals, in, not_in, empty"),
        }
    }

    /// Returns whether the row with this cell is left out. The cells of an invalid row may be under
    /// the wrong columns, so only an exact match of a text leaves it out.
    pub(super) fn takes(&self, cell: &[u8], is_invalid: impl Fn() -> bool) -> bool {
        let cell = cell.trim_ascii();
        let is_in = |texts: &[String]| texts.iter().any(|text| text.trim().as_bytes() == cell);
        let (is_taken, is_exact) = match &self.test {
            Test::In(texts) => (is_in(texts), !cell.is_empty()),
            Test::NotIn(texts) => (!is_in(texts), false),
            Test::Empty => (cell.is_empty(), false),
            Test::NotEmpty => (!cell.is_empty(), false),
        };
        is_taken && (is_exact || !is_invalid())
    }
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
