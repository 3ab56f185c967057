//! Moving the data of a directory to a database, including sessions. An interrupted move leaves a
//! database that is not opened; the next run empties it and begins again. At the end, the row count
//! and digest of every table and group are compared between both sides.

mod tables;

use std::collections::{BTreeMap, BTreeSet};

use kiosque_model::{UnixMs, Zone};
use sha2::{Digest, Sha256};

use crate::db::{ClosedData, Db, Deadline, Read, Write};
use crate::error::Error;
use crate::metadata;
use crate::sql::{Sql, Value};
use crate::views::Upkeep;
use tables::Table;

/// Metadata of the directory: the id that all moves of it have.
const MOVE_ID: &str = "move_id";
/// Metadata of the directory: the time of its completed move.
const MOVED_AT: &str = "moved_at";
/// Metadata of the directory: the [`MOVE_INTO`] of its completed move.
const MOVED_INTO: &str = "moved_into";
/// Metadata of the database: the id of the unfinished move into it. It is the [`MOVE_ID`] of the
/// directory, a space, and a number that no other database has.
const MOVE_INTO: &str = "move_into";

/// Whether a server has renewed its session lease in the last five seconds.
static SERVED: Sql = Sql::new(
    "SERVED",
    "select exists (select 1 from nodes
        where beat_at_ms > (extract(epoch from clock_timestamp()) * 1000)::bigint - 5000)",
);

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
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// The rows of each table.
    pub tables: Vec<(&'static str, u64)>,
    /// Groups whose counts and digests are equal on both sides; none in a dry run.
    pub groups: usize,
}

impl Moved {
    /// Returns the number of rows of all tables.
    pub fn rows(&self) -> u64 {
        self.tables.iter().map(|(_, rows)| rows).sum()
    }

    /// Returns the number of rows of a table.
    pub fn rows_of(&self, table: &str) -> u64 {
        self.tables.iter().filter(|(name, _)| *name == table).map(|(_, rows)| rows).sum()
    }
}

/// Why a move is not complete.
#[derive(Debug, thiserror::Error)]
pub enum MoveError {
    /// The database has data that was not moved there.
    #[error("the database already has data; move into an empty one")]
    NotEmpty,
    /// A server runs on it, which would answer from a part of the data, or another node did until
    /// now.
    #[error(
        "a server or a command has used the database in the last five seconds; stop the servers \
         of the database, and move again"
    )]
    Served,
    /// A move from another directory into it has begun.
    #[error(
        "another directory's move into this database is not finished; use another database for \
         this one"
    )]
    Another,
    /// The copy is not equal to the directory.
    #[error(
        "the directory and the database differ; stop the servers of the database, and move \
         again:\n{}",
        .0.join("\n")
    )]
    Differ(Vec<String>),
    /// The move is complete.
    #[error("this data has already been moved; the directory has not changed since")]
    HasMoved,
    /// A store failed; the next run begins again.
    #[error(transparent)]
    Store(#[from] Error),
}

/// Refuses data that has been moved away, and data whose move is not complete.
pub(crate) async fn check_complete(db: &Db) -> Result<(), Error> {
    if let Some(at_ms) = metadata::entry_now(db, MOVED_AT).await? {
        let at = Zone::utc().text(UnixMs(at_ms.parse().unwrap_or_default()));
        return Err(Error::Data(format!(
            "this data was moved to a database at {at} UTC; use that database with --store: the \
             directory has not changed since"
        )));
    }
    if metadata::entry_now(db, MOVE_INTO).await?.is_some() {
        let text = "a move into this database is not finished; repeat `kiosque move`";
        return Err(Error::Data(text.to_owned()));
    }
    Ok(())
}

impl Upkeep<'_> {
    /// Moves all data to `to`, which must be empty or the target of an interrupted run. This store
    /// is locked for writes meanwhile. Afterwards it cannot be opened, and programs that have it
    /// open can neither write nor prove sessions. If both stores are dry runs, the target is
    /// checked and the rows are counted.
    ///
    /// # Errors
    /// See [`MoveError`]. This store stays the valid one until the move is complete.
    pub async fn move_to(
        self,
        to: Upkeep<'_>,
        now: UnixMs,
        progress: impl Fn(MoveProgress) + Send + Sync + 'static,
    ) -> Result<Moved, MoveError> {
        let find_id = async move |write: &Write<'_>| move_id(write, now).await;
        let id = self.0.db.write_to(ClosedData::Accepted, Deadline::OfRequest, find_id).await?;
        let (target, opening) = (to.0.db.clone(), to.0.opening);
        // One transaction for the whole move: other writers of the directory time out.
        let moving = async move |from: &Write<'_>| {
            let closed_for = match metadata::entry(from, MOVED_AT).await? {
                Some(_) => Some(metadata::entry(from, MOVED_INTO).await?.unwrap_or_default()),
                None => None,
            };
            let tables = tables::all(from).await?;
            let id = id.clone();
            let is_dry_run = target.is_dry_run();
            let begin = async move |write: &Write<'_>| {
                let into = check_target(write, &id, closed_for.as_deref(), tables).await?;
                let into = into.unwrap_or_else(|| format!("{id} {}", opening.version(write)));
                if !is_dry_run {
                    begin(write, &into, tables).await?;
                }
                Ok::<_, MoveError>(into)
            };
            let into = target.write::<_, MoveError>(Deadline::None, begin).await?;
            let mut moved = Moved::default();
            for table in tables {
                moved.tables.push((table.name, table.count(from).await?));
            }
            if is_dry_run {
                return Ok(moved);
            }
            let copied = copy(from, &target, tables, moved.rows(), &progress).await?;
            compare(&copied, &target, &moved, &progress).await?;
            let groups = copied.iter().flat_map(|digests| digests.of_groups.keys().flatten());
            moved.groups = groups.collect::<BTreeSet<_>>().len();
            metadata::set_entry(from, MOVED_INTO, &into).await?;
            metadata::set_entry(from, MOVED_AT, &now.0.to_string()).await?;
            from.close_data()?;
            Ok::<_, MoveError>(moved)
        };
        let moved = self.0.db.write_to(ClosedData::Accepted, Deadline::OfRequest, moving).await?;
        // Last, when the directory is closed, so that never both can be opened.
        let end = async |write: &Write<'_>| metadata::delete_entry(write, MOVE_INTO).await;
        to.0.db.write::<_, Error>(Deadline::OfRequest, end).await?;
        Ok(moved)
    }
}

/// Returns the id of the directory's moves, which the first run sets.
async fn move_id(write: &Write<'_>, now: UnixMs) -> Result<String, Error> {
    if let Some(id) = metadata::entry(write, MOVE_ID).await? {
        return Ok(id);
    }
    let id = now.0.to_string();
    metadata::set_entry(write, MOVE_ID, &id).await?;
    Ok(id)
}

/// Checks that no server runs on the database, and that it is empty, or the unfinished target of a
/// move of this directory. Returns the id of that move. A closed directory has one target, whose
/// move may have stopped before its end. No server can start once the move has begun.
async fn check_target(
    read: &Read<'_>,
    id: &str,
    closed_for: Option<&str>,
    tables: &'static [Table],
) -> Result<Option<String>, MoveError> {
    let unfinished = metadata::entry(read, MOVE_INTO).await?;
    if closed_for.is_some() && closed_for != unfinished.as_deref() {
        return Err(MoveError::HasMoved);
    }
    match &unfinished {
        Some(into) if into.split(' ').next() == Some(id) => {}
        Some(_) => return Err(MoveError::Another),
        None => {
            // A new database has counters.
            for table in tables.iter().filter(|table| table.name != "counters") {
                if table.count(read).await? > 0 {
                    return Err(MoveError::NotEmpty);
                }
            }
        }
    }
    if read.one::<bool>(&SERVED, &[]).await?.unwrap_or_default() {
        return Err(MoveError::Served);
    }
    Ok(unfinished)
}

/// Marks the database as unfinished, and removes its content: the counters of new data, and the
/// rows of an interrupted run.
async fn begin(write: &Write<'_>, id: &str, tables: &[Table]) -> Result<(), Error> {
    let names: Vec<&str> = tables.iter().map(|table| table.name).collect();
    write.script(&format!("truncate {}", names.join(", "))).await?;
    metadata::set_entry(write, MOVE_INTO, id).await
}

/// Copies table by table, and returns the digests of the rows that were read.
async fn copy(
    from: &Write<'_>,
    to: &Db,
    tables: &'static [Table],
    of: u64,
    progress: &(impl Fn(MoveProgress) + Send + Sync),
) -> Result<Vec<Digests>, Error> {
    let mut copied = Vec::new();
    let mut before = 0;
    for table in tables {
        let mut digests = Digests::new(table);
        loop {
            let step = MoveStep::Copying;
            let rows = before + digests.rows();
            progress(MoveProgress { step, table: table.name, rows, of });
            let rows = digests.next(from).await?;
            if rows.is_empty() {
                break;
            }
            let insert = async move |write: &Write<'_>| {
                write.execute_each(&table.insert, rows.iter(), &[]).await
            };
            to.write::<_, Error>(Deadline::None, insert).await?;
        }
        before += digests.rows();
        copied.push(digests);
    }
    Ok(copied)
}

/// Compares the counts and digests of every table and group with the database's.
async fn compare(
    copied: &[Digests],
    to: &Db,
    moved: &Moved,
    progress: &(impl Fn(MoveProgress) + Send + Sync),
) -> Result<(), MoveError> {
    // Plans made for empty tables would scan the full ones.
    let analyze = async |write: &Write<'_>| write.script("analyze").await;
    to.write::<_, Error>(Deadline::None, analyze).await?;
    let of = moved.rows();
    let mut rows = 0;
    let mut differences = Vec::new();
    for here in copied {
        let table = here.table;
        progress(MoveProgress { step: MoveStep::Comparing, table: table.name, rows, of });
        let read = async |read: &Read<'_>| {
            let mut digests = Digests::new(table);
            while !digests.next(read).await?.is_empty() {}
            Ok::<_, Error>(digests)
        };
        let there = to.read(Deadline::None, read).await?;
        differences.extend(here.differences(&there));
        let counted = moved.rows_of(table.name);
        if differences.is_empty() && counted != there.rows() {
            differences.push(difference(table.name, counted, there.rows()));
        }
        rows += there.rows();
    }
    if differences.is_empty() { Ok(()) } else { Err(MoveError::Differ(differences)) }
}

/// The rows of a table on one side that were read so far: by group their number and their digest.
/// Equal rows have equal digests on both engines. A table without group numbers has one digest.
struct Digests {
    table: &'static Table,
    last: Option<Vec<Value<'static>>>,
    of_groups: BTreeMap<Option<i64>, (u64, Sha256)>,
}

impl Digests {
    fn new(table: &'static Table) -> Digests {
        Digests { table, last: None, of_groups: BTreeMap::new() }
    }

    /// Reads and adds the next rows, in the order of the key. Returns none after the last one.
    async fn next(&mut self, read: &Read<'_>) -> Result<Vec<Vec<Value<'static>>>, Error> {
        let rows = self.table.page(read, self.last.as_deref()).await?;
        for row in &rows {
            let (count, digest) = self.of_groups.entry(self.table.group_of(row)).or_default();
            *count += 1;
            row.iter().for_each(|value| update(digest, value));
        }
        self.last = rows.last().cloned();
        Ok(rows)
    }

    fn rows(&self) -> u64 {
        self.of_groups.values().map(|(rows, _)| rows).sum()
    }

    /// Returns descriptions of the differences between both sides of the table.
    fn differences(&self, there: &Digests) -> Vec<String> {
        let groups: BTreeSet<&Option<i64>> =
            self.of_groups.keys().chain(there.of_groups.keys()).collect();
        let differences = groups.into_iter().filter_map(|group| {
            let of = |side: &Digests| {
                let part = side.of_groups.get(group);
                part.map_or((0, None), |(rows, digest)| (*rows, Some(digest.clone().finalize())))
            };
            let (here, there) = (of(self), of(there));
            let group = group.map(|group| format!(", group number {group}")).unwrap_or_default();
            let part = format!("{}{group}", self.table.name);
            (here != there).then(|| difference(&part, here.0, there.0))
        });
        differences.collect()
    }
}

/// Describes a difference between both sides of a part of the data.
fn difference(part: &str, here: u64, there: u64) -> String {
    format!("{part}: {here} rows in the directory and {there} in the database, or different values")
}

/// Adds a value with its type and length, so that different rows never have the same bytes.
fn update(digest: &mut Sha256, value: &Value<'_>) {
    let mut add = |kind: u8, bytes: &[u8]| {
        digest.update([kind]);
        digest.update(bytes.len().to_be_bytes());
        digest.update(bytes);
    };
    match value {
        Value::Null => add(0, &[]),
        Value::Int(int) => add(1, &int.to_be_bytes()),
        Value::Text(text) => add(2, text.as_bytes()),
        Value::Bool(flag) => add(3, &[u8::from(*flag)]),
        Value::Bytes(bytes) => add(4, bytes),
    }
}
