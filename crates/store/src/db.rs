//! The driver: two engines behind one set of operations. A statement is written once and means the
//! same on both. Nothing above this module depends on the engine, and this module knows no table.

mod database;
mod erased;
mod faults;
mod files;
mod open;
mod postgres;
mod read_permits;
mod reading;
mod sqlite;

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use kiosque_model::{AccountNo, UnixMs};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::error::{Error, Refused};
use crate::sql::{FromRow, Row, Sql, Value};

pub use faults::Faults;
pub use open::{Changes, OpenOptions, StoreLocation, WhenAbsent};
pub(crate) use open::{ClosedData, TemporaryTables};
pub(crate) use postgres::PLANNER;
pub use postgres::address::shown_address;
pub use postgres::lease::{ClockCheck, SessionLease};
use postgres::{Postgres, transaction::Transaction};
use reading::VisitChecked;
pub(crate) use reading::{Bound, CheckedRead, Reading, Readings};
pub use sqlite::{Copied, FileSizes, has_data};
pub(crate) use sqlite::{
    DATABASE, Header, INTEGRITY, INTEGRITY_OF_LISTS, PRIVATE_FILE, create_private, database_files,
    foreign_log, has_table, integrity_of, is_cut_off, mark_as_backup, open_private, unopened_entry,
};
use sqlite::{Snapshot, Sqlite};

/// The engine that stores the data. Cheap to clone.
#[derive(Clone, Debug)]
pub enum Db {
    /// Files in a directory.
    Sqlite(Arc<Sqlite>),
    /// A database that any number of nodes share.
    Postgres(Arc<Postgres>),
}

/// The time limit of the reads and writes of one transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Deadline {
    /// As long as a request waits.
    OfRequest,
    /// Starting the work is limited like a request; its duration is not.
    None,
}

impl Db {
    /// Opens the engine. `register` is the table that every database of this program has.
    pub(crate) fn open(options: &OpenOptions<'_>, register: &str) -> Result<Db, Error> {
        Ok(match options.place {
            StoreLocation::Directory(directory) => {
                Db::Sqlite(Arc::new(Sqlite::open(directory, options, register)?))
            }
            StoreLocation::Postgres(address) => {
                let postgres = Postgres::open(address, options)?;
                Db::Postgres(Arc::new(postgres))
            }
        })
    }

    /// Reads for an account, behind a check, in one snapshot; on Citus in one after the check. The
    /// read begins where it is cheapest, with a budget of work: on the calling thread for SQLite,
    /// on a shared connection for PostgreSQL. If the budget is spent, it begins again, without one,
    /// under a permit of the account: on the blocking pool or on a separate connection.
    pub(crate) async fn read_checked<T: Send + 'static>(
        &self,
        account: AccountNo,
        read: impl Fn() -> CheckedRead<T>,
    ) -> Result<T, Refused> {
        let began = Instant::now();
        let mut first = read();
        let CheckedRead { statements, answer, visit } = &mut first;
        let add: &mut VisitChecked<'_> = &mut |at, row| visit(answer, at, row);
        let short = match self {
            Db::Sqlite(sqlite) => sqlite.read_short(statements, add),
            // Boxed: this future is ten times as large as the rest of a request, and moves with it.
            Db::Postgres(postgres) => {
                Box::pin(postgres.read_short(statements, add, account, began)).await
            }
        };
        let ended = match short {
            Err(Refused::Store(error @ (Error::TooMuchWork(_) | Error::Busy(_)))) => error,
            done => return done.map(|()| first.answer),
        };
        let (permits, wait) = match self {
            Db::Sqlite(sqlite) => (&sqlite.long_read_permits, sqlite.wait),
            Db::Postgres(postgres) => (&postgres.long_read_permits, postgres.wait),
        };
        // Includes the wait for a permit.
        let ends = began + wait;
        let long = async {
            let permit = permits.acquire(account, ends).await?;
            match self {
                Db::Sqlite(sqlite) => sqlite.read_long(permit, ends, read()).await,
                Db::Postgres(postgres) => {
                    let mut read = read();
                    let CheckedRead { statements, answer, visit } = &mut read;
                    let add: &mut VisitChecked<'_> = &mut |at, row| visit(answer, at, row);
                    Box::pin(postgres.read_long(permit, ends, statements, add)).await?;
                    Ok(read.answer)
                }
            }
        };
        match long.await {
            // A request for less waits for the lock as well. While one is held, other reads that
            // wait for it have the permits of the account.
            Err(Refused::Store(Error::TooMuchWork(_))) if matches!(ended, Error::Busy(_)) => {
                Err(ended.into())
            }
            long => long,
        }
    }

    /// Returns the first row of one short statement, if there is one.
    pub(crate) async fn one<T: for<'r> FromRow<'r> + Send + 'static>(
        &self,
        sql: &'static Sql,
        params: &[Value<'_>],
    ) -> Result<Option<T>, Error> {
        self.faults().check()?;
        let mut first = None;
        match self {
            Db::Sqlite(sqlite) => sqlite.each(sql, params, first_into(&mut first))?,
            Db::Postgres(postgres) if postgres.dry_run.is_some() => {
                // Its changes are only visible in its transaction.
                let params: Vec<_> = params.iter().cloned().map(Value::into_owned).collect();
                let ask = async move |read: &Read<'_>| read.one(sql, &params).await;
                return self.read(Deadline::OfRequest, ask).await;
            }
            Db::Postgres(postgres) => {
                Box::pin(postgres.each(sql, params, first_into(&mut first))).await?;
            }
        }
        Ok(first)
    }

    /// Reads from one snapshot on the blocking pool, a few readers at a time. Reads for accounts
    /// have separate permits and connections.
    pub(crate) async fn read<T, E>(
        &self,
        deadline: Deadline,
        ask: impl AsyncFnOnce(&Read<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        let ask = erased::ask(ask);
        let done = match self {
            Db::Sqlite(sqlite) => sqlite.read(deadline, ask).await,
            Db::Postgres(postgres) => Box::pin(postgres.read(deadline, ask)).await,
        };
        erased::restore(done)
    }

    /// Writes in one transaction on the blocking pool; durable when it returns. An error rolls the
    /// transaction back. So does a conflict with another transaction, after which `change` runs
    /// again. Closed data is refused.
    pub(crate) async fn write<T, E>(
        &self,
        deadline: Deadline,
        change: impl AsyncFn(&Write<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        self.write_to(ClosedData::Refused, deadline, change).await
    }

    /// Runs one statement in a transaction, and returns the number of rows that it changes.
    pub(crate) async fn execute(&self, statement: Bound) -> Result<u64, Error> {
        let run =
            async move |write: &Write<'_>| write.execute(statement.sql, &statement.params).await;
        self.write(Deadline::OfRequest, run).await
    }

    /// Deletes what is older than `before`, some rows in each transaction, by a statement with this
    /// time and the number of rows as its parameters. Returns the number of deleted rows.
    pub(crate) async fn purge(&self, sql: &'static Sql, before: UnixMs) -> Result<u64, Error> {
        let mut purged = 0;
        loop {
            let params = [before.into(), i64::from(PURGED_PER_TRANSACTION).into()];
            let step = self.execute(Bound::new(sql, params)).await?;
            purged += step;
            if step < PURGED_PER_TRANSACTION.into() {
                return Ok(purged);
            }
        }
    }

    /// Like [`Db::write`], but for data that may be closed.
    pub(crate) async fn write_to<T, E>(
        &self,
        closed_data: ClosedData,
        deadline: Deadline,
        change: impl AsyncFn(&Write<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        let change = erased::change(change);
        let done = match self {
            Db::Sqlite(sqlite) => sqlite.write(closed_data, change).await,
            Db::Postgres(postgres) => Box::pin(postgres.write(deadline, change)).await,
        };
        let done = erased::restore::<T, E>(done)?;
        self.faults().check()?;
        Ok(done)
    }

    /// Returns the engine if it is PostgreSQL.
    fn postgres(&self) -> Option<&Arc<Postgres>> {
        match self {
            Db::Sqlite(_) => None,
            Db::Postgres(postgres) => Some(postgres),
        }
    }

    /// Returns the injected faults, for tests.
    pub fn faults(&self) -> &Faults {
        match self {
            Db::Sqlite(sqlite) => &sqlite.faults,
            Db::Postgres(postgres) => &postgres.faults,
        }
    }

    /// Checks that this node may answer for sessions: no other node can have changed them on a
    /// primary that was promoted meanwhile. SQLite data has one node.
    pub(crate) fn check_session_lease(&self) -> Result<(), Error> {
        self.postgres().map_or(Ok(()), |postgres| postgres.lease.check())
    }

    /// Takes the session lease and starts to renew it. The layout must be up to date. A dry run
    /// answers for no session.
    pub(crate) async fn start_lease(&self) -> Result<(), Error> {
        match self.postgres() {
            Some(postgres) if postgres.dry_run.is_none() => postgres.lease.take().await,
            _ => Ok(()),
        }
    }

    /// Compares this node's clock with the database's; `None` for SQLite, which has no other clock.
    /// While the difference is larger than the lease allows, this node answers for no session.
    pub fn check_clock(&self, now: UnixMs) -> Option<ClockCheck> {
        self.postgres()?.lease.check_clock(now.0)
    }

    /// Returns whether the statements of a read are sent before its check is answered.
    pub(crate) fn sends_ahead(&self) -> bool {
        self.postgres().is_some()
    }

    /// Returns whether the data is distributed over the workers of a Citus cluster, so that a
    /// statement reads one shard.
    pub fn is_sharded(&self) -> bool {
        self.postgres().is_some_and(|postgres| postgres.is_sharded())
    }
}

/// A snapshot to read from.
pub(crate) struct Read<'a> {
    of_engine: ReadOf<'a>,
    faults: &'a Faults,
}

/// A snapshot of an engine.
enum ReadOf<'a> {
    Sqlite(Snapshot<'a>),
    Postgres(Transaction<'a>),
}

impl Read<'_> {
    /// Returns the first row, if there is one.
    pub(crate) async fn one<T: for<'r> FromRow<'r>>(
        &self,
        sql: &'static Sql,
        params: &[Value<'_>],
    ) -> Result<Option<T>, Error> {
        let mut first = None;
        self.each(sql, params, first_into(&mut first)).await?;
        Ok(first)
    }

    /// Visits each row.
    pub(crate) async fn each(
        &self,
        sql: &'static Sql,
        params: &[Value<'_>],
        visit: impl FnMut(&Row<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.each_of(sql, ONE_ROW, params, visit).await
    }

    /// Returns all rows.
    pub(crate) async fn all<T: for<'r> FromRow<'r>>(
        &self,
        sql: &'static Sql,
        params: &[Value<'_>],
    ) -> Result<Vec<T>, Error> {
        self.all_of(sql, ONE_ROW, params).await
    }

    /// Visits the rows of a bulk statement for all bulk rows.
    pub(crate) async fn each_of<'v>(
        &self,
        sql: &'static Sql,
        rows: &[impl AsRef<[Value<'v>]>],
        params: &[Value<'v>],
        mut visit: impl FnMut(&Row<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.faults.check()?;
        match &self.of_engine {
            ReadOf::Sqlite(snapshot) => snapshot.each_of(sql, rows, params, visit),
            ReadOf::Postgres(transaction) => {
                for rows in rows.chunks(ROWS_PER_STATEMENT) {
                    transaction.each_of(sql, rows, params, &mut visit).await?;
                }
                Ok(())
            }
        }
    }

    /// Returns the rows of a bulk statement for all bulk rows.
    pub(crate) async fn all_of<'v, T: for<'r> FromRow<'r>>(
        &self,
        sql: &'static Sql,
        rows: &[impl AsRef<[Value<'v>]>],
        params: &[Value<'v>],
    ) -> Result<Vec<T>, Error> {
        let mut all = Vec::new();
        self.each_of(sql, rows, params, |row| {
            all.push(row.read()?);
            Ok(())
        })
        .await?;
        Ok(all)
    }

    /// Returns the damage that checks of SQLite's integrity find in the database file. PostgreSQL
    /// has separate tools for that.
    pub(crate) fn integrity(&self, checks: &'static [Sql]) -> Result<Vec<String>, Error> {
        match &self.of_engine {
            ReadOf::Sqlite(snapshot) => snapshot.integrity(checks),
            ReadOf::Postgres(_) => Ok(Vec::new()),
        }
    }

    /// Copies this snapshot into an empty file that no other connection uses. `progress` is called
    /// between steps; `Break` ends the copy. PostgreSQL has separate tools for that.
    pub(crate) fn copy_to(
        &self,
        file: &Path,
        progress: impl FnMut(Copied) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, Error> {
        match &self.of_engine {
            ReadOf::Sqlite(snapshot) => snapshot.copy_to(file, progress),
            ReadOf::Postgres(_) => Err(Error::Data(
                "is stored in PostgreSQL, which is backed up by its own tools: pg_basebackup with \
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
    /// Returns the transaction if the engine is PostgreSQL.
    fn postgres(&self) -> Option<&Transaction<'_>> {
        match &self.of_engine {
            ReadOf::Sqlite(_) => None,
            ReadOf::Postgres(transaction) => Some(transaction),
        }
    }

    /// Runs a statement that changes rows, and returns their number.
    pub(crate) async fn execute(
        &self,
        sql: &'static Sql,
        params: &[Value<'_>],
    ) -> Result<u64, Error> {
        self.change(sql, ONE_ROW.iter(), params).await
    }

    /// Runs a bulk statement for all rows.
    pub(crate) async fn execute_each<'v>(
        &self,
        sql: &'static Sql,
        rows: impl Iterator<Item = impl AsRef<[Value<'v>]>>,
        params: &[Value<'v>],
    ) -> Result<(), Error> {
        self.change(sql, rows, params).await.map(drop)
    }

    async fn change<'v>(
        &self,
        sql: &'static Sql,
        rows: impl Iterator<Item = impl AsRef<[Value<'v>]>>,
        params: &[Value<'v>],
    ) -> Result<u64, Error> {
        self.faults.check()?;
        match &self.of_engine {
            ReadOf::Sqlite(snapshot) => sqlite::execute_each(snapshot, sql, rows, params),
            ReadOf::Postgres(transaction) => {
                let mut rows = rows.peekable();
                let mut changed = 0;
                while rows.peek().is_some() {
                    let some: Vec<_> = rows.by_ref().take(ROWS_PER_STATEMENT).collect();
                    changed += transaction.each_of(sql, &some, params, |_| Ok(())).await?;
                }
                Ok(changed)
            }
        }
    }

    /// Runs the statements of a migration.
    pub(crate) async fn script(&self, text: &str) -> Result<(), Error> {
        match &self.of_engine {
            ReadOf::Sqlite(snapshot) => sqlite::script(snapshot, text),
            ReadOf::Postgres(transaction) => transaction.script(text).await,
        }
    }

    /// Closes the data: from the commit on, every batch, read and write of any process is refused.
    /// Only data in SQLite is ever closed.
    pub(crate) fn close_data(&self) -> Result<(), Error> {
        match &self.of_engine {
            ReadOf::Sqlite(snapshot) => sqlite::close(snapshot.connection),
            ReadOf::Postgres(_) => {
                Err(Error::Data("data in PostgreSQL cannot be closed".to_owned()))
            }
        }
    }

    /// Locks the row that a statement selects until this transaction ends, unless another
    /// transaction has locked it. Returns whether it is locked now. On SQLite every writing
    /// transaction is the only one.
    pub(crate) async fn try_lock(
        &self,
        sql: &'static Sql,
        params: &[Value<'_>],
    ) -> Result<bool, Error> {
        self.faults.check()?;
        let Some(transaction) = self.postgres() else { return Ok(true) };
        transaction.try_lock(sql, params).await
    }

    /// Checks that this node may answer for sessions, from the primary that this transaction
    /// changes. Until then, nodes on an earlier primary may answer for what it replaces.
    pub(crate) fn check_session_lease(&self) -> Result<(), Error> {
        self.postgres().map_or(Ok(()), Transaction::check_session_lease)
    }

    /// Waits until every node that answers for sessions and keys sees what this transaction
    /// commits: after the promotion of a PostgreSQL standby, a node on the old primary may answer
    /// until its lease ends. A change that ends access waits before its first statement, so that it
    /// holds no lock meanwhile.
    pub(crate) async fn wait_for_earlier_leases(&self) -> Result<(), Error> {
        let Some(transaction) = self.postgres() else { return Ok(()) };
        transaction.wait_for_earlier_leases().await
    }

    /// Waits for the lock of the layout, and holds it until this transaction ends. On SQLite every
    /// writing transaction is the only one.
    pub(crate) async fn take_layout_lock(&self) -> Result<(), Error> {
        let Some(transaction) = self.postgres() else { return Ok(()) };
        transaction.take_layout_lock().await
    }
}

/// Maximum number of rows that a transaction of a purge deletes; other writers wait for it.
const PURGED_PER_TRANSACTION: u32 = 500;

/// Maximum number of bulk rows that one statement of PostgreSQL is given: they are in memory
/// together.
const ROWS_PER_STATEMENT: usize = 4_000;

/// The rows of a statement that is not a bulk statement: one without values.
const ONE_ROW: &[[Value<'static>; 0]] = &[[]];

/// Returns a visitor that reads the first row.
fn first_into<T: for<'r> FromRow<'r>>(
    first: &mut Option<T>,
) -> impl FnMut(&Row<'_>) -> Result<(), Error> {
    move |row| {
        if first.is_none() {
            *first = Some(row.read()?);
        }
        Ok(())
    }
}

/// Waits for earlier work of this process as long as a request may, without blocking a thread.
async fn permit(permits: &Arc<Semaphore>, wait: Duration) -> Result<OwnedSemaphorePermit, Error> {
    match tokio::time::timeout(wait, Arc::clone(permits).acquire_owned()).await {
        Ok(permit) => permit.map_err(|_| Error::Gone),
        Err(_) => Err(Error::Busy(wait)),
    }
}

#[cfg(test)]
mod tests;
