//! A read behind a check on PostgreSQL: every statement is sent before the first row is awaited.

use std::pin::{Pin, pin};

use futures_util::TryStreamExt;
use futures_util::future::{MaybeDone, maybe_done};
use kiosque_locks::lock_ignoring_poison;
use tokio_postgres::{RowStream, Statement};

use super::SNAPSHOT;
use super::connection::{Connection, SqlVariant};
use super::params::{all_params, bulk_columns};
use crate::db::{Bound, CheckedRead};
use crate::error::{Error, Refused};
use crate::sql::{Row, Sql};

static BEGIN_SNAPSHOT: Sql = Sql::new("BEGIN_SNAPSHOT", SNAPSHOT);
static END_SNAPSHOT: Sql = Sql::new("END_SNAPSHOT", "commit");

/// The destination of the rows of a read, and their maximum number.
struct Rows<'a> {
    read: &'a mut dyn CheckedRead,
    left: usize,
}

impl Rows<'_> {
    fn add(&mut self, statement: usize, row: &Row<'_>) -> Result<(), Error> {
        let spent = || Error::TooMuchWork("a read returned too many rows");
        self.left = self.left.checked_sub(1).ok_or_else(spent)?;
        self.read.add(statement, row)
    }
}

/// Runs a read of at most `rows_max` rows in one round trip. The check runs alone, or combined with
/// one other statement; more statements run in a transaction, and so do two that access different
/// shards.
pub(super) async fn run(
    connection: &Connection,
    read: &mut dyn CheckedRead,
    rows_max: usize,
) -> Result<(), Refused> {
    let (check, statements) = read.take_statements();
    let rows = Rows { read, left: rows_max };
    match statements.as_slice() {
        [] => check_alone(connection, &check, rows.read).await,
        [only] if !connection.is_sharded => check_with(connection, &check, only, rows).await,
        statements => check_and_read(connection, &check, statements, rows).await,
    }
}

async fn check_alone(
    connection: &Connection,
    check: &Bound,
    read: &mut dyn CheckedRead,
) -> Result<(), Refused> {
    let statement = connection.statement(check.sql).await?;
    let params = all_params(&[], &check.params);
    let rows = connection.rows(&statement, &params).await.map_err(Error::from)?;
    let row = pin!(rows).try_next().await.map_err(Error::from)?;
    read.prove(row.as_ref().map(|row| Row::Postgres(row, 0)).as_ref()).map(|_| ())
}

/// Runs the check and one statement as one, which costs half as much as two.
async fn check_with(
    connection: &Connection,
    check: &Bound,
    only: &Bound,
    mut rows: Rows<'_>,
) -> Result<(), Refused> {
    let (statement, first_own) = connection.with_check(check.sql, only.sql).await?;
    let columns = bulk_columns(only)?;
    let mut params = all_params(&[], &check.params);
    params.extend(all_params(&columns, &only.params));
    let stream = connection.rows(&statement, &params).await.map_err(Error::from)?;
    let (mut stream, mut is_proven) = (pin!(stream), false);
    while let Some(row) = stream.try_next().await.map_err(Error::from)? {
        if row.try_get(0).map_err(Error::from)? {
            is_proven = true;
            if rows.read.prove(Some(&Row::Postgres(&row, 1)))?.is_break() {
                return Ok(());
            }
        } else if is_proven {
            rows.add(0, &Row::Postgres(&row, first_own))?;
        } else {
            // The row of the check comes first, if there is one.
            break;
        }
    }
    if is_proven { Ok(()) } else { rows.read.prove(None).map(|_| ()) }
}

/// Runs the check and the statements in one transaction with one snapshot, all sent before the
/// first is answered.
async fn check_and_read(
    connection: &Connection,
    check: &Bound,
    statements: &[Bound],
    mut rows: Rows<'_>,
) -> Result<(), Refused> {
    let begin = Bound::new(&BEGIN_SNAPSHOT, []);
    let end = Bound::new(&END_SNAPSHOT, []);
    let all = [&begin, check].into_iter().chain(statements).chain([&end]);
    let mut sent = send_together(connection, all).await?.into_iter();
    finish(answered(sent.next()).await?).await?;
    let mut checked = pin!(answered(sent.next()).await?);
    let proved = checked.try_next().await.map_err(Error::from)?;
    // The server may cancel the check after its row: then the other statements fail because the
    // transaction has, which is not the cause.
    if proved.is_some() {
        checked.try_next().await.map_err(Error::from)?;
    }
    if rows.read.prove(proved.as_ref().map(|row| Row::Postgres(row, 0)).as_ref())?.is_break() {
        return Ok(());
    }
    for at in 0..statements.len() {
        let mut stream = pin!(answered(sent.next()).await?);
        while let Some(row) = stream.try_next().await.map_err(Error::from)? {
            rows.add(at, &Row::Postgres(&row, 0))?;
        }
    }
    finish(answered(sent.next()).await?).await?;
    Ok(())
}

impl Connection {
    /// Returns a variant of a statement if this connection has prepared it.
    pub(super) fn known(&self, sql: &'static Sql, variant: SqlVariant) -> Option<Statement> {
        let key = (std::ptr::from_ref(sql).addr(), variant);
        lock_ignoring_poison(&self.statements).get(&key).cloned()
    }

    /// Returns a statement prepared behind an authorization check, and the index of its own first
    /// column.
    pub(super) async fn with_check(
        &self,
        check: &'static Sql,
        sql: &'static Sql,
    ) -> Result<(Statement, usize), Error> {
        let first = self.statement(check).await?;
        let first_own = first.columns().len() + 1;
        let variant = SqlVariant::WithCheck(std::ptr::from_ref(check).addr());
        if let Some(known) = self.known(sql, variant) {
            return Ok((known, first_own));
        }
        let widths = (first.columns().len(), self.statement(sql).await?.columns().len());
        let text = sql.with_proof(check, widths)?;
        Ok((self.prepared(sql, variant, &text).await?, first_own))
    }
}

/// A statement that was sent.
pub(super) type Sent<'a> = Pin<
    Box<
        MaybeDone<
            Pin<Box<dyn Future<Output = Result<RowStream, tokio_postgres::Error>> + Send + 'a>>,
        >,
    >,
>;

/// Sends statements without another caller's statement between them.
pub(super) async fn send_together<'a>(
    connection: &'a Connection,
    statements: impl Iterator<Item = &'a Bound>,
) -> Result<Vec<Sent<'a>>, Error> {
    let mut sent: Vec<Sent<'a>> = Vec::new();
    for bound in statements {
        let statement = connection.statement(bound.sql).await?;
        let columns = bulk_columns(bound)?;
        let rows: Pin<Box<dyn Future<Output = _> + Send + 'a>> = Box::pin(async move {
            let params = all_params(&columns, &bound.params);
            connection.rows_together(&statement, &params).await
        });
        sent.push(Box::pin(maybe_done(rows)));
    }
    // A query is sent when it is first polled.
    std::future::poll_fn(|context| {
        let _together = lock_ignoring_poison(&connection.sending);
        for one in &mut sent {
            // None is complete before its answer arrives; the waker is registered by then.
            let _ = one.as_mut().poll(context);
        }
        std::task::Poll::Ready(())
    })
    .await;
    Ok(sent)
}

/// Awaits the answer to a statement, up to its first row.
pub(super) async fn answered(sent: Option<Sent<'_>>) -> Result<RowStream, Error> {
    let mut sent = sent.ok_or(Error::Gone)?;
    sent.as_mut().await;
    Ok(sent.as_mut().take_output().ok_or(Error::Gone)??)
}

/// Awaits the end of a statement that returns no rows.
async fn finish(rows: RowStream) -> Result<(), Error> {
    pin!(rows).try_next().await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;
    use std::sync::Arc;
    use std::time::Duration;

    use kiosque_model::Refusal;

    use super::*;
    use crate::db::postgres::address::Address;
    use crate::{explain, statements};

    /// A check, and two statements.
    struct Checked(&'static Sql);

    impl CheckedRead for Checked {
        fn take_statements(&mut self) -> (Bound, Vec<Bound>) {
            static OTHER: Sql = Sql::new("OTHER", "select 1 as other");
            let other = || Bound::new(&OTHER, []);
            (Bound::new(self.0, []), vec![other(), other()])
        }

        fn prove(&mut self, row: Option<&Row<'_>>) -> Result<ControlFlow<()>, Refused> {
            row.map(|_| ControlFlow::Continue(())).ok_or(Refusal::TokenInvalid.into())
        }

        fn add(&mut self, _: usize, _: &Row<'_>) -> Result<(), Error> {
            Ok(())
        }
    }

    /// The error is the cause, by which a cancelled read begins again, and not the consequence that
    /// the transaction is aborted. A check without a row has not failed.
    #[tokio::test]
    async fn a_check_that_fails_after_its_row_is_the_error() {
        static FAILS: Sql =
            Sql::new("FAILS", "select 1 / (2 - n) as row from generate_series(1, 2) n");
        static NO_ROW: Sql = Sql::new("NO_ROW", "select 1 as row where false");
        let schema = explain::with_tables().await;
        let address = Arc::new(Address::parse(schema.url()).expect("an address"));
        let opened = Connection::open(&address, Duration::from_secs(60)).await;
        let connection = opened.expect("a connection");
        for (check, error) in [(&FAILS, "division by zero"), (&NO_ROW, "TokenInvalid")] {
            let ran = run(&connection, &mut Checked(check), 10).await;
            assert!(format!("{ran:?}").contains(error), "{ran:?}");
        }
    }

    /// Every statement is prepared alone and behind the check, and returns its declared columns.
    #[tokio::test]
    async fn every_statement_compiles() {
        let schema = explain::with_tables().await;
        let address = Arc::new(Address::parse(schema.url()).expect("an address"));
        let opened = Connection::open(&address, Duration::from_secs(60)).await;
        let connection = opened.expect("a connection");
        let mut all = statements::all().into_iter();
        let check = all.find(|sql| sql.name.ends_with("::scoped::SESSION"));
        let check = check.expect("the session check");
        for sql in statements::all() {
            let prepared = async {
                let statement = connection.statement(sql).await?;
                if !sql.bulk_types()?.is_empty() {
                    connection.client.prepare(sql.of_row_for_postgres()?).await?;
                }
                if sql.for_postgres()?.starts_with("select ") {
                    connection.with_check(check, sql).await?;
                }
                let columns: Vec<&str> = statement.columns().iter().map(|one| one.name()).collect();
                sql.check_columns(&columns)
            };
            let prepared: Result<(), Error> = prepared.await;
            prepared.unwrap_or_else(|error| panic!("{}: {error}", sql.name));
        }
    }
}
