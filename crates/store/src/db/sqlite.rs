//! SQLite: one file in WAL with `synchronous=FULL`. Short reads have a snapshot each and run where
//! they are called; writes take turns in the order in which they come, each in a transaction of its
//! own.

mod copy;
mod rows;

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use kiosque_locks::lock_ignoring_poison;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{Batch, Due, FileSizes, Length, Read, Write};
use crate::sql::{Row, Sql, Value};
use crate::{Error, Refused, WhenAbsent};
pub(super) use copy::copy_to;
use rows::each_of;
pub(super) use rows::{compile, each, each_row_of, execute, execute_each, one, script};

const FILE: &str = "kiosque.db";
/// How often a waiting write asks again. Imports pause for longer than this between transactions.
const ASK_AGAIN: Duration = Duration::from_millis(1);
/// Readers kept for later; more are opened when needed and closed after use.
const IDLE_READERS_MAX: usize = 8;
/// Pages that a reader keeps which runs where it is called, in KiB: there are as many such readers
/// as threads that serve.
const READER_CACHE_KIB: i64 = 16_500;
/// Pages that a reader keeps which works long, in KiB: it mostly reads what it reads once.
const LONG_READER_CACHE_KIB: i64 = 4_000;

#[derive(Debug)]
pub(crate) struct Sqlite {
    path: std::path::PathBuf,
    wait: Duration,
    /// Whose turn it is to write: first come, first served.
    turn: Arc<Semaphore>,
    writer: Mutex<Connection>,
    readers: Readers,
    /// Whose turn it is to read for long.
    long_turns: Arc<Semaphore>,
    long_readers: Readers,
}

/// Connections that read, kept for whoever reads next.
#[derive(Debug)]
struct Readers {
    cache_kib: i64,
    idle: Mutex<Vec<Connection>>,
}

impl Sqlite {
    pub(super) fn open(
        folder: &Path,
        when_absent: WhenAbsent,
        wait: Duration,
    ) -> Result<Sqlite, Error> {
        let path = folder.join(FILE);
        if when_absent == WhenAbsent::Refuse && !path.is_file() {
            return Err(Error::Data("holds no data; `kiosque apply` makes some".to_owned()));
        }
        let writer = connect(&path, OpenFlags::default(), wait)?;
        writer.pragma_update(None, "journal_mode", "wal")?;
        writer.pragma_update(None, "synchronous", "full")?;
        // Checkpoints in larger steps: each one syncs the whole file.
        writer.pragma_update(None, "wal_autocheckpoint", 8_000)?;
        writer.pragma_update(None, "cache_size", -32_000)?;
        // Writes ask for their turn themselves, more often than SQLite would.
        writer.busy_timeout(Duration::ZERO)?;
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Ok(Sqlite {
            path,
            wait,
            turn: Arc::new(Semaphore::new(1)),
            writer: Mutex::new(writer),
            readers: Readers { cache_kib: READER_CACHE_KIB, idle: Mutex::default() },
            // One more than there are cores: one that waits for the disk keeps no core busy.
            long_turns: Arc::new(Semaphore::new(cores + 1)),
            long_readers: Readers { cache_kib: LONG_READER_CACHE_KIB, idle: Mutex::default() },
        })
    }

    /// Runs a batch in one snapshot: where it is called, or on a thread for work that may take
    /// long, a few at a time. Waiting for another thread would cost a short one more than its
    /// reads.
    pub(super) async fn batch<B: Batch>(
        self: &Arc<Self>,
        batch: B,
        length: Length,
    ) -> Result<(B, B::Found), Refused> {
        if length != Length::Long {
            let found = self.with_reader(&self.readers, |sqlite| run(sqlite, &batch, length))?;
            if let Some(found) = found {
                return Ok((batch, found));
            }
        }
        let turn = self.turn(&self.long_turns).await?;
        let sqlite = Arc::clone(self);
        let done = tokio::task::spawn_blocking(move || {
            // The turn is held by the work, which a caller that hangs up does not stop.
            let _turn = turn;
            let found = sqlite.with_reader(&sqlite.long_readers, |connection| {
                run(connection, &batch, Length::Long)
            })?;
            Ok((batch, found.ok_or(Error::Gone)?))
        });
        done.await.unwrap_or_else(|_| Err(Error::Gone.into()))
    }

    /// The first row of one statement, read where it is called.
    pub(super) fn one<T>(
        &self,
        sql: &'static Sql,
        params: &[Value<'_>],
        read: impl FnOnce(&Row<'_>) -> Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        self.with_reader(&self.readers, |connection| one(connection, sql, params, read))
    }

    fn with_reader<T, E: From<Error>>(
        &self,
        readers: &Readers,
        ask: impl FnOnce(&Connection) -> Result<T, E>,
    ) -> Result<T, E> {
        let connection = self.reader(readers).map_err(E::from)?;
        let answer = ask(&connection);
        // A reader whose snapshot was not given back is closed, which gives it back.
        if connection.is_autocommit() {
            let mut idle = lock_ignoring_poison(&readers.idle);
            if idle.len() < IDLE_READERS_MAX {
                idle.push(connection);
            }
        }
        answer
    }

    /// Reads from one snapshot on a thread for work that may take long, a few at a time.
    pub(super) async fn read_long<T, E>(
        self: &Arc<Self>,
        ask: impl AsyncFnOnce(&Read<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        let turn = self.turn(&self.long_turns).await.map_err(E::from)?;
        let sqlite = Arc::clone(self);
        let here = Handle::current();
        let done = tokio::task::spawn_blocking(move || {
            // As above.
            let _turn = turn;
            sqlite.with_reader(&sqlite.long_readers, |connection| {
                run_alone(connection, &BEGIN_READ).map_err(E::from)?;
                let answer = here.block_on(ask(&Read::Sqlite(connection)));
                let _ = run_alone(connection, &END_READ);
                answer
            })
        });
        done.await.unwrap_or_else(|_| Err(Error::Gone.into()))
    }

    /// Writes in one transaction, off the caller's thread; durable when it returns. An error takes
    /// everything back.
    pub(super) async fn write<T, E>(
        self: &Arc<Self>,
        change: impl AsyncFnOnce(&Write<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        // Waiting for earlier writes and for a thread counts, too.
        let patience_ends = Instant::now() + self.wait;
        let turn = self.turn(&self.turn).await.map_err(E::from)?;
        let sqlite = Arc::clone(self);
        let here = Handle::current();
        let done = tokio::task::spawn_blocking(move || {
            // As above.
            let _turn = turn;
            sqlite.write_until(patience_ends, |write| here.block_on(change(write)))
        });
        done.await.unwrap_or_else(|_| Err(Error::Gone.into()))
    }

    /// Waits for this process's earlier work, and keeps no thread waiting with it.
    async fn turn(&self, turns: &Arc<Semaphore>) -> Result<OwnedSemaphorePermit, Error> {
        let turn = Arc::clone(turns).acquire_owned();
        match tokio::time::timeout(self.wait, turn).await {
            Ok(Ok(turn)) => Ok(turn),
            Ok(Err(_)) => Err(Error::Gone),
            Err(_) => Err(Error::Busy(self.wait)),
        }
    }

    fn write_until<T, E: From<Error>>(
        &self,
        patience_ends: Instant,
        change: impl FnOnce(&Write<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let connection = lock_ignoring_poison(&self.writer);
        if !connection.is_autocommit() {
            // An earlier change panicked in the middle; nobody may go on with what it began.
            run_alone(&connection, &ROLLBACK).map_err(E::from)?;
        }
        self.begin(&connection, patience_ends).map_err(E::from)?;
        let done = change(&Write(Read::Sqlite(&connection))).and_then(|done| {
            run_alone(&connection, &COMMIT).map_err(E::from)?;
            Ok(done)
        });
        if !connection.is_autocommit() {
            run_alone(&connection, &ROLLBACK).map_err(E::from)?;
        }
        done
    }

    fn begin(&self, connection: &Connection, patience_ends: Instant) -> Result<(), Error> {
        loop {
            match run_alone(connection, &BEGIN_WRITE) {
                Err(Error::Sqlite(error)) if is_busy(&error) => {}
                other => return other,
            }
            if Instant::now() >= patience_ends {
                return Err(Error::Busy(self.wait));
            }
            std::thread::sleep(ASK_AGAIN);
        }
    }

    /// How large the files are: the database, and the log of what is not in it yet.
    pub(super) fn file_sizes(&self) -> FileSizes {
        let mut log = self.path.clone().into_os_string();
        log.push("-wal");
        let size = |path: &Path| std::fs::metadata(path).map_or(0, |found| found.len());
        FileSizes { database: size(&self.path), log: size(Path::new(&log)) }
    }

    fn reader(&self, readers: &Readers) -> Result<Connection, Error> {
        if let Some(reader) = lock_ignoring_poison(&readers.idle).pop() {
            return Ok(reader);
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let reader = connect(&self.path, flags, self.wait)?;
        reader.pragma_update(None, "query_only", true)?;
        reader.pragma_update(None, "cache_size", -readers.cache_kib)?;
        Ok(reader)
    }
}

static BEGIN_READ: Sql = Sql::new("BEGIN_READ", "begin");
static END_READ: Sql = Sql::new("END_READ", "rollback");
static BEGIN_WRITE: Sql = Sql::new("BEGIN_WRITE", "begin immediate");
static COMMIT: Sql = Sql::new("COMMIT", "commit");
static ROLLBACK: Sql = Sql::new("ROLLBACK", "rollback");

fn connect(path: &Path, flags: OpenFlags, wait: Duration) -> Result<Connection, Error> {
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(wait)?;
    // A plan is made once and kept: without this, each new parameter may make another.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.set_prepared_statement_cache_capacity(128);
    Ok(connection)
}

fn is_busy(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
}

/// Runs a batch: its first statement decides whether the others are run. `None`: it is longer than
/// it was thought to be.
fn run<B: Batch>(
    connection: &Connection,
    batch: &B,
    length: Length,
) -> Result<Option<B::Found>, Refused> {
    let (mut found, asks, shortcut) = (B::Found::default(), batch.asks(), batch.shortcut());
    let Some((proof, others)) = asks.split_first() else { return Ok(Some(found)) };
    debug_assert!(proof.of.is_none(), "a proof is one statement");
    let mut statement = connection.prepare_cached(proof.sql.for_sqlite()?).map_err(Error::from)?;
    let mut rows = statement.query(rusqlite::params_from_iter(&proof.params))?;
    // It has one row at most. As long as nobody asks for another one, the others are asked of the
    // same snapshot: a transaction of their own would cost two more statements.
    if let Some(row) = rows.next()? {
        batch.row(&mut found, 0, &Row::Sqlite(row))?;
    }
    batch.proven(&found)?;
    for (at, ask) in (1..).zip(others) {
        if let Some((_, ask)) = shortcut.as_ref().filter(|(before, _)| *before == at) {
            each_of(connection, ask, |row| batch.shortcut_row(&mut found, row))?;
        }
        match batch.due(&found, at) {
            Due::Never => continue,
            Due::AtLength if length != Length::Long => return Ok(None),
            Due::Now | Due::AtLength => {}
        }
        each_of(connection, ask, |row| batch.row(&mut found, at, row))?;
    }
    Ok(Some(found))
}

fn run_alone(connection: &Connection, sql: &'static Sql) -> Result<(), Error> {
    connection.prepare_cached(sql.for_sqlite()?)?.execute([])?;
    Ok(())
}

#[cfg(test)]
mod tests;
