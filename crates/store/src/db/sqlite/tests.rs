use std::ops::ControlFlow;
use std::path::PathBuf;
use std::thread::{self, ThreadId};

use kiosque_model::{AccountNo, UnixMs};
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio::sync::Notify;

use super::*;
use crate::db::{Bound, Db, SessionLease, StoreLocation, WhenAbsent, Write};

static COUNT: Sql = Sql::new("COUNT", "select count(*) from notes");

fn options(directory: &TempDir, when_absent: WhenAbsent, wait: Duration) -> OpenOptions<'_> {
    OpenOptions {
        place: StoreLocation::Directory(directory.path()),
        when_absent,
        changes: Changes::Stored,
        zone: None,
        wait,
        lease: SessionLease::default(),
        now: UnixMs(0),
        random: [0; 16],
    }
}

/// A file with an empty table `notes`.
async fn noted(directory: &TempDir, wait: Duration) -> Arc<Sqlite> {
    let options = options(directory, WhenAbsent::Create, wait);
    let sqlite = Sqlite::open(directory.path(), &options, "notes");
    let sqlite = sqlite.expect("a new file");
    let sqlite = Arc::new(sqlite);
    note(&sqlite, "create table notes (note text)").await.expect("a table");
    sqlite
}

async fn note(sqlite: &Arc<Sqlite>, text: &'static str) -> Result<(), Error> {
    let note = async move |write: &Write<'_>| write.script(text).await;
    db(sqlite).write(Deadline::OfRequest, note).await
}

fn db(sqlite: &Arc<Sqlite>) -> Db {
    Db::Sqlite(Arc::clone(sqlite))
}

/// A store with a write in progress until the sender is dropped, and a runtime with few blocking
/// threads.
fn occupied(wait: Duration) -> (TempDir, Runtime, Arc<Sqlite>, Hold) {
    let directory = tempfile::tempdir().expect("a directory");
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().max_blocking_threads(2).build().expect("a runtime");
    let sqlite = runtime.block_on(noted(&directory, wait));
    let (hold, held) = std::sync::mpsc::channel::<()>();
    let begun = Arc::new(Notify::new());
    let (holder, begin) = (db(&sqlite), Arc::clone(&begun));
    runtime.spawn(async move {
        let write = holder.write(Deadline::OfRequest, async move |_: &Write<'_>| {
            begin.notify_one();
            let _ = held.recv();
            Ok::<_, Error>(())
        });
        write.await
    });
    runtime.block_on(begun.notified());
    (directory, runtime, sqlite, hold)
}

type Hold = std::sync::mpsc::Sender<()>;

/// A login during a full ingest waits for at most one transaction: writes run in the order in which
/// they arrived, and waiting ones occupy no thread that others need.
#[test]
fn writes_run_in_the_order_of_their_calls() {
    let (_directory, runtime, sqlite, hold) = occupied(Duration::from_secs(300));
    let order = Arc::new(Mutex::new(Vec::new()));
    let write = |number: usize| {
        let (db, order) = (db(&sqlite), Arc::clone(&order));
        runtime.spawn(async move {
            let note = db.write(Deadline::OfRequest, async move |_: &Write<'_>| {
                lock_ignoring_poison(&order).push(number);
                Ok::<_, Error>(())
            });
            note.await
        })
    };
    let writes: Vec<_> = (0..40).map(write).collect();
    runtime.block_on(async {
        // Tasks start in the order in which they were spawned.
        tokio::task::yield_now().await;
        let count = async |read: &Read<'_>| read.one::<i64>(&COUNT, &[]).await;
        let db = db(&sqlite);
        let read = db.read(Deadline::OfRequest, count);
        let read = tokio::time::timeout(Duration::from_secs(300), read).await;
        assert_eq!(read.expect("a thread is free").expect("a count"), Some(0));
        drop(hold);
        for write in writes {
            write.await.expect("no panic").expect("a permit");
        }
    });
    assert_eq!(*lock_ignoring_poison(&order), (0..40).collect::<Vec<_>>());
}

#[test]
fn a_write_waits_no_longer_than_a_request() {
    let wait = Duration::from_millis(300);
    let (_directory, runtime, sqlite, hold) = occupied(wait);
    let db = db(&sqlite);
    let write = || db.write(Deadline::OfRequest, async |_: &Write<'_>| Ok::<_, Error>(()));
    let late = runtime.block_on(write());
    assert!(matches!(late, Err(Error::Busy(waited)) if waited == wait), "{late:?}");
    drop(hold);
    runtime.block_on(write()).expect("a permit");
}

#[tokio::test]
async fn a_change_that_panics_is_rolled_back_and_blocks_no_other() {
    let directory = tempfile::tempdir().expect("a directory");
    let sqlite = noted(&directory, Duration::from_millis(100)).await;
    let half = async |write: &Write<'_>| -> Result<(), Error> {
        write.script("insert into notes (note) values ('half')").await?;
        panic!("in the middle");
    };
    let panicked = db(&sqlite).write(Deadline::OfRequest, half).await;
    assert!(matches!(panicked, Err(Error::Gone)), "{panicked:?}");
    let whole = note(&sqlite, "insert into notes (note) values ('whole')").await;
    whole.expect("the next change runs");
    assert_eq!(db(&sqlite).one::<i64>(&COUNT, &[]).await.expect("a count"), Some(1));
}

static CHECK: Sql = Sql::new("CHECK", "select note from notes where rowid = 1");

/// Reads a note, and then the statements, most of which count all notes; another connection adds
/// one after each row. The rows are the path of the file and the counts.
fn interrupted(
    directory: &TempDir,
    statements: &[&'static Sql],
) -> CheckedRead<(PathBuf, Vec<i64>)> {
    CheckedRead {
        statements: bound(&CHECK, statements),
        answer: (directory.path().join(DATABASE), Vec::new()),
        visit: |(path, counts), statement, row| {
            if statement != 0 {
                counts.push(row.read()?);
            }
            let other = Connection::open(path).map_err(Error::from)?;
            other.execute("insert into notes values ('another')", []).map_err(Error::from)?;
            Ok(ControlFlow::Continue(()))
        },
    }
}

fn bound(check: &'static Sql, statements: &[&'static Sql]) -> Vec<Bound> {
    [check].iter().chain(statements).map(|sql| Bound::new(sql, [])).collect()
}

/// All rows of an answer are read from the snapshot in which the session was proven.
#[tokio::test]
async fn all_of_a_read_is_from_the_snapshot_of_its_proof() {
    let directory = tempfile::tempdir().expect("a directory");
    let sqlite = noted(&directory, Duration::from_secs(60)).await;
    note(&sqlite, "insert into notes values ('first')").await.expect("a note");
    let read = async |statements: &[&'static Sql]| {
        let read = || interrupted(&directory, statements);
        db(&sqlite).read_checked(AccountNo(1), read).await.expect("rows").1
    };
    assert_eq!(read(&[&COUNT, &COUNT]).await, [1, 1]);
    // Begun with four notes. The repeated read is from another snapshot, with the notes of the
    // first one.
    assert_eq!(read(&[&COUNT, &MANY, &COUNT]).await, [6, 100_000, 6]);
}

/// Without the row of the check, or if it does not prove the caller, no statement is read.
#[tokio::test]
async fn a_check_that_does_not_prove_leaves_the_statements_unread() {
    let directory = tempfile::tempdir().expect("a directory");
    let sqlite = noted(&directory, Duration::from_secs(60)).await;
    for (check, rows) in [(&CHECK, 0), (&ONE, 1)] {
        let read = || CheckedRead {
            statements: bound(check, &[&ONE]),
            answer: 0,
            visit: |rows, statement, _| {
                assert_eq!(statement, 0, "a row of a statement was read");
                *rows += 1;
                Ok(ControlFlow::Break(()))
            },
        };
        let read = db(&sqlite).read_checked(AccountNo(1), read).await;
        assert_eq!(read.expect("no failure"), rows);
    }
}

static ONE: Sql = Sql::new("ONE", "select 1");
static MANY: Sql = Sql::new(
    "MANY",
    "with recursive n (i) as (select 1 union all select i + 1 from n where i < 100000)
    select count(*) from n",
);
static SOME_ROWS: Sql = Sql::new(
    "SOME_ROWS",
    "with recursive n (i) as (select 1 union all select i + 1 from n where i < 300)
    select i from n",
);
static MANY_ROWS: Sql = Sql::new(
    "MANY_ROWS",
    "with recursive n (i) as (select 1 union all select i + 1 from n where i < 1000)
    select i from n",
);
static LONG_ROWS: Sql = Sql::new(
    "LONG_ROWS",
    "with recursive n (i) as (select 1 union all select i + 1 from n where i < 300)
    select zeroblob(100) from n",
);
static ENDLESS: Sql = Sql::new(
    "ENDLESS",
    "with recursive n (i) as (select 1 union all select i + 1 from n) select count(*) from n",
);

/// Returns the threads that read the rows of a statement.
async fn threads_of(sqlite: &Arc<Sqlite>, sql: &'static Sql) -> Result<Vec<ThreadId>, Refused> {
    let read = || CheckedRead {
        statements: bound(&ONE, &[sql]),
        answer: Vec::new(),
        visit: |threads: &mut Vec<_>, statement, _| {
            if statement != 0 {
                threads.push(thread::current().id());
            }
            Ok(ControlFlow::Continue(()))
        },
    };
    db(sqlite).read_checked(AccountNo(1), read).await
}

/// LIM-14: a read begins on the calling thread, and again on another one if it takes much work:
/// many instructions, many rows, or long ones.
#[tokio::test]
async fn a_read_of_much_work_leaves_the_calling_thread() {
    let folder = tempfile::tempdir().expect("a folder");
    let sqlite = noted(&folder, Duration::from_secs(60)).await;
    let here = thread::current().id();
    assert_eq!(threads_of(&sqlite, &ONE).await.expect("a row"), [here]);
    assert_eq!(threads_of(&sqlite, &SOME_ROWS).await.expect("rows"), [here; 300]);
    for (long, rows) in [(&MANY, 1), (&MANY_ROWS, 1_000), (&LONG_ROWS, 300)] {
        let threads = threads_of(&sqlite, long).await.expect("rows");
        assert_eq!(threads.len(), rows);
        assert!(!threads.contains(&here), "{}", long.name);
    }
}

/// ENV-13: a read ends when its request has waited for the maximum time.
#[tokio::test]
async fn a_read_without_an_end_is_ended_at_its_deadline() {
    let folder = tempfile::tempdir().expect("a folder");
    let sqlite = noted(&folder, Duration::from_millis(50)).await;
    let ended = threads_of(&sqlite, &ENDLESS).await;
    assert!(matches!(ended, Err(Refused::Store(Error::TooMuchWork(_)))), "{ended:?}");
    let endless = async |read: &Read<'_>| read.one::<i64>(&ENDLESS, &[]).await;
    let ended = db(&sqlite).read(Deadline::OfRequest, endless).await;
    assert!(matches!(ended, Err(Error::TooMuchWork(_))), "{ended:?}");
}

/// SQLite journals every page that an `insert … select` touches.
#[test]
fn rows_are_inserted_by_their_values() {
    let mut inserts = 0;
    for sql in crate::statements::all() {
        let text = sql.for_sqlite().expect("a statement");
        inserts += usize::from(text.starts_with("insert "));
        let selects = text.starts_with("insert ") && text.contains(") select ");
        assert!(!selects, "{}: {text}", sql.name);
    }
    assert!(inserts > 20, "{inserts}");
}

/// The database of another program is refused by its tables, and is not changed.
#[test]
fn another_programs_database_is_refused() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join(DATABASE);
    let other = Connection::open(&path).expect("a database");
    other.execute_batch("create table photos (name text)").expect("a table");
    drop(other);
    let before = std::fs::read(&path).expect("a file");
    for when_absent in [WhenAbsent::Create, WhenAbsent::Refuse] {
        let wait = Duration::from_secs(5);
        let options = options(&directory, when_absent, wait);
        let refused = Sqlite::open(directory.path(), &options, "notes");
        let Err(Error::Data(reason)) = refused else { panic!("it was opened") };
        assert!(reason.ends_with("is the database of another program; choose another directory"));
        assert!(std::fs::read(&path).expect("a file") == before);
    }
    let entries = std::fs::read_dir(directory.path()).expect("a directory");
    assert_eq!(entries.count(), 1);
}

/// The log grows while a reader needs an old snapshot, and is truncated once it does not.
#[tokio::test]
async fn the_log_is_truncated_after_a_long_read() {
    let directory = tempfile::tempdir().expect("a directory");
    let sqlite = noted(&directory, Duration::from_secs(300)).await;
    let reader = sqlite.reader(&sqlite.readers).expect("a reader");
    reader.execute_batch("begin; select count(*) from notes").expect("a snapshot");
    let limit = u64::try_from(write::LOG_MAX_BYTES).expect("a size");
    let add = "insert into notes values (hex(zeroblob(4000000)))";
    while sqlite.files.sizes().log <= limit {
        note(&sqlite, add).await.expect("a note");
    }
    drop(reader);
    // The first write copies the log to the database file, the second restarts it.
    for _ in 0..2 {
        note(&sqlite, "insert into notes values ('short')").await.expect("a note");
    }
    assert!(sqlite.files.sizes().log <= limit, "{:?}", sqlite.files.sizes());
}

/// A program that waits for the lock of a restore has the old file open: what it stored there would
/// be lost.
#[tokio::test]
async fn a_file_that_is_replaced_while_it_is_opened_is_refused() {
    let directory = tempfile::tempdir().expect("a directory");
    let wait = Duration::from_secs(300);
    drop(noted(&directory, wait).await);
    let (database, copy) = (directory.path().join(DATABASE), directory.path().join("copy.db"));
    std::fs::copy(&database, &copy).expect("a copy");
    let mut files = Files::find(directory.path(), WhenAbsent::Refuse).expect("a file");
    let opened = connect(files.database(), wait).expect("the old file");
    std::fs::rename(&copy, &database).expect("another file");
    // The first read takes the lock, and creates a log next to the other file.
    let count = opened.query_row("select count(*) from notes", [], |row| row.get::<_, i64>(0));
    assert_eq!(count.expect("the old file"), 0);
    let refused = files.identify();
    assert!(matches!(refused, Err(Error::FileChanged(_))), "{refused:?}");
    drop((opened, files));
    let options = options(&directory, WhenAbsent::Refuse, wait);
    drop(Sqlite::open(directory.path(), &options, "notes").expect("the other file"));
}

/// After an error for which SQLite rolls back the transaction of a dry run, nothing more is
/// written: it would be stored.
#[tokio::test]
async fn a_dry_run_that_was_rolled_back_writes_no_more() {
    let directory = tempfile::tempdir().expect("a directory");
    let wait = Duration::from_secs(300);
    drop(noted(&directory, wait).await);
    let stored = options(&directory, WhenAbsent::Refuse, wait);
    let options = OpenOptions { changes: Changes::RolledBack, ..stored.clone() };
    let sqlite = Sqlite::open(directory.path(), &options, "notes").expect("a dry run");
    let sqlite = Arc::new(sqlite);
    note(&sqlite, "insert into notes values ('first')").await.expect("a change");
    let count = async |read: &Read<'_>| read.one::<i64>(&COUNT, &[]).await;
    assert_eq!(db(&sqlite).read(Deadline::None, count).await.expect("a count"), Some(1));
    let full = note(&sqlite, "rollback").await;
    assert!(full.is_ok(), "{full:?}");
    let refused = note(&sqlite, "insert into notes values ('second')").await;
    assert!(matches!(refused, Err(Error::Data(_))), "{refused:?}");
    drop(sqlite);
    let sqlite = Arc::new(Sqlite::open(directory.path(), &stored, "notes").expect("the file"));
    assert_eq!(db(&sqlite).read(Deadline::None, count).await.expect("a count"), Some(0));
}

/// The error of a read or a change that is not a store error.
#[derive(Debug, PartialEq)]
enum OwnError {
    Wrong(u8),
    OfStore(String),
}

impl From<Error> for OwnError {
    fn from(error: Error) -> OwnError {
        OwnError::OfStore(error.to_string())
    }
}

/// The driver runs work with erased types: the result and the error get them back.
#[tokio::test]
async fn reads_and_changes_return_their_own_results_and_errors() {
    let directory = tempfile::tempdir().expect("a directory");
    let db = db(&noted(&directory, Duration::from_secs(300)).await);
    for asked in [Ok("a result"), Err(1)] {
        let read = async move |_: &Read<'_>| asked.map_err(OwnError::Wrong);
        let change = async move |_: &Write<'_>| asked.map_err(OwnError::Wrong);
        let expected = asked.map_err(OwnError::Wrong);
        assert_eq!(db.read(Deadline::None, read).await, expected);
        assert_eq!(db.write(Deadline::None, change).await, expected);
    }
    let syntax = async |write: &Write<'_>| Ok::<_, OwnError>(write.script("no statement").await?);
    let failed = db.write(Deadline::None, syntax).await;
    assert!(matches!(&failed, Err(OwnError::OfStore(why)) if why.contains("syntax")), "{failed:?}");
    let panicked = async |_: &Read<'_>| -> Result<(), OwnError> { panic!("in the middle") };
    let gone = Err(OwnError::from(Error::Gone));
    assert_eq!(db.read(Deadline::None, panicked).await, gone);
}
