//! The driver: two engines behind a handful of verbs. A statement is written once and means the
//! same on both; nothing above this module knows which one it runs on.

mod postgres;
mod sqlite;

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use kiosque_model::UnixMs;

use crate::sql::{Row, Sql, Value};
use crate::{Error, OpenOptions, Refused, StoreLocation};

use postgres::Postgres;
pub use postgres::lease::{ClockCheck, SessionLease};
use postgres::transaction::Transaction;
use sqlite::Sqlite;

/// The engine that keeps the data. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) enum Db {
    Sqlite(Arc<Sqlite>),
    Postgres(Arc<Postgres>),
}

/// A statement and what it is asked with.
pub(crate) struct Ask<'a> {
    sql: &'static Sql,
    params: Vec<Value<'a>>,
    /// The rows of a statement for many, before the other parameters.
    of: Option<Vec<Vec<Value<'a>>>>,
}

impl<'a> Ask<'a> {
    pub(crate) fn new(sql: &'static Sql, params: impl Into<Vec<Value<'a>>>) -> Ask<'a> {
        Ask { sql, params: params.into(), of: None }
    }

    /// The same for a statement with `{rows …}`.
    pub(crate) fn of(self, rows: Vec<Vec<Value<'a>>>) -> Ask<'a> {
        Ask { of: Some(rows), ..self }
    }
}

/// Statements that are asked together, each known before any is answered: one round trip to an
/// engine across the network, one snapshot on both. The first is the proof that the others may be
/// told: it has one row at most, and none is no proof.
pub(crate) trait Batch: Send + Sync + 'static {
    /// What the rows are collected in.
    type Found: Default + Send;

    /// The statements, in the order in which their rows come.
    fn asks(&self) -> Vec<Ask<'_>>;

    /// Takes a row of the statement in place `ask`.
    fn row(&self, found: &mut Self::Found, ask: usize, row: &Row<'_>) -> Result<(), Error>;

    /// Whether the first statement's rows allow for the others.
    fn proven(&self, found: &Self::Found) -> Result<(), Refused>;

    /// A statement that may show that the others' rows are known, and the place before which it is
    /// worth asking. An engine across the network is not asked it: that would cost what it saves.
    fn shortcut(&self) -> Option<(usize, Ask<'_>)> {
        None
    }

    /// Takes a row of the shortcut.
    fn shortcut_row(&self, _: &mut Self::Found, _: &Row<'_>) -> Result<(), Error> {
        Ok(())
    }

    /// What is to be done with the statement in place `ask`, by the rows before it. An engine
    /// across the network has been asked everything by then.
    fn due(&self, _: &Self::Found, _: usize) -> Due {
        Due::Now
    }
}

/// What is to be done with a statement of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    /// It is asked.
    Now,
    /// It would find nothing that is not known.
    Never,
    /// It is asked where long work is, whatever was thought of its batch before.
    AtLength,
}

/// How long something may take. Its turn is waited for no longer than a request waits, either way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Length {
    /// Key ranges and changes that cost the same at any size: no longer than a request waits.
    Short,
    /// It depends on the first rows: see [`Due::AtLength`]. An engine that is asked everything at
    /// once has to take it for long.
    Unsure,
    /// What counts, or walks over all that there is. A batch that is long has its own place, and
    /// ends like a short one; anything else takes as long as it takes.
    Long,
}

impl Db {
    pub(crate) fn open(opening: &OpenOptions<'_>) -> Result<Db, Error> {
        Ok(match opening.place {
            StoreLocation::Folder(folder) => {
                let sqlite = Sqlite::open(folder, opening.when_absent, opening.wait)?;
                Db::Sqlite(Arc::new(sqlite))
            }
            StoreLocation::Postgres(address) => {
                let postgres = Postgres::open(address, opening)?;
                Db::Postgres(Arc::new(postgres))
            }
        })
    }

    /// Runs a batch.
    pub(crate) async fn batch<B: Batch>(
        &self,
        batch: B,
        length: Length,
    ) -> Result<(B, B::Found), Refused> {
        match self {
            Db::Sqlite(sqlite) => sqlite.batch(batch, length).await,
            // Ten times as large as all else that becomes of a request, and moved with it.
            Db::Postgres(postgres) => Box::pin(postgres.batch(batch, length)).await,
        }
    }

    /// The first row of one short statement, if there is one.
    pub(crate) async fn one<T>(
        &self,
        sql: &'static Sql,
        params: &[Value<'_>],
        read: impl FnOnce(&Row<'_>) -> Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        match self {
            Db::Sqlite(sqlite) => sqlite.one(sql, params, read),
            Db::Postgres(postgres) => Box::pin(postgres.one(sql, params, read)).await,
        }
    }

    /// Reads from one snapshot on a thread for it, a few at a time.
    pub(crate) async fn read<T, E>(
        &self,
        length: Length,
        ask: impl AsyncFnOnce(&Read<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        match self {
            Db::Sqlite(sqlite) => sqlite.read_long(ask).await,
            Db::Postgres(postgres) => Box::pin(postgres.read(length, ask)).await,
        }
    }

    /// Writes in one transaction, on a thread for it; durable when it returns. An error takes
    /// everything back, and so does another who is in the way of the change: then it is done again.
    pub(crate) async fn write<T, E>(
        &self,
        length: Length,
        change: impl AsyncFn(&Write<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        match self {
            Db::Sqlite(sqlite) => sqlite.write(async move |write| change(write).await).await,
            Db::Postgres(postgres) => Box::pin(postgres.write(length, change)).await,
        }
    }

    /// Whether this node may answer for sessions: that no other can have answered for them on a
    /// server that took this one's place. A file has no other.
    pub(crate) fn sessions_stand(&self) -> Result<(), Error> {
        match self {
            Db::Sqlite(_) => Ok(()),
            Db::Postgres(postgres) => postgres.lease.stands(),
        }
    }

    /// Begins what answering for sessions needs; the layout is up to date.
    pub(crate) async fn start_lease(&self) -> Result<(), Error> {
        match self {
            Db::Sqlite(_) => Ok(()),
            Db::Postgres(postgres) => postgres.lease.take().await,
        }
    }

    /// Holds this node's clock against the database's, if there is one.
    pub(crate) fn check_clock(&self, now: UnixMs) -> Option<ClockCheck> {
        match self {
            Db::Sqlite(_) => None,
            Db::Postgres(postgres) => postgres.lease.check_clock(now.0),
        }
    }

    /// Whether the data is in a file, which this process writes itself.
    pub(crate) fn is_file(&self) -> bool {
        matches!(self, Db::Sqlite(_))
    }

    /// How large the files are, where they are ours.
    pub(crate) fn file_sizes(&self) -> Option<FileSizes> {
        match self {
            Db::Sqlite(sqlite) => Some(sqlite.file_sizes()),
            Db::Postgres(_) => None,
        }
    }
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
pub(crate) enum Read<'a> {
    Sqlite(&'a rusqlite::Connection),
    Postgres(Transaction<'a>),
}

impl Read<'_> {
    /// The first row, if there is one.
    pub(crate) async fn one<T>(
        &self,
        sql: &'static Sql,
        params: &[Value<'_>],
        read: impl FnOnce(&Row<'_>) -> Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        match self {
            Read::Sqlite(connection) => sqlite::one(connection, sql, params, read),
            Read::Postgres(transaction) => transaction.one(sql, params, read).await,
        }
    }

    /// Each row in turn.
    pub(crate) async fn each(
        &self,
        sql: &'static Sql,
        params: &[Value<'_>],
        visit: impl FnMut(&Row<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        match self {
            Read::Sqlite(connection) => sqlite::each(connection, sql, params, visit),
            Read::Postgres(transaction) => transaction.each(sql, params, visit).await,
        }
    }

    /// All rows.
    pub(crate) async fn all<T>(
        &self,
        sql: &'static Sql,
        params: &[Value<'_>],
        mut read: impl FnMut(&Row<'_>) -> Result<T, Error>,
    ) -> Result<Vec<T>, Error> {
        let mut all = Vec::new();
        self.each(sql, params, |row| {
            all.push(read(row)?);
            Ok(())
        })
        .await?;
        Ok(all)
    }

    /// Each row of a statement with `{rows …}`, for all of them.
    pub(crate) async fn each_of<const N: usize>(
        &self,
        sql: &'static Sql,
        rows: &[[Value<'_>; N]],
        params: &[Value<'_>],
        visit: impl FnMut(&Row<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        match self {
            Read::Sqlite(connection) => sqlite::each_row_of(connection, sql, rows, params, visit),
            Read::Postgres(transaction) => transaction.each_of(sql, rows, params, visit).await,
        }
    }

    /// Compiles a statement without running it.
    pub(crate) async fn compile(&self, sql: &'static Sql) -> Result<(), Error> {
        match self {
            Read::Sqlite(connection) => sqlite::compile(connection, sql),
            Read::Postgres(transaction) => transaction.compile(sql).await,
        }
    }

    /// Copies all that this snapshot sees into an empty file that nobody else uses, and tells how
    /// far it is; `Break` ends it. PostgreSQL has tools of its own for that.
    pub(crate) fn copy_to(
        &self,
        file: &Path,
        told: impl FnMut(Copied) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, Error> {
        match self {
            Read::Sqlite(connection) => sqlite::copy_to(connection, file, told),
            Read::Postgres(_) => Err(Error::Data(
                "is kept in PostgreSQL, which is backed up by its own tools: pg_basebackup with \
                 archived WAL, or pg_dump"
                    .to_owned(),
            )),
        }
    }
}

/// A transaction to write in; it reads its own writes.
pub(crate) struct Write<'a>(Read<'a>);

impl<'a> std::ops::Deref for Write<'a> {
    type Target = Read<'a>;

    fn deref(&self) -> &Read<'a> {
        &self.0
    }
}

impl Write<'_> {
    /// Runs a statement that changes rows, and says how many.
    pub(crate) async fn execute(
        &self,
        sql: &'static Sql,
        params: &[Value<'_>],
    ) -> Result<u64, Error> {
        match &self.0 {
            Read::Sqlite(connection) => sqlite::execute(connection, sql, params),
            Read::Postgres(transaction) => transaction.execute(sql, params).await,
        }
    }

    /// Runs a statement with `{rows …}` for all of them.
    pub(crate) async fn execute_each<'v>(
        &self,
        sql: &'static Sql,
        rows: impl Iterator<Item = impl AsRef<[Value<'v>]>>,
        params: &[Value<'_>],
    ) -> Result<(), Error> {
        match &self.0 {
            Read::Sqlite(connection) => sqlite::execute_each(connection, sql, rows, params),
            Read::Postgres(transaction) => {
                transaction.execute_each(sql, rows.collect(), params).await
            }
        }
    }

    /// Runs the statements of a migration.
    pub(crate) async fn script(&self, text: &str) -> Result<(), Error> {
        match &self.0 {
            Read::Sqlite(connection) => sqlite::script(connection, text),
            Read::Postgres(transaction) => transaction.script(text).await,
        }
    }

    /// Waits until no other transaction is behind this line; none will be until this one ends.
    /// Whoever writes to a file is alone already.
    pub(crate) async fn alone(&self) -> Result<(), Error> {
        match &self.0 {
            Read::Sqlite(_) => Ok(()),
            Read::Postgres(transaction) => transaction.alone().await,
        }
    }
}
