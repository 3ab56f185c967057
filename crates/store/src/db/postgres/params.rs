//! The parameters of a statement, in the form that the client library requires.

use tokio_postgres::types::ToSql;

use crate::db::Bound;
use crate::error::Error;
use crate::sql::{ColumnType, Sql, Value, values};

/// Returns the columns of bulk rows, then the other parameters.
pub(super) fn all_params<'a>(
    columns: &'a [Column<'a>],
    params: &'a [impl ToSql + Sync],
) -> Vec<&'a (dyn ToSql + Sync)> {
    let columns = columns.iter().map(Column::as_param);
    columns.chain(params.iter().map(|param| param as &(dyn ToSql + Sync))).collect()
}

/// The values of one column of bulk rows.
pub(super) enum Column<'a> {
    Ints(Vec<Option<i64>>),
    Texts(Vec<Option<&'a str>>),
    Bytes(Vec<Option<&'a [u8]>>),
    Flags(Vec<Option<bool>>),
}

impl Column<'_> {
    pub(super) fn as_param(&self) -> &(dyn ToSql + Sync) {
        match self {
            Column::Ints(ints) => ints,
            Column::Texts(texts) => texts,
            Column::Bytes(bytes) => bytes,
            Column::Flags(flags) => flags,
        }
    }
}

/// Transposes rows into the columns of a bulk statement.
pub(super) fn columns<'r, 'v: 'r>(
    sql: &Sql,
    rows: impl Iterator<Item = &'r [Value<'v>]> + Clone,
) -> Result<Vec<Column<'v>>, Error> {
    let column = |(at, kind): (usize, &ColumnType)| {
        let values = rows.clone().map(move |row| row.get(at).copied().unwrap_or(Value::Null));
        match kind {
            ColumnType::Text => Column::Texts(values.map(Value::as_text).collect()),
            ColumnType::Bytea => Column::Bytes(values.map(Value::as_bytes).collect()),
            ColumnType::Boolean => Column::Flags(values.map(Value::as_flag).collect()),
            ColumnType::Bigint => Column::Ints(values.map(Value::as_int).collect()),
        }
    };
    Ok(sql.bulk_types()?.iter().enumerate().map(column).collect())
}

/// Returns the columns of a bulk statement's rows; none for other statements.
pub(super) fn bulk_columns(bound: &Bound) -> Result<Vec<Column<'_>>, Error> {
    let Some(rows) = &bound.rows else { return Ok(Vec::new()) };
    let rows: Vec<Vec<Value<'_>>> = rows.iter().map(|row| values(row)).collect();
    columns(bound.sql, rows.iter().map(Vec::as_slice))
}
