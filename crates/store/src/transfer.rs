//! Moving: takes everything that a folder keeps over into a database, sessions included. It can be
//! interrupted at any time and goes on where it was; at the end every table is counted and
//! digested, group by group, on both sides.

mod digest;
mod tables;
pub(crate) use tables::statements;

use kiosque_model::{UnixMs, Zone};

use crate::db::{Db, Length, Read, Write};
use crate::sql::Value;
use crate::{Error, Store, metadata};
use digest::Digests;
use tables::{Cell, Table};

/// Rows that are read, and written, at a time.
const ROWS_AT_A_TIME: i64 = 2_000;
/// With the folder: which move it is, and when it was over.
const MOVE_ID: &str = "move_id";
const MOVED_AT: &str = "moved_at";
/// With the database: the move that is under way.
const MOVE_INTO: &str = "move_into";

/// How far a move is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moving {
    /// What is being done, of which table.
    pub step: MoveStep,
    /// Of which table.
    pub table: &'static str,
    /// Rows of all tables so far, in this step.
    pub rows: u64,
    /// Of so many.
    pub of: u64,
}

/// The two parts of a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MoveStep {
    /// Rows are copied.
    Copying,
    /// Both sides are read again and compared.
    Comparing,
}

/// What was moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// Rows of all tables.
    pub rows: u64,
    /// Rows that an earlier run had copied already.
    pub already: u64,
    /// Orders.
    pub orders: u64,
    /// Sessions, which go on.
    pub sessions: u64,
    /// Groups whose counts and digests are the same on both sides.
    pub groups: usize,
}

/// Why nothing is served from the database yet.
#[derive(Debug, thiserror::Error)]
pub enum MoveError {
    /// It is somebody's.
    #[error("the database holds data already; a move goes into an empty one")]
    NotEmpty,
    /// An earlier move from elsewhere began there.
    #[error("another folder's move into this database is not finished; give this one its own")]
    Another,
    /// The folder's data went on while the move was interrupted, or a copy failed.
    #[error("both sides differ; begin again with an empty database:\n{}", .0.join("\n"))]
    Differ(Vec<String>),
    /// It is over.
    #[error("this data has moved already; the folder is kept as it was then")]
    HasMoved,
    /// A store failed; what is copied stays, and a repetition goes on there.
    #[error(transparent)]
    Store(#[from] Error),
}

/// Data that has moved away is left as it was, and data that is still coming is not complete.
pub(crate) async fn settled(db: &Db) -> Result<(), Error> {
    if let Some(at_ms) = metadata::note_now(db, MOVED_AT).await? {
        let at = Zone::utc().text(UnixMs(at_ms.parse().unwrap_or_default()));
        return Err(Error::Data(format!(
            "this data has moved to a database, at {at} UTC; the folder is kept as it was then"
        )));
    }
    if metadata::note_now(db, MOVE_INTO).await?.is_some() {
        let what = "a move into this database is not finished; repeat `kiosque move`";
        return Err(Error::Data(what.to_owned()));
    }
    Ok(())
}

impl Store {
    /// Moves everything to `to`, which must be empty, or the place where this very move was
    /// interrupted. Nobody else writes here meanwhile; afterwards nobody opens this store any more.
    ///
    /// # Errors
    /// See [`MoveError`]. Until it is all there, this store is what counts.
    pub async fn move_to(
        &self,
        to: &Store,
        now: UnixMs,
        told: impl Fn(Moving) + Send + Sync + 'static,
    ) -> Result<Moved, MoveError> {
        let id = self.db.write(Length::Short, async move |write| move_id(write, now).await).await?;
        let there = to.clone();
        // One transaction for all: whoever would write to the folder has to wait, and gives up.
        let moving = async move |from: &Write<'_>| {
            let id = id.clone();
            let moved_at = metadata::note(from, MOVED_AT).await?;
            let folder = moved_at.map_or(Folder::Open, |_| Folder::Closed);
            let begin = async move |write: &Write<'_>| begin(write, &id, folder).await;
            there.db.write(Length::Short, begin).await?;
            let already = match folder {
                Folder::Open => Some(copy(from, &there, &told).await?),
                Folder::Closed => None,
            };
            let moved = compare(from, &there, &told, already).await?;
            if folder == Folder::Open {
                metadata::set_note(from, MOVED_AT, &now.0.to_string()).await?;
            }
            Ok::<_, MoveError>(moved)
        };
        let moved = self.db.write(Length::Short, moving).await?;
        // Only now that the folder is closed for good: never are both open.
        let end = async |write: &Write<'_>| metadata::drop_notes(write, MOVE_INTO).await;
        to.db.write::<_, Error>(Length::Short, end).await?;
        Ok(moved)
    }
}

/// Whether the folder is still what counts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Folder {
    Open,
    /// An earlier run got to its end, but for opening the database.
    Closed,
}

async fn move_id(write: &Write<'_>, now: UnixMs) -> Result<String, Error> {
    if let Some(id) = metadata::note(write, MOVE_ID).await? {
        return Ok(id);
    }
    let id = now.0.to_string();
    metadata::set_note(write, MOVE_ID, &id).await?;
    Ok(id)
}

/// The database is empty, or half full of this very data; or full of it, if the folder has been
/// closed and the database not been opened.
async fn begin(write: &Write<'_>, id: &str, folder: Folder) -> Result<(), MoveError> {
    match metadata::note(write, MOVE_INTO).await? {
        Some(under_way) if under_way == id => Ok(()),
        Some(_) => Err(MoveError::Another),
        None if folder == Folder::Closed => Err(MoveError::HasMoved),
        None => {
            for table in tables::all() {
                if !table.is_there_at_first
                    && write.one(&table.any, &[], |_| Ok(())).await?.is_some()
                {
                    return Err(MoveError::NotEmpty);
                }
            }
            Ok(metadata::set_note(write, MOVE_INTO, id).await?)
        }
    }
}

/// Copies table by table, in the order of their keys; how far the large ones are is noted in the
/// transaction that brings them there. Returns how many rows had been copied before.
async fn copy(
    from: &Write<'_>,
    to: &Store,
    told: &(impl Fn(Moving) + Send + Sync),
) -> Result<u64, MoveError> {
    let of = rows_in_all(from).await?;
    let (mut rows_so_far, mut already) = (0, 0);
    for table in tables::all() {
        let mut last = kept_mark(to, table).await?;
        if let Some(mark) = &last {
            let passed = from.one(&table.count_to, &tables::values(mark), |row| row.int(0)).await?;
            already += u64::try_from(passed.unwrap_or(0)).unwrap_or(0);
        }
        loop {
            let step = MoveStep::Copying;
            told(Moving { step, table: table.name, rows: rows_so_far + already, of });
            let rows = table.page(from, last.as_deref(), ROWS_AT_A_TIME).await?;
            let Some(end) = rows.last() else { break };
            let mark = table.key_of(end);
            rows_so_far += u64::try_from(rows.len()).unwrap_or(0);
            let put = (rows, mark.clone());
            let put = async move |write: &Write<'_>| put_page(write, table, &put.0, &put.1).await;
            to.db.write::<_, Error>(Length::Long, put).await?;
            last = Some(mark);
        }
    }
    Ok(already)
}

async fn put_page(
    write: &Write<'_>,
    table: &'static Table,
    rows: &[Vec<Cell>],
    mark: &[Cell],
) -> Result<(), Error> {
    let values = rows.iter().map(|row| tables::values(row));
    write.execute_each(&table.put, values, &[]).await?;
    if table.is_large {
        metadata::set_note(write, &mark_name(table), &tables::text(mark)).await?;
    }
    Ok(())
}

fn mark_name(table: &Table) -> String {
    format!("{MOVE_INTO}:{}", table.name)
}

async fn kept_mark(to: &Store, table: &'static Table) -> Result<Option<Vec<Cell>>, Error> {
    if !table.is_large {
        return Ok(None);
    }
    let kept = metadata::note_now(&to.db, &mark_name(table)).await?;
    Ok(kept.and_then(|text| table.read_key(&text)))
}

/// Counts and digests every table on both sides, group by group.
async fn compare(
    from: &Write<'_>,
    to: &Store,
    told: &(impl Fn(Moving) + Send + Sync),
    already: Option<u64>,
) -> Result<Moved, MoveError> {
    // A plan that was made for an empty table reads all of a full one.
    let settle = async |write: &Write<'_>| write.script("analyze").await;
    to.db.write::<_, Error>(Length::Long, settle).await?;
    let (mut here, mut differences) = (Digests::default(), Vec::new());
    let of = rows_in_all(from).await?;
    for table in tables::all() {
        let step = MoveStep::Comparing;
        told(Moving { step, table: table.name, rows: here.rows(), of });
        here.add(from, table).await?;
        let there = async move |read: &Read<'_>| {
            let mut there = Digests::default();
            there.add(read, table).await?;
            Ok::<_, Error>(there)
        };
        let there = to.db.read(Length::Long, there).await?;
        differences.extend(here.differences(&there, table));
    }
    if !differences.is_empty() {
        return Err(MoveError::Differ(differences));
    }
    Ok(Moved {
        rows: here.rows(),
        already: already.unwrap_or_else(|| here.rows()),
        orders: here.rows_of("orders"),
        sessions: here.rows_of("sessions"),
        groups: here.groups(),
    })
}

async fn rows_in_all(read: &Read<'_>) -> Result<u64, Error> {
    let mut rows = 0;
    for table in tables::all() {
        rows += read.one(&table.count, &[], |row| row.int(0)).await?.unwrap_or(0);
    }
    Ok(u64::try_from(rows).unwrap_or(0))
}

/// The least value of a type, before all that there are.
fn before_all(kind: &str) -> Value<'static> {
    if kind == "text" { Value::Text("") } else { Value::Int(i64::MIN) }
}
