//! Statements, their parameters and their rows: the little that all of the store's SQL shares.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::sync::OnceLock;

use crate::Error;

/// A statement in the SQL that both engines share, its parameters written `$1…`.
///
/// A statement for many rows at once names them as `{rows r: COLUMN TYPE, …}` where the first
/// table of a `from` could stand, before `cross join` or `where`; their columns are the first
/// parameters, in this order. PostgreSQL gets all rows in one go, as arrays; SQLite runs the
/// statement for each, with a parameter wherever a column of theirs is named.
#[derive(Debug)]
pub(crate) struct Sql {
    pub(crate) name: &'static str,
    text: Cow<'static, str>,
    sqlite: OnceLock<String>,
    postgres: OnceLock<String>,
    /// Behind the statement that proves a session; see `Sql::proven`.
    proven: OnceLock<String>,
}

/// What `{rows …}` in a statement says.
struct Rows<'a> {
    before: &'a str,
    /// Names and types.
    columns: Vec<(&'a str, &'a str)>,
    after: &'a str,
}

impl Sql {
    pub(crate) const fn new(name: &'static str, text: &'static str) -> Sql {
        Sql {
            name,
            text: Cow::Borrowed(text),
            sqlite: OnceLock::new(),
            postgres: OnceLock::new(),
            proven: OnceLock::new(),
        }
    }

    /// A statement that is put together from parts.
    pub(crate) fn made(text: String) -> Sql {
        Sql { text: Cow::Owned(text), ..Sql::new("a made statement", "") }
    }

    /// SQLite numbers `$1` by first appearance and `?1` by its digits, so that only the latter
    /// means what is written. No statement has a `$` in a literal, or more than one space. Line
    /// breaks and indents go: a compiled statement is found by its whole text.
    pub(crate) fn for_sqlite(&self) -> &str {
        self.sqlite.get_or_init(|| {
            let text = match parse_rows(&self.text) {
                None => one_line(&self.text),
                Some(rows) => rows.one_by_one(),
            };
            text.replace('$', "?")
        })
    }

    pub(crate) fn for_postgres(&self) -> &str {
        self.postgres.get_or_init(|| match parse_rows(&self.text) {
            None => one_line(&self.text),
            Some(rows) => rows.all_at_once(),
        })
    }

    /// For PostgreSQL: the one row of `proof` and then the rows of this statement, as one. The
    /// first column is true in the proof's row; each has only its own columns, of which there are
    /// so many. The proof's parameter comes first.
    pub(crate) fn proven(&self, proof: &Sql, (of_proof, own): (usize, usize)) -> &str {
        self.proven.get_or_init(|| {
            let nulls = |columns| ", null".repeat(columns);
            format!(
                "select true as is_proof, proof.*{} from ({}) proof union all \
                 select false{}, asked.* from ({}) asked",
                nulls(own),
                proof.for_postgres(),
                nulls(of_proof),
                shift_parameters(self.for_postgres()),
            )
        })
    }

    /// The types of the columns of `{rows …}`.
    pub(crate) fn row_types(&self) -> Vec<&str> {
        let rows = parse_rows(&self.text);
        rows.map(|rows| rows.columns.into_iter().map(|(_, kind)| kind).collect())
            .unwrap_or_default()
    }
}

impl Rows<'_> {
    /// The rows as arrays.
    fn all_at_once(&self) -> String {
        let columns = self.columns.iter().zip(1..);
        let arrays: Vec<String> =
            columns.map(|((_, kind), at)| format!("${at}::{kind}[]")).collect();
        let names: Vec<&str> = self.columns.iter().map(|(name, _)| *name).collect();
        let (arrays, names) = (arrays.join(", "), names.join(", "));
        one_line(&format!("{}unnest({arrays}) as r({names}){}", self.before, self.after))
    }

    /// One row, whose columns are parameters: there is no table of them. An insert names them as
    /// its values: of one that selects, SQLite keeps every page that it touches as it was, in a
    /// file, should it fail in the middle. That was two thirds of all it wrote.
    fn one_by_one(&self) -> String {
        let (before, after) = (one_line(self.before), one_line(self.after));
        let joined = if let Some(tables) = after.strip_prefix("cross join ") {
            format!("{before} {tables}")
        } else {
            let before = before.strip_suffix(" from").unwrap_or(&before);
            match (before.split_once(") select "), after.strip_prefix("where true")) {
                (Some((into, values)), Some(after)) => format!("{into}) values ({values}){after}"),
                _ => format!("{before} {after}"),
            }
        };
        let mut names: Vec<(&str, usize)> =
            self.columns.iter().map(|(name, _)| *name).zip(1..).collect();
        // A name may begin with another.
        names.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        let mut text = format!(" {joined}");
        for (name, at) in names {
            for behind in [' ', ',', '('] {
                let (named, meant) = (format!("{behind}r.{name}"), format!("{behind}${at}"));
                text = text.replace(&named, &meant);
            }
        }
        one_line(&text)
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn parse_rows(text: &str) -> Option<Rows<'_>> {
    let (before, rest) = text.split_once("{rows ")?;
    let (rows, after) = rest.split_once('}')?;
    let (_, columns) = rows.split_once(':')?;
    let columns = columns.split(',').filter_map(|column| column.trim().split_once(' ')).collect();
    Some(Rows { before, columns, after })
}

/// Every `$n` becomes `$n+1`.
fn shift_parameters(text: &str) -> String {
    let mut parts = text.split('$');
    let mut shifted = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let digits = part.bytes().take_while(u8::is_ascii_digit).count();
        let (number, rest) = part.split_at(digits);
        let number: u32 = number.parse().unwrap_or_default();
        // Writing to a string cannot fail.
        let _ = write!(shifted, "${}{rest}", number + 1);
    }
    shifted
}

/// Declares a module's statements, and lists them in `ALL` for the test that compiles each.
macro_rules! statements {
    ($($(#[$doc:meta])* $name:ident = $text:expr;)*) => {
        $($(#[$doc])* static $name: $crate::sql::Sql =
            $crate::sql::Sql::new(stringify!($name), $text);)*
        pub(crate) static ALL: &[&$crate::sql::Sql] = &[$(&$name),*];
    };
}
pub(crate) use statements;

/// A parameter: text, whole numbers and truth are all that the layout has.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Value<'a> {
    Int(i64),
    Text(&'a str),
    Bool(bool),
    Null,
}

impl<'a> Value<'a> {
    pub(crate) fn as_int(self) -> Option<i64> {
        if let Value::Int(int) = self { Some(int) } else { None }
    }

    pub(crate) fn as_text(self) -> Option<&'a str> {
        if let Value::Text(text) = self { Some(text) } else { None }
    }

    pub(crate) fn as_flag(self) -> Option<bool> {
        if let Value::Bool(flag) = self { Some(flag) } else { None }
    }
}

impl From<i64> for Value<'_> {
    fn from(int: i64) -> Self {
        Value::Int(int)
    }
}

impl From<bool> for Value<'_> {
    fn from(flag: bool) -> Self {
        Value::Bool(flag)
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Value::Text(text)
    }
}

impl<'a, T: Into<Value<'a>>> From<Option<T>> for Value<'a> {
    fn from(maybe: Option<T>) -> Self {
        maybe.map_or(Value::Null, Into::into)
    }
}

/// Whether a row may have this text: none has a NUL in it, for which PostgreSQL cannot even be
/// asked.
pub(crate) fn has_no_nul(text: &str) -> bool {
    !text.contains('\0')
}

/// A row, read by column number.
pub(crate) enum Row<'a> {
    /// As the engine inside holds it.
    Sqlite(&'a rusqlite::Row<'a>),
    /// As it was received; its columns begin after so many others.
    Postgres(&'a tokio_postgres::Row, usize),
}

impl Row<'_> {
    pub(crate) fn int(&self, column: usize) -> Result<i64, Error> {
        match self {
            Row::Sqlite(row) => Ok(row.get(column)?),
            Row::Postgres(row, from) => Ok(row.try_get::<_, postgres::Int>(from + column)?.0),
        }
    }

    pub(crate) fn maybe_int(&self, column: usize) -> Result<Option<i64>, Error> {
        match self {
            Row::Sqlite(row) => Ok(row.get(column)?),
            Row::Postgres(row, from) => {
                let int: Option<postgres::Int> = row.try_get(from + column)?;
                Ok(int.map(|int| int.0))
            }
        }
    }

    pub(crate) fn flag(&self, column: usize) -> Result<bool, Error> {
        match self {
            Row::Sqlite(row) => Ok(row.get(column)?),
            Row::Postgres(row, from) => Ok(row.try_get(from + column)?),
        }
    }

    pub(crate) fn text(&self, column: usize) -> Result<&str, Error> {
        match self {
            Row::Sqlite(row) => Ok(row.get_ref(column)?.as_str().map_err(rusqlite::Error::from)?),
            Row::Postgres(row, from) => Ok(row.try_get(from + column)?),
        }
    }

    /// Text that goes on as it is, to whoever knows that it was text when it was stored.
    pub(crate) fn bytes(&self, column: usize) -> Result<&[u8], Error> {
        match self {
            Row::Sqlite(row) => {
                Ok(row.get_ref(column)?.as_bytes().map_err(rusqlite::Error::from)?)
            }
            Row::Postgres(row, from) => Ok(row.try_get::<_, postgres::Raw<'_>>(from + column)?.0),
        }
    }

    pub(crate) fn maybe_text(&self, column: usize) -> Result<Option<&str>, Error> {
        match self {
            Row::Sqlite(row) => {
                Ok(row.get_ref(column)?.as_str_or_null().map_err(rusqlite::Error::from)?)
            }
            Row::Postgres(row, from) => Ok(row.try_get(from + column)?),
        }
    }
}

mod sqlite {
    use rusqlite::ToSql;
    use rusqlite::types::{ToSqlOutput, ValueRef};

    use super::Value;

    impl ToSql for Value<'_> {
        fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
            Ok(ToSqlOutput::Borrowed(match self {
                Value::Int(int) => ValueRef::Integer(*int),
                Value::Text(text) => ValueRef::Text(text.as_bytes()),
                Value::Bool(flag) => ValueRef::Integer(i64::from(*flag)),
                Value::Null => ValueRef::Null,
            }))
        }
    }
}

pub(crate) mod postgres {
    use std::error::Error;

    use bytes::BytesMut;
    use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};

    use super::Value;

    type Fault = Box<dyn Error + Sync + Send>;

    impl ToSql for Value<'_> {
        fn to_sql(&self, kind: &Type, out: &mut BytesMut) -> Result<IsNull, Fault> {
            match self {
                Value::Int(int) if *kind == Type::INT4 => i32::try_from(*int)?.to_sql(kind, out),
                Value::Int(int) => int.to_sql(kind, out),
                Value::Text(text) => text.to_sql(kind, out),
                Value::Bool(flag) => flag.to_sql(kind, out),
                Value::Null => Ok(IsNull::Yes),
            }
        }

        fn accepts(_: &Type) -> bool {
            true
        }

        to_sql_checked!();
    }

    /// A whole number of any width.
    pub(crate) struct Int(pub(crate) i64);

    impl<'a> FromSql<'a> for Int {
        fn from_sql(kind: &Type, raw: &'a [u8]) -> Result<Int, Fault> {
            Ok(Int(match *kind {
                Type::INT4 => i32::from_sql(kind, raw)?.into(),
                _ => i64::from_sql(kind, raw)?,
            }))
        }

        fn accepts(kind: &Type) -> bool {
            matches!(*kind, Type::INT4 | Type::INT8)
        }
    }

    /// The bytes of a text.
    pub(crate) struct Raw<'a>(pub(crate) &'a [u8]);

    impl<'a> FromSql<'a> for Raw<'a> {
        fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Raw<'a>, Fault> {
            Ok(Raw(raw))
        }

        fn accepts(kind: &Type) -> bool {
            *kind == Type::TEXT
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static TABLES: Sql = Sql::new(
        "TABLES",
        "select l.a from {rows r: code text, code_no bigint} cross join ledger l
        where l.code = r.code and l.no = r.code_no and l.group_no = $3",
    );
    static INSERT: Sql = Sql::new(
        "INSERT",
        "insert into t (a, b) select r.a, $2 from {rows r: a boolean} where true",
    );

    #[test]
    fn rows_are_parameters_in_one_engine_and_arrays_in_the_other() {
        assert_eq!(
            TABLES.for_sqlite(),
            "select l.a from ledger l where l.code = ?1 and l.no = ?2 and l.group_no = ?3"
        );
        assert_eq!(
            TABLES.for_postgres(),
            "select l.a from unnest($1::text[], $2::bigint[]) as r(code, code_no) cross join \
             ledger l where l.code = r.code and l.no = r.code_no and l.group_no = $3"
        );
        assert_eq!(INSERT.for_sqlite(), "insert into t (a, b) values (?1, ?2)");
        assert_eq!(TABLES.row_types(), ["text", "bigint"]);
    }

    #[test]
    fn the_parameters_behind_a_proof_come_after_its_own() {
        static PROOF: Sql = Sql::new("PROOF", "select 1 from s where a = $1");
        static ASKED: Sql = Sql::new("ASKED", "select b from t where c = $1 and d = $12");
        assert_eq!(
            ASKED.proven(&PROOF, (1, 2)),
            "select true as is_proof, proof.*, null, null from (select 1 from s where a = $1) \
             proof union all select false, null, asked.* from (select b from t where c = $2 and \
             d = $13) asked"
        );
    }
}
