//! The location and size of the data, and the server that has it.

use super::{Db, Transaction, Write};
use crate::error::Error;
use crate::sql::Sql;

/// On Citus, the size of the coordinator's part.
static DATABASE_BYTES: Sql =
    Sql::new("DATABASE_BYTES", "select pg_database_size(current_database())");

impl Write<'_> {
    /// Returns an identifier of the database server of this transaction, different from any other
    /// server and from itself before a restart; empty for SQLite, which has none.
    pub(crate) fn server(&self) -> &str {
        self.postgres().map_or("", Transaction::server)
    }
}

impl Db {
    /// Returns how many milliseconds this node's clock was ahead of the database's when
    /// [`Db::check_clock`] last compared them, if that is too much.
    pub fn clock_off_ms(&self) -> Option<i64> {
        self.postgres()?.lease.clock_off_ms()
    }

    /// Returns a failure to open the data, with the remedy if the database server refuses the role.
    pub(crate) fn explained(&self, error: Error) -> Error {
        match self {
            Db::Sqlite(_) => error,
            Db::Postgres(postgres) => postgres.explained(error),
        }
    }

    /// Returns the hosts and the name of the database; `None` for SQLite.
    pub fn database(&self) -> Option<String> {
        self.postgres().map(|postgres| postgres.database())
    }

    /// Returns the size of the database.
    pub(crate) async fn database_bytes(&self) -> Result<u64, Error> {
        if let Db::Sqlite(sqlite) = self {
            return Ok(sqlite.files.sizes().database);
        }
        let bytes = self.one::<i64>(&DATABASE_BYTES, &[]).await?;
        Ok(bytes.and_then(|bytes| u64::try_from(bytes).ok()).unwrap_or_default())
    }
}
