//! A batch on PostgreSQL: every statement is sent before the first row is awaited.

use std::pin::{Pin, pin};

use futures_util::TryStreamExt;
use futures_util::future::{MaybeDone, maybe_done};
use kiosque_locks::lock_ignoring_poison;
use tokio_postgres::types::ToSql;
use tokio_postgres::{RowStream, Statement};

use super::connection::Connection;
use super::params::{Column, all_params, borrowed, bulk_columns};
use crate::db::batch::{Batch, Bound, Step};
use crate::sql::{Row, Sql};
use crate::{Error, Refused};

static BEGIN_SNAPSHOT: Sql =
    Sql::new("BEGIN_SNAPSHOT", "begin isolation level repeatable read read only");
static END_SNAPSHOT: Sql = Sql::new("END_SNAPSHOT", "commit");

/// Runs a batch in one round trip. The check runs alone, or with one other statement as one; more
/// statements run in a transaction, and so do two that touch different shards.
pub(super) async fn run<B: Batch>(
    connection: &Connection,
    batch: &B,
) -> Result<(B::Proof, B::Rows), Refused> {
    let (check, steps) = (batch.check(), batch.steps());
    match steps.as_slice() {
        [] => run_check(connection, batch, &check).await,
        [only] if !connection.is_sharded => run_as_one(connection, batch, &check, only).await,
        steps => run_in_snapshot(connection, batch, &check, steps).await,
    }
}

/// Runs the check and nothing else.
async fn run_check<B: Batch>(
    connection: &Connection,
    batch: &B,
    check: &Bound<'_>,
) -> Result<(B::Proof, B::Rows), Refused> {
    let statement = connection.statement(check.sql).await?;
    let params = borrowed(&check.params);
    let rows = connection.rows(&statement, &params).await.map_err(Error::from)?;
    Ok((prove(batch, rows).await?, batch.rows()))
}

/// Proves the caller by the rows of the check.
async fn prove<B: Batch>(batch: &B, rows: RowStream) -> Result<B::Proof, Refused> {
    let row = pin!(rows).try_next().await.map_err(Error::from)?;
    batch.prove(row.as_ref().map(|row| Row::Postgres(row, 0)).as_ref())
}

/// Runs the check and one statement as one, which is half the work of two.
async fn run_as_one<B: Batch>(
    connection: &Connection,
    batch: &B,
    check: &Bound<'_>,
    step: &Step<'_, B::Step>,
) -> Result<(B::Proof, B::Rows), Refused> {
    let (statement, first_own) = connection.with_check(check.sql, step.statement.sql).await?;
    let columns = bulk_columns(&step.statement)?;
    let mut params = borrowed(&check.params);
    params.extend(all_params(&columns, &step.statement.params));
    let stream = connection.rows(&statement, &params).await.map_err(Error::from)?;
    let (mut stream, mut proof, mut rows) = (pin!(stream), None, batch.rows());
    while let Some(row) = stream.try_next().await.map_err(Error::from)? {
        if row.try_get(0).map_err(Error::from)? {
            proof = Some(batch.prove(Some(&Row::Postgres(&row, 1)))?);
        } else if proof.is_some() {
            batch.on_row(&mut rows, &step.kind, &Row::Postgres(&row, first_own))?;
        } else {
            // The row of the check comes first, if there is one.
            break;
        }
    }
    let proof = match proof {
        Some(proof) => proof,
        None => batch.prove(None)?,
    };
    Ok((proof, rows))
}

type Sent<'a> = Pin<
    Box<
        MaybeDone<
            Pin<Box<dyn Future<Output = Result<RowStream, tokio_postgres::Error>> + Send + 'a>>,
        >,
    >,
>;

/// Runs statements in one transaction with one snapshot, all sent before the first is answered.
async fn run_in_snapshot<B: Batch>(
    connection: &Connection,
    batch: &B,
    check: &Bound<'_>,
    steps: &[Step<'_, B::Step>],
) -> Result<(B::Proof, B::Rows), Refused> {
    let begin = connection.statement(&BEGIN_SNAPSHOT).await?;
    let end = connection.statement(&END_SNAPSHOT).await?;
    let check_statement = connection.statement(check.sql).await?;
    let mut statements = Vec::with_capacity(steps.len());
    for step in steps {
        statements.push(connection.statement(step.statement.sql).await?);
    }
    let columns: Vec<Vec<Column<'_>>> =
        steps.iter().map(|step| bulk_columns(&step.statement)).collect::<Result<_, _>>()?;

    let mut sent: Vec<Sent<'_>> = Vec::with_capacity(steps.len() + 3);
    sent.push(send(connection, &begin, Vec::new()));
    sent.push(send(connection, &check_statement, borrowed(&check.params)));
    for ((step, statement), columns) in steps.iter().zip(&statements).zip(&columns) {
        sent.push(send(connection, statement, all_params(columns, &step.statement.params)));
    }
    sent.push(send(connection, &end, Vec::new()));
    send_all(connection, &mut sent).await;

    let mut sent = sent.iter_mut();
    finish(answered(sent.next()).await?).await?;
    let proof = prove(batch, answered(sent.next()).await?).await?;
    let mut rows = batch.rows();
    for step in steps {
        let mut stream = pin!(answered(sent.next()).await?);
        while let Some(row) = stream.try_next().await.map_err(Error::from)? {
            batch.on_row(&mut rows, &step.kind, &Row::Postgres(&row, 0))?;
        }
    }
    finish(answered(sent.next()).await?).await?;
    Ok((proof, rows))
}

fn send<'a>(
    connection: &'a Connection,
    statement: &'a Statement,
    params: Vec<&'a (dyn ToSql + Sync)>,
) -> Sent<'a> {
    let rows: Pin<Box<dyn Future<Output = _> + Send + 'a>> =
        Box::pin(async move { connection.rows_together(statement, &params).await });
    Box::pin(maybe_done(rows))
}

/// Sends statements without a statement of another caller between them. A query is sent when it is
/// first polled.
async fn send_all(connection: &Connection, sent: &mut [Sent<'_>]) {
    std::future::poll_fn(|context| {
        let _together = lock_ignoring_poison(&connection.sending);
        for one in sent.iter_mut() {
            // None is complete before its answer arrives; the waker is registered by then.
            let _ = one.as_mut().poll(context);
        }
        std::task::Poll::Ready(())
    })
    .await;
}

/// Awaits the answer to a statement, up to its first row.
async fn answered(sent: Option<&mut Sent<'_>>) -> Result<RowStream, Error> {
    let sent = sent.ok_or(Error::Gone)?;
    sent.as_mut().await;
    Ok(sent.as_mut().take_output().ok_or(Error::Gone)??)
}

/// Awaits the end of a statement that returns no rows.
async fn finish(rows: RowStream) -> Result<(), Error> {
    pin!(rows).try_next().await?;
    Ok(())
}
