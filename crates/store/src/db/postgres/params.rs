//! What statements are sent with.

use tokio_postgres::types::ToSql;

use crate::Error;
use crate::db::Ask;
use crate::sql::{ColumnType, Sql, Value};

pub(super) fn borrowed<'a>(params: &'a [Value<'a>]) -> Vec<&'a (dyn ToSql + Sync)> {
    params.iter().map(|param| param as &(dyn ToSql + Sync)).collect()
}

/// The columns of many rows, then the other parameters.
pub(super) fn together<'a>(
    columns: &'a [Column<'a>],
    params: &'a [Value<'a>],
) -> Vec<&'a (dyn ToSql + Sync)> {
    let columns = columns.iter().map(Column::as_param);
    columns.chain(params.iter().map(|param| param as &(dyn ToSql + Sync))).collect()
}

/// The values of one column of many rows.
pub(super) enum Column<'a> {
    Ints(Vec<Option<i64>>),
    Texts(Vec<Option<&'a str>>),
    Flags(Vec<Option<bool>>),
}

impl Column<'_> {
    pub(super) fn as_param(&self) -> &(dyn ToSql + Sync) {
        match self {
            Column::Ints(ints) => ints,
            Column::Texts(texts) => texts,
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
            ColumnType::Boolean => Column::Flags(values.map(Value::as_flag).collect()),
            ColumnType::Bigint => Column::Ints(values.map(Value::as_int).collect()),
        }
    };
    Ok(sql.bulk_types()?.iter().enumerate().map(column).collect())
}

/// What an ask is sent with: the columns of its rows, if it has some, then its own parameters.
pub(super) fn columns_of<'a>(ask: &'a Ask<'a>) -> Result<Vec<Column<'a>>, Error> {
    let rows = ask.of.iter().flatten().map(Vec::as_slice);
    if ask.of.is_some() { columns(ask.sql, rows) } else { Ok(Vec::new()) }
}
