//! A connection in a transaction, whose statements fail with the cause that the files show.

use std::ops::{ControlFlow, Deref};
use std::path::Path;

use rusqlite::Connection;

use super::files::Files;
use super::{Copied, copy, each, each_row_of, one};
use crate::error::Error;
use crate::sql::{Row, Sql, Value};

/// A connection in a transaction, and the files that it is on.
pub(crate) struct Snapshot<'a> {
    connection: &'a Connection,
    pub(super) files: &'a Files,
}

static INTEGRITY: Sql = Sql::new("INTEGRITY", "pragma integrity_check");

impl<'a> Snapshot<'a> {
    pub(super) const fn new(connection: &'a Connection, files: &'a Files) -> Snapshot<'a> {
        Snapshot { connection, files }
    }

    pub(in crate::db) fn one<T>(
        &self,
        sql: &'static Sql,
        params: &[Value<'_>],
        read: impl FnOnce(&Row<'_>) -> Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        one(self, sql, params, read).map_err(|error| self.files.explain(error))
    }

    pub(in crate::db) fn each(
        &self,
        sql: &'static Sql,
        params: &[Value<'_>],
        visit: impl FnMut(&Row<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        each(self, sql, params, visit).map_err(|error| self.files.explain(error))
    }

    pub(in crate::db) fn each_row_of<'v>(
        &self,
        sql: &'static Sql,
        rows: &[impl AsRef<[Value<'v>]>],
        params: &[Value<'_>],
        visit: impl FnMut(&Row<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        each_row_of(self, sql, rows, params, visit).map_err(|error| self.files.explain(error))
    }

    /// Returns the faults of the database file.
    pub(in crate::db) fn integrity(&self) -> Result<Vec<String>, Error> {
        let mut faults = Vec::new();
        self.each(&INTEGRITY, &[], |row| {
            let line: &str = row.read()?;
            faults.extend((line != "ok").then(|| format!("the database file: {line}")));
            Ok(())
        })?;
        Ok(faults)
    }

    pub(in crate::db) fn copy_to(
        &self,
        file: &Path,
        progress: impl FnMut(Copied) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, Error> {
        copy::copy_to(self, file, progress).map_err(|error| self.files.explain(error))
    }
}

impl Deref for Snapshot<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.connection
    }
}
