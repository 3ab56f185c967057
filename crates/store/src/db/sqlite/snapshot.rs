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

static INTEGRITY: [Sql; 1] = [Sql::new("INTEGRITY", "pragma integrity_check")];
/// The tables with the groups and devices whose orders are listed.
static LISTS: [Sql; 2] = [
    Sql::new("INTEGRITY_OF_GROUPS", "pragma integrity_check(groups)"),
    Sql::new("INTEGRITY_OF_LEDGER", "pragma integrity_check(ledger)"),
];

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

    /// Returns the damage of the database file.
    pub(in crate::db) fn integrity(&self) -> Result<Vec<String>, Error> {
        self.damage_by(&INTEGRITY)
    }

    /// Returns the damage of the tables that lists of orders begin with.
    pub(in crate::db) fn integrity_of_lists(&self) -> Result<Vec<String>, Error> {
        self.damage_by(&LISTS)
    }

    fn damage_by(&self, checks: &'static [Sql]) -> Result<Vec<String>, Error> {
        let mut damage = Vec::new();
        for check in checks {
            self.each(check, &[], |row| {
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
        copy::copy_to(self, file, progress).map_err(|error| self.files.explain(error))
    }
}

impl Deref for Snapshot<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.connection
    }
}
