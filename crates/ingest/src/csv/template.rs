//! The one notation of a mapping: a text in which `{Column}` stands for a cell of the row.

use std::fmt;

/// The row's own number, where a column's name would stand.
const ROW: &str = "#row";
/// The sum of the lines, where a column's name would stand.
pub(super) const SUM: &str = "#sum";

/// A column that a mapping names, by its place in [`Columns`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ColumnNo(usize);

impl ColumnNo {
    /// Its place in [`Columns::named`].
    pub(super) fn index(self) -> usize {
        self.0
    }
}

/// Every column that a mapping names, each once, with the keys that name it.
#[derive(Clone, Debug, Default)]
pub(super) struct Columns {
    /// In the order in which the mapping names them.
    pub(super) named: Vec<NamedColumn>,
}

/// A column that a mapping names.
#[derive(Clone, Debug)]
pub(super) struct NamedColumn {
    /// As the report's header has it.
    pub(super) name: String,
    /// The mapping's keys that need it.
    pub(super) used_by: Vec<String>,
    /// Whether its cells are card or phone numbers, which are masked wherever they are shown.
    pub(super) secret: bool,
}

impl Columns {
    /// The number of the column called `name`, needed by the mapping's key `path`.
    pub(super) fn number(&mut self, name: &str, path: &str) -> ColumnNo {
        let known = self.named.iter().position(|column| column.name == name);
        let index = known.unwrap_or_else(|| {
            let name = name.to_owned();
            self.named.push(NamedColumn { name, used_by: Vec::new(), secret: false });
            self.named.len() - 1
        });
        let used_by = &mut self.named[index].used_by;
        if !used_by.iter().any(|known| known == path) {
            used_by.push(path.to_owned());
        }
        ColumnNo(index)
    }

    /// The column of a number that this list gave.
    pub(super) fn column(&self, number: ColumnNo) -> &NamedColumn {
        &self.named[number.0]
    }
}

/// A text with cells of the row in it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Template {
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq)]
enum Part {
    Text(String),
    Column(ColumnNo),
    Row,
}

/// What fills a template.
pub(super) trait Cells {
    /// The cell of a column.
    fn cell(&self, column: ColumnNo) -> &str;
    /// The row's number.
    fn number(&self) -> u64;
}

impl Template {
    /// A text that is the same for each row.
    pub(super) fn constant(text: impl Into<String>) -> Template {
        Template { parts: vec![Part::Text(text.into())] }
    }

    /// One column's cell as it is.
    pub(super) fn column(column: ColumnNo) -> Template {
        Template { parts: vec![Part::Column(column)] }
    }

    /// Reads `{Column}`, `{#row}`, text, and `{{` and `}}` for the braces themselves.
    pub(super) fn parse(text: &str, path: &str, columns: &mut Columns) -> Result<Template, Fault> {
        let mut parts = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        if text.contains('\0') {
            return Err(Fault::Nul);
        }
        while let Some(at) = rest.find(['{', '}']) {
            plain.push_str(&rest[..at]);
            let (brace, after) = rest[at..].split_at(1);
            if let Some(after) = after.strip_prefix(brace) {
                plain.push_str(brace);
                rest = after;
                continue;
            }
            let end = if brace == "{" { after.find('}') } else { None };
            let end = end.ok_or(Fault::LoneBrace)?;
            if !plain.is_empty() {
                parts.push(Part::Text(std::mem::take(&mut plain)));
            }
            parts.push(match after[..end].trim() {
                "" => return Err(Fault::NoName),
                ROW => Part::Row,
                SUM => return Err(Fault::Sum),
                name => Part::Column(columns.number(name, path)),
            });
            rest = &after[end + 1..];
        }
        plain.push_str(rest);
        if !plain.is_empty() || parts.is_empty() {
            parts.push(Part::Text(plain));
        }
        Ok(Template { parts })
    }

    /// The value for a row; `None` when a cell in it is empty or nothing but white space.
    pub(super) fn fill(&self, cells: &impl Cells) -> Option<String> {
        let mut value = String::new();
        for part in &self.parts {
            match part {
                Part::Text(text) => value.push_str(text),
                Part::Row => value.push_str(&cells.number().to_string()),
                Part::Column(column) => {
                    let cell = cells.cell(*column);
                    if cell.trim().is_empty() {
                        return None;
                    }
                    value.push_str(cell);
                }
            }
        }
        Some(value)
    }

    /// The columns in it.
    pub(super) fn columns(&self) -> impl Iterator<Item = ColumnNo> {
        self.parts.iter().filter_map(|part| match part {
            Part::Column(column) => Some(*column),
            _ => None,
        })
    }

    /// Whether the row's number stands in it.
    pub(super) fn numbers_rows(&self) -> bool {
        self.parts.contains(&Part::Row)
    }

    /// The text, when it is the same for each row.
    pub(super) fn as_constant(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [Part::Text(text)] => Some(text),
            _ => None,
        }
    }
}

/// Why a text is no template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// A brace without its partner.
    LoneBrace,
    /// `{}`.
    NoName,
    /// `{#sum}` where nothing can be summed.
    Sum,
    /// U+0000 stands in it, which is kept nowhere.
    Nul,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Fault::LoneBrace => {
                "has a brace without its partner; {Column} takes a cell, {{ and }} stand for braces"
            }
            Fault::NoName => "has {} without a column's name in it; {Column} takes a cell",
            Fault::Nul => "has a NUL character",
            Fault::Sum => "has {#sum}, which may only stand alone, as an order's amount",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Sample(Vec<&'static str>);

    impl Cells for Sample {
        fn cell(&self, column: ColumnNo) -> &str {
            self.0[column.index()]
        }
        fn number(&self) -> u64 {
            7
        }
    }

    fn filled(text: &str, cells: &[&'static str]) -> Option<String> {
        let template = Template::parse(text, "order.orderId", &mut Columns::default());
        template.expect("a template").fill(&Sample(cells.to_vec()))
    }

    #[test]
    fn cells_texts_braces_and_the_row_number_are_joined() {
        for (text, cells, want) in [
            ("{A}", &["x"] as &[_], Some("x")),
            ("{A}-{B}", &["x", "y"], Some("x-y")),
            ("{ A }{A}", &["x"], Some("xx")),
            ("USD", &[], Some("USD")),
            ("", &[], Some("")),
            ("{{{A}}}", &["x"], Some("{x}")),
            ("row {#row}", &[], Some("row 7")),
            ("{A}-{B}", &["x", " "], None),
        ] {
            assert_eq!(filled(text, cells).as_deref(), want, "{text:?}");
        }
    }

    #[test]
    fn what_is_no_template_says_why() {
        for (text, fault) in [
            ("{A", Fault::LoneBrace),
            ("A}", Fault::LoneBrace),
            ("{}", Fault::NoName),
            ("{#sum}", Fault::Sum),
        ] {
            let got = Template::parse(text, "order.orderId", &mut Columns::default());
            assert_eq!(got.expect_err(text), fault);
        }
    }

    #[test]
    fn a_column_is_listed_once_with_all_that_need_it() {
        let mut columns = Columns::default();
        for path in ["order.orderId", "order.tradeNo"] {
            Template::parse("{A}{A}", path, &mut columns).expect("a template");
        }
        assert_eq!(columns.named.len(), 1);
        assert_eq!(columns.named[0].used_by, ["order.orderId", "order.tradeNo"]);
    }
}
