//! Reads and writes in sets: bulk statements for a few thousand rows at a time.

use std::collections::BTreeSet;

use crate::db::{Read, Write};
use crate::error::Error;
use crate::sql::{Row, Sql, Value};

/// Maximum number of rows that one statement reads or writes.
const ROWS_PER_STATEMENT: usize = 2_000;

/// Returns the distinct texts, sorted, as the rows of a statement.
pub(super) fn keys<'v>(texts: impl Iterator<Item = &'v str>) -> Vec<[Value<'v>; 1]> {
    let texts: BTreeSet<&str> = texts.collect();
    texts.into_iter().map(|text| [text.into()]).collect()
}

/// Returns the next free number, read by `sql`.
pub(super) async fn next_number(read: &Read<'_>, sql: &'static Sql) -> Result<i64, Error> {
    let next = read.one(sql, &[], |row| row.read()).await?;
    next.ok_or_else(|| Error::Data(format!("{} returned no row", sql.name)))
}

/// Visits the rows of a bulk statement for all bulk rows, a few thousand at a time.
pub(super) async fn each_in_chunks<const N: usize>(
    read: &Read<'_>,
    sql: &'static Sql,
    rows: &[[Value<'_>; N]],
    mut visit: impl FnMut(&Row<'_>) -> Result<(), Error>,
) -> Result<(), Error> {
    for chunk in rows.chunks(ROWS_PER_STATEMENT) {
        read.each_of(sql, chunk, &[], &mut visit).await?;
    }
    Ok(())
}

/// Runs a bulk statement for all rows, a few thousand at a time.
pub(super) async fn execute_in_chunks<'v, const N: usize>(
    write: &Write<'_>,
    sql: &'static Sql,
    rows: impl Iterator<Item = [Value<'v>; N]>,
) -> Result<(), Error> {
    let mut rows = rows.peekable();
    while rows.peek().is_some() {
        write.execute_each(sql, rows.by_ref().take(ROWS_PER_STATEMENT), &[]).await?;
    }
    Ok(())
}
