//! Statements, their parameters and their rows: the little that all of the store's SQL shares.

use std::sync::OnceLock;

use rusqlite::ToSql;
use rusqlite::types::{ToSqlOutput, ValueRef};

use crate::Error;

/// A statement in the SQL that both engines share, its parameters written `$1…`.
#[derive(Debug)]
pub(crate) struct Sql {
    pub(crate) name: &'static str,
    text: &'static str,
    sqlite: OnceLock<String>,
}

impl Sql {
    pub(crate) const fn new(name: &'static str, text: &'static str) -> Sql {
        Sql { name, text, sqlite: OnceLock::new() }
    }

    /// SQLite numbers `$1` by first appearance and `?1` by its digits, so that only the latter
    /// means what is written. No statement has a `$` in a literal, or more than one space. Line
    /// breaks and indents go: a compiled statement is found by its whole text.
    pub(crate) fn for_sqlite(&self) -> &str {
        self.sqlite.get_or_init(|| {
            let words: Vec<&str> = self.text.split_whitespace().collect();
            words.join(" ").replace('$', "?")
        })
    }
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

/// A row, read by column number.
pub(crate) struct Row<'a>(pub(crate) &'a rusqlite::Row<'a>);

impl Row<'_> {
    pub(crate) fn int(&self, column: usize) -> Result<i64, Error> {
        Ok(self.0.get(column)?)
    }

    pub(crate) fn maybe_int(&self, column: usize) -> Result<Option<i64>, Error> {
        Ok(self.0.get(column)?)
    }

    pub(crate) fn flag(&self, column: usize) -> Result<bool, Error> {
        Ok(self.0.get(column)?)
    }

    pub(crate) fn text(&self, column: usize) -> Result<&str, Error> {
        Ok(self.0.get_ref(column)?.as_str().map_err(rusqlite::Error::from)?)
    }

    /// Text that goes on as it is, to whoever knows that it was text when it was stored.
    pub(crate) fn bytes(&self, column: usize) -> Result<&[u8], Error> {
        Ok(self.0.get_ref(column)?.as_bytes().map_err(rusqlite::Error::from)?)
    }

    pub(crate) fn maybe_text(&self, column: usize) -> Result<Option<&str>, Error> {
        Ok(self.0.get_ref(column)?.as_str_or_null().map_err(rusqlite::Error::from)?)
    }
}
