//! Moving the data of a directory to a database, sessions included. A move can be interrupted at
//! any time and continues where it was. At the end, the row count and digest of every table and
//! group are compared between both sides.

mod digest;
mod preview;
mod tables;
pub use preview::MovePreview;
pub(crate) use tables::statements;

use kiosque_model::{UnixMs, Zone};

use crate::db::{ClosedData, Db, Deadline, Read, Write};
use crate::error::Error;
use crate::metadata;
use crate::sql::Value;
use crate::views::Upkeep;
use digest::Digests;
use tables::{Cell, Table};

/// Rows that are read, and written, in one step. A row of sums can have some ten kilobytes.
const PAGE_ROWS: i64 = 1_000;
/// Metadata of the directory: the id of its move, and the time at which the move was complete.
const MOVE_ID: &str = "move_id";
const MOVED_AT: &str = "moved_at";
/// Metadata of the database: the id of the unfinished move into it.
const MOVE_INTO: &str = "move_into";

/// The progress of a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MoveProgress {
    /// The present step.
    pub step: MoveStep,
    /// The table that is copied or compared.
    pub table: &'static str,
    /// Rows of all tables so far in this step.
    pub rows: u64,
    /// Rows of all tables.
    pub of: u64,
}

/// The steps of a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MoveStep {
    /// Rows are copied.
    Copying,
    /// Both sides are read again and compared.
    Comparing,
}

/// The result of a move.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// Rows of all tables.
    pub rows: u64,
    /// Rows that earlier runs had copied.
    pub already: u64,
    /// Orders.
    pub orders: u64,
    /// Sessions, which stay valid.
    pub sessions: u64,
    /// Groups whose counts and digests are equal on both sides.
    pub groups: usize,
}

/// The reason why a move is not complete.
#[derive(Debug, thiserror::Error)]
pub enum MoveError {
    /// The database has data that no move brought.
    #[error("the database holds data already; a move goes into an empty one")]
    NotEmpty,
    /// A move from another directory has begun there.
    #[error("another directory's move into this database is not finished; give this one its own")]
    Another,
    /// The directory changed while the move was interrupted, or a copy failed.
    #[error(
        "the directory and the database differ; move again, into an empty database:\n{}",
        .0.join("\n")
    )]
    Differ(Vec<String>),
    /// The move is complete.
    #[error("this data has been moved already; the directory stays as it was then")]
    HasMoved,
    /// A store failed; copied rows stay, and the next run continues after them.
    #[error(transparent)]
    Store(#[from] Error),
}

/// Refuses data that has been moved away, and data whose move is not complete.
pub(crate) async fn check_complete(db: &Db) -> Result<(), Error> {
    if let Some(at_ms) = metadata::entry_now(db, MOVED_AT).await? {
        let at = Zone::utc().text(UnixMs(at_ms.parse().unwrap_or_default()));
        return Err(Error::Data(format!(
            "this data was moved to a database at {at} UTC; the directory stays as it was then"
        )));
    }
    if metadata::entry_now(db, MOVE_INTO).await?.is_some() {
        let text = "a move into this database is not finished; repeat `kiosque move`";
        return Err(Error::Data(text.to_owned()));
    }
    Ok(())
}

impl Upkeep<'_> {
    /// Moves all data to `to`, which must be empty or the target of an interrupted run of this
    /// move. This store is locked for writes meanwhile. Afterwards it cannot be opened, and
    /// programs that have it open can neither write nor prove sessions.
    ///
    /// # Errors
    /// See [`MoveError`]. This store stays the valid one until the move is complete.
    pub async fn move_to(
        self,
        to: Upkeep<'_>,
        now: UnixMs,
        progress: impl Fn(MoveProgress) + Send + Sync + 'static,
    ) -> Result<Moved, MoveError> {
        let id = self
            .0
            .db
            .write_to(ClosedData::Accepted, Deadline::OfRequest, async move |write| {
                move_id(write, now).await
            })
            .await?;
        let target = to.0.db.clone();
        // One transaction for the whole move: other writers of the directory time out.
        let moving = async move |from: &Write<'_>| {
            let id = id.clone();
            let moved_at = metadata::entry(from, MOVED_AT).await?;
            let directory = moved_at.map_or(DirectoryState::Open, |_| DirectoryState::Closed);
            let begin = async move |write: &Write<'_>| begin(write, &id, directory).await;
            target.write(Deadline::OfRequest, begin).await?;
            let already = match directory {
                DirectoryState::Open => Some(copy(from, &target, &progress).await?),
                DirectoryState::Closed => None,
            };
            let moved = compare(from, &target, &progress, already).await?;
            if directory == DirectoryState::Open {
                metadata::set_entry(from, MOVED_AT, &now.0.to_string()).await?;
                from.close_data()?;
            }
            Ok::<_, MoveError>(moved)
        };
        let moved = self.0.db.write_to(ClosedData::Accepted, Deadline::OfRequest, moving).await?;
        // Last, when the directory is closed, so that never both can be opened.
        let end = async |write: &Write<'_>| metadata::delete_entries(write, MOVE_INTO).await;
        to.0.db.write::<_, Error>(Deadline::OfRequest, end).await?;
        Ok(moved)
    }
}

/// Whether the directory can still be opened.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DirectoryState {
    Open,
    /// An earlier run completed the move, but did not open the database.
    Closed,
}

/// Returns the id of the directory's move, which the first run sets.
async fn move_id(write: &Write<'_>, now: UnixMs) -> Result<String, Error> {
    if let Some(id) = metadata::entry(write, MOVE_ID).await? {
        return Ok(id);
    }
    let id = now.0.to_string();
    metadata::set_entry(write, MOVE_ID, &id).await?;
    Ok(id)
}

/// Checks that the database is empty, or the unfinished target of this move.
async fn begin(write: &Write<'_>, id: &str, directory: DirectoryState) -> Result<(), MoveError> {
    match metadata::entry(write, MOVE_INTO).await? {
        Some(unfinished) if unfinished == id => Ok(()),
        Some(_) => Err(MoveError::Another),
        None if directory == DirectoryState::Closed => Err(MoveError::HasMoved),
        None => {
            for table in tables::all() {
                if !table.has_initial_rows
                    && write.one(&table.any, &[], |_| Ok(())).await?.is_some()
                {
                    return Err(MoveError::NotEmpty);
                }
            }
            Ok(metadata::set_entry(write, MOVE_INTO, id).await?)
        }
    }
}

/// Copies table by table, in the order of their keys. The progress of large tables is stored in the
/// transaction that copies the rows. Returns how many rows earlier runs had copied.
async fn copy(
    from: &Write<'_>,
    to: &Db,
    progress: &(impl Fn(MoveProgress) + Send + Sync),
) -> Result<u64, MoveError> {
    let of = rows_in_all(from).await?;
    let (mut rows_so_far, mut already) = (0, 0);
    for table in tables::all() {
        let mut last = stored_position(to, table).await?;
        if let Some(position) = &last {
            let copied = from
                .one(&table.count_to, &tables::values(position), |row| row.read::<i64>())
                .await?;
            already += u64::try_from(copied.unwrap_or(0)).unwrap_or(0);
        }
        loop {
            let step = MoveStep::Copying;
            let rows = rows_so_far + already;
            progress(MoveProgress { step, table: table.name, rows, of });
            let rows = table.page(from, last.as_deref(), PAGE_ROWS).await?;
            let Some(end) = rows.last() else { break };
            let position = table.key_of(end);
            rows_so_far += u64::try_from(rows.len()).unwrap_or(0);
            let page = (rows, position.clone());
            let insert =
                async move |write: &Write<'_>| insert_page(write, table, &page.0, &page.1).await;
            to.write::<_, Error>(Deadline::None, insert).await?;
            last = Some(position);
        }
    }
    Ok(already)
}

async fn insert_page(
    write: &Write<'_>,
    table: &'static Table,
    rows: &[Vec<Cell>],
    position: &[Cell],
) -> Result<(), Error> {
    let values = rows.iter().map(|row| tables::values(row));
    write.execute_each(&table.insert, values, &[]).await?;
    if table.is_large {
        metadata::set_entry(write, &position_name(table), &tables::text(position)).await?;
    }
    Ok(())
}

fn position_name(table: &Table) -> String {
    format!("{MOVE_INTO}:{}", table.name)
}

/// Returns the key of the last row of a large table that an earlier run copied.
async fn stored_position(to: &Db, table: &'static Table) -> Result<Option<Vec<Cell>>, Error> {
    if !table.is_large {
        return Ok(None);
    }
    let key = metadata::entry_now(to, &position_name(table)).await?;
    Ok(key.and_then(|text| table.read_key(&text)))
}

/// Compares the counts and digests of every table and group between both sides.
async fn compare(
    from: &Write<'_>,
    to: &Db,
    progress: &(impl Fn(MoveProgress) + Send + Sync),
    already: Option<u64>,
) -> Result<Moved, MoveError> {
    // Plans made for empty tables would scan the full ones.
    let analyze = async |write: &Write<'_>| write.script("analyze").await;
    to.write::<_, Error>(Deadline::None, analyze).await?;
    let (mut here, mut differences) = (Digests::default(), Vec::new());
    let of = rows_in_all(from).await?;
    for table in tables::all() {
        let step = MoveStep::Comparing;
        progress(MoveProgress { step, table: table.name, rows: here.rows(), of });
        here.add(from, table).await?;
        let there = async move |read: &Read<'_>| {
            let mut there = Digests::default();
            there.add(read, table).await?;
            Ok::<_, Error>(there)
        };
        let there = to.read(Deadline::None, there).await?;
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
        rows += read.one(&table.count, &[], |row| row.read::<i64>()).await?.unwrap_or(0);
    }
    Ok(u64::try_from(rows).unwrap_or(0))
}

/// Returns a value that sorts before all values of a column type.
fn minimum(kind: &str) -> Value<'static> {
    if kind == "text" { Value::Text("") } else { Value::Int(i64::MIN) }
}
