//! Write transactions, and the statements that they run.

use std::sync::Arc;
use std::time::{Duration, Instant};

use kiosque_locks::lock_ignoring_poison;
use rusqlite::{Connection, ErrorCode};
use tokio::runtime::Handle;

use super::{Sqlite, closed, run_alone};
use crate::Error;
use crate::cooperative::yield_if_due;
use crate::db::{ClosedData, Read, Write};
use crate::sql::{Sql, Value};

/// The time between two attempts of a write to begin. Imports pause for longer than this between
/// transactions.
const RETRY_INTERVAL: Duration = Duration::from_millis(1);

static BEGIN_WRITE: Sql = Sql::new("BEGIN_WRITE", "begin immediate");
static COMMIT: Sql = Sql::new("COMMIT", "commit");
static ROLLBACK: Sql = Sql::new("ROLLBACK", "rollback");

impl Sqlite {
    /// Writes in one transaction on the blocking pool; durable when it returns. An error rolls it
    /// back.
    pub(in crate::db) async fn write<T, E>(
        self: &Arc<Self>,
        closed_data: ClosedData,
        change: impl AsyncFnOnce(&Write<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        // Includes the wait for earlier writes and for a thread.
        let deadline = Instant::now() + self.wait;
        let permit = self.permit(&self.write_permit).await.map_err(E::from)?;
        let sqlite = Arc::clone(self);
        let here = Handle::current();
        let done = tokio::task::spawn_blocking(move || {
            // The work holds the permit, as above.
            let _permit = permit;
            let change = |write: &Write<'_>| here.block_on(change(write));
            sqlite.write_until(deadline, closed_data, change)
        });
        done.await.unwrap_or_else(|_| Err(Error::Gone.into()))
    }

    fn write_until<T, E: From<Error>>(
        &self,
        deadline: Instant,
        closed_data: ClosedData,
        change: impl FnOnce(&Write<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let connection = lock_ignoring_poison(&self.writer);
        if !connection.is_autocommit() {
            // An earlier change panicked, and left its transaction open.
            run_alone(&connection, &ROLLBACK).map_err(E::from)?;
        }
        self.begin(&connection, deadline).map_err(E::from)?;
        let is_usable = match closed_data {
            ClosedData::Refused => closed::check(&connection).map_err(E::from),
            ClosedData::Accepted => Ok(()),
        };
        let done = is_usable.and_then(|()| change(&Write(Read::Sqlite(&connection))));
        let done = done.and_then(|done| {
            run_alone(&connection, &COMMIT).map_err(E::from)?;
            Ok(done)
        });
        if !connection.is_autocommit() {
            run_alone(&connection, &ROLLBACK).map_err(E::from)?;
        }
        done
    }

    fn begin(&self, connection: &Connection, deadline: Instant) -> Result<(), Error> {
        loop {
            match run_alone(connection, &BEGIN_WRITE) {
                Err(Error::Sqlite(error)) if is_busy(&error) => {}
                other => return other,
            }
            if Instant::now() >= deadline {
                return Err(Error::Busy(self.wait));
            }
            std::thread::sleep(RETRY_INTERVAL);
        }
    }
}

fn is_busy(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
}

pub(in crate::db) fn execute(
    connection: &Connection,
    sql: &'static Sql,
    params: &[Value<'_>],
) -> Result<u64, Error> {
    let mut statement = connection.prepare_cached(sql.for_sqlite()?)?;
    Ok(statement.execute(rusqlite::params_from_iter(params))? as u64)
}

/// Runs a bulk statement for each row. The prepared statement is looked up once.
pub(in crate::db) fn execute_each<'v>(
    connection: &Connection,
    sql: &'static Sql,
    rows: impl Iterator<Item = impl AsRef<[Value<'v>]>>,
    params: &[Value<'_>],
) -> Result<(), Error> {
    let mut statement = connection.prepare_cached(sql.for_sqlite()?)?;
    for row in rows {
        yield_if_due();
        statement.execute(rusqlite::params_from_iter(row.as_ref().iter().chain(params)))?;
    }
    Ok(())
}

/// Runs the statements of a migration. `integer primary key` is the row id of a SQLite table, with
/// the same 64 bits; a key of any other type needs two look-ups. Small rows that are read by key
/// ranges are stored in key order.
pub(in crate::db) fn script(connection: &Connection, text: &str) -> Result<(), Error> {
    let text = text.replace("bigint primary key", "integer primary key");
    let text = text.replace("/* kept in the order of its key */", "without rowid");
    Ok(connection.execute_batch(&text)?)
}
