//! Rows of a result, read by declared column order.

use std::borrow::Cow;
use std::convert::identity;

use kiosque_model::{AccountNo, Day, DeviceNo, GroupNo, HistoryId, Minor, UnixMs};

use crate::error::Error;

/// A row of either engine.
pub(crate) enum Row<'a> {
    Sqlite(&'a rusqlite::Row<'a>),
    /// The row, and the positions of the columns of its statement: a row of several statements has
    /// columns of the others as well, see `union_of`. `None` if it has no others.
    Postgres(&'a tokio_postgres::Row, Option<&'a [usize]>),
}

/// A value that is read from the columns of a row: a scalar, a struct declared by [`row!`], or a
/// pair of both, whose scalars have no names.
///
/// A field of a row may itself be a row, whose columns follow in place. `Option` of a row is `None`
/// where its first column is null, as in the unmatched rows of a left join.
pub(crate) trait FromRow<'r>: Sized {
    /// How many columns it has.
    const WIDTH: usize;

    /// Appends the names of its columns. A scalar is named by the field that has it.
    fn columns(field: &'static str, names: &mut Vec<&'static str>);

    /// Reads the next columns.
    fn read(reader: &mut Reader<'r>) -> Result<Self, Error>;
}

/// A row and its next column.
pub(crate) struct Reader<'r> {
    row: &'r Row<'r>,
    next: usize,
}

impl Row<'_> {
    /// Reads the row, from its first column.
    pub(crate) fn read<'r, T: FromRow<'r>>(&'r self) -> Result<T, Error> {
        T::read(&mut self.reader())
    }

    /// Returns a reader of the columns, from the first.
    pub(crate) fn reader(&self) -> Reader<'_> {
        Reader { row: self, next: 0 }
    }

    fn is_null(&self, column: usize) -> Result<bool, Error> {
        match self {
            Row::Sqlite(row) => Ok(row.get_ref(column)? == rusqlite::types::ValueRef::Null),
            Row::Postgres(row, columns) => {
                let present: Option<postgres::Present> = row.try_get(position(columns, column)?)?;
                Ok(present.is_none())
            }
        }
    }

    fn int(&self, column: usize) -> Result<i64, Error> {
        match self {
            Row::Sqlite(row) => Ok(row.get(column)?),
            Row::Postgres(row, columns) => {
                Ok(row.try_get::<_, postgres::Int>(position(columns, column)?)?.0)
            }
        }
    }

    fn flag(&self, column: usize) -> Result<bool, Error> {
        match self {
            Row::Sqlite(row) => Ok(row.get(column)?),
            Row::Postgres(row, columns) => Ok(row.try_get(position(columns, column)?)?),
        }
    }

    fn text(&self, column: usize) -> Result<&str, Error> {
        match self {
            Row::Sqlite(row) => Ok(row.get_ref(column)?.as_str().map_err(rusqlite::Error::from)?),
            Row::Postgres(row, columns) => Ok(row.try_get(position(columns, column)?)?),
        }
    }

    fn bytes(&self, column: usize) -> Result<&[u8], Error> {
        match self {
            Row::Sqlite(row) => {
                Ok(row.get_ref(column)?.as_bytes().map_err(rusqlite::Error::from)?)
            }
            Row::Postgres(row, columns) => Ok(row.try_get(position(columns, column)?)?),
        }
    }
}

/// Returns the position of a statement's column in a row.
fn position(columns: &Option<&[usize]>, column: usize) -> Result<usize, Error> {
    columns.map_or(Some(column), |columns| columns.get(column).copied()).ok_or(Error::Gone)
}

macro_rules! scalars {
    ($($type:ty: $read:ident as $convert:path;)*) => {$(
        impl<'r> FromRow<'r> for $type {
            const WIDTH: usize = 1;

            fn columns(field: &'static str, names: &mut Vec<&'static str>) {
                names.push(field);
            }

            fn read(reader: &mut Reader<'r>) -> Result<Self, Error> {
                let column = reader.next;
                reader.next += 1;
                Ok($convert(reader.row.$read(column)?))
            }
        }
    )*};
}

fn owned(text: &str) -> Cow<'static, str> {
    Cow::Owned(text.to_owned())
}

scalars! {
    i64: int as identity;
    bool: flag as identity;
    &'r str: text as identity;
    &'r [u8]: bytes as identity;
    String: text as str::to_owned;
    Cow<'static, str>: text as owned;
    AccountNo: int as AccountNo;
    Day: int as Day;
    DeviceNo: int as DeviceNo;
    GroupNo: int as GroupNo;
    HistoryId: int as HistoryId;
    Minor: int as Minor;
    UnixMs: int as UnixMs;
}

impl<'r, T: FromRow<'r>> FromRow<'r> for Option<T> {
    const WIDTH: usize = T::WIDTH;

    fn columns(field: &'static str, names: &mut Vec<&'static str>) {
        T::columns(field, names);
    }

    fn read(reader: &mut Reader<'r>) -> Result<Self, Error> {
        if reader.row.is_null(reader.next)? {
            reader.next += T::WIDTH;
            return Ok(None);
        }
        T::read(reader).map(Some)
    }
}

/// A key and its value.
impl<'r, K: FromRow<'r>, V: FromRow<'r>> FromRow<'r> for (K, V) {
    const WIDTH: usize = K::WIDTH + V::WIDTH;

    fn columns(field: &'static str, names: &mut Vec<&'static str>) {
        K::columns(field, names);
        V::columns(field, names);
    }

    fn read(reader: &mut Reader<'r>) -> Result<Self, Error> {
        Ok((K::read(reader)?, V::read(reader)?))
    }
}

/// Declares structs that are read from the columns of a row, field by field in order. The fields
/// have the names of the columns; a field that is a row has the columns of that row.
///
/// `for` declares a struct that is defined elsewhere, and its fields, each of which has one column.
macro_rules! row {
    () => {};
    (for $name:ident $(<$life:lifetime>)? { $($field:ident),* $(,)? } $($rest:tt)*) => {
        impl<'r> $crate::sql::FromRow<'r> for $name $(<$life>)? {
            const WIDTH: usize = [$(stringify!($field)),*].len();

            fn columns(_: &'static str, names: &mut Vec<&'static str>) {
                names.extend([$(stringify!($field)),*]);
            }

            fn read(reader: &mut $crate::sql::Reader<'r>) -> Result<Self, $crate::error::Error> {
                Ok($name { $($field: $crate::sql::FromRow::read(reader)?,)* })
            }
        }
        $crate::sql::row! { $($rest)* }
    };
    ($(#[$meta:meta])* $vis:vis struct $name:ident<$life:lifetime> { $($fields:tt)* }
        $($rest:tt)*) => {
        $crate::sql::row! { @one $life [$(#[$meta])* $vis] [$name] [$name<$life>] $($fields)* }
        $crate::sql::row! { $($rest)* }
    };
    ($(#[$meta:meta])* $vis:vis struct $name:ident { $($fields:tt)* } $($rest:tt)*) => {
        $crate::sql::row! { @one 'r [$(#[$meta])* $vis] [$name] [$name] $($fields)* }
        $crate::sql::row! { $($rest)* }
    };
    (@one $life:lifetime [$($before:tt)*] [$name:ident] [$($full:tt)*]
        $($(#[$meta:meta])* $vis:vis $field:ident: $type:ty),* $(,)?) => {
        $($before)* struct $($full)* { $($(#[$meta])* $vis $field: $type,)* }

        impl<$life> $crate::sql::FromRow<$life> for $($full)* {
            const WIDTH: usize = 0 $(+ <$type as $crate::sql::FromRow<$life>>::WIDTH)*;

            fn columns(_: &'static str, names: &mut Vec<&'static str>) {
                $(<$type as $crate::sql::FromRow<$life>>::columns(stringify!($field), names);)*
            }

            fn read(reader: &mut $crate::sql::Reader<$life>) -> Result<Self, $crate::error::Error> {
                Ok($name { $($field: $crate::sql::FromRow::read(reader)?,)* })
            }
        }
    };
}
pub(crate) use row;

mod postgres {
    use std::error::Error;

    use tokio_postgres::types::{FromSql, Type};

    type BoxError = Box<dyn Error + Sync + Send>;

    /// An integer of either width.
    pub(super) struct Int(pub(super) i64);

    impl<'a> FromSql<'a> for Int {
        fn from_sql(kind: &Type, raw: &'a [u8]) -> Result<Int, BoxError> {
            Ok(Int(match *kind {
                Type::INT4 => i32::from_sql(kind, raw)?.into(),
                _ => i64::from_sql(kind, raw)?,
            }))
        }

        fn accepts(kind: &Type) -> bool {
            matches!(*kind, Type::INT4 | Type::INT8)
        }
    }

    /// A value of any type that is not null.
    pub(super) struct Present;

    impl<'a> FromSql<'a> for Present {
        fn from_sql(_: &Type, _: &'a [u8]) -> Result<Present, BoxError> {
            Ok(Present)
        }

        fn accepts(_: &Type) -> bool {
            true
        }
    }
}
