//! Checks a move without making it.

use super::{DirectoryState, MOVED_AT, MoveError, begin, move_id, stored_position, tables};
use crate::db::{ClosedData, Db, Deadline, Write};
use crate::error::Error;
use crate::metadata;
use crate::views::Upkeep;
use kiosque_model::UnixMs;

/// The rows that a move would copy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MovePreview {
    /// The rows of each table.
    pub tables: Vec<(&'static str, u64)>,
    /// The rows that earlier runs have copied.
    pub already: u64,
}

impl MovePreview {
    /// Returns the number of rows of all tables.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.tables.iter().map(|(_, rows)| rows).sum()
    }

    /// Returns the number of rows of a table.
    #[must_use]
    pub fn rows_of(&self, table: &str) -> u64 {
        self.tables.iter().filter(|(name, _)| *name == table).map(|(_, rows)| rows).sum()
    }
}

impl Upkeep<'_> {
    /// Checks that the data can be moved to `to`, and counts its rows. Both stores are dry runs.
    ///
    /// # Errors
    /// Those of [`Upkeep::move_to`], except that copies may differ.
    pub async fn preview_move(self, to: Upkeep<'_>, now: UnixMs) -> Result<MovePreview, MoveError> {
        let target = to.0.db.clone();
        let check = async move |from: &Write<'_>| {
            let id = move_id(from, now).await?;
            let is_closed = metadata::entry(from, MOVED_AT).await?.is_some();
            let directory = if is_closed { DirectoryState::Closed } else { DirectoryState::Open };
            let begin = async move |write: &Write<'_>| begin(write, &id, directory).await;
            target.write(Deadline::OfRequest, begin).await?;
            Ok::<_, MoveError>(count(from, &target).await?)
        };
        self.0.db.write_to(ClosedData::Accepted, Deadline::None, check).await
    }
}

async fn count(from: &Write<'_>, to: &Db) -> Result<MovePreview, Error> {
    let mut preview = MovePreview::default();
    for table in tables::all() {
        let rows = from.one(&table.count, &[], |row| row.read::<i64>()).await?;
        preview.tables.push((table.name, rows_of(rows)));
        if let Some(position) = stored_position(to, table).await? {
            let values = tables::values(&position);
            let copied = from.one(&table.count_to, &values, |row| row.read::<i64>()).await?;
            preview.already += rows_of(copied);
        }
    }
    Ok(preview)
}

fn rows_of(count: Option<i64>) -> u64 {
    count.and_then(|rows| u64::try_from(rows).ok()).unwrap_or_default()
}
