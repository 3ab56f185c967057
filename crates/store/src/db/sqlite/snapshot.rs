//! A connection in a transaction, whose statements fail with the cause that the files show.

use std::ops::ControlFlow;
use std::path::Path;

use rusqlite::Connection;
use rusqlite::ffi::{SQLITE_FULL, SQLITE_IOERR_WRITE};

use super::files::Files;
use super::{Copied, copy};
use crate::cooperative::yield_if_due;
use crate::db::ONE_ROW;
use crate::error::Error;
use crate::file_system::{failing, no_space};
use crate::sql::{Row, Sql, Value};

/// A connection in a transaction, and the files that it is on.
pub(crate) struct Snapshot<'a> {
    pub(in crate::db) connection: &'a Connection,
    pub(super) files: &'a Files,
}

/// The check of all tables.
pub(crate) static INTEGRITY: [Sql; 1] = [Sql::new("INTEGRITY", "pragma integrity_check")];
/// The checks of the tables that lists of orders begin with. A damaged page can hide rows without
/// an error.
pub(crate) static INTEGRITY_OF_LISTS: [Sql; 2] = [
    Sql::new("INTEGRITY_OF_GROUPS", "pragma integrity_check(groups)"),
    Sql::new("INTEGRITY_OF_LEDGER", "pragma integrity_check(ledger)"),
];

impl Snapshot<'_> {
    /// Visits the rows of a bulk statement for each bulk row.
    pub(in crate::db) fn each_of<'v>(
        &self,
        sql: &'static Sql,
        rows: &[impl AsRef<[Value<'v>]>],
        params: &[Value<'v>],
        visit: impl FnMut(&Row<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let rows = rows.iter().map(|row| {
            yield_if_due();
            row.as_ref()
        });
        super::each_of(self.connection, sql, rows, params, visit)
            .map_err(|error| self.files.explain(error))
    }

    /// Returns the damage of the database file that checks find.
    pub(in crate::db) fn integrity(&self, checks: &'static [Sql]) -> Result<Vec<String>, Error> {
        let mut damage = Vec::new();
        for check in checks {
            self.each_of(check, ONE_ROW, &[], |row| {
                let line: &str = row.read()?;
                damage.extend((line != "ok").then(|| format!("the database file: {line}")));
                Ok(())
            })?;
        }
        Ok(damage)
    }

    pub(in crate::db) fn copy_to(
        &self,
        file: &Path,
        progress: impl FnMut(Copied) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, Error> {
        copy::copy_to(self.connection, file, progress).map_err(|error| {
            let Error::Sqlite(cause) = &error else { return error };
            // Only the copy is written.
            match cause.sqlite_error().map(|cause| cause.extended_code) {
                Some(SQLITE_FULL) => Error::File(no_space(file)),
                Some(SQLITE_IOERR_WRITE) => Error::File(failing(file, cause)),
                _ => self.files.explain(error),
            }
        })
    }
}
