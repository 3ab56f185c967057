//! Dry runs: one connection, in a transaction that is never committed. Each transaction of the
//! store is a savepoint in it. The server rolls it back when the connection closes.

use std::sync::atomic::Ordering;
use std::time::Instant;

use kiosque_locks::lock_ignoring_poison;

use super::Postgres;
use super::connection::{Connection, until};
use super::temporary_tables::DryRun;
use crate::db::TemporaryTables;
use crate::error::Error;

/// Begins the transaction, which is idle while the input is read and checked. Its tables are copied
/// at different times, and must show the same state.
const BEGIN: &str = "begin isolation level repeatable read; \
    set local idle_in_transaction_session_timeout = 0; set local statement_timeout = 0";
const SAVEPOINT: &str = "savepoint change";
/// Ends a change.
pub(super) const RELEASE: &str = "release savepoint change";
const ROLL_BACK: &str = "rollback to savepoint change; release savepoint change";

impl Postgres {
    /// Hides the tables that a dry run writes to.
    pub(in crate::db) async fn hide_tables(
        &self,
        tables: &'static TemporaryTables,
    ) -> Result<(), Error> {
        let Some(dry_run) = &self.dry_run else { return Ok(()) };
        let _permit = self.permits.acquire().await.map_err(|_| Error::Gone)?;
        let connection = self.begin_in_dry_run(dry_run, Instant::now() + self.wait).await?;
        if !connection.is_sharded {
            dry_run.hide(&connection, tables).await?;
        }
        connection.simple(RELEASE).await?;
        self.give_back(connection);
        Ok(())
    }

    /// Begins a change. The caller has the permit of the connection.
    pub(super) async fn begin_in_dry_run(
        &self,
        dry_run: &DryRun,
        ends: Instant,
    ) -> Result<Connection, Error> {
        let idle = lock_ignoring_poison(&self.idle).pop();
        let connection = match idle {
            Some(idle) => idle,
            // Another connection would not see the changes so far.
            None if dry_run.has_begun.load(Ordering::Acquire) => {
                let lost = "its connection was lost, and the dry run with it; repeat it";
                return Err(Error::Unreachable(lost.to_owned()));
            }
            None => {
                let connection = until(ends, self.connect()).await?;
                until(ends, connection.simple(BEGIN)).await?;
                dry_run.has_begun.store(true, Ordering::Release);
                connection
            }
        };
        until(ends, connection.begin(SAVEPOINT)).await?;
        Ok(connection)
    }

    /// Rolls a change back. A connection that does not answer is closed, which ends the dry run.
    pub(super) async fn roll_back_in_dry_run(&self, dry_run: &DryRun, connection: Connection) {
        // The change may have hidden the overlaid tables.
        dry_run.has_overlays.store(false, Ordering::Release);
        match until(Instant::now() + self.wait, connection.simple(ROLL_BACK)).await {
            Ok(()) => self.give_back(connection),
            Err(_) => connection.abandon(),
        }
    }
}
