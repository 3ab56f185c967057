//! Digests of whole tables, group by group: equal rows have equal digests on both engines.

use std::collections::{BTreeMap, BTreeSet};

use sha2::{Digest, Sha256};

use super::PAGE_ROWS;
use super::tables::{Cell, Table};
use crate::db::Read;
use crate::error::Error;

/// A table, and the group of its rows if it has a group number.
type Part = (&'static str, Option<i64>);

/// The row counts and digests of the tables read so far.
#[derive(Default)]
pub(super) struct Digests {
    parts: BTreeMap<Part, (u64, Sha256)>,
}

impl Digests {
    /// Adds all rows of a table, in the order of its key.
    pub(super) async fn add(
        &mut self,
        read: &Read<'_>,
        table: &'static Table,
    ) -> Result<(), Error> {
        let mut last: Option<Vec<Cell>> = None;
        loop {
            let rows = table.page(read, last.as_deref(), PAGE_ROWS).await?;
            let Some(end) = rows.last() else { return Ok(()) };
            last = Some(table.key_of(end));
            for row in &rows {
                let part = self.parts.entry((table.name, table.group_of(row))).or_default();
                part.0 += 1;
                row.iter().for_each(|cell| update(&mut part.1, cell));
            }
        }
    }

    /// Returns how many rows were read.
    pub(super) fn rows(&self) -> u64 {
        self.parts.values().map(|(rows, _)| rows).sum()
    }

    pub(super) fn rows_of(&self, table: &str) -> u64 {
        self.parts.iter().filter(|((name, _), _)| *name == table).map(|(_, (rows, _))| rows).sum()
    }

    pub(super) fn groups(&self) -> usize {
        self.parts.keys().filter_map(|(_, group)| *group).collect::<BTreeSet<i64>>().len()
    }

    /// Returns descriptions of the differences between two sides of a table.
    pub(super) fn differences(&self, other: &Digests, table: &Table) -> Vec<String> {
        let keys: BTreeSet<&Part> = self.parts.keys().chain(other.parts.keys()).collect();
        let mut differences = Vec::new();
        for part in keys.into_iter().filter(|(name, _)| *name == table.name) {
            let of = |digests: &Digests| {
                let part = digests.parts.get(part);
                part.map_or((0, None), |(rows, sum)| (*rows, Some(sum.clone().finalize())))
            };
            let (here, there) = (of(self), of(other));
            if here != there {
                let group = part.1.map(|group| format!(", group number {group}"));
                differences.push(format!(
                    "{}{}: {} rows in the directory and {} in the database, or different values",
                    part.0,
                    group.unwrap_or_default(),
                    here.0,
                    there.0
                ));
            }
        }
        differences
    }
}

/// Adds a value with its type and length, so that different rows never have the same bytes.
fn update(sum: &mut Sha256, cell: &Cell) {
    match cell {
        Cell::Int(int) => {
            sum.update([1]);
            sum.update(int.to_be_bytes());
        }
        Cell::Text(text) => {
            sum.update([2]);
            sum.update(text.len().to_be_bytes());
            sum.update(text.as_bytes());
        }
        Cell::Bytes(bytes) => {
            sum.update([4]);
            sum.update(bytes.len().to_be_bytes());
            sum.update(bytes);
        }
        Cell::Flag(flag) => sum.update([3, u8::from(*flag)]),
        Cell::Null => sum.update([0]),
    }
}
