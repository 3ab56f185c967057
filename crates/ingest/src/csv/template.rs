//! The notation of a mapping: texts in which `{Column}` is replaced by a cell of the row.

/// The row's number, in place of a column's name.
const ROW: &str = "#row";
/// The sum of the lines, in place of a column's name.
pub(super) const SUM: &str = "#sum";

/// The message for a text with U+0000, which PostgreSQL cannot store.
pub(super) const NUL: &str = "has a NUL character";
const LONE_BRACE: &str =
    "has an unmatched brace; {Column} inserts a cell, {{ and }} are literal braces";
const NO_NAME: &str = "has {} without a column name in it; {Column} inserts a cell";
const INNER_SUM: &str = "has {#sum}, which must be the whole value, of an amount of the order";

/// The position of a column in [`Columns`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ColumnNo(usize);

impl ColumnNo {
    /// Returns the position in [`Columns::named`].
    pub(super) fn index(self) -> usize {
        self.0
    }
}

/// The columns that a mapping uses, each once.
#[derive(Clone, Debug, Default)]
pub(super) struct Columns {
    /// The columns, in the order in which the mapping uses them.
    pub(super) named: Vec<NamedColumn>,
    /// Whether a template has the row's number.
    pub(super) has_row_number: bool,
}

/// A column that a mapping uses.
#[derive(Clone, Debug)]
pub(super) struct NamedColumn {
    /// The name in the report's header.
    pub(super) name: String,
    /// The mapping's keys that use it.
    pub(super) used_by: Vec<String>,
    /// Whether its cells are card or phone numbers, which are masked in messages.
    pub(super) secret: bool,
}

impl Columns {
    /// Returns the column called `name`, and records that the mapping's key `path` uses it.
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

    /// Returns a column.
    pub(super) fn column(&self, number: ColumnNo) -> &NamedColumn {
        &self.named[number.0]
    }
}

/// A text with placeholders for cells of the row.
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

impl Template {
    /// Returns a template without placeholders.
    pub(super) fn constant(text: impl Into<String>) -> Template {
        Template { parts: vec![Part::Text(text.into())] }
    }

    /// Returns a template of one column's cell.
    pub(super) fn column(column: ColumnNo) -> Template {
        Template { parts: vec![Part::Column(column)] }
    }

    /// Parses text with `{Column}` and `{#row}`; `{{` and `}}` are braces.
    ///
    /// # Errors
    /// A predicate for the text, such as `has a NUL character`.
    pub(super) fn parse(
        text: &str,
        path: &str,
        columns: &mut Columns,
    ) -> Result<Template, &'static str> {
        let mut parts = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        if text.contains('\0') {
            return Err(NUL);
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
            let end = end.ok_or(LONE_BRACE)?;
            if !plain.is_empty() {
                parts.push(Part::Text(std::mem::take(&mut plain)));
            }
            parts.push(match after[..end].trim() {
                "" => return Err(NO_NAME),
                ROW => {
                    columns.has_row_number = true;
                    Part::Row
                }
                SUM => return Err(INNER_SUM),
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

    /// Returns the text for the row with a number and these cells; `None` if one of the cells is
    /// blank.
    pub(super) fn fill<'r>(&self, row: u64, cell: impl Fn(ColumnNo) -> &'r str) -> Option<String> {
        let mut value = String::new();
        for part in &self.parts {
            match part {
                Part::Text(text) => value.push_str(text),
                Part::Row => value.push_str(&row.to_string()),
                Part::Column(column) => {
                    let cell = cell(*column);
                    if cell.trim().is_empty() {
                        return None;
                    }
                    value.push_str(cell);
                }
            }
        }
        Some(value)
    }

    /// Returns the columns of its placeholders.
    pub(super) fn columns(&self) -> impl Iterator<Item = ColumnNo> {
        self.parts.iter().filter_map(|part| match part {
            Part::Column(column) => Some(*column),
            _ => None,
        })
    }

    /// Returns whether it contains the row's number.
    pub(super) fn numbers_rows(&self) -> bool {
        self.parts.contains(&Part::Row)
    }

    /// Returns the text, if it has no placeholders.
    pub(super) fn as_constant(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [Part::Text(text)] => Some(text),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(text: &str, cells: &[&'static str]) -> Option<String> {
        let template = Template::parse(text, "order.orderId", &mut Columns::default());
        template.expect("a template").fill(7, |column| cells[column.index()])
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
    fn a_syntax_error_says_why() {
        for (text, error) in
            [("{A", LONE_BRACE), ("A}", LONE_BRACE), ("{}", NO_NAME), ("{#sum}", INNER_SUM)]
        {
            let got = Template::parse(text, "order.orderId", &mut Columns::default());
            assert_eq!(got.expect_err(text), error);
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
