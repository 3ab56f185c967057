//! A batch on PostgreSQL: everything is sent before the first row is awaited.

use std::pin::{Pin, pin};

use futures_util::TryStreamExt;
use futures_util::future::{MaybeDone, maybe_done};
use kiosque_locks::lock_ignoring_poison;
use tokio_postgres::types::ToSql;
use tokio_postgres::{RowStream, Statement};

use super::connection::{Connection, Form};
use super::params::{Column, borrowed, columns_of, together};
use crate::db::{Ask, Batch};
use crate::sql::{Row, Sql};
use crate::{Error, Refused};

static BEGIN_SNAPSHOT: Sql =
    Sql::new("BEGIN_SNAPSHOT", "begin isolation level repeatable read read only");
static END_SNAPSHOT: Sql = Sql::new("END_SNAPSHOT", "commit");

/// Asks a batch in one round trip: the proof alone, or with one statement behind it, as one; more
/// go in a transaction of their own, and so does what lies on two shards.
pub(super) async fn ask<B: Batch>(connection: &Connection, batch: &B) -> Result<B::Found, Refused> {
    match batch.asks().as_slice() {
        [proof] => ask_alone(connection, batch, proof).await,
        [proof, only] if !connection.is_sharded => ask_behind(connection, batch, proof, only).await,
        asks => ask_together(connection, batch, asks).await,
    }
}

/// The proof and nothing else.
async fn ask_alone<B: Batch>(
    connection: &Connection,
    batch: &B,
    proof: &Ask<'_>,
) -> Result<B::Found, Refused> {
    let text = proof.sql.for_postgres()?;
    let statement = connection.statement(proof.sql, Form::Alone, text).await?;
    let params = borrowed(&proof.params);
    let mut rows = pin!(connection.rows(&statement, &params).await.map_err(Error::from)?);
    let mut found = B::Found::default();
    while let Some(row) = rows.try_next().await.map_err(Error::from)? {
        batch.row(&mut found, 0, &Row::Postgres(&row, 0))?;
    }
    batch.proven(&found)?;
    Ok(found)
}

/// The proof and one statement, as one: half the work of two.
async fn ask_behind<B: Batch>(
    connection: &Connection,
    batch: &B,
    proof: &Ask<'_>,
    asked: &Ask<'_>,
) -> Result<B::Found, Refused> {
    let (statement, own) = connection.behind(proof.sql, asked.sql).await?;
    let columns = columns_of(asked)?;
    let mut params = borrowed(&proof.params);
    params.extend(together(&columns, &asked.params));
    let mut found = B::Found::default();
    let mut rows = pin!(connection.rows(&statement, &params).await.map_err(Error::from)?);
    while let Some(row) = rows.try_next().await.map_err(Error::from)? {
        if row.try_get(0).map_err(Error::from)? {
            batch.row(&mut found, 0, &Row::Postgres(&row, 1))?;
            batch.proven(&found)?;
        } else {
            // The proof comes first, if there is one.
            batch.proven(&found)?;
            batch.row(&mut found, 1, &Row::Postgres(&row, own))?;
        }
    }
    batch.proven(&found)?;
    Ok(found)
}

type Sent<'a> = Pin<
    Box<
        MaybeDone<
            Pin<Box<dyn Future<Output = Result<RowStream, tokio_postgres::Error>> + Send + 'a>>,
        >,
    >,
>;

/// Statements in one transaction with one snapshot, all sent before the first is answered.
async fn ask_together<B: Batch>(
    connection: &Connection,
    batch: &B,
    asks: &[Ask<'_>],
) -> Result<B::Found, Refused> {
    let begin = connection.statement(&BEGIN_SNAPSHOT, Form::Alone, BEGIN_SNAPSHOT.for_postgres()?);
    let begin = begin.await?;
    let end =
        connection.statement(&END_SNAPSHOT, Form::Alone, END_SNAPSHOT.for_postgres()?).await?;
    let mut statements = Vec::with_capacity(asks.len());
    for ask in asks {
        let text = ask.sql.for_postgres()?;
        statements.push(connection.statement(ask.sql, Form::Alone, text).await?);
    }
    let columns: Vec<Vec<Column<'_>>> = asks.iter().map(columns_of).collect::<Result<_, _>>()?;
    let mut sent: Vec<Sent<'_>> = Vec::with_capacity(asks.len() + 2);
    sent.push(send(connection, &begin, Vec::new()));
    for ((ask, statement), columns) in asks.iter().zip(&statements).zip(&columns) {
        sent.push(send(connection, statement, together(columns, &ask.params)));
    }
    sent.push(send(connection, &end, Vec::new()));
    send_all(connection, &mut sent).await;

    let mut found = B::Found::default();
    let last = sent.len() - 1;
    for (at, sent) in sent.iter_mut().enumerate() {
        sent.as_mut().await;
        let rows = sent.as_mut().take_output().ok_or(Error::Gone)?.map_err(Error::from)?;
        let mut rows = pin!(rows);
        while let Some(row) = rows.try_next().await.map_err(Error::from)? {
            batch.row(&mut found, at - 1, &Row::Postgres(&row, 0))?;
        }
        if at == 1 && at < last {
            batch.proven(&found)?;
        }
    }
    Ok(found)
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

/// Sends them one right behind the other: nobody else's statement may come into the transaction.
/// A query is sent when it is first polled.
async fn send_all(connection: &Connection, sent: &mut [Sent<'_>]) {
    std::future::poll_fn(|context| {
        let _together = lock_ignoring_poison(&connection.sending);
        for one in sent.iter_mut() {
            // It is not done before it is answered; whoever waits for it is woken by then.
            let _ = one.as_mut().poll(context);
        }
        std::task::Poll::Ready(())
    })
    .await;
}
