//! Statements on SQLite, run on the calling thread.

use rusqlite::Connection;

use crate::Error;
use crate::cooperative::yield_if_due;
use crate::db::Bound;
use crate::sql::{Row, Sql, Value};

/// Visits each row of a statement; of a bulk statement, the rows for each bulk row in turn.
pub(super) fn each_of(
    connection: &Connection,
    bound: &Bound<'_>,
    mut visit: impl FnMut(&Row<'_>) -> Result<(), Error>,
) -> Result<(), Error> {
    let Some(rows) = &bound.rows else {
        return each(connection, bound.sql, &bound.params, visit);
    };
    for row in rows {
        let params: Vec<Value<'_>> = row.iter().chain(&bound.params).copied().collect();
        each(connection, bound.sql, &params, &mut visit)?;
    }
    Ok(())
}

pub(in crate::db) fn one<T>(
    connection: &Connection,
    sql: &'static Sql,
    params: &[Value<'_>],
    read: impl FnOnce(&Row<'_>) -> Result<T, Error>,
) -> Result<Option<T>, Error> {
    let mut statement = connection.prepare_cached(sql.for_sqlite()?)?;
    let mut rows = statement.query(rusqlite::params_from_iter(params))?;
    rows.next()?.map(|row| read(&Row::Sqlite(row))).transpose()
}

pub(in crate::db) fn each(
    connection: &Connection,
    sql: &'static Sql,
    params: &[Value<'_>],
    mut visit: impl FnMut(&Row<'_>) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut statement = connection.prepare_cached(sql.for_sqlite()?)?;
    let mut rows = statement.query(rusqlite::params_from_iter(params))?;
    while let Some(row) = rows.next()? {
        visit(&Row::Sqlite(row))?;
    }
    Ok(())
}

pub(in crate::db) fn execute(
    connection: &Connection,
    sql: &'static Sql,
    params: &[Value<'_>],
) -> Result<u64, Error> {
    let mut statement = connection.prepare_cached(sql.for_sqlite()?)?;
    Ok(statement.execute(rusqlite::params_from_iter(params))? as u64)
}

/// Runs a bulk statement for each row. The prepared statement is looked up once.
pub(in crate::db) fn execute_each<'v>(
    connection: &Connection,
    sql: &'static Sql,
    rows: impl Iterator<Item = impl AsRef<[Value<'v>]>>,
    params: &[Value<'_>],
) -> Result<(), Error> {
    let mut statement = connection.prepare_cached(sql.for_sqlite()?)?;
    for row in rows {
        yield_if_due();
        statement.execute(rusqlite::params_from_iter(row.as_ref().iter().chain(params)))?;
    }
    Ok(())
}

/// Visits the rows of a bulk statement for each bulk row.
pub(in crate::db) fn each_row_of<const N: usize>(
    connection: &Connection,
    sql: &'static Sql,
    rows: &[[Value<'_>; N]],
    params: &[Value<'_>],
    mut visit: impl FnMut(&Row<'_>) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut statement = connection.prepare_cached(sql.for_sqlite()?)?;
    for row in rows {
        yield_if_due();
        let mut found = statement.query(rusqlite::params_from_iter(row.iter().chain(params)))?;
        while let Some(row) = found.next()? {
            visit(&Row::Sqlite(row))?;
        }
    }
    Ok(())
}

/// Prepares a statement, and checks the columns that it returns.
pub(in crate::db) fn prepare(connection: &Connection, sql: &'static Sql) -> Result<(), Error> {
    match connection.prepare(sql.for_sqlite()?) {
        Ok(statement) => sql.check_columns(&statement.column_names().collect::<Vec<_>>()),
        Err(error) => Err(Error::Data(format!("statement {}: {error}", sql.name))),
    }
}

/// Runs the statements of a migration. `integer primary key` is the row id of a SQLite table, with
/// the same 64 bits; a key of any other type needs two look-ups. Small rows that are read by key
/// ranges are stored in key order.
pub(in crate::db) fn script(connection: &Connection, text: &str) -> Result<(), Error> {
    let text = text.replace("bigint primary key", "integer primary key");
    let text = text.replace("/* kept in the order of its key */", "without rowid");
    Ok(connection.execute_batch(&text)?)
}
