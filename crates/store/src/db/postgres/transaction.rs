//! The operations of a transaction on PostgreSQL.

use std::pin::pin;
use std::time::Instant;

use futures_util::TryStreamExt;
use tokio::sync::MutexGuard;
use tokio_postgres::types::ToSql;

use super::checked::{answered, send_together};
use super::conflict::is_lock_timeout;
use super::connection::Connection;
use super::lease::Lease;
use super::params::{all_params, columns};
use super::temporary_tables::DryRun;
use crate::db::Bound;
use crate::error::Error;
use crate::sql::{Row, Sql, Value};

/// A transaction on a connection, with a deadline.
#[derive(Clone, Copy)]
pub(crate) struct Transaction<'a> {
    pub(super) connection: &'a Connection,
    /// `None`: no deadline.
    pub(super) ends: Option<Instant>,
    /// Whether it can write.
    pub(super) access: Access<'a>,
}

/// Whether a transaction can write.
#[derive(Clone, Copy, Debug)]
pub(super) enum Access<'a> {
    ReadOnly,
    /// It can write, on a node with this lease.
    ReadWrite(&'a Lease),
    /// It can write, and is never committed.
    DryRun(&'a DryRun),
}

/// Visits a row. Its type is erased, so that the code that reads rows is generated once.
type Visit<'a> = dyn FnMut(tokio_postgres::Row) -> Result<(), Error> + 'a;
/// Visits a row of a statement, which is given by its position.
type VisitOf<'a> = dyn FnMut(usize, &Row<'_>) -> Result<(), Error> + 'a;

/// Maximum number of statements that are sent together. The answers to them are buffered.
const TOGETHER_MAX: usize = 10_000;

impl Transaction<'_> {
    async fn within<T>(&self, work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        let mut work = pin!(work);
        let done = match self.ends {
            None => work.await,
            Some(ends) => match tokio::time::timeout_at(ends.into(), &mut work).await {
                Ok(done) => done,
                Err(_) if matches!(self.access, Access::ReadOnly) => {
                    Err(self.connection.ended_at_deadline(work).await)
                }
                Err(late) => Err(late.into()),
            },
        };
        let done = done.map_err(|error| match error {
            error if is_lock_timeout(&error) => Error::Busy(self.connection.wait),
            // The caller of a write cannot request less.
            Error::TooMuchWork(why) if !matches!(self.access, Access::ReadOnly) => {
                Error::Unreachable(why.to_owned())
            }
            error => error,
        });
        done.inspect_err(|error| self.connection.note(error))
    }

    /// Runs a statement for all bulk rows, and visits the rows that it returns. Returns the number
    /// of rows that it returns or changes.
    pub(crate) async fn each_of<'v>(
        &self,
        sql: &'static Sql,
        rows: &[impl AsRef<[Value<'v>]>],
        params: &[Value<'v>],
        mut visit: impl FnMut(&Row<'_>) -> Result<(), Error>,
    ) -> Result<u64, Error> {
        let visit: &mut Visit<'_> = &mut |row| visit(&Row::Postgres(&row, None));
        match rows {
            [] => Ok(0),
            [row] if self.runs_single_rows() && !row.as_ref().is_empty() => {
                let params = [row.as_ref(), params].concat();
                self.run(sql.of_row_for_postgres()?, &all_params(&[], &params), visit).await
            }
            rows => {
                let columns = columns(sql, rows.iter().map(AsRef::as_ref))?;
                self.run(sql.for_postgres()?, &all_params(&columns, params), visit).await
            }
        }
    }

    /// Visits the rows of several statements, each with the position of its statement. They are
    /// sent together, a bounded number at a time; up to `union_max` of them run as one.
    pub(crate) async fn together(
        &self,
        statements: &[Bound],
        union_max: usize,
        mut visit: impl FnMut(usize, &Row<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let visit: &mut VisitOf<'_> = &mut visit;
        self.within(async {
            let _turn = self.turn().await;
            let mut before = 0;
            for statements in statements.chunks(TOGETHER_MAX) {
                let statements: Vec<&Bound> = statements.iter().collect();
                let unions = statements.chunks(union_max);
                let sent = send_together(self.connection, unions.clone()).await?;
                for (statements, sent) in unions.zip(sent) {
                    let union = self.connection.union(statements).await?;
                    let mut rows = pin!(answered(Some(sent)).await?);
                    while let Some(row) = rows.try_next().await? {
                        let (at, row) = union.part(&row)?;
                        visit(before + at, &row)?;
                    }
                    before += statements.len();
                }
            }
            Ok(())
        })
        .await
    }

    /// Returns whether a bulk statement has a separate variant for one row.
    fn runs_single_rows(&self) -> bool {
        self.connection.is_sharded && !matches!(self.access, Access::DryRun(_))
    }

    /// Runs the statement with a text, and visits its rows. Returns the number of rows that it
    /// returns or changes.
    pub(super) async fn run<V>(
        &self,
        text: &str,
        params: &[&(dyn ToSql + Sync)],
        visit: &mut V,
    ) -> Result<u64, Error>
    where
        V: FnMut(tokio_postgres::Row) -> Result<(), Error> + ?Sized,
    {
        self.within(async {
            let _turn = self.turn().await;
            if let Access::DryRun(dry_run) = self.access
                && let Some(changed) = dry_run.redirect(self.connection, text, params).await?
            {
                return Ok(changed);
            }
            let statement = self.connection.prepared(text).await?;
            let mut rows = pin!(self.connection.rows(&statement, params).await?);
            while let Some(row) = rows.try_next().await? {
                visit(row)?;
            }
            Ok(rows.rows_affected().unwrap_or_default())
        })
        .await
    }

    /// Locks the row that a statement selects, unless another transaction has locked it. Returns
    /// whether it is locked now.
    pub(crate) async fn try_lock(
        &self,
        sql: &'static Sql,
        params: &[Value<'_>],
    ) -> Result<bool, Error> {
        let text = format!("{} for update skip locked", sql.for_postgres()?);
        Ok(self.run(&text, &all_params(&[], params), &mut |_| Ok(())).await? > 0)
    }

    /// Runs the statements of a script one by one: Citus sends the whole text with some of them to
    /// the workers, which refuse more than one statement.
    pub(crate) async fn script(&self, text: &str) -> Result<(), Error> {
        for statement in statements_of(&with_byte_collation(text)) {
            self.within(self.connection.simple(&statement)).await?;
        }
        Ok(())
    }

    /// Returns an identifier of the server, different from any other and from itself before a
    /// restart.
    pub(crate) fn server(&self) -> &str {
        &self.connection.server
    }

    /// Waits for the turn of a statement in a dry run.
    async fn turn(&self) -> Option<MutexGuard<'_, ()>> {
        match self.access {
            Access::DryRun(dry_run) => Some(dry_run.turn.lock().await),
            Access::ReadOnly | Access::ReadWrite(_) => None,
        }
    }

    /// Checks that this node may answer for sessions, from the primary of this transaction.
    pub(crate) fn check_session_lease(&self) -> Result<(), Error> {
        match self.access {
            Access::ReadWrite(lease) => lease.check_on(self.connection),
            Access::ReadOnly | Access::DryRun(_) => Ok(()),
        }
    }

    /// Waits until no node can hold a session lease on an earlier primary.
    pub(crate) async fn wait_for_earlier_leases(&self) -> Result<(), Error> {
        let Access::ReadWrite(lease) = self.access else { return Ok(()) };
        let ends = self.ends.unwrap_or_else(|| Instant::now() + self.connection.wait);
        lease.wait_for_earlier(self.connection, ends).await
    }

    /// Takes the lock of the layout. A dry run would hold it until its end, and every starting
    /// program would wait for that.
    pub(crate) async fn take_layout_lock(&self) -> Result<(), Error> {
        if matches!(self.access, Access::DryRun(_)) {
            return Ok(());
        }
        // An arbitrary number, the letters "kios". The database may have data in other schemas.
        let lock = "select pg_advisory_xact_lock(1802071923, \
            hashtext(coalesce(current_schema(), '')))";
        self.within(self.connection.simple(lock)).await
    }
}

/// Returns the statements of a script, without its comments. A comment is on separate lines, and no
/// text of a statement contains a semicolon.
fn statements_of(script: &str) -> Vec<String> {
    let is_code = |line: &&str| !line.trim_start().starts_with("--");
    let code: Vec<&str> = script.lines().filter(is_code).collect();
    let code = code.join("\n");
    let statements = code.split(';').map(str::trim).filter(|statement| !statement.is_empty());
    statements.map(str::to_owned).collect()
}

/// Compares and orders text by its bytes, as SQLite does.
fn with_byte_collation(migration: &str) -> String {
    let mut text = migration.to_owned();
    for behind in [" ", ",", ";", "\n"] {
        text = text.replace(&format!(" text{behind}"), &format!(" text collate \"C\"{behind}"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_split_into_its_statements() {
        let script =
            "-- One; two.\ncreate table t (\n    -- Three;\n    name text\n);\n\ndrop table u;\n";
        let statements = ["create table t (\n    name text collate \"C\"\n)", "drop table u"];
        assert_eq!(statements_of(&with_byte_collation(script)), statements);
    }

    #[test]
    fn the_migrations_are_split_into_whole_statements() {
        for statement in statements_of(&crate::migrate::texts()) {
            let count = |wanted: char| statement.matches(wanted).count();
            assert_eq!(count('('), count(')'), "{statement}");
            assert_eq!(count('\'') % 2, 0, "{statement}");
            let verbs = ["create ", "alter ", "drop ", "insert ", "update ", "delete "];
            assert!(verbs.iter().any(|verb| statement.starts_with(verb)), "{statement}");
        }
    }
}
