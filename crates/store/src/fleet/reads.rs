//! Reads of several kinds of entries.

use std::collections::HashMap;
use std::hash::Hash;

use crate::db::Read;
use crate::error::Error;
use crate::sql::{FromRow, Sql, Value};

/// Returns the next free number, read by `sql`.
pub(super) async fn next_number(read: &Read<'_>, sql: &'static Sql) -> Result<i64, Error> {
    Ok(read.one(sql, &[]).await?.unwrap_or_default())
}

/// Returns the values of the rows of a bulk statement by their keys, which come first in each row.
pub(super) async fn lists_of<K, V>(
    read: &Read<'_>,
    sql: &'static Sql,
    rows: &[[Value<'_>; 1]],
) -> Result<HashMap<K, Vec<V>>, Error>
where
    K: for<'r> FromRow<'r> + Eq + Hash,
    V: for<'r> FromRow<'r>,
{
    let mut lists: HashMap<K, Vec<V>> = HashMap::new();
    for (key, value) in read.all_of(sql, rows, &[]).await? {
        lists.entry(key).or_default().push(value);
    }
    Ok(lists)
}
