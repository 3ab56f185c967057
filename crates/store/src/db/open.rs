//! The options for opening a store.

use std::path::Path;
use std::time::Duration;

use kiosque_model::{UnixMs, Zone};

use super::{Db, SessionLease};
use crate::error::Error;

/// Whether an absent directory or database is created or refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenAbsent {
    /// Create the data.
    Create,
    /// Fail.
    Refuse,
}

/// Whether the changes of a store are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changes {
    /// Each change is durable when its operation returns.
    Stored,
    /// A dry run: all changes are made in one transaction, which is rolled back when the store is
    /// dropped. Reads of the store see them; missing migrations are among them. If data is to be
    /// created in a directory, it is created in memory.
    ///
    /// Other writers continue, and do not affect the dry run. On Citus, those that change the same
    /// rows wait.
    RolledBack,
}

/// The location of the data.
#[derive(Clone, Copy, Debug)]
pub enum StoreLocation<'a> {
    /// A file in this directory.
    Directory(&'a Path),
    /// A PostgreSQL database: `postgres://…`. Of several hosts, the one that accepts writes is
    /// used.
    Postgres(&'a str),
}

/// Options for opening a store.
#[derive(Clone, Debug)]
pub struct OpenOptions<'a> {
    /// The location of the data.
    pub place: StoreLocation<'a>,
    /// The behaviour without data.
    pub when_absent: WhenAbsent,
    /// Whether changes are stored.
    pub changes: Changes,
    /// The platform's time zone; `None` for the recorded one, or UTC for new data.
    pub zone: Option<&'a Zone>,
    /// How long a request waits for the store.
    pub wait: Duration,
    /// The lease under which this node answers for sessions; unused for a directory.
    pub lease: SessionLease,
    /// The current time.
    pub now: UnixMs,
    /// Random bytes, which distinguish this opening of the data from all others.
    pub random: [u8; 16],
}

/// Whether a transaction may run on data that was closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClosedData {
    Refused,
    /// To open the data, and to repeat the move that closed it.
    Accepted,
}

/// The tables that a dry run on a database server changes. Temporary tables hide them.
#[derive(Debug)]
pub(crate) struct TemporaryTables {
    /// Tables that are copied.
    pub(crate) copied: &'static [&'static str],
    /// Tables to which a dry run only adds: the temporary ones are created empty.
    pub(crate) empty: &'static [&'static str],
    /// Tables that are too large to copy, with the columns that identify a row and never change: a
    /// row is copied when it changes.
    pub(crate) overlaid: &'static [(&'static str, &'static [&'static str])],
}

impl Db {
    /// Prepares a dry run on a database server to write to temporary tables. The layout must be up
    /// to date.
    pub(crate) async fn hide_tables(&self, tables: &'static TemporaryTables) -> Result<(), Error> {
        let Some(postgres) = self.postgres() else { return Ok(()) };
        postgres.hide_tables(tables).await
    }

    /// Returns whether no change is ever committed; see [`Changes::RolledBack`].
    pub fn is_dry_run(&self) -> bool {
        match self {
            Db::Sqlite(sqlite) => sqlite.dry_run.is_some(),
            Db::Postgres(postgres) => postgres.dry_run.is_some(),
        }
    }
}
