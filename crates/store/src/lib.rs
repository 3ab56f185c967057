//! How it is kept: SQL and rows to and from the model. Nothing here knows HTTP, reads a clock
//! (`now` is an argument) or looks inside a stored record.
//!
//! Every statement is written once, in the SQL that SQLite and PostgreSQL share, and stands beside
//! the function that uses it. [`Store`] is the door: business reads go through
//! `Store::scoped`, which proves the session first, in the same snapshot.

mod accounts;
mod activity;
mod archive;
mod audit;
mod backup;
mod citus;
mod cooperative;
mod dashboard;
mod db;
mod devices;
mod fleet;
mod json_records;
mod keys;
mod known_sources;
mod metadata;
mod migrate;
mod orders;
mod owners;
mod rates;
mod receive;
mod scoped_query;
mod sessions;
mod sql;
mod sums;
mod transfer;
mod upgrade;
mod verify;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use kiosque_model::money::MoneyFault;
use kiosque_model::{Refusal, UnixMs, Zone};

pub use accounts::{Credentials, SwitchableGroup};
pub use activity::{Heartbeat, RefusedHeartbeat};
pub use archive::Archived;
pub use audit::{AuditPage, AuditQuery};
pub use backup::{BackedUp, BackupError};
pub use citus::citus_statements;
pub use cooperative::yield_if_due;
pub use dashboard::{Aisle, DashboardQuery, DeviceLine, DeviceSales, ProductSales, Summary};
pub use db::{ClockCheck, Copied, FileSizes, SessionLease};
pub use devices::{CodeFilter, Device, DeviceQuery, GroupFilter, OnlineSince};
pub use fleet::{Applied, ApplyError, ChangeCounts, FleetSnapshot, NewHashes};
pub use json_records::JsonRecords;
pub use keys::{CreatedKey, KeyEntry, KeyHolder, RevokedKey};
pub use known_sources::SourceStatus;
pub use orders::record::{Incoming, ProductNames, Record, derived_trade_no_in};
pub use orders::{History, OrderPage, OrderQuery, Span, TradeNumbers};
pub use rates::DatedRate;
pub use receive::{Outcome, Owners};
pub use sessions::OpenedSession;
pub use transfer::{MoveError, MoveProgress, MoveStep, Moved};
pub use verify::Verified;

use activity::Activity;
use dashboard::DashboardCache;
use db::{Db, Length};
use scoped_query::GroupHints;

/// Why the store could not do what was asked; never the caller's fault.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Others kept the store for longer than a request waits.
    #[error("the store was busy for {0:?}")]
    Busy(Duration),
    /// The file failed.
    #[error("the store failed: {0}")]
    Sqlite(#[from] rusqlite::Error),
    /// The database failed, or refused.
    #[error("the database failed: {}", told(.0))]
    Postgres(tokio_postgres::Error),
    /// The database does not answer, or nothing that it answers may be believed now.
    #[error("the database cannot be relied on now: {0}")]
    Unreachable(String),
    /// What was asked for may have been done, or not.
    #[error("it is not known whether this was done: {0}")]
    Unknown(String),
    /// The data is not what this program made, or is used otherwise than it was made for.
    #[error("{0}")]
    Data(String),
    /// A worker of the store ended without an answer.
    #[error("a worker of the store ended without an answer")]
    Gone,
}

/// Why a request was not answered: it was refused, or the store failed.
#[derive(Debug)]
pub enum Refused {
    /// The caller may not, or asked for what is not there.
    Refusal(Refusal),
    /// The store's fault.
    Store(Error),
}

/// What the server said, or why nothing was heard of it.
fn told(error: &tokio_postgres::Error) -> String {
    match error.as_db_error() {
        Some(said) => format!("{} ({})", said.message(), said.code().code()),
        None => {
            let cause = std::error::Error::source(error).map(|cause| format!(": {cause}"));
            format!("{error}{}", cause.unwrap_or_default())
        }
    }
}

impl From<tokio_postgres::Error> for Error {
    fn from(error: tokio_postgres::Error) -> Self {
        use tokio_postgres::error::SqlState;
        let code = error.code();
        // It ended before it was done, or there was nobody to do it.
        let away = [
            SqlState::QUERY_CANCELED,
            SqlState::ADMIN_SHUTDOWN,
            SqlState::CRASH_SHUTDOWN,
            SqlState::CANNOT_CONNECT_NOW,
            SqlState::TOO_MANY_CONNECTIONS,
            SqlState::READ_ONLY_SQL_TRANSACTION,
        ];
        match code {
            None => Error::Unreachable(told(&error)),
            Some(code) if away.contains(code) => Error::Unreachable(told(&error)),
            Some(_) => Error::Postgres(error),
        }
    }
}

impl From<MoneyFault> for Error {
    fn from(fault: MoneyFault) -> Self {
        Error::Data(fault.to_string())
    }
}

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Self {
        Refused::Refusal(refusal)
    }
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Refused::Store(error)
    }
}

impl From<rusqlite::Error> for Refused {
    fn from(error: rusqlite::Error) -> Self {
        Refused::Store(error.into())
    }
}

/// Whether a folder without data is filled or refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenAbsent {
    /// Make the data.
    Create,
    /// Say that there is none.
    Refuse,
}

/// Where the data is.
#[derive(Clone, Copy, Debug)]
pub enum StoreLocation<'a> {
    /// In a file of this folder.
    Folder(&'a Path),
    /// In a PostgreSQL: `postgres://…`, which may name several hosts; the one that takes writes is
    /// meant.
    Postgres(&'a str),
}

/// How to open a store.
#[derive(Clone, Debug)]
pub struct OpenOptions<'a> {
    /// Where the data is.
    pub place: StoreLocation<'a>,
    /// What to do when there is none.
    pub when_absent: WhenAbsent,
    /// The platform's time zone; `None`: the recorded one, UTC for new data.
    pub zone: Option<&'a Zone>,
    /// How long a request waits for its turn.
    pub wait: Duration,
    /// How long answers about sessions may be relied on; of no matter for a folder.
    pub lease: SessionLease,
    /// The time now.
    pub now: UnixMs,
}

/// The data of one platform. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Store {
    db: Db,
    zone: Zone,
    activity: Arc<Activity>,
    memory: Arc<DashboardCache>,
    group_hints: Arc<GroupHints>,
}

impl Store {
    /// Opens the data of a folder, bringing its layout up to date.
    ///
    /// # Errors
    /// No data where some was expected, data of a newer program, another time zone than the
    /// recorded one, or an engine that fails.
    pub async fn open(opening: &OpenOptions<'_>) -> Result<Store, Error> {
        let store = Store::open_unsettled(opening).await?;
        transfer::check_complete(&store.db).await?;
        store.db.start_lease().await?;
        Ok(store)
    }

    /// The same for a move, of which one end may be data that is not complete yet, and the other
    /// data that has moved away.
    ///
    /// # Errors
    /// As above.
    pub async fn open_unsettled(opening: &OpenOptions<'_>) -> Result<Store, Error> {
        let db = Db::open(opening)?;
        let (when_absent, now) = (opening.when_absent, opening.now);
        let wanted = opening.zone.cloned();
        let zone = db
            .write(Length::Long, async move |write| {
                let done = migrate::up(write, when_absent, now).await?;
                let zone = metadata::settle_zone(write, wanted.as_ref()).await?;
                if done.contains(&migrate::SUMS) {
                    upgrade::orders(write, &zone).await?;
                }
                Ok::<_, Error>(zone)
            })
            .await?;
        Ok(Store {
            db,
            zone,
            activity: Arc::default(),
            memory: Arc::default(),
            group_hints: Arc::default(),
        })
    }

    /// The platform's time zone.
    #[must_use]
    pub fn zone(&self) -> &Zone {
        &self.zone
    }

    /// Reads a little, to see whether the store answers.
    ///
    /// # Errors
    /// It does not.
    pub async fn answers(&self) -> Result<(), Error> {
        metadata::fleet_version_now(&self.db).await.map(|_| ())
    }

    /// Whether the data is in a file, which this process writes itself.
    #[must_use]
    pub fn is_file(&self) -> bool {
        self.db.is_file()
    }

    /// How large the store's files are, if it has some of its own.
    #[must_use]
    pub fn file_sizes(&self) -> Option<FileSizes> {
        self.db.file_sizes()
    }

    /// Holds this node's clock against the database's. While it is further off than the lease
    /// allows, no session is answered for. `None`: there is no other clock.
    pub fn check_clock(&self, now: UnixMs) -> Option<ClockCheck> {
        self.db.check_clock(now)
    }

    /// Compiles every statement that this crate has, for a test to hold against the engine.
    ///
    /// # Errors
    /// The name of the first statement that does not compile, and why.
    pub async fn prepare_all(&self) -> Result<usize, Error> {
        self.db.read(Length::Long, prepare_all).await
    }
}

async fn prepare_all(read: &db::Read<'_>) -> Result<usize, Error> {
    let mut count = 0;
    for sql in all_statements().chain(transfer::statements()) {
        read.compile(sql).await?;
        count += 1;
    }
    Ok(count)
}

/// Every statement that asks or changes something in the course of a day.
fn all_statements() -> impl Iterator<Item = &'static sql::Sql> {
    let groups = [
        accounts::ALL,
        activity::ALL,
        archive::ALL,
        backup::ALL,
        audit::ALL,
        devices::ALL,
        metadata::ALL,
        keys::ALL,
        known_sources::ALL,
        migrate::ALL,
        orders::ALL,
        owners::ALL,
        scoped_query::ALL,
        rates::ALL,
        upgrade::ALL,
        sessions::ALL,
        sums::ALL,
    ];
    let parts = fleet::all().chain(receive::all()).chain(dashboard::all()).chain(verify::all());
    groups.into_iter().flatten().copied().chain(parts)
}
