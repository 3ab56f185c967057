//! Reads and writes in sets: bulk statements for a few thousand rows at a time.

use std::collections::HashMap;
use std::hash::Hash;

use crate::db::{Read, Write};
use crate::error::Error;
use crate::sql::{FromRow, Sql, Value};

/// Maximum number of rows that one statement reads or writes.
const ROWS_PER_STATEMENT: usize = 2_000;

/// Returns the next free number, read by `sql`.
pub(super) async fn next_number(read: &Read<'_>, sql: &'static Sql) -> Result<i64, Error> {
    let next = read.one(sql, &[]).await?;
    next.ok_or_else(|| Error::Data(format!("{} returned no row", sql.name)))
}

/// Returns the rows of a bulk statement for all bulk rows, which it reads a few thousand at a time.
pub(super) async fn all_in_chunks<T: for<'r> FromRow<'r>>(
    read: &Read<'_>,
    sql: &'static Sql,
    rows: &[[Value<'_>; 1]],
) -> Result<Vec<T>, Error> {
    let mut all = Vec::new();
    for chunk in rows.chunks(ROWS_PER_STATEMENT) {
        all.extend(read.all_of::<T>(sql, chunk, &[]).await?);
    }
    Ok(all)
}

/// Returns the values of the rows of a bulk statement by their keys, which come first in each row.
pub(super) async fn lists_in_chunks<K, V>(
    read: &Read<'_>,
    sql: &'static Sql,
    rows: &[[Value<'_>; 1]],
) -> Result<HashMap<K, Vec<V>>, Error>
where
    K: for<'r> FromRow<'r> + Eq + Hash,
    V: for<'r> FromRow<'r>,
{
    let mut lists: HashMap<K, Vec<V>> = HashMap::new();
    for chunk in rows.chunks(ROWS_PER_STATEMENT) {
        for (key, value) in read.all_of(sql, chunk, &[]).await? {
            lists.entry(key).or_default().push(value);
        }
    }
    Ok(lists)
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
