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
mod dashboard;
mod db;
mod devices;
mod fleet;
mod house;
mod keys;
mod known_sources;
mod migrate;
mod orders;
mod owners;
mod rates;
mod receive;
mod record;
mod renew;
mod sessions;
mod sql;
mod sums;
mod verify;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use kiosque_model::money::MoneyFault;
use kiosque_model::{Refusal, UnixMs, Zone};

pub use accounts::Credentials;
pub use activity::{Heartbeat, Unheard};
pub use archive::Archived;
pub use audit::{AuditAsk, AuditPage};
pub use backup::{BackedUp, BackupError};
pub use dashboard::{Aisle, DashboardAsk, DeviceLine, DeviceSales, ProductSales, Summary};
pub use db::{Copied, FileSizes};
pub use devices::{CodeFilter, Device, DeviceAsk, GroupFilter, OnlineSince};
pub use fleet::{Applied, ApplyError, FleetSeen, NewHashes, Tally};
pub use keys::{CreatedKey, KeyEntry, KeyHolder, RevokedKey};
pub use known_sources::Acquaintance;
pub use orders::{History, OrderAsk, Span, TradeNumbers};
pub use rates::DatedRate;
pub use receive::{Outcome, Owners, derived_trade_no_in};
pub use record::{Incoming, Kept, Ready, Record, RecordShape};
pub use sessions::{Opened, SwitchableGroup};
pub use verify::Verified;

use activity::Activity;
use db::Db;

/// Why the store could not do what was asked; never the caller's fault.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Others kept the store for longer than a request waits.
    #[error("the store was busy for {0:?}")]
    Busy(Duration),
    /// The engine failed.
    #[error("the store failed: {0}")]
    Engine(#[from] rusqlite::Error),
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

/// How to open a store.
#[derive(Clone, Debug)]
pub struct Opening<'a> {
    /// The folder that holds the data.
    pub folder: &'a Path,
    /// What to do when it holds none.
    pub when_absent: WhenAbsent,
    /// The platform's time zone; `None`: the recorded one, UTC for new data.
    pub zone: Option<&'a Zone>,
    /// Knows what is inside a record.
    pub shape: Arc<dyn RecordShape>,
    /// How long a request waits for its turn.
    pub wait: Duration,
    /// The time now.
    pub now: UnixMs,
}

/// The data of one platform. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Store {
    db: Arc<Db>,
    zone: Zone,
    shape: Arc<dyn RecordShape>,
    activity: Arc<Activity>,
}

impl Store {
    /// Opens the data of a folder, bringing its layout up to date.
    ///
    /// # Errors
    /// No data where some was expected, data of a newer program, another time zone than the
    /// recorded one, or an engine that fails.
    pub fn open(opening: &Opening<'_>) -> Result<Store, Error> {
        let db = Db::open(opening.folder, opening.when_absent, opening.wait)?;
        let zone = db.write_here(|write| {
            let done = migrate::up(write, opening.now)?;
            let zone = house::settle_zone(write, opening.zone)?;
            if done.contains(&migrate::SUMS) {
                renew::orders(write, &zone, &*opening.shape)?;
            }
            Ok::<_, Error>(zone)
        })?;
        let shape = Arc::clone(&opening.shape);
        Ok(Store { db: Arc::new(db), zone, shape, activity: Arc::default() })
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
    pub fn answers(&self) -> Result<(), Error> {
        self.db.read(|read| house::fleet_version(read).map(|_| ()))
    }

    /// How large the store's files are.
    #[must_use]
    pub fn file_sizes(&self) -> FileSizes {
        self.db.file_sizes()
    }

    /// Compiles every statement that this crate has, for a test to hold against the engine.
    ///
    /// # Errors
    /// The name of the first statement that does not compile, and why.
    pub fn prepare_all(&self) -> Result<usize, Error> {
        let groups = [
            accounts::ALL,
            activity::ALL,
            archive::ALL,
            backup::ALL,
            audit::ALL,
            devices::ALL,
            house::ALL,
            keys::ALL,
            known_sources::ALL,
            migrate::ALL,
            orders::ALL,
            owners::ALL,
            rates::ALL,
            receive::ALL,
            renew::ALL,
            sessions::ALL,
            sums::ALL,
        ];
        let mut count = 0;
        let parts = fleet::all().chain(dashboard::all()).chain(verify::all());
        for sql in groups.into_iter().flatten().copied().chain(parts) {
            self.db.read(|read| read.compile(sql))?;
            count += 1;
        }
        Ok(count)
    }
}
