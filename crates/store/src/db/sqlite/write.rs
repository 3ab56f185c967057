//! Write transactions, and the statements that they run.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use kiosque_locks::lock_ignoring_poison;
use kiosque_model::UnixMs;
use rusqlite::{Connection, ErrorCode};
use tokio::runtime::Handle;

use super::{Snapshot, Sqlite, closed, run_alone};
use crate::cooperative::yield_if_due;
use crate::db::erased::{Change, Done, Failure, on_blocking_pool};
use crate::db::{ClosedData, Write, permit};
use crate::error::Error;
use crate::sql::{Sql, Value};

/// The size to which the write-ahead log is truncated once its content has been copied to the
/// database file. Twice what it holds between two checkpoints, so that it is not truncated and
/// extended unnecessarily.
pub(super) const LOG_MAX_BYTES: i64 = 64 << 20;
/// The time between two attempts of a write to begin. Imports pause for longer than this between
/// transactions.
const RETRY_INTERVAL: Duration = Duration::from_millis(1);

/// Begins a transaction that writes.
const BEGIN_WRITE: &str = "begin immediate";

/// Opens the connection that writes. A database that has tables, but not the table `register`,
/// belongs to another program and is not changed. New data and a backup get a new identity, derived
/// from `now`, before they have a log.
pub(super) fn connect(
    path: &Path,
    wait: Duration,
    register: &str,
    now: UnixMs,
) -> Result<Connection, Error> {
    let writer = connect_unchanged(path, wait, register)?;
    // Another program may do the same at the same time.
    writer.execute_batch(BEGIN_WRITE)?;
    let mode: String = writer.query_row("pragma journal_mode", [], |row| row.get(0))?;
    if mode != "wal" {
        writer.pragma_update(None, "application_id", now.0 & 0x7fff_ffff)?;
    }
    writer.execute_batch("commit")?;
    writer.pragma_update(None, "journal_mode", "wal")?;
    writer.pragma_update(None, "synchronous", "full")?;
    // Checkpoints in larger steps: each one syncs the whole file.
    writer.pragma_update(None, "wal_autocheckpoint", 8_000)?;
    // A log that grew behind a long read is truncated once the read has ended.
    writer.pragma_update(None, "journal_size_limit", LOG_MAX_BYTES)?;
    writer.pragma_update(None, "cache_size", -32_000)?;
    // Creates the log and its index, whose identities are recorded.
    tables(&writer, register)?;
    // Writes retry by themselves, more often than SQLite does.
    writer.busy_timeout(Duration::ZERO)?;
    Ok(writer)
}

/// Opens the connection that writes like [`connect`], and changes no setting that is stored in the
/// file.
pub(super) fn connect_unchanged(
    path: &Path,
    wait: Duration,
    register: &str,
) -> Result<Connection, Error> {
    let writer = super::connect(path, wait)?;
    match tables(&writer, register)? {
        (1.., 0) => Err(Error::Data(format!(
            "{} is the database of another program; choose another directory",
            path.display()
        ))),
        _ => Ok(writer),
    }
}

/// Returns the number of tables and other objects, and the number with the name `register`.
fn tables(connection: &Connection, register: &str) -> Result<(i64, i64), Error> {
    let tables = "select count(*), coalesce(sum(name = ?1), 0) from sqlite_master";
    Ok(connection.query_row(tables, [register], |row| Ok((row.get(0)?, row.get(1)?)))?)
}

impl Sqlite {
    /// Writes in one transaction on the blocking pool; durable when it returns. An error rolls it
    /// back.
    pub(in crate::db) async fn write(
        self: &Arc<Self>,
        closed_data: ClosedData,
        change: Box<dyn Change>,
    ) -> Done {
        // Includes the wait for earlier writes and for a thread.
        let deadline = Instant::now() + self.wait;
        let permit = permit(&self.write_permit, self.wait).await?;
        let sqlite = Arc::clone(self);
        let here = Handle::current();
        on_blocking_pool(move || {
            // The work holds the permit, as above.
            let _permit = permit;
            let change = |write: &Write<'_>| here.block_on(change.run(write));
            sqlite.write_until(deadline, closed_data, change)
        })
        .await
    }

    fn write_until(
        &self,
        deadline: Instant,
        closed_data: ClosedData,
        change: impl FnOnce(&Write<'_>) -> Done,
    ) -> Done {
        self.files.check()?;
        let connection = lock_ignoring_poison(&self.writer);
        if let Some(dry_run) = &self.dry_run {
            return self.write_in_dry_run(dry_run, &connection, closed_data, change);
        }
        if !connection.is_autocommit() {
            // An earlier change panicked, and left its transaction open.
            run_alone(&connection, "rollback")?;
        }
        self.begin(&connection, deadline)?;
        let is_usable = match closed_data {
            ClosedData::Refused => closed::check(&connection).map_err(Failure::from),
            ClosedData::Accepted => Ok(()),
        };
        let done = is_usable.and_then(|()| change(&Write(self.reading(&connection))));
        let done = done.and_then(|done| {
            // A commit may copy the log to the database file, which must be the right one.
            self.confirm_files()?;
            let committed = run_alone(&connection, "commit");
            committed.map_err(|error| self.files.write_failed(error))?;
            self.confirm_files()?;
            self.files.write_succeeded();
            Ok(done)
        });
        if !connection.is_autocommit() {
            run_alone(&connection, "rollback")?;
        }
        done
    }

    /// Fails if a file is not the one that was opened, or was overwritten.
    fn confirm_files(&self) -> Result<(), Error> {
        self.compare_files();
        self.files.check()
    }

    /// Begins a transaction that writes.
    pub(super) fn begin(&self, connection: &Connection, deadline: Instant) -> Result<(), Error> {
        loop {
            match run_alone(connection, BEGIN_WRITE) {
                Err(Error::Sqlite(error)) if is_busy(&error) => {}
                other => return other.map_err(|error| self.files.write_failed(error)),
            }
            if Instant::now() >= deadline {
                return Err(Error::Busy(self.wait));
            }
            std::thread::sleep(RETRY_INTERVAL);
        }
    }
}

fn is_busy(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
}

/// Runs a statement for each row, and returns the number of rows that it changes. The prepared
/// statement is looked up once.
pub(in crate::db) fn execute_each<'v>(
    snapshot: &Snapshot<'_>,
    sql: &'static Sql,
    rows: impl Iterator<Item = impl AsRef<[Value<'v>]>>,
    params: &[Value<'v>],
) -> Result<u64, Error> {
    let mut statement = snapshot.connection.prepare_cached(sql.for_sqlite()?)?;
    let mut changed = 0;
    for row in rows {
        yield_if_due();
        let done = statement.execute(rusqlite::params_from_iter(row.as_ref().iter().chain(params)));
        changed += done.map_err(|error| snapshot.files.write_failed(error.into()))? as u64;
    }
    Ok(changed)
}

/// Runs the statements of a migration. `integer primary key` is the row id of a SQLite table, with
/// the same 64 bits; a key of any other type needs two look-ups. Small rows that are read by key
/// ranges are stored in key order.
pub(in crate::db) fn script(snapshot: &Snapshot<'_>, text: &str) -> Result<(), Error> {
    let text = text.replace("bigint primary key", "integer primary key");
    let text = text.replace("/* kept in the order of its key */", "without rowid");
    let done = snapshot.connection.execute_batch(&text);
    done.map_err(|error| snapshot.files.write_failed(error.into()))
}
