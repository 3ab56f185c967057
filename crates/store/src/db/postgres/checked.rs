//! A read behind a check on PostgreSQL, in one round trip: as one statement, on Citus as two that
//! are sent before the first row is awaited.

use std::ops::ControlFlow;
use std::pin::{Pin, pin};
use std::sync::Arc;

use futures_util::future::{BoxFuture, MaybeDone, maybe_done};
use futures_util::{FutureExt, TryStreamExt};
use kiosque_locks::lock_ignoring_poison;
use tokio_postgres::RowStream;
use tokio_postgres::types::ToSql;

use super::conflict::is_lock_timeout;
use super::connection::{Connection, Union};
use super::params::{Column, all_params, bulk_columns};
use crate::db::{Bound, VisitChecked};
use crate::error::{Error, Refused};
use crate::sql::{Row, union_of};

/// The destination of the rows of a read, and their maximum number.
struct Rows<'a, 'v> {
    visit: &'a mut VisitChecked<'v>,
    left: usize,
}

impl Rows<'_, '_> {
    fn add(&mut self, statement: usize, row: &Row<'_>) -> Result<ControlFlow<()>, Refused> {
        let spent = || Error::TooMuchWork("a read returned too many rows");
        // The row of the check does not count.
        self.left = self.left.checked_sub(usize::from(statement != 0)).ok_or_else(spent)?;
        (self.visit)(statement, row)
    }
}

/// Runs a check and the statements behind it, which return at most `rows_max` rows, in one round
/// trip. They run as one statement, since PostgreSQL takes some 20 us for each additional one. On
/// Citus, where the session may be on another shard than the group, they run as two.
pub(super) async fn run(
    connection: &Connection,
    statements: &[Bound],
    visit: &mut VisitChecked<'_>,
    rows_max: usize,
) -> Result<(), Refused> {
    let all: Vec<&Bound> = statements.iter().collect();
    let rows = Rows { visit, left: rows_max };
    let ran = match &all[..] {
        [check, statements @ ..] if connection.is_sharded && !statements.is_empty() => {
            check_and_read(connection, &[*check], statements, rows).await
        }
        all => read_as_one(connection, all, rows).await,
    };
    ran.map_err(|refused| match refused {
        Refused::Store(error) if is_lock_timeout(&error) => Error::Busy(connection.wait).into(),
        refused => refused,
    })
}

/// Runs the check and the statements as one statement.
async fn read_as_one(
    connection: &Connection,
    all: &[&Bound],
    mut rows: Rows<'_, '_>,
) -> Result<(), Refused> {
    let union = connection.union(all).await?;
    let bulk: Vec<_> = all.iter().map(|one| bulk_columns(one)).collect::<Result<_, _>>()?;
    let params = params_of(all, &bulk);
    let stream = connection.rows(&union.statement, &params).await.map_err(Error::from)?;
    let mut stream = pin!(stream);
    let mut is_proven = false;
    while let Some(row) = stream.try_next().await.map_err(Error::from)? {
        let (statement, own) = union.part(&row)?;
        // The row of the check comes first, if there is one.
        is_proven |= statement == 0;
        if !is_proven || rows.add(statement, &own)?.is_break() {
            break;
        }
    }
    Ok(())
}

/// Runs the check, then the statements as one. Both are sent before the first is answered. They
/// need no transaction: each worker of Citus has snapshots of its own.
async fn check_and_read(
    connection: &Connection,
    check: &[&Bound],
    statements: &[&Bound],
    mut rows: Rows<'_, '_>,
) -> Result<(), Refused> {
    let mut sent = send_together(connection, [check, statements]).await?.into_iter();
    let mut checked = pin!(answered(sent.next()).await?);
    let proved = checked.try_next().await.map_err(Error::from)?;
    let Some(proved) = proved else { return Ok(()) };
    // The server may cancel the check after its row.
    checked.try_next().await.map_err(Error::from)?;
    if rows.add(0, &Row::Postgres(&proved, None))?.is_break() {
        return Ok(());
    }
    let union = connection.union(statements).await?;
    let mut stream = pin!(answered(sent.next()).await?);
    while let Some(row) = stream.try_next().await.map_err(Error::from)? {
        let (statement, own) = union.part(&row)?;
        if rows.add(statement + 1, &own)?.is_break() {
            break;
        }
    }
    Ok(())
}

/// Returns the parameters of statements, one after the other.
fn params_of<'a>(
    statements: &'a [&Bound],
    bulk: &'a [Vec<Column<'a, 'static>>],
) -> Vec<&'a (dyn ToSql + Sync)> {
    let of = |(one, bulk): (&'a &Bound, &'a Vec<_>)| all_params(bulk, &one.params);
    statements.iter().zip(bulk).flat_map(of).collect()
}

impl Union {
    /// Returns the position of the statement of a row, and the columns of that statement.
    pub(super) fn part<'r>(
        &'r self,
        row: &'r tokio_postgres::Row,
    ) -> Result<(usize, Row<'r>), Error> {
        if self.columns.is_empty() {
            return Ok((0, Row::Postgres(row, None)));
        }
        let part = usize::try_from(row.try_get::<_, i32>(0)?).map_err(|_| Error::Gone)?;
        let columns = self.columns.get(part).ok_or(Error::Gone)?;
        Ok((part, Row::Postgres(row, Some(columns))))
    }
}

impl Connection {
    /// Returns statements as one, prepared; this connection prepares each union once.
    pub(super) async fn union(&self, parts: &[&Bound]) -> Result<Arc<Union>, Error> {
        if let [only] = parts {
            let statement = self.statement(only.sql).await?;
            return Ok(Arc::new(Union { statement, columns: vec![] }));
        }
        let key: Vec<usize> =
            parts.iter().map(|part| std::ptr::from_ref(part.sql).addr()).collect();
        if let Some(known) = lock_ignoring_poison(&self.unions).get(&key) {
            return Ok(Arc::clone(known));
        }
        let union = Arc::new(self.prepared_union(parts).await?);
        lock_ignoring_poison(&self.unions).insert(key, Arc::clone(&union));
        Ok(union)
    }

    async fn prepared_union(&self, parts: &[&Bound]) -> Result<Union, Error> {
        let mut prepared = Vec::new();
        for part in parts {
            prepared.push((part.sql, self.statement(part.sql).await?));
        }
        let parts = prepared.iter().map(|(sql, statement)| {
            let types = statement.columns().iter().map(|column| column.type_().name());
            (*sql, types.collect())
        });
        let (text, columns) = union_of(&parts.collect::<Vec<_>>())?;
        Ok(Union { statement: self.prepare(&text).await?, columns })
    }
}

/// A statement that was sent.
pub(super) type Sent<'a> = MaybeDone<BoxFuture<'a, Result<RowStream, tokio_postgres::Error>>>;

/// Sends unions of statements without waiting for the answer to any.
pub(super) async fn send_together<'a>(
    connection: &'a Connection,
    unions: impl IntoIterator<Item = &'a [&'a Bound]>,
) -> Result<Vec<Sent<'a>>, Error> {
    let mut sent: Vec<Sent<'a>> = Vec::new();
    for union in unions {
        let statement = connection.union(union).await?;
        let bulk: Vec<_> = union.iter().map(|one| bulk_columns(one)).collect::<Result<_, _>>()?;
        let rows =
            async move { connection.rows(&statement.statement, &params_of(union, &bulk)).await };
        sent.push(maybe_done(rows.boxed()));
    }
    for one in &mut sent {
        // A query is sent when it is first polled.
        let _ = one.now_or_never();
    }
    Ok(sent)
}

/// Awaits the answer to a statement, up to its first row.
pub(super) async fn answered(sent: Option<Sent<'_>>) -> Result<RowStream, Error> {
    let mut sent = sent.ok_or(Error::Gone)?;
    (&mut sent).await;
    Ok(Pin::new(&mut sent).take_output().ok_or(Error::Gone)??)
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;
    use std::time::Duration;

    use kiosque_testdb::Schema;

    use super::*;
    use crate::db::postgres::address::Address;
    use crate::sql::Sql;
    use crate::{explain, statements};

    /// Returns a schema with every table, and a connection to it.
    async fn opened() -> (Schema, Connection) {
        let schema = explain::with_tables().await;
        let address = Arc::new(Address::parse(schema.url()).expect("an address"));
        let opened = Connection::open(&address, Duration::from_secs(60)).await;
        (schema, opened.expect("a connection"))
    }

    /// The error is the cause, by which a cancelled read begins again. A check without a row has
    /// not failed.
    #[tokio::test]
    async fn a_check_that_fails_after_its_row_is_the_error() {
        static FAILS: Sql =
            Sql::new("FAILS", "select 1 / (2 - n) as row from generate_series(1, 2) n");
        static NO_ROW: Sql = Sql::new("NO_ROW", "select 1 as row where false");
        static OTHER: Sql = Sql::new("OTHER", "select 1 as other");
        let (_schema, mut connection) = opened().await;
        for is_sharded in [false, true] {
            connection.is_sharded = is_sharded;
            for (check, result) in [(&FAILS, "division by zero"), (&NO_ROW, "Ok(())")] {
                let statements = [check, &OTHER, &OTHER].map(|sql| Bound::new(sql, []));
                let visit: &mut VisitChecked<'_> = &mut |_, _| Ok(ControlFlow::Continue(()));
                let ran = run(&connection, &statements, visit, 10).await;
                assert!(format!("{ran:?}").contains(result), "{is_sharded}: {ran:?}");
            }
        }
    }

    #[tokio::test]
    async fn rows_belong_to_their_statements_however_these_are_sent() {
        static CHECK: Sql = Sql::new("CHECK", "select 'x' as text, 0::bigint as zero");
        static ONE: Sql = Sql::new("ONE", "select 'x' as text, 1::bigint as one");
        static TWO: Sql =
            Sql::new("TWO", "select n::text as text, n::bigint from generate_series(2, 3) n");
        let (_schema, mut connection) = opened().await;
        for is_sharded in [false, true] {
            connection.is_sharded = is_sharded;
            let statements = [&CHECK, &ONE, &TWO, &ONE].map(|sql| Bound::new(sql, []));
            let mut rows = Vec::new();
            let visit: &mut VisitChecked<'_> = &mut |statement, row| {
                let (_, number): (&str, i64) = row.read()?;
                rows.push((statement, number));
                Ok(ControlFlow::Continue(()))
            };
            run(&connection, &statements, visit, 4).await.expect("rows");
            assert_eq!(rows, [(0, 0), (1, 1), (2, 2), (2, 3), (3, 1)], "{is_sharded}");
        }
    }

    /// Every statement is prepared alone and behind the check, and returns its declared columns.
    #[tokio::test]
    async fn every_statement_compiles() {
        let (_schema, connection) = opened().await;
        let mut all = statements::all().into_iter();
        let check = all.find(|sql| sql.name.ends_with("::scoped::SESSION"));
        let check = check.expect("the session check");
        for sql in statements::all() {
            let prepared = async {
                let statement = connection.statement(sql).await?;
                if !sql.bulk_types()?.is_empty() {
                    connection.client.prepare(sql.of_row_for_postgres()?).await?;
                }
                let text = sql.for_postgres()?;
                if text.starts_with("select ") || text.starts_with("with ") {
                    let parts = [check, sql].map(|sql| Bound::new(sql, []));
                    connection.union(&[&parts[0], &parts[1]]).await?;
                }
                let columns: Vec<&str> = statement.columns().iter().map(|one| one.name()).collect();
                sql.check_columns(&columns)
            };
            let prepared: Result<(), Error> = prepared.await;
            prepared.unwrap_or_else(|error| panic!("{}: {error}", sql.name));
        }
    }
}
