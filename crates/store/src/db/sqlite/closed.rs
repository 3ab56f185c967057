//! Data that is closed: it was moved elsewhere, and must no longer be used. The mark is in the
//! header of the database file, which every transaction has already read.

use rusqlite::Connection;

use super::run_alone;
use crate::error::Error;
use crate::sql::Sql;

/// This number has no other use: the layout stores its version in a separate table.
static MARK: Sql = Sql::new("MARK", "pragma user_version");
static SET_MARK: Sql = Sql::new("SET_MARK", "pragma user_version = 1");

/// Fails if the data is closed. The connection is in a transaction, or reads the rows of a
/// statement, so the mark is from the same snapshot.
pub(super) fn check(connection: &Connection) -> Result<(), Error> {
    if read_mark(connection)? == 0 { Ok(()) } else { Err(Error::Closed) }
}

/// Reads the mark, which is not zero in closed data.
pub(super) fn read_mark(connection: &Connection) -> Result<i64, Error> {
    let mut mark = connection.prepare_cached(MARK.for_sqlite()?)?;
    Ok(mark.query_row([], |row| row.get(0))?)
}

/// Closes the data when the transaction is committed.
pub(in crate::db) fn close(connection: &Connection) -> Result<(), Error> {
    run_alone(connection, &SET_MARK)
}
