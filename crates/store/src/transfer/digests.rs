//! Digests of a table, group by group: equal rows have equal digests on both engines.

use std::collections::{BTreeMap, BTreeSet};

use sha2::{Digest, Sha256};

use super::tables::Table;
use crate::db::Read;
use crate::error::Error;
use crate::sql::Value;

/// The row count and the digest of each group; for a table without group numbers, one of all rows.
#[derive(Default)]
pub(super) struct Digests(BTreeMap<Option<i64>, (u64, Sha256)>);

impl Digests {
    /// Reads a whole table.
    pub(super) async fn read(read: &Read<'_>, table: &'static Table) -> Result<Digests, Error> {
        let mut digests = Digests::default();
        let mut last = None::<Vec<Value<'static>>>;
        loop {
            let mut rows = table.page(read, last.as_deref()).await?;
            digests.add(table, &rows);
            last = rows.pop();
            if last.is_none() {
                return Ok(digests);
            }
        }
    }

    /// Adds the next rows, in the order of the key.
    pub(super) fn add(&mut self, table: &Table, rows: &[Vec<Value<'static>>]) {
        for row in rows {
            let (rows, digest) = self.0.entry(table.group_of(row)).or_default();
            *rows += 1;
            row.iter().for_each(|value| update(digest, value));
        }
    }

    pub(super) fn rows(&self) -> u64 {
        self.0.values().map(|(rows, _)| rows).sum()
    }

    pub(super) fn groups(&self) -> impl Iterator<Item = i64> {
        self.0.keys().copied().flatten()
    }

    /// Returns descriptions of the differences between both sides of a table.
    pub(super) fn differences(&self, there: &Digests, table: &str) -> Vec<String> {
        let parts: BTreeSet<Option<i64>> = self.0.keys().chain(there.0.keys()).copied().collect();
        let differences = parts.into_iter().filter_map(|group| {
            let of = |side: &Digests| {
                let part = side.0.get(&group);
                part.map_or((0, None), |(rows, digest)| (*rows, Some(digest.clone().finalize())))
            };
            let (here, there) = (of(self), of(there));
            let group = group.map(|group| format!(", group number {group}")).unwrap_or_default();
            (here != there).then(|| difference(&format!("{table}{group}"), here.0, there.0))
        });
        differences.collect()
    }
}

/// Describes a difference between both sides of a part of the data.
pub(super) fn difference(part: &str, here: u64, there: u64) -> String {
    format!("{part}: {here} rows in the directory and {there} in the database, or different values")
}

/// Adds a value with its type and length, so that different rows never have the same bytes.
fn update(digest: &mut Sha256, value: &Value<'_>) {
    let mut add = |kind: u8, bytes: &[u8]| {
        digest.update([kind]);
        digest.update(bytes.len().to_be_bytes());
        digest.update(bytes);
    };
    match value {
        Value::Null => add(0, &[]),
        Value::Int(int) => add(1, &int.to_be_bytes()),
        Value::Text(text) => add(2, text.as_bytes()),
        Value::Bool(flag) => add(3, &[u8::from(*flag)]),
        Value::Bytes(bytes) => add(4, bytes),
    }
}
