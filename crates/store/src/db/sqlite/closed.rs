//! Data that is closed: it was moved elsewhere, and must no longer be used. The mark is in the
//! header of the database file, which every transaction has already read.

use rusqlite::Connection;

use super::run_alone;
use crate::error::Error;

/// This number has no other use: the layout stores its version in a separate table.
const MARK: &str = "pragma user_version";
const SET_MARK: &str = "pragma user_version = 1";

/// Fails if the data is closed. The connection is in a transaction, or reads the rows of a
/// statement, so the mark is from the same snapshot.
pub(super) fn check(connection: &Connection) -> Result<(), Error> {
    if read_mark(connection)? == 0 { Ok(()) } else { Err(Error::Closed) }
}

/// Reads the mark, which is not zero in closed data.
pub(super) fn read_mark(connection: &Connection) -> Result<i64, Error> {
    Ok(connection.prepare_cached(MARK)?.query_row([], |row| row.get(0))?)
}

/// Closes the data when the transaction is committed.
pub(in crate::db) fn close(connection: &Connection) -> Result<(), Error> {
    run_alone(connection, SET_MARK)
}
