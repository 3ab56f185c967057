//! Dry runs: one transaction for the life of the store, which is never committed. Each change is a
//! savepoint in it, and reads use its connection. SQLite rolls it back when the connection closes.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::files::Files;
use super::{Snapshot, Sqlite, closed, run_alone, write};
use crate::Error;
use crate::db::erased::Done;
use crate::db::{ClosedData, Read, WhenAbsent, Write};
use crate::sql::Sql;

/// The transaction of a dry run.
#[derive(Debug, Default)]
pub(in crate::db) struct DryRun {
    has_begun: AtomicBool,
}

static SAVEPOINT: Sql = Sql::new("SAVEPOINT", "savepoint change");
static RELEASE: Sql = Sql::new("RELEASE", "release change");
static ROLL_BACK_TO: Sql = Sql::new("ROLL_BACK_TO", "rollback to change");

/// Returns the files of a directory's database, and its path. Data that does not exist and is to
/// be created is in memory.
pub(super) fn files(directory: &Path, when_absent: WhenAbsent) -> Result<(Files, PathBuf), Error> {
    match (Files::find(directory, WhenAbsent::Refuse), when_absent) {
        (Err(Error::NoData), WhenAbsent::Create) => {
            Ok((Files::absent(directory), PathBuf::from(":memory:")))
        }
        (found, _) => {
            let files = found?;
            let database = files.database().to_owned();
            Ok((files, database))
        }
    }
}

/// Opens the connection of a dry run. Its settings are not stored in the file.
pub(super) fn connect(path: &Path, wait: Duration, register: &str) -> Result<Connection, Error> {
    let writer = write::connect_unchanged(path, wait, register)?;
    writer.pragma_update(None, "cache_size", -32_000)?;
    // As for other writers.
    writer.busy_timeout(Duration::ZERO)?;
    Ok(writer)
}

impl Sqlite {
    /// Runs a change in a savepoint of the transaction, which the first change begins.
    pub(super) fn write_in_dry_run(
        &self,
        dry_run: &DryRun,
        connection: &Connection,
        closed_data: ClosedData,
        change: impl FnOnce(&Write<'_>) -> Done,
    ) -> Done {
        self.continue_dry_run(dry_run, connection)?;
        if closed_data == ClosedData::Refused {
            closed::check(connection)?;
        }
        run_alone(connection, &SAVEPOINT)?;
        let snapshot = Snapshot { connection, files: &self.files };
        let done = change(&Write(Read::Sqlite(snapshot)));
        // After some faults, such as a full disk, SQLite rolls back the whole transaction.
        if !connection.is_autocommit() {
            if done.is_err() {
                run_alone(connection, &ROLL_BACK_TO)?;
            }
            run_alone(connection, &RELEASE)?;
        }
        done
    }

    /// Begins the transaction, once. Outside of it, a change would be stored.
    fn continue_dry_run(&self, dry_run: &DryRun, connection: &Connection) -> Result<(), Error> {
        if !connection.is_autocommit() {
            return Ok(());
        }
        if dry_run.has_begun.load(Ordering::Acquire) {
            let ended = "the dry run was rolled back after a fault; repeat it";
            return Err(Error::Data(ended.to_owned()));
        }
        self.begin(connection, Instant::now() + self.wait)?;
        dry_run.has_begun.store(true, Ordering::Release);
        Ok(())
    }
}
