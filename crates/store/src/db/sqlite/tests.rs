use tempfile::TempDir;
use tokio::runtime::Runtime;

use super::*;
use crate::db::{Bound, Step};

static COUNT: Sql = Sql::new("COUNT", "select count(*) from notes");

/// A file with an empty table `notes`.
async fn noted(directory: &TempDir, wait: Duration) -> Arc<Sqlite> {
    let sqlite = Sqlite::open(directory.path(), WhenAbsent::Create, wait).expect("a new file");
    let sqlite = Arc::new(sqlite);
    note(&sqlite, "create table notes (note text)").await.expect("a table");
    sqlite
}

async fn note(sqlite: &Arc<Sqlite>, text: &'static str) -> Result<(), Error> {
    sqlite.write(async move |write| write.script(text).await).await
}

/// A store with a write in progress until the sender is dropped, and a runtime with few blocking
/// threads.
fn occupied(wait: Duration) -> (TempDir, Runtime, Arc<Sqlite>, Hold) {
    let directory = tempfile::tempdir().expect("a directory");
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().max_blocking_threads(2).build().expect("a runtime");
    let sqlite = runtime.block_on(noted(&directory, wait));
    let (hold, held) = std::sync::mpsc::channel::<()>();
    let (begin, begun) = tokio::sync::oneshot::channel();
    let holder = Arc::clone(&sqlite);
    runtime.spawn(async move {
        let write = holder.write(async move |_| {
            let _ = begin.send(());
            let _ = held.recv();
            Ok::<_, Error>(())
        });
        write.await
    });
    runtime.block_on(begun).expect("the write has begun");
    (directory, runtime, sqlite, hold)
}

type Hold = std::sync::mpsc::Sender<()>;

/// A login during a full ingest waits for one transaction at most: writes run in the order in which
/// they arrived, and waiting ones occupy no thread that others need.
#[test]
fn writes_run_in_the_order_of_their_calls() {
    let (_directory, runtime, sqlite, hold) = occupied(Duration::from_secs(300));
    let order = Arc::new(Mutex::new(Vec::new()));
    let write = |number: usize| {
        let (sqlite, order) = (Arc::clone(&sqlite), Arc::clone(&order));
        runtime.spawn(async move {
            let note = sqlite.write(async move |_| {
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
        let read = sqlite.read_long(async |read| read.one(&COUNT, &[], |row| row.read()).await);
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
    let write = || sqlite.write(async |_| Ok::<_, Error>(()));
    let late = runtime.block_on(write());
    assert!(matches!(late, Err(Error::Busy(waited)) if waited == wait), "{late:?}");
    drop(hold);
    runtime.block_on(write()).expect("a permit");
}

#[tokio::test]
async fn a_change_that_panics_is_rolled_back_and_blocks_no_other() {
    let directory = tempfile::tempdir().expect("a directory");
    let sqlite = noted(&directory, Duration::from_millis(100)).await;
    let panicked = sqlite.write::<(), Error>(async |write| {
        write.script("insert into notes (note) values ('half')").await?;
        panic!("in the middle");
    });
    assert!(matches!(panicked.await, Err(Error::Gone)));
    let whole = note(&sqlite, "insert into notes (note) values ('whole')").await;
    whole.expect("the next change runs");
    let kept = sqlite.one(&COUNT, &[], |row| row.read()).expect("a count");
    assert_eq!(kept, Some(1));
}

static CHECK: Sql = Sql::new("CHECK", "select note from notes where rowid = 1");

/// Reads a note, and then counts all notes twice; another connection adds one after each row.
struct Interrupted(std::path::PathBuf);

impl Interrupted {
    fn interrupt(&self) -> Result<(), Error> {
        Connection::open(&self.0)?.execute("insert into notes values ('another')", [])?;
        Ok(())
    }
}

impl Batch for Interrupted {
    type Proof = ();
    type Rows = Vec<i64>;
    type Step = ();

    fn check(&self) -> Bound<'_> {
        Bound::new(&CHECK, [])
    }

    fn prove(&self, row: Option<&Row<'_>>) -> Result<(), Refused> {
        assert!(row.is_some(), "the first note");
        Ok(self.interrupt()?)
    }

    fn rows(&self) -> Vec<i64> {
        Vec::new()
    }

    fn steps(&self) -> Vec<Step<'_, ()>> {
        vec![Bound::new(&COUNT, []).step(()), Bound::new(&COUNT, []).step(())]
    }

    fn on_row(&self, rows: &mut Vec<i64>, (): &(), row: &Row<'_>) -> Result<(), Error> {
        rows.push(row.read()?);
        self.interrupt()
    }
}

/// All rows of an answer are read from the snapshot in which the session was proven.
#[tokio::test]
async fn all_of_a_batch_is_read_from_the_snapshot_of_its_proof() {
    let directory = tempfile::tempdir().expect("a directory");
    let sqlite = noted(&directory, Duration::from_secs(60)).await;
    note(&sqlite, "insert into notes values ('first')").await.expect("a note");
    for (cost, want) in [(Cost::Inline, 1), (Cost::Unknown, 4), (Cost::Blocking, 7)] {
        let batch = Interrupted(directory.path().join(FILE));
        let (_, (), counts) = sqlite.batch(batch, cost).await.expect("an answer");
        assert_eq!(counts, [want, want], "{cost:?}");
    }
}

/// SQLite journals every page that an `insert … select` touches.
#[test]
fn rows_are_inserted_by_their_values() {
    let mut inserts = 0;
    for sql in crate::all_statements().chain(crate::transfer::statements()) {
        let text = sql.for_sqlite().expect("a statement");
        if text.starts_with("insert ") {
            inserts += 1;
            assert!(!text.contains(") select "), "{}: {text}", sql.name);
        }
    }
    assert!(inserts > 20, "{inserts}");
}
