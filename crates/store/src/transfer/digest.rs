//! Digests of whole tables, group by group: the same rows have the same, on whichever engine.

use std::collections::{BTreeMap, BTreeSet};

use sha2::{Digest, Sha256};

use super::ROWS_AT_A_TIME;
use super::tables::{Cell, Table};
use crate::Error;
use crate::db::Read;

/// A table's rows of one group; of all groups together where it is not kept by group.
type Part = (&'static str, Option<i64>);

/// What has been read so far.
#[derive(Default)]
pub(super) struct Digests {
    parts: BTreeMap<Part, (u64, Sha256)>,
}

impl Digests {
    /// Reads a table whole, in the order of its key.
    pub(super) async fn add(
        &mut self,
        read: &Read<'_>,
        table: &'static Table,
    ) -> Result<(), Error> {
        let mut last: Option<Vec<Cell>> = None;
        loop {
            let rows = table.page(read, last.as_deref(), ROWS_AT_A_TIME).await?;
            let Some(end) = rows.last() else { return Ok(()) };
            last = Some(table.key_of(end));
            for row in &rows {
                let part = self.parts.entry((table.name, table.group_of(row))).or_default();
                part.0 += 1;
                row.iter().for_each(|cell| take(&mut part.1, cell));
            }
        }
    }

    /// How many rows have been read.
    pub(super) fn rows(&self) -> u64 {
        self.parts.values().map(|(rows, _)| rows).sum()
    }

    pub(super) fn rows_of(&self, table: &str) -> u64 {
        self.parts.iter().filter(|((name, _), _)| *name == table).map(|(_, (rows, _))| rows).sum()
    }

    pub(super) fn groups(&self) -> usize {
        self.parts.keys().filter_map(|(_, group)| *group).collect::<BTreeSet<i64>>().len()
    }

    /// Where another side differs in a table, in words.
    pub(super) fn differences(&self, other: &Digests, table: &Table) -> Vec<String> {
        let keys: BTreeSet<&Part> = self.parts.keys().chain(other.parts.keys()).collect();
        let mut differences = Vec::new();
        for part in keys.into_iter().filter(|(name, _)| *name == table.name) {
            let of = |digests: &Digests| {
                let found = digests.parts.get(part);
                found.map_or((0, None), |(rows, sum)| (*rows, Some(sum.clone().finalize())))
            };
            let (here, there) = (of(self), of(other));
            if here != there {
                let group = part.1.map(|group| format!(", group number {group}"));
                differences.push(format!(
                    "{}{}: {} rows here and {} there, or not the same",
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

/// Adds a value, so that no two rows of different values read alike.
fn take(sum: &mut Sha256, cell: &Cell) {
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
        Cell::Flag(flag) => sum.update([3, u8::from(*flag)]),
        Cell::Null => sum.update([0]),
    }
}
