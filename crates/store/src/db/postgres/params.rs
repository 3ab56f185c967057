//! The parameters of a statement, in the form that the client library requires.

use tokio_postgres::types::ToSql;

use crate::db::Bound;
use crate::error::Error;
use crate::sql::{OwnedValue, Sql};

/// The values of one column of bulk rows, which are sent as an array.
pub(super) type Column<'a, T> = Vec<Option<&'a T>>;

/// Returns the columns of bulk rows, then the other parameters.
pub(super) fn all_params<'a, T: ToSql + Sync>(
    columns: &'a [Column<'a, T>],
    params: &'a [T],
) -> Vec<&'a (dyn ToSql + Sync)> {
    let columns = columns.iter().map(|column| column as &(dyn ToSql + Sync));
    columns.chain(params.iter().map(|param| param as &(dyn ToSql + Sync))).collect()
}

/// Transposes rows into the columns of a bulk statement.
pub(super) fn columns<'r, T: 'r>(
    sql: &Sql,
    rows: impl Iterator<Item = &'r [T]> + Clone,
) -> Result<Vec<Column<'r, T>>, Error> {
    let column = |at: usize| rows.clone().map(|row| row.get(at)).collect();
    Ok((0..sql.bulk_types()?.len()).map(column).collect())
}

/// Returns the columns of a bulk statement's rows; none for other statements.
pub(super) fn bulk_columns(bound: &Bound) -> Result<Vec<Column<'_, OwnedValue>>, Error> {
    columns(bound.sql, bound.rows.iter().flatten().map(Vec::as_slice))
}
