//! The driver: one SQLite file in WAL with `synchronous=FULL`. Reads have a snapshot each and run
//! where they are called; writes take turns in the order in which they come, each in a transaction
//! of its own.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::backup::{Backup, StepResult};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::sql::{Row, Sql, Value};
use crate::{Error, WhenAbsent};

const FILE: &str = "kiosque.db";
/// How often a waiting write asks again. Imports pause for longer than this between transactions.
const ASK_AGAIN: Duration = Duration::from_millis(1);
/// How much is copied between two looks around: 1 MiB.
const PAGES_AT_A_TIME: i32 = 256;
/// Readers kept for later; more are opened when needed and closed after use.
const IDLE_READERS_MAX: usize = 8;
/// Pages that a reader keeps which runs where it is called, in KiB: there are as many such readers
/// as threads that serve.
const READER_CACHE_KIB: i64 = 18_000;
/// Pages that a reader keeps which works long, in KiB: it mostly reads what it reads once.
const LONG_READER_CACHE_KIB: i64 = 4_000;

#[derive(Debug)]
pub(crate) struct Db {
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

impl Db {
    pub(crate) fn open(
        folder: &Path,
        when_absent: WhenAbsent,
        wait: Duration,
    ) -> Result<Db, Error> {
        let path = folder.join(FILE);
        if when_absent == WhenAbsent::Refuse && !path.is_file() {
            return Err(Error::Data("holds no data; `kiosque apply` makes some".to_owned()));
        }
        let writer = connect(&path, OpenFlags::default(), wait)?;
        writer.pragma_update(None, "journal_mode", "wal")?;
        writer.pragma_update(None, "synchronous", "full")?;
        // Checkpoints in larger steps: each one syncs the whole file.
        writer.pragma_update(None, "wal_autocheckpoint", 4_000)?;
        writer.pragma_update(None, "cache_size", -32_000)?;
        // Writes ask for their turn themselves, more often than SQLite would.
        writer.busy_timeout(Duration::ZERO)?;
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Ok(Db {
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

    /// Reads from one snapshot, on the calling thread: for key ranges that cost the same at any
    /// size. Waiting for another thread would cost more than the read itself.
    pub(crate) fn read<T, E: From<Error>>(
        &self,
        ask: impl FnOnce(&Read<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        self.read_with(&self.readers, ask)
    }

    fn read_with<T, E: From<Error>>(
        &self,
        readers: &Readers,
        ask: impl FnOnce(&Read<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let connection = self.reader(readers).map_err(E::from)?;
        let read = Read { connection: &connection };
        read.run(&BEGIN_READ).map_err(E::from)?;
        let answer = ask(&read);
        // A reader whose snapshot cannot be given back is closed, which gives it back.
        if read.run(&END_READ).is_ok() {
            let mut idle = lock(&readers.idle);
            if idle.len() < IDLE_READERS_MAX {
                idle.push(connection);
            }
        }
        answer
    }

    /// Reads from one snapshot on a thread for work that may take long, a few at a time.
    pub(crate) async fn read_long<T, E>(
        self: &Arc<Self>,
        ask: impl FnOnce(&Read<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        let turn = self.turn(&self.long_turns).await.map_err(E::from)?;
        let db = Arc::clone(self);
        let done = tokio::task::spawn_blocking(move || {
            // The turn is held by the work, which a caller that hangs up does not stop.
            let _turn = turn;
            db.read_with(&db.long_readers, ask)
        });
        done.await.unwrap_or_else(|_| Err(Error::Gone.into()))
    }

    /// Writes in one transaction, off the caller's thread; durable when it returns.
    pub(crate) async fn write<T, E>(
        self: &Arc<Self>,
        change: impl FnOnce(&Write<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        // Waiting for earlier writes and for a thread counts, too.
        let patience_ends = Instant::now() + self.wait;
        let turn = self.turn(&self.turn).await.map_err(E::from)?;
        let db = Arc::clone(self);
        let done = tokio::task::spawn_blocking(move || {
            // As above.
            let _turn = turn;
            db.write_until(patience_ends, change)
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

    /// Writes in one transaction on the calling thread; durable when it returns. An error takes
    /// everything back.
    pub(crate) fn write_here<T, E: From<Error>>(
        &self,
        change: impl FnOnce(&Write<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        self.write_until(Instant::now() + self.wait, change)
    }

    fn write_until<T, E: From<Error>>(
        &self,
        patience_ends: Instant,
        change: impl FnOnce(&Write<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let connection = lock(&self.writer);
        let write = Write { read: Read { connection: &connection } };
        if !connection.is_autocommit() {
            // An earlier change panicked in the middle; nobody may go on with what it began.
            write.run(&ROLLBACK).map_err(E::from)?;
        }
        self.begin(&write, patience_ends).map_err(E::from)?;
        let done = change(&write).and_then(|done| {
            write.run(&COMMIT).map_err(E::from)?;
            Ok(done)
        });
        if !connection.is_autocommit() {
            write.run(&ROLLBACK).map_err(E::from)?;
        }
        done
    }

    fn begin(&self, write: &Write<'_>, patience_ends: Instant) -> Result<(), Error> {
        loop {
            match write.run(&BEGIN_WRITE) {
                Err(Error::Engine(error)) if is_busy(&error) => {}
                other => return other,
            }
            if Instant::now() >= patience_ends {
                return Err(Error::Busy(self.wait));
            }
            std::thread::sleep(ASK_AGAIN);
        }
    }

    /// How large the files are: the database, and the log of what is not in it yet.
    pub(crate) fn file_sizes(&self) -> FileSizes {
        let mut log = self.path.clone().into_os_string();
        log.push("-wal");
        let size = |path: &Path| std::fs::metadata(path).map_or(0, |found| found.len());
        FileSizes { database: size(&self.path), log: size(Path::new(&log)) }
    }

    fn reader(&self, readers: &Readers) -> Result<Connection, Error> {
        if let Some(reader) = lock(&readers.idle).pop() {
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

/// What panicked under a lock has left nothing that is not mended: a pool is whole between two
/// calls, and a transaction that was left open is rolled back before the next one.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How large the store's files are, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileSizes {
    /// What is kept.
    pub database: u64,
    /// What is kept and not in the database yet.
    pub log: u64,
}

/// How far a copy is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copied {
    /// Pages copied so far.
    pub pages: u64,
    /// Of so many.
    pub of: u64,
}

/// A snapshot to read from.
pub(crate) struct Read<'a> {
    connection: &'a Connection,
}

impl Read<'_> {
    /// The first row, if there is one.
    pub(crate) fn one<T>(
        &self,
        sql: &'static Sql,
        params: &[Value<'_>],
        read: impl FnOnce(&Row<'_>) -> Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        let mut statement = self.connection.prepare_cached(sql.for_sqlite())?;
        let mut rows = statement.query(rusqlite::params_from_iter(params))?;
        rows.next()?.map(|row| read(&Row(row))).transpose()
    }

    /// Each row in turn.
    pub(crate) fn each(
        &self,
        sql: &'static Sql,
        params: &[Value<'_>],
        mut visit: impl FnMut(&Row<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut statement = self.connection.prepare_cached(sql.for_sqlite())?;
        let mut rows = statement.query(rusqlite::params_from_iter(params))?;
        while let Some(row) = rows.next()? {
            visit(&Row(row))?;
        }
        Ok(())
    }

    /// All rows.
    pub(crate) fn all<T>(
        &self,
        sql: &'static Sql,
        params: &[Value<'_>],
        mut read: impl FnMut(&Row<'_>) -> Result<T, Error>,
    ) -> Result<Vec<T>, Error> {
        let mut all = Vec::new();
        self.each(sql, params, |row| {
            all.push(read(row)?);
            Ok(())
        })?;
        Ok(all)
    }

    /// Compiles a statement without running it.
    pub(crate) fn compile(&self, sql: &'static Sql) -> Result<(), Error> {
        match self.connection.prepare(sql.for_sqlite()) {
            Ok(_) => Ok(()),
            Err(error) => Err(Error::Data(format!("{}: {error}", sql.name))),
        }
    }

    /// Copies all that this snapshot sees into an empty file that nobody else uses, and tells how
    /// far it is; `Break` ends it. Writers go on, and nothing they do begins it anew: the copy
    /// reads in the snapshot's own transaction. What it wrote is not durable yet.
    pub(crate) fn copy_to(
        &self,
        file: &Path,
        mut told: impl FnMut(Copied) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, Error> {
        // Without locks: the caller holds one of its own kind.
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut copy = Connection::open_with_flags_and_vfs(file, flags, c"unix-none")?;
        // A copy that fails is thrown away: there is nothing to roll back.
        copy.pragma_update(None, "journal_mode", "off")?;
        copy.pragma_update(None, "synchronous", "off")?;
        let copying = Backup::new(self.connection, &mut copy)?;
        loop {
            let step = copying.step(PAGES_AT_A_TIME)?;
            let progress = copying.progress();
            let pages = |count| u64::try_from(count).unwrap_or(0);
            let (of, left) = (pages(progress.pagecount), pages(progress.remaining));
            match step {
                StepResult::Done => return Ok(ControlFlow::Continue(())),
                StepResult::More => {}
                _ => return Err(Error::Data("the copy is in use".to_owned())),
            }
            if told(Copied { pages: of.saturating_sub(left), of }).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
    }

    fn run(&self, sql: &'static Sql) -> Result<(), Error> {
        self.connection.prepare_cached(sql.for_sqlite())?.execute([])?;
        Ok(())
    }
}

/// A transaction to write in; it reads its own writes.
pub(crate) struct Write<'a> {
    read: Read<'a>,
}

impl<'a> std::ops::Deref for Write<'a> {
    type Target = Read<'a>;

    fn deref(&self) -> &Read<'a> {
        &self.read
    }
}

impl Write<'_> {
    /// Runs a statement that changes rows, and says how many.
    pub(crate) fn execute(&self, sql: &'static Sql, params: &[Value<'_>]) -> Result<usize, Error> {
        let mut statement = self.connection.prepare_cached(sql.for_sqlite())?;
        Ok(statement.execute(rusqlite::params_from_iter(params))?)
    }

    /// Runs a statement for each of many parameters; it is looked up once.
    pub(crate) fn execute_each<'v, const N: usize>(
        &self,
        sql: &'static Sql,
        all: impl Iterator<Item = [Value<'v>; N]>,
    ) -> Result<(), Error> {
        let mut statement = self.connection.prepare_cached(sql.for_sqlite())?;
        for params in all {
            statement.execute(rusqlite::params_from_iter(params))?;
        }
        Ok(())
    }

    /// Runs the statements of a migration.
    pub(crate) fn script(&self, text: &str) -> Result<(), Error> {
        Ok(self.connection.execute_batch(text)?)
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    static COUNT: Sql = Sql::new("COUNT", "select count(*) from notes");

    /// A store on which a write is under way until the sender is dropped, and a runtime with few
    /// threads for work that blocks.
    fn occupied(wait: Duration) -> (tempfile::TempDir, tokio::runtime::Runtime, Arc<Db>, Hold) {
        let folder = tempfile::tempdir().expect("a folder");
        let db = Db::open(folder.path(), WhenAbsent::Create, wait).expect("a new file");
        db.write_here(|write| write.script("create table notes (note text)")).expect("a table");
        let db = Arc::new(db);
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().max_blocking_threads(2).build().expect("a runtime");
        let (hold, held) = std::sync::mpsc::channel::<()>();
        let (begin, begun) = tokio::sync::oneshot::channel();
        let holder = Arc::clone(&db);
        runtime.spawn(async move {
            let write = holder.write(move |_| {
                let _ = begin.send(());
                let _ = held.recv();
                Ok::<_, Error>(())
            });
            write.await
        });
        runtime.block_on(begun).expect("the write has begun");
        (folder, runtime, db, hold)
    }

    type Hold = std::sync::mpsc::Sender<()>;

    /// "a login in the middle of a full ingest waits for one transaction at most": whoever came
    /// first writes first, and those that wait keep no thread from others.
    #[test]
    fn writes_have_their_turns_in_the_order_in_which_they_came() {
        let (_folder, runtime, db, hold) = occupied(Duration::from_secs(60));
        let order = Arc::new(Mutex::new(Vec::new()));
        let write = |number: usize| {
            let (db, order) = (Arc::clone(&db), Arc::clone(&order));
            runtime.spawn(async move {
                let note = db.write(move |_| {
                    lock(&order).push(number);
                    Ok::<_, Error>(())
                });
                note.await
            })
        };
        let writes: Vec<_> = (0..40).map(write).collect();
        runtime.block_on(async {
            // Tasks start in the order in which they were spawned.
            tokio::task::yield_now().await;
            let read = db.read_long(|read| read.one(&COUNT, &[], |row| row.int(0)));
            let read = tokio::time::timeout(Duration::from_secs(20), read).await;
            assert_eq!(read.expect("a thread is free").expect("a count"), Some(0));
            drop(hold);
            for write in writes {
                write.await.expect("no panic").expect("a turn");
            }
        });
        assert_eq!(*lock(&order), (0..40).collect::<Vec<_>>());
    }

    #[test]
    fn a_write_waits_for_its_turn_as_long_as_it_may() {
        let wait = Duration::from_millis(300);
        let (_folder, runtime, db, hold) = occupied(wait);
        let late = runtime.block_on(db.write(|_| Ok::<_, Error>(())));
        assert!(matches!(late, Err(Error::Busy(waited)) if waited == wait), "{late:?}");
        drop(hold);
        runtime.block_on(db.write(|_| Ok::<_, Error>(()))).expect("a turn");
    }

    #[test]
    fn a_change_that_panics_is_taken_back_and_stops_nobody() {
        let folder = tempfile::tempdir().expect("a folder");
        let wait = Duration::from_millis(100);
        let db = Db::open(folder.path(), WhenAbsent::Create, wait).expect("a new file");
        db.write_here(|write| write.script("create table notes (note text)")).expect("a table");
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            db.write_here::<(), Error>(|write| {
                write.script("insert into notes (note) values ('half')")?;
                panic!("in the middle");
            })
        }));
        assert!(panicked.is_err());
        db.write_here(|write| write.script("insert into notes (note) values ('whole')"))
            .expect("the next change has its turn");
        let kept = db.read(|read| read.one(&COUNT, &[], |row| row.int(0))).expect("a count");
        assert_eq!(kept, Some(1));
    }
}
