//! A batch on PostgreSQL: every statement is sent before the first row is awaited.

use std::pin::{Pin, pin};

use futures_util::TryStreamExt;
use futures_util::future::{MaybeDone, maybe_done};
use kiosque_locks::lock_ignoring_poison;
use tokio_postgres::types::ToSql;
use tokio_postgres::{RowStream, Statement};

use super::connection::Connection;
use super::params::{Column, all_params, borrowed, bulk_columns};
use crate::db::batch::{Batch, Bound};
use crate::sql::{Row, Sql};
use crate::{Error, Refused};

static BEGIN_SNAPSHOT: Sql =
    Sql::new("BEGIN_SNAPSHOT", "begin isolation level repeatable read read only");
static END_SNAPSHOT: Sql = Sql::new("END_SNAPSHOT", "commit");

/// A batch without its types, so that the code that runs one is generated once and not for each
/// query.
pub(super) struct Statements<'a> {
    pub(super) check: Bound<'a>,
    pub(super) steps: Vec<Bound<'a>>,
    /// The reader of the rows.
    pub(super) reader: &'a mut (dyn ReadsRows + Send),
}

/// Reads the rows of a batch.
pub(super) trait ReadsRows {
    /// Proves the caller by the row of the check.
    fn prove(&mut self, row: Option<&Row<'_>>) -> Result<(), Refused>;

    /// Adds a row of a step, which is given by its position.
    fn on_row(&mut self, step: usize, row: &Row<'_>) -> Result<(), Error>;
}

/// The proof and the rows of a batch.
pub(super) struct Collected<'a, B: Batch> {
    batch: &'a B,
    kinds: Vec<B::Step>,
    proof: Option<B::Proof>,
    rows: B::Rows,
}

impl<'a, B: Batch> Collected<'a, B> {
    /// Returns the statements of the steps, and the reader of their rows.
    pub(super) fn of(batch: &'a B) -> (Vec<Bound<'a>>, Collected<'a, B>) {
        let steps = batch.steps().into_iter();
        let (statements, kinds) = steps.map(|step| (step.statement, step.kind)).unzip();
        (statements, Collected { batch, kinds, proof: None, rows: batch.rows() })
    }

    /// Returns the proof and the rows.
    pub(super) fn finish(self) -> Result<(B::Proof, B::Rows), Refused> {
        Ok((self.proof.ok_or(Error::Gone)?, self.rows))
    }
}

impl<B: Batch> ReadsRows for Collected<'_, B> {
    fn prove(&mut self, row: Option<&Row<'_>>) -> Result<(), Refused> {
        self.proof = Some(self.batch.prove(row)?);
        Ok(())
    }

    fn on_row(&mut self, step: usize, row: &Row<'_>) -> Result<(), Error> {
        let kind = self.kinds.get(step).ok_or(Error::Gone)?;
        self.batch.on_row(&mut self.rows, kind, row)
    }
}

/// Runs a batch in one round trip. The check runs alone, or with one other statement as one; more
/// statements run in a transaction, and so do two that touch different shards.
pub(super) async fn run(
    connection: &Connection,
    batch: &mut Statements<'_>,
) -> Result<(), Refused> {
    let Statements { check, steps, reader } = batch;
    match steps.as_slice() {
        [] => run_check(connection, check, *reader).await,
        [only] if !connection.is_sharded => run_as_one(connection, check, only, *reader).await,
        steps => run_in_snapshot(connection, check, steps, *reader).await,
    }
}

/// Runs the check and nothing else.
async fn run_check(
    connection: &Connection,
    check: &Bound<'_>,
    reader: &mut (dyn ReadsRows + Send),
) -> Result<(), Refused> {
    let statement = connection.statement(check.sql).await?;
    let params = borrowed(&check.params);
    let rows = connection.rows(&statement, &params).await.map_err(Error::from)?;
    prove(rows, reader).await
}

/// Proves the caller by the rows of the check.
async fn prove(rows: RowStream, reader: &mut (dyn ReadsRows + Send)) -> Result<(), Refused> {
    let row = pin!(rows).try_next().await.map_err(Error::from)?;
    reader.prove(row.as_ref().map(|row| Row::Postgres(row, 0)).as_ref())
}

/// Runs the check and one statement as one, which is half the work of two.
async fn run_as_one(
    connection: &Connection,
    check: &Bound<'_>,
    step: &Bound<'_>,
    reader: &mut (dyn ReadsRows + Send),
) -> Result<(), Refused> {
    let (statement, first_own) = connection.with_check(check.sql, step.sql).await?;
    let columns = bulk_columns(step)?;
    let mut params = borrowed(&check.params);
    params.extend(all_params(&columns, &step.params));
    let stream = connection.rows(&statement, &params).await.map_err(Error::from)?;
    let (mut stream, mut is_proven) = (pin!(stream), false);
    while let Some(row) = stream.try_next().await.map_err(Error::from)? {
        if row.try_get(0).map_err(Error::from)? {
            reader.prove(Some(&Row::Postgres(&row, 1)))?;
            is_proven = true;
        } else if is_proven {
            reader.on_row(0, &Row::Postgres(&row, first_own))?;
        } else {
            // The row of the check comes first, if there is one.
            break;
        }
    }
    if is_proven { Ok(()) } else { reader.prove(None) }
}

type Sent<'a> = Pin<
    Box<
        MaybeDone<
            Pin<Box<dyn Future<Output = Result<RowStream, tokio_postgres::Error>> + Send + 'a>>,
        >,
    >,
>;

/// Runs statements in one transaction with one snapshot, all sent before the first is answered.
async fn run_in_snapshot(
    connection: &Connection,
    check: &Bound<'_>,
    steps: &[Bound<'_>],
    reader: &mut (dyn ReadsRows + Send),
) -> Result<(), Refused> {
    let begin = connection.statement(&BEGIN_SNAPSHOT).await?;
    let end = connection.statement(&END_SNAPSHOT).await?;
    let check_statement = connection.statement(check.sql).await?;
    let mut statements = Vec::with_capacity(steps.len());
    for step in steps {
        statements.push(connection.statement(step.sql).await?);
    }
    let columns: Vec<Vec<Column<'_>>> = steps.iter().map(bulk_columns).collect::<Result<_, _>>()?;

    let mut sent: Vec<Sent<'_>> = Vec::with_capacity(steps.len() + 3);
    sent.push(send(connection, &begin, Vec::new()));
    sent.push(send(connection, &check_statement, borrowed(&check.params)));
    for ((step, statement), columns) in steps.iter().zip(&statements).zip(&columns) {
        sent.push(send(connection, statement, all_params(columns, &step.params)));
    }
    sent.push(send(connection, &end, Vec::new()));
    send_all(connection, &mut sent).await;

    let mut sent = sent.iter_mut();
    finish(answered(sent.next()).await?).await?;
    prove(answered(sent.next()).await?, reader).await?;
    for step in 0..steps.len() {
        let mut stream = pin!(answered(sent.next()).await?);
        while let Some(row) = stream.try_next().await.map_err(Error::from)? {
            reader.on_row(step, &Row::Postgres(&row, 0))?;
        }
    }
    finish(answered(sent.next()).await?).await?;
    Ok(())
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
