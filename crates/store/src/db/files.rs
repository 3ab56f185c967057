//! The files of data in SQLite: their sizes, and whether they can be used.

use super::{Db, FileSizes};
use crate::error::Error;

impl Db {
    /// Returns whether the data is in SQLite, which this process writes itself.
    pub fn is_file(&self) -> bool {
        self.postgres().is_none()
    }

    /// Returns the sizes of the files of SQLite.
    pub fn file_sizes(&self) -> Option<FileSizes> {
        match self {
            Db::Sqlite(sqlite) => Some(sqlite.files.sizes()),
            Db::Postgres(_) => None,
        }
    }

    /// Checks that the files of SQLite are the ones that were opened, and refuses every request
    /// while they are not: writes to a file that was replaced, moved, removed or overwritten would
    /// be lost. The program calls this once a second.
    pub fn check_files(&self) {
        if let Db::Sqlite(sqlite) = self {
            sqlite.compare_files();
        }
    }

    /// Checks the whole file of SQLite if a read has found it damaged. If it is not, the device had
    /// a temporary error, and the data counts as undamaged again. The program calls this at
    /// intervals.
    pub async fn check_damage(&self) {
        if let Db::Sqlite(sqlite) = self {
            sqlite.check_damage().await;
        }
    }

    /// Fails once SQLite has found the database file damaged, or if the damage was `found` earlier.
    /// PostgreSQL reports damage by itself.
    pub(crate) fn check_undamaged(&self, found: Option<&str>) -> Result<(), Error> {
        let Db::Sqlite(sqlite) = self else { return Ok(()) };
        sqlite.files.check_undamaged()?;
        found.map_or(Ok(()), |found| Err(sqlite.files.damage_found(found)))
    }

    /// Fails if a write would fail, as far as known without trying.
    pub(crate) fn check_writable(&self) -> Result<(), Error> {
        match self {
            Db::Sqlite(sqlite) => sqlite.files.check_writable(),
            // The lease is renewed by writes, which a read-only server refuses.
            Db::Postgres(postgres) => {
                postgres.lease.check()?;
                postgres.check_room()
            }
        }
    }

    /// Returns whether the file system prevented the last write.
    pub(crate) fn last_write_failed(&self) -> bool {
        matches!(self, Db::Sqlite(sqlite) if sqlite.files.last_write_failed())
    }
}
