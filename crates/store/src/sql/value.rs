//! Parameter values, and their encoding for each engine.

use std::borrow::Cow;
use std::error::Error;

use bytes::BytesMut;
use kiosque_model::{AccountNo, Day, DeviceNo, GroupNo, HistoryId, Minor, UnixMs};
use rusqlite::types::{ToSqlOutput, ValueRef};
use tokio_postgres::types::{self as postgres, IsNull, Type, to_sql_checked};

/// A parameter. The layout only has text, bytes, 64-bit integers and booleans.
#[derive(Clone, Debug)]
pub(crate) enum Value<'a> {
    Int(i64),
    Text(Cow<'a, str>),
    Bytes(Cow<'a, [u8]>),
    Bool(bool),
    Null,
}

impl Value<'_> {
    /// Returns the parameter with its own content.
    pub(crate) fn into_owned(self) -> Value<'static> {
        match self {
            Value::Int(int) => Value::Int(int),
            Value::Text(text) => Value::Text(text.into_owned().into()),
            Value::Bytes(bytes) => Value::Bytes(bytes.into_owned().into()),
            Value::Bool(flag) => Value::Bool(flag),
            Value::Null => Value::Null,
        }
    }
}

impl From<i64> for Value<'_> {
    fn from(int: i64) -> Self {
        Value::Int(int)
    }
}

/// A size or a limit. A larger one than a column can hold counts as the largest.
impl From<usize> for Value<'_> {
    fn from(size: usize) -> Self {
        Value::Int(i64::try_from(size).unwrap_or(i64::MAX))
    }
}

impl From<bool> for Value<'_> {
    fn from(flag: bool) -> Self {
        Value::Bool(flag)
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Value::Text(text.into())
    }
}

impl<'a> From<&'a [u8]> for Value<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Value::Bytes(bytes.into())
    }
}

impl<'a, T: Into<Value<'a>>> From<Option<T>> for Value<'a> {
    fn from(maybe: Option<T>) -> Self {
        maybe.map_or(Value::Null, Into::into)
    }
}

macro_rules! from_newtypes {
    ($($newtype:ident),*) => {$(
        impl From<$newtype> for Value<'_> {
            fn from(value: $newtype) -> Self {
                Value::Int(value.0)
            }
        }
    )*};
}
from_newtypes!(AccountNo, Day, DeviceNo, GroupNo, HistoryId, Minor, UnixMs);

/// Returns the rows of a bulk statement with one column, a number.
pub(crate) fn numbers<'v, T: Copy + Into<Value<'v>>>(
    numbers: impl IntoIterator<Item = T>,
) -> Vec<[Value<'v>; 1]> {
    numbers.into_iter().map(|number| [number.into()]).collect()
}

/// Returns the distinct texts, sorted, as the rows of a bulk statement with one column.
pub(crate) fn distinct<'v>(texts: impl Iterator<Item = &'v str>) -> Vec<[Value<'v>; 1]> {
    let mut texts: Vec<&str> = texts.collect();
    texts.sort_unstable();
    texts.dedup();
    texts.into_iter().map(|text| [text.into()]).collect()
}

/// Returns whether a column can hold this text: PostgreSQL refuses texts with a NUL.
pub(crate) fn has_no_nul(text: &str) -> bool {
    !text.contains('\0')
}

impl rusqlite::ToSql for Value<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Value::Int(int) => ValueRef::Integer(*int),
            Value::Text(text) => ValueRef::Text(text.as_bytes()),
            Value::Bytes(bytes) => ValueRef::Blob(bytes),
            Value::Bool(flag) => ValueRef::Integer(i64::from(*flag)),
            Value::Null => ValueRef::Null,
        }))
    }
}

impl postgres::ToSql for Value<'_> {
    fn to_sql(
        &self,
        kind: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self {
            Value::Int(int) if *kind == Type::INT4 => i32::try_from(*int)?.to_sql(kind, out),
            Value::Int(int) => int.to_sql(kind, out),
            Value::Text(text) => text.to_sql(kind, out),
            Value::Bytes(bytes) => bytes.to_sql(kind, out),
            Value::Bool(flag) => flag.to_sql(kind, out),
            Value::Null => Ok(IsNull::Yes),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}
