//! Dry runs: one transaction for the life of the store, which is never committed. Each change is a
//! savepoint in it, and reads use its connection. SQLite rolls it back when the connection closes.
//!
//! The transaction does not occupy the database's only writer, since it has a separate write-ahead
//! log, which begins as a copy of the database's log. The database file is shared: without a
//! checkpoint, SQLite only writes to the log. A snapshot of the database stays open, so no
//! checkpoint of another process copies a newer page into the file than the copied log has.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Read as _};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::files::{DATABASE, Files, database_files};
use super::{BEGIN_READ, Sqlite, closed, copy, run_alone, write};
use crate::db::erased::Done;
use crate::db::{ClosedData, WhenAbsent, Write};
use crate::error::Error;
use crate::file_system::{directory_of, io_error};

/// The mode of the directory of a log.
const PRIVATE_DIRECTORY: u32 = 0o700;
/// The size of a log's header, which changes when the log begins again.
const LOG_HEADER_BYTES: u64 = 32;

/// The transaction of a dry run.
#[derive(Debug, Default)]
pub(in crate::db) struct DryRun {
    has_begun: AtomicBool,
    /// The snapshot of the database that the transaction changes; `None` for data in memory.
    _snapshot: Option<Mutex<Connection>>,
}

/// Returns the files of a directory's database, and its path. Data that does not exist and is to be
/// created is in memory, and has none.
pub(super) fn files(
    directory: &Path,
    when_absent: WhenAbsent,
) -> Result<(Files, Option<PathBuf>), Error> {
    match (Files::find(directory, WhenAbsent::Refuse), when_absent) {
        (Err(Error::NoData), WhenAbsent::Create) => Ok((Files::absent(directory), None)),
        (found, _) => {
            let files = found?;
            let database = files.database().to_owned();
            Ok((files, Some(database)))
        }
    }
}

/// Opens the connection of a dry run. Its settings are not stored in the file.
pub(super) fn connect(
    database: Option<&Path>,
    wait: Duration,
    register: &str,
) -> Result<(Connection, DryRun), Error> {
    let path = database.unwrap_or(Path::new(":memory:"));
    let found = write::connect_unchanged(path, wait, register)?;
    let mode: String = found.pragma_query_value(None, "journal_mode", |row| row.get(0))?;
    // No server has used a file without a write-ahead log.
    let (writer, snapshot) = match mode.as_str() {
        "wal" => (with_own_log(path, &found, wait)?, Some(Mutex::new(found))),
        _ => (found, None),
    };
    writer.pragma_update(None, "cache_size", -32_000)?;
    // As for other writers.
    writer.busy_timeout(Duration::ZERO)?;
    Ok((writer, DryRun { has_begun: AtomicBool::new(false), _snapshot: snapshot }))
}

/// Opens a database with a separate log. Begins a snapshot on the other connection. The log has no
/// name once it is open: its space is freed when the process ends, however it ends.
fn with_own_log(path: &Path, found: &Connection, wait: Duration) -> Result<Connection, Error> {
    run_alone(found, BEGIN_READ)?;
    // The first read takes the snapshot. Closed data can be read: a move is retried.
    closed::read_mark(found)?;
    // A link to the database must not become a link to that link.
    let database = fs::canonicalize(path).map_err(|error| io_error(path, &error))?;
    let directory = own_directory(directory_of(&database))?;
    let opened = open_in(&directory, &database, wait);
    fs::remove_dir_all(&directory).map_err(|error| io_error(&directory, &error))?;
    opened
}

/// Creates a directory on the file system of the database.
fn own_directory(parent: &Path) -> Result<PathBuf, Error> {
    let process = std::process::id();
    let mut number = 0_u64;
    loop {
        let directory = parent.join(format!(".dry-run-{process}-{number}"));
        match DirBuilder::new().mode(PRIVATE_DIRECTORY).create(&directory) {
            Ok(()) => return Ok(directory),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
            Err(error) => return Err(io_error(&directory, &error)),
        }
    }
}

/// Opens the database under another name, next to which SQLite finds the copied log.
fn open_in(directory: &Path, database: &Path, wait: Duration) -> Result<Connection, Error> {
    let linked = directory.join(DATABASE);
    fs::hard_link(database, &linked).map_err(|error| io_error(&linked, &error))?;
    let [_, log, _] = database_files(database);
    let [_, own_log, _] = database_files(&linked);
    copy_log(&log, &own_log).map_err(|error| io_error(&own_log, &error))?;
    // Without locks: they would be the database's locks, as would the index of the log. In the
    // exclusive mode it is in memory.
    let writer = super::configured(copy::open_without_locks(&linked)?, wait)?;
    writer.pragma_update(None, "locking_mode", "exclusive")?;
    writer.pragma_update(None, "wal_autocheckpoint", 0)?;
    // The first read opens the log.
    closed::read_mark(&writer)?;
    Ok(writer)
}

/// Copies the log of a database of which a snapshot is open. Meanwhile, a log whose pages are all
/// in the database may restart, once: the pages after that are not copied to the database as long
/// as the snapshot is open.
fn copy_log(log: &Path, to: &Path) -> io::Result<()> {
    loop {
        let begun = log_header(log)?;
        fs::copy(log, to)?;
        if log_header(log)? == begun {
            return Ok(());
        }
    }
}

fn log_header(log: &Path) -> io::Result<Vec<u8>> {
    let mut header = Vec::new();
    File::open(log)?.take(LOG_HEADER_BYTES).read_to_end(&mut header)?;
    Ok(header)
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
        run_alone(connection, "savepoint change")?;
        let done = change(&Write(self.reading(connection)));
        // After some errors, such as a full disk, SQLite rolls back the whole transaction.
        if !connection.is_autocommit() {
            if done.is_err() {
                run_alone(connection, "rollback to change")?;
            }
            run_alone(connection, "release change")?;
        }
        done
    }

    /// Begins the transaction, once. Outside of it, a change would be stored.
    fn continue_dry_run(&self, dry_run: &DryRun, connection: &Connection) -> Result<(), Error> {
        if !connection.is_autocommit() {
            return Ok(());
        }
        if dry_run.has_begun.load(Ordering::Acquire) {
            let ended = "the dry run was rolled back after an error; repeat it";
            return Err(Error::Data(ended.to_owned()));
        }
        self.begin(connection, Instant::now() + self.wait)?;
        dry_run.has_begun.store(true, Ordering::Release);
        Ok(())
    }
}
