//! The order of the rows of a table, which is chosen by links in its headings.
//!
//! Only a table whose rows are all on the page can be sorted: a part of a list, sorted by another
//! column, would look like the beginning of the sorted list. The CSV file has the same order.

use std::cmp::Reverse;

use crate::components::{Column, address, parameter};
use crate::frame::Frame;

pub use crate::components::Direction;

/// The parameter with the name of the column, preceded by `-` for descending order.
pub const PARAMETER: &str = "sort";

/// The order of the rows of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    /// The list's own order, for a table that shows a part of it.
    #[default]
    Fixed,
    /// The list's own order, until a heading chooses another one.
    Free,
    /// The order of a column's values.
    By(&'static str, Direction),
}

/// A sort value of a row; an absent one is less than all others.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Value {
    /// None, such as the last use of something unused.
    Absent,
    /// A number or a time.
    Number(i64),
    /// A text.
    Text(String),
}

/// The columns in the order of a table, each with its name in addresses and its value; `None` for a
/// column by which rows cannot be sorted.
pub type Columns<T> = &'static [Option<(&'static str, fn(&T) -> Value)>];

/// A row of a sortable table.
pub trait Listed: Sized + 'static {
    /// The columns that can sort the table.
    const COLUMNS: Columns<Self>;
}

impl Value {
    /// Returns the value of a text, ignoring case.
    pub(crate) fn text(text: &str) -> Value {
        Value::Text(text.to_lowercase())
    }

    /// Returns the value of a count or a duration. One beyond `i64` is the largest.
    pub(crate) fn count(number: impl TryInto<i64>) -> Value {
        Value::Number(number.try_into().unwrap_or(i64::MAX))
    }

    /// Returns the value of a number that may be absent.
    pub(crate) fn of(number: Option<i64>) -> Value {
        number.map_or(Value::Absent, Value::Number)
    }
}

impl Sort {
    /// Returns the order that a value of the parameter chooses; `None` if it is not a column.
    pub fn of<T: Listed>(chosen: Option<&str>) -> Option<Sort> {
        let Some(chosen) = chosen else { return Some(Sort::Free) };
        let (direction, name) = match chosen.strip_prefix('-') {
            Some(name) => (Direction::Descending, name),
            None => (Direction::Ascending, chosen),
        };
        let mut named = T::COLUMNS.iter().flatten().filter(|(column, _)| *column == name);
        named.next().map(|(column, _)| Sort::By(column, direction))
    }

    /// Returns the order of a part of a list, which is fixed unless the part is the whole.
    #[must_use]
    pub const fn of_part(self, after: Option<&str>, next: Option<&str>) -> Sort {
        if after.is_none() && next.is_none() { self } else { Sort::Fixed }
    }

    /// Returns the rows in this order; the sort is stable.
    pub(crate) fn rows<T: Listed>(self, rows: &[T]) -> Vec<&T> {
        let mut rows: Vec<&T> = rows.iter().collect();
        if let Sort::By(name, direction) = self {
            let columns = T::COLUMNS.iter().flatten();
            for (_, value) in columns.filter(|(column, _)| *column == name) {
                match direction {
                    Direction::Ascending => rows.sort_by_cached_key(|row| value(row)),
                    Direction::Descending => rows.sort_by_cached_key(|row| Reverse(value(row))),
                }
            }
        }
        rows
    }

    /// Returns whether a heading has chosen it.
    pub(crate) const fn is_chosen(self) -> bool {
        matches!(self, Sort::By(..))
    }

    /// Returns the parameter that chooses it, or an empty text.
    pub(crate) fn query(self) -> String {
        match self {
            Sort::Fixed | Sort::Free => String::new(),
            Sort::By(name, Direction::Ascending) => parameter(PARAMETER, name),
            Sort::By(name, Direction::Descending) => parameter(PARAMETER, &format!("-{name}")),
        }
    }

    /// Adds sort links to the columns of a table of `T`. The first link of a column of numbers
    /// sorts in descending order.
    pub(crate) fn columns<'a, T: Listed>(
        self,
        frame: &Frame<'_>,
        columns: impl IntoIterator<Item = Column<'a>>,
    ) -> Vec<Column<'a>> {
        let sorted = T::COLUMNS.iter().map(Option::as_ref).chain(std::iter::repeat(None));
        let linked = columns.into_iter().zip(sorted).map(|(column, sorted)| match sorted {
            Some((name, _)) if self != Sort::Fixed => {
                let current = match self {
                    Sort::By(by, direction) if by == *name => Some(direction),
                    _ => None,
                };
                let next = match current {
                    Some(Direction::Ascending) => Direction::Descending,
                    None if column.is_number() => Direction::Descending,
                    _ => Direction::Ascending,
                };
                column.sorted(Sort::By(name, next).address(frame), current)
            }
            _ => column,
        });
        linked.collect()
    }

    /// Returns the address of the page in this order.
    fn address(self, frame: &Frame<'_>) -> String {
        let query = frame.address.split_once('?').map_or("", |(_, query)| query);
        let other = query.split('&').filter(|part| {
            part.split('=').next().is_some_and(|name| name != PARAMETER && !name.is_empty())
        });
        address(frame.path(), &[&other.collect::<Vec<_>>().join("&"), &self.query()])
    }
}

#[cfg(test)]
mod tests {
    use kiosque_model::{Rights, Zone};

    use super::*;
    use crate::components::table;

    struct Row(&'static str, Option<i64>);

    impl Listed for Row {
        const COLUMNS: Columns<Row> = &[
            Some(("name", |row| Value::text(row.0))),
            None,
            Some(("used", |row| Value::of(row.1))),
        ];
    }

    /// Numbers are sorted as numbers, an absent one is the smallest, and the sort is stable.
    #[test]
    fn rows_are_sorted_by_their_values() {
        let rows = [Row("b", Some(10)), Row("B", Some(9)), Row("a", None), Row("c", Some(10))];
        let sorted = |chosen: &str| {
            let sort = Sort::of::<Row>(Some(chosen)).expect("a column");
            sort.rows(&rows).iter().map(|row| row.0).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(["name", "-name"].map(sorted), ["a b B c", "c b B a"]);
        assert_eq!(["used", "-used"].map(sorted), ["a B b c", "b c B a"]);
        for wrong in ["", "-", "other", "--name"] {
            assert_eq!(Sort::of::<Row>(Some(wrong)), None, "{wrong}");
        }
        assert_eq!(Sort::of::<Row>(None), Some(Sort::Free));
        assert_eq!(Sort::Free.of_part(None, Some("x")), Sort::Fixed);
    }

    #[test]
    fn headings_lead_to_the_other_direction_and_keep_the_query() {
        let (rights, zone) = (Rights::all(), Zone::utc());
        let frame = Frame::sample(&rights, &zone, "/console/x?q=a%26b&sort=-used");
        let head = |sort: Sort| {
            let columns = [Column::text("Name"), Column::text("State"), Column::number("Used")];
            let columns = sort.columns::<Row>(&frame, columns);
            table("x", &columns, [], |()| maud::html! {}).into_string()
        };
        let sorted = head(Sort::By("used", Direction::Descending));
        for part in [
            "<a href=\"/console/x?q=a%26b&amp;sort=name\">Name</a>",
            "<th scope=\"col\">State</th>",
            "aria-sort=\"descending\"><a href=\"/console/x?q=a%26b&amp;sort=used\">Used</a>",
        ] {
            assert!(sorted.contains(part), "{part}: {sorted}");
        }
        assert!(head(Sort::Free).contains("sort=-used"), "{}", head(Sort::Free));
        assert!(!head(Sort::Fixed).contains("<a"), "{}", head(Sort::Fixed));
    }
}
