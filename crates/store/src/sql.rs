//! SQL statements: one text for both engines, with named parameters and named columns.
//!
//! [`statements!`] declares the statements of a module and [`row!`] the rows that they return:
//!
//! ```text
//! row! {
//!     struct Stock<'r> { device_code: &'r str, total_curr_stock: i64 }
//! }
//! statements! {
//!     STOCK(group_no, now_ms) -> Stock = "select d.device_code, d.total_curr_stock from …
//!         where o.group_no = $group_no and o.until_ms > $now_ms";
//! }
//! read.each(&STOCK, &[group.into(), now.into()], |row| { let stock: Stock = row.read()?; … })
//! ```
//!
//! Parameters are written by name, declared once and bound in the declared order. A statement
//! returns the columns of its row type in order; a scalar type declares one column of any name, no
//! type declares no columns. Parameters are checked when the text is translated, once per
//! statement; tests prepare every statement on each engine, and compare its columns. Bulk
//! statements take many rows at once; see [`bulk`].

mod bulk;
mod row;
mod text;
mod value;

use std::sync::OnceLock;

use crate::error::Error;

pub(crate) use row::{FromRow, Reader, Row, row};
use text::Translated;
pub(crate) use value::{Value, distinct, has_no_nul, numbers};

/// The declared columns of a statement, if it returns any: those of a row type; see
/// [`FromRow::columns`]. An empty name matches any name.
type Columns = Option<fn(&'static str, &mut Vec<&'static str>)>;

/// A statement in the SQL that both engines share.
#[derive(Debug)]
pub(crate) struct Sql {
    /// The path of its static, such as `kiosque_store::owners::PERIODS`.
    pub(crate) name: &'static str,
    text: &'static str,
    parameters: &'static [&'static str],
    #[cfg_attr(not(test), expect(dead_code, reason = "a test compares them with each engine's"))]
    columns: Columns,
    translated: OnceLock<Result<Translated, String>>,
}

impl Sql {
    /// A statement without parameters and columns.
    pub(crate) const fn new(name: &'static str, text: &'static str) -> Sql {
        Sql::declared(name, text, &[], None)
    }

    /// A statement with declared parameters and columns; see [`statements!`].
    pub(crate) const fn declared(
        name: &'static str,
        text: &'static str,
        parameters: &'static [&'static str],
        columns: Columns,
    ) -> Sql {
        Sql { name, text, parameters, columns, translated: OnceLock::new() }
    }

    /// Returns the text for SQLite, its parameters as `?1…`. SQLite numbers `$1` by first
    /// appearance and `?1` by its digits, so only the latter keeps the declared order.
    pub(crate) fn for_sqlite(&self) -> Result<&str, Error> {
        Ok(&self.translated()?.sqlite)
    }

    /// Returns the text for PostgreSQL, its parameters as `$1…`.
    pub(crate) fn for_postgres(&self) -> Result<&str, Error> {
        Ok(&self.translated()?.postgres)
    }

    /// Returns the text of a bulk statement for PostgreSQL and one row, whose columns are the
    /// first parameters.
    pub(crate) fn of_row_for_postgres(&self) -> Result<&str, Error> {
        Ok(&self.translated()?.postgres_of_row)
    }

    /// Returns the types of the bulk rows' columns; none for other statements.
    pub(crate) fn bulk_types(&self) -> Result<&[&'static str], Error> {
        Ok(&self.translated()?.bulk_types)
    }

    fn translated(&self) -> Result<&Translated, Error> {
        let translate = || text::translate(self.text, self.parameters);
        let translated = self.translated.get_or_init(translate).as_ref();
        translated.map_err(|error| Error::Data(format!("statement {}: {error}", self.name)))
    }

    /// Compares the column names that an engine reports with the declared ones.
    #[cfg(test)]
    pub(crate) fn check_columns(&self, reported: &[&str]) -> Result<(), Error> {
        let mut declared = Vec::new();
        if let Some(columns) = self.columns {
            columns("", &mut declared);
        }
        let agree =
            |(declared, reported): (&&str, &&str)| declared.is_empty() || declared == reported;
        if declared.len() == reported.len() && declared.iter().zip(reported).all(agree) {
            return Ok(());
        }
        Err(Error::Data(format!(
            "statement {}: returns the columns {reported:?}, declared are {declared:?}",
            self.name
        )))
    }
}

/// Returns a PostgreSQL statement that runs several as one, in their order, and the positions of
/// the columns of each in its rows. Each is given with the types of its columns.
///
/// The first column is the position of the row's statement. Statements share the columns of a type,
/// so that rows are short; columns that are not of the row's statement are null. The parameters of
/// each statement follow those of the ones before.
pub(crate) fn union_of(parts: &[(&Sql, Vec<&str>)]) -> Result<(String, Vec<Vec<usize>>), Error> {
    let mut shared: Vec<&str> = Vec::new();
    let mut positions = Vec::new();
    for (_, types) in parts {
        let mut own: Vec<usize> = Vec::new();
        for name in types {
            let free = |at: &usize| shared[*at - 1] == *name && !own.contains(at);
            let position = (1..=shared.len()).find(free).unwrap_or_else(|| {
                shared.push(name);
                shared.len()
            });
            own.push(position);
        }
        positions.push(own);
    }
    let mut selects = Vec::new();
    let mut parameters = 0;
    for (at, ((sql, _), own)) in parts.iter().zip(&positions).enumerate() {
        let columns = shared.iter().zip(1..).map(|(name, position)| {
            match own.iter().position(|own| *own == position) {
                Some(column) => format!(", p{at}.c{column}"),
                None => format!(", null::{name}"),
            }
        });
        let columns: String = columns.collect();
        let names: Vec<String> = (0..own.len()).map(|column| format!("c{column}")).collect();
        let names = names.join(", ");
        let text = text::shift_parameters(sql.for_postgres()?, parameters);
        selects.push(format!("select {at} as part{columns} from ({text}) p{at} ({names})"));
        parameters += sql.bulk_types()?.len() + sql.parameters.len();
    }
    Ok((selects.join(" union all "), positions))
}

/// Declares the statements of a module. `all` returns them, and those of the submodules that are
/// listed in brackets, for the test that prepares each.
macro_rules! statements {
    ($([$($module:ident),* $(,)?])?
        $($(#[$doc:meta])* $name:ident($($parameter:ident),*) $(-> $row:ty)? = $text:expr;)*) => {
        $(
            $(#[$doc])*
            static $name: $crate::sql::Sql = $crate::sql::Sql::declared(
                concat!(module_path!(), "::", stringify!($name)),
                $text,
                &[$(stringify!($parameter)),*],
                $crate::sql::statements!(@columns $($row)?),
            );
        )*
        #[cfg(test)]
        pub(crate) fn all() -> Vec<&'static $crate::sql::Sql> {
            let parts: &[&[&'static $crate::sql::Sql]] =
                &[&[$(&$name),*], $($(&$module::all()),*)?];
            parts.concat()
        }
    };
    (@columns) => { None };
    (@columns $row:ty) => { Some(<$row as $crate::sql::FromRow<'_>>::columns) };
}
pub(crate) use statements;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parameters_of_a_union_are_those_of_its_statements_in_order() {
        static PROOF: Sql = Sql::declared("PROOF", "select 1 from s where a = $a", &["a"], None);
        static ASKED: Sql =
            Sql::declared("ASKED", "select b from t where c = $c and d = $d", &["d", "c"], None);
        let parts =
            [(&PROOF, vec!["int4"]), (&ASKED, vec!["text", "bool"]), (&ASKED, vec!["text"])];
        let (text, positions) = union_of(&parts).expect("a statement");
        assert_eq!(
            text,
            "select 0 as part, p0.c0, null::text, null::bool \
             from (select 1 from s where a = $1) p0 (c0) \
             union all select 1 as part, null::int4, p1.c0, p1.c1 \
             from (select b from t where c = $3 and d = $2) p1 (c0, c1) \
             union all select 2 as part, null::int4, p2.c0, null::bool \
             from (select b from t where c = $5 and d = $4) p2 (c0)"
        );
        assert_eq!(positions, [vec![1], vec![2, 3], vec![2]]);
    }

    row! {
        #[derive(Debug, PartialEq)]
        struct Pair<'r> { a: i64, b: Option<&'r str> }
        #[derive(Debug, PartialEq)]
        struct Outer<'r> { first: i64, pair: Option<Pair<'r>>, last: bool }
    }
    statements! {
        OUTER(a) -> Outer<'_> = "select first, a, b, last from t where a = $a";
        SCALAR(a) -> i64 = "select count(*) from t where a = $a";
        KEYED(a) -> (i64, Pair<'_>) = "select first, a, b from t where a = $a";
        NOTHING(a) = "delete from t where a = $a";
        UNDECLARED(a) = "delete from t where a = $b";
    }

    #[test]
    fn columns_must_be_the_declared_ones_in_their_order() {
        assert!(OUTER.check_columns(&["first", "a", "b", "last"]).is_ok());
        assert!(OUTER.check_columns(&["first", "b", "a", "last"]).is_err());
        assert!(OUTER.check_columns(&["first", "a", "b"]).is_err());
        assert!(SCALAR.check_columns(&["any"]).is_ok());
        assert!(SCALAR.check_columns(&["any", "other"]).is_err());
        assert!(KEYED.check_columns(&["any", "a", "b"]).is_ok());
        assert!(KEYED.check_columns(&["any", "b", "a"]).is_err());
        assert!(NOTHING.check_columns(&[]).is_ok());
        let error = NOTHING.check_columns(&["a"]).expect_err("a column that is not declared");
        let message = "::NOTHING: returns the columns [\"a\"], declared are []";
        assert!(error.to_string().ends_with(message), "{error}");
        assert_eq!(all().len(), 5);
    }

    #[test]
    fn rows_are_read_in_the_order_of_their_fields() {
        let connection = rusqlite::Connection::open_in_memory().expect("a database");
        let outer = |text: &str, expected: Outer<'_>| {
            let read = |row: &rusqlite::Row<'_>| {
                assert_eq!(Row::Sqlite(row).read::<Outer<'_>>().expect("a row"), expected);
                Ok(())
            };
            connection.query_one(text, [], read).expect("one row");
        };
        let pair = Some(Pair { a: 2, b: Some("b") });
        outer("select 1, 2, 'b', true", Outer { first: 1, pair, last: true });
        let pair = Some(Pair { a: 2, b: None });
        outer("select 1, 2, null, true", Outer { first: 1, pair, last: true });
        outer("select 1, null, null, false", Outer { first: 1, pair: None, last: false });
        let keyed = |row: &rusqlite::Row<'_>| {
            let expected = (true, Some(Pair { a: 2, b: Some("b") }));
            assert_eq!(
                Row::Sqlite(row).read::<(bool, Option<Pair<'_>>)>().expect("a row"),
                expected
            );
            Ok(())
        };
        connection.query_one("select true, 2, 'b'", [], keyed).expect("one row");
    }

    #[test]
    fn a_statement_that_cannot_be_translated_is_refused_at_each_use() {
        for used in [UNDECLARED.for_sqlite(), UNDECLARED.for_postgres()] {
            let error = used.expect_err("an undeclared parameter");
            let error = error.to_string();
            assert!(error.ends_with("::UNDECLARED: parameter $b is not declared"), "{error}");
        }
    }
}
