//! The parameters of a statement, in the form that the client library requires.

use tokio_postgres::types::ToSql;

use crate::db::Bound;
use crate::error::Error;
use crate::sql::{Sql, Value};

/// The values of one column of bulk rows, which are sent as an array.
pub(super) type Column<'a, 'v> = Vec<Option<&'a Value<'v>>>;

/// Returns the columns of bulk rows, then the other parameters.
pub(super) fn all_params<'a>(
    columns: &'a [Column<'a, '_>],
    params: &'a [Value<'_>],
) -> Vec<&'a (dyn ToSql + Sync)> {
    let columns = columns.iter().map(|column| column as &(dyn ToSql + Sync));
    columns.chain(params.iter().map(|param| param as &(dyn ToSql + Sync))).collect()
}

/// Transposes rows into the columns of a bulk statement.
pub(super) fn columns<'r, 'v: 'r>(
    sql: &Sql,
    rows: impl Iterator<Item = &'r [Value<'v>]> + Clone,
) -> Result<Vec<Column<'r, 'v>>, Error> {
    let column = |at: usize| rows.clone().map(|row| row.get(at)).collect();
    Ok((0..sql.bulk_types()?.len()).map(column).collect())
}

/// Returns the columns of a bulk statement's rows; none for other statements.
pub(super) fn bulk_columns(bound: &Bound) -> Result<Vec<Column<'_, 'static>>, Error> {
    columns(bound.sql, bound.rows.iter().map(Vec::as_slice))
}
