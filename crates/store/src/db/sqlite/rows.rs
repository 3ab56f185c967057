//! What statements of a file are run with: rows come out where they are asked for.

use rusqlite::Connection;

use crate::Error;
use crate::cooperative::yield_if_due;
use crate::db::Ask;
use crate::sql::{Row, Sql, Value};

/// Each row of a statement; of one for many rows, of each of them in turn.
pub(super) fn each_of(
    connection: &Connection,
    ask: &Ask<'_>,
    mut visit: impl FnMut(&Row<'_>) -> Result<(), Error>,
) -> Result<(), Error> {
    let Some(of) = &ask.of else { return each(connection, ask.sql, &ask.params, visit) };
    for one in of {
        let params: Vec<Value<'_>> = one.iter().chain(&ask.params).copied().collect();
        each(connection, ask.sql, &params, &mut visit)?;
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

/// Runs a statement for each of many rows; it is looked up once.
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

/// Each row of a statement, for each of many rows.
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

/// Compiles a statement without running it, and checks the columns that it returns.
pub(in crate::db) fn compile(connection: &Connection, sql: &'static Sql) -> Result<(), Error> {
    match connection.prepare(sql.for_sqlite()?) {
        Ok(statement) => sql.check_columns(&statement.column_names().collect::<Vec<_>>()),
        Err(error) => Err(Error::Data(format!("statement {}: {error}", sql.name))),
    }
}

/// Runs the statements of a migration. SQLite looks a row up twice by a key of any type but this
/// one, which it takes as the row's own number; both spellings mean the same 64 bits there. Small
/// rows that are read by ranges of their key lie in its order.
pub(in crate::db) fn script(connection: &Connection, text: &str) -> Result<(), Error> {
    let text = text.replace("bigint primary key", "integer primary key");
    let text = text.replace("/* kept in the order of its key */", "without rowid");
    Ok(connection.execute_batch(&text)?)
}
