//! SQLite: one file in WAL mode with `synchronous=FULL`. A short read runs on the calling thread in
//! its own snapshot. Writes are queued, each in its own transaction.

mod budget;
mod closed;
mod copy;
mod dry_run;
mod files;
mod header;
mod snapshot;
mod unopened;
mod write;

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use kiosque_locks::lock_ignoring_poison;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;

use super::erased::{Ask, Done, on_blocking_pool};
use super::faults::Faults;
use super::read_permits::{ReadPermit, ReadPermits};
use super::{
    Bound, Changes, CheckedRead, Deadline, ONE_ROW, OpenOptions, Read, ReadOf, VisitChecked, permit,
};
use crate::error::{Error, Refused};
use crate::sql::{Row, Sql, Value};
use budget::Budget;
pub(super) use closed::close;
pub use copy::Copied;
pub(crate) use copy::integrity_of;
use dry_run::DryRun;
use files::Files;
pub(crate) use files::{DATABASE, PRIVATE_FILE, create_private, database_files, open_private};
pub use files::{FileSizes, has_data};
pub(crate) use header::{Header, foreign_log, is_cut_off, mark_as_backup};
pub(super) use snapshot::Snapshot;
pub(crate) use snapshot::{INTEGRITY, INTEGRITY_OF_LISTS};
pub(crate) use unopened::{has_table, unopened_entry};
pub(super) use write::{execute_each, script};

/// Idle readers in a pool; more are opened when needed and closed after use.
const IDLE_READERS_MAX: usize = 8;
/// The page cache of a reader, in KiB. Twice the size saves one of a hundred reads of the file by
/// order pages, half of it costs one of eight.
const READER_CACHE_KIB: i64 = 4_000;
/// The time limit for a check of the whole file. A stopping program waits for the check.
const DAMAGE_CHECK_MAX: Duration = Duration::from_secs(30);

/// The files of a directory, and the connections to them.
#[derive(Debug)]
pub struct Sqlite {
    pub(super) wait: Duration,
    /// The permit to write: first come, first served.
    write_permit: Arc<Semaphore>,
    writer: Mutex<Connection>,
    /// The transaction of a dry run, which occupies the writer. Its snapshot is closed after it.
    pub(super) dry_run: Option<DryRun>,
    readers: Readers,
    /// Permits for long reads of accounts, which run on the blocking pool.
    pub(super) long_read_permits: ReadPermits,
    /// Permits for other reads there.
    long_permits: Arc<Semaphore>,
    /// The readers of both.
    long_readers: Readers,
    pub(super) faults: Faults,
    /// Dropped last, because it has a descriptor of the database file.
    pub(super) files: Files,
}

/// Idle connections that read.
type Readers = Mutex<Vec<Connection>>;

impl Sqlite {
    /// Opens the database of a directory. One that has tables, but not the table `register`,
    /// belongs to another program and is not changed.
    pub(super) fn open(
        directory: &Path,
        options: &OpenOptions<'_>,
        register: &str,
    ) -> Result<Sqlite, Error> {
        let wait = options.wait;
        let (mut files, opened) = match options.changes {
            Changes::Stored => {
                let files = Files::find(directory, options.when_absent)?;
                let writer = write::connect(files.database(), wait, register, options.now);
                (files, writer.map(|writer| (writer, None)))
            }
            Changes::RolledBack => {
                let (files, database) = dry_run::files(directory, options.when_absent)?;
                let opened = dry_run::connect(database.as_deref(), wait, register);
                (files, opened.map(|(writer, dry_run)| (writer, Some(dry_run))))
            }
        };
        let (writer, dry_run) = opened.map_err(|error| files.explain(error))?;
        files.identify()?;
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Ok(Sqlite {
            wait,
            write_permit: Arc::new(Semaphore::new(1)),
            writer: Mutex::new(writer),
            dry_run,
            readers: Readers::default(),
            long_read_permits: ReadPermits::for_cores(cores),
            // One more than cores: a reader that waits for the disk uses no core.
            long_permits: Arc::new(Semaphore::new(cores + 1)),
            long_readers: Readers::default(),
            faults: Faults::default(),
            files,
        })
    }

    /// Reads behind a check in one snapshot on the calling thread, within the budget for it.
    /// Switching threads costs a short read more than its statements.
    pub(super) fn read_short(
        &self,
        statements: &[Bound],
        visit: &mut VisitChecked<'_>,
    ) -> Result<(), Refused> {
        Budget::INLINE.limit(|| self.run_checked(&self.readers, statements, visit))
    }

    /// Reads behind a check in one snapshot on the blocking pool.
    pub(super) async fn read_long<T: Send + 'static>(
        self: &Arc<Self>,
        permit: ReadPermit,
        ends: Instant,
        mut read: CheckedRead<T>,
    ) -> Result<T, Refused> {
        let sqlite = Arc::clone(self);
        on_blocking_pool(move || {
            // The work holds the permit, because it continues when its caller is gone.
            let _permit = permit;
            let CheckedRead { statements, answer, visit } = &mut read;
            let add: &mut VisitChecked<'_> = &mut |at, row| visit(answer, at, row);
            let long = || sqlite.run_checked(&sqlite.long_readers, statements, add);
            Budget::Until(ends).limit(long)?;
            Ok(read.answer)
        })
        .await
    }

    fn run_checked(
        &self,
        readers: &Readers,
        statements: &[Bound],
        visit: &mut VisitChecked<'_>,
    ) -> Result<(), Refused> {
        let run = |connection: &Connection| run_checked(connection, statements, visit);
        let ran = self.with_reader(readers, run);
        ran.map_err(|refused| match refused {
            Refused::Store(error) => Refused::Store(self.files.explain(error)),
            refused @ Refused::Refusal(_) => refused,
        })
    }

    /// Visits the rows of one statement, read on the calling thread.
    pub(super) fn each(
        &self,
        sql: &'static Sql,
        params: &[Value<'_>],
        visit: impl FnMut(&Row<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.with_reader(&self.readers, |connection| {
            // Without yielding: a serving thread would wait for threads that compute.
            let rows = ONE_ROW.iter().map(<[_; 0]>::as_slice);
            let read = each_of(connection, sql, rows, params, visit);
            read.map_err(|error| self.files.explain(error))
        })
    }

    fn with_reader<T, E: From<Error>>(
        &self,
        readers: &Readers,
        ask: impl FnOnce(&Connection) -> Result<T, E>,
    ) -> Result<T, E> {
        self.files.check().map_err(E::from)?;
        if self.dry_run.is_some() {
            // Its changes are only visible in the transaction of the writer.
            return ask(&lock_ignoring_poison(&self.writer));
        }
        let connection =
            self.reader(readers).map_err(|error| E::from(self.files.explain(error)))?;
        let answer = ask(&connection);
        // A reader whose snapshot is still open is closed, which ends the snapshot.
        if connection.is_autocommit() {
            let mut idle = lock_ignoring_poison(readers);
            if idle.len() < IDLE_READERS_MAX {
                idle.push(connection);
            }
        }
        answer
    }

    /// Reads from one snapshot on the blocking pool, a few readers at a time.
    pub(super) async fn read(self: &Arc<Self>, deadline: Deadline, ask: Ask) -> Done {
        let budget = match deadline {
            Deadline::OfRequest => Budget::Until(Instant::now() + self.wait),
            Deadline::None => Budget::Unlimited,
        };
        let permit = permit(&self.long_permits, self.wait).await?;
        let sqlite = Arc::clone(self);
        let here = Handle::current();
        on_blocking_pool(move || {
            // The work holds the permit, as above.
            let _permit = permit;
            sqlite.with_reader(&sqlite.long_readers, |connection| {
                if sqlite.dry_run.is_none() {
                    run_alone(connection, BEGIN_READ)?;
                }
                let ask = || {
                    closed::check(connection)?;
                    here.block_on(ask(&sqlite.reading(connection)))
                };
                let answer = budget.limit(ask);
                if sqlite.dry_run.is_none() {
                    let _ = run_alone(connection, "rollback");
                }
                answer
            })
        })
        .await
    }

    /// Compares the files with those that were opened. While one is another file or is missing,
    /// every batch, read and write fails: acknowledged writes would be lost.
    pub(super) fn compare_files(&self) {
        if self.files.compare() {
            // They may have been opened after the change.
            self.close_idle_readers();
        }
    }

    /// Checks the whole file if SQLite has found it damaged. SQLite reports an error of the device
    /// in the same way, and that may have been temporary.
    pub(super) async fn check_damage(self: &Arc<Self>) {
        if self.files.check_undamaged().is_ok() {
            return;
        }
        let sqlite = Arc::clone(self);
        let check = move || {
            Budget::Until(Instant::now() + DAMAGE_CHECK_MAX).limit(|| {
                sqlite.with_reader(&sqlite.long_readers, |connection| {
                    Snapshot { connection, files: &sqlite.files }.integrity(&INTEGRITY)
                })
            })
        };
        if on_blocking_pool(check).await.is_ok_and(|errors| errors.is_empty()) {
            self.files.forget_damage();
        }
    }

    /// Returns a connection in a transaction, to read from.
    fn reading<'a>(&'a self, connection: &'a Connection) -> Read<'a> {
        let of_engine = ReadOf::Sqlite(Snapshot { connection, files: &self.files });
        Read { of_engine, faults: &self.faults }
    }

    fn close_idle_readers(&self) {
        for readers in [&self.readers, &self.long_readers] {
            lock_ignoring_poison(readers).clear();
        }
    }

    fn reader(&self, readers: &Readers) -> Result<Connection, Error> {
        if let Some(reader) = lock_ignoring_poison(readers).pop() {
            return Ok(reader);
        }
        let mut reader = connect(self.files.database(), self.wait)?;
        budget::install(&mut reader)?;
        reader.pragma_update(None, "query_only", true)?;
        reader.pragma_update(None, "cache_size", -READER_CACHE_KIB)?;
        Ok(reader)
    }
}

/// The last connection to close copies the log to the database file and removes it, but only while
/// the file is the one that the log belongs to. See [`connect`]. The log of a dry run belongs to
/// none.
impl Drop for Sqlite {
    fn drop(&mut self) {
        self.close_idle_readers();
        if self.dry_run.is_none() && !self.files.compare() {
            let writer = lock_ignoring_poison(&self.writer);
            // Otherwise the log remains, for the next program that opens the data.
            let _ = writer.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false);
        }
    }
}

/// Begins a transaction that reads.
const BEGIN_READ: &str = "begin";
/// How connections are opened. Each is used by one thread at a time.
const READ_WRITE: OpenFlags =
    OpenFlags::SQLITE_OPEN_READ_WRITE.union(OpenFlags::SQLITE_OPEN_NO_MUTEX);

fn connect(path: &Path, wait: Duration) -> Result<Connection, Error> {
    configured(Connection::open_with_flags(path, READ_WRITE)?, wait)
}

fn configured(connection: Connection, wait: Duration) -> Result<Connection, Error> {
    // SQLite counts milliseconds in 32 bits, which is 24 days.
    connection.busy_timeout(wait.min(Duration::from_millis(i32::MAX.unsigned_abs().into())))?;
    // Closing it copies no log to a file that may have been overwritten meanwhile.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    // Keeps one plan for each statement. Otherwise SQLite may plan again for new parameters.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.set_prepared_statement_cache_capacity(128);
    Ok(connection)
}

/// Runs a check and the statements behind it, unless it does not prove the caller.
fn run_checked(
    connection: &Connection,
    statements: &[Bound],
    visit: &mut VisitChecked<'_>,
) -> Result<(), Refused> {
    let [check, statements @ ..] = statements else { return Err(Error::Gone.into()) };
    let mut statement = connection.prepare_cached(check.sql.for_sqlite()?).map_err(Error::from)?;
    let params = rusqlite::params_from_iter(&check.params);
    let mut row = statement.query(params).map_err(Error::from)?;
    // The check returns at most one row. As long as no second one is requested, its statement keeps
    // the snapshot open for the others: a transaction would take two more statements.
    let proved = row.next().map_err(Error::from)?;
    closed::check(connection)?;
    let Some(proved) = proved else { return Ok(()) };
    if visit(0, &Row::Sqlite(proved))?.is_break() {
        return Ok(());
    }
    for (at, bound) in (1..).zip(statements) {
        let rows = bound.rows.iter().map(Vec::as_slice);
        each_of(connection, bound.sql, rows, &bound.params, |row| {
            if let Row::Sqlite(row) = row {
                budget::spend_row(row)?;
            }
            visit(at, row).map(drop)
        })?;
    }
    Ok(())
}

/// Runs a statement without parameters.
fn run_alone(connection: &Connection, text: &str) -> Result<(), Error> {
    connection.prepare_cached(text)?.execute([])?;
    Ok(())
}

/// Visits the rows of a statement for each of the bulk rows in turn.
fn each_of<'r, 'v: 'r, E: From<Error>>(
    connection: &Connection,
    sql: &'static Sql,
    rows: impl Iterator<Item = &'r [Value<'v>]>,
    params: &'r [Value<'v>],
    mut visit: impl FnMut(&Row<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let mut statement = connection.prepare_cached(sql.for_sqlite()?).map_err(Error::from)?;
    for row in rows {
        let params = rusqlite::params_from_iter(row.iter().chain(params));
        let mut found = statement.query(params).map_err(Error::from)?;
        while let Some(row) = found.next().map_err(Error::from)? {
            visit(&Row::Sqlite(row))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
