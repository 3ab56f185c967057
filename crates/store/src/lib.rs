//! Persistence: every SQL statement, and the mapping between rows and types of the model. Nothing
//! here knows HTTP or reads a clock (`now` is an argument).
//!
//! Every statement is written once, in the SQL that SQLite and PostgreSQL share, in the module that
//! uses it. Business reads go through `Store::scoped`, which proves the session in the same
//! snapshot as the rows.

mod accounts;
mod activity;
mod aisle_texts;
mod archive;
mod arrivals;
mod audit;
mod backup;
mod cache;
mod citus;
mod console;
mod cooperative;
mod dashboard;
mod db;
mod devices;
mod dictionaries;
mod directory;
mod dry_run;
mod error;
#[cfg(test)]
mod explain;
mod file_system;
mod fleet;
mod followers;
mod histories;
mod imports;
mod inventory;
mod json_records;
mod keys;
mod known_sources;
mod metadata;
mod migrate;
mod orders;
mod owners;
mod rates;
mod readiness;
mod receive;
mod refused_requests;
mod restore;
mod scoped;
mod session_clock;
mod sessions;
mod sql;
mod sums;
mod transfer;
mod usage;
mod varint;
mod verify;
mod versions;

use std::sync::Arc;

use kiosque_model::{UnixMs, Zone};

pub use accounts::{Credentials, SwitchableGroup};
pub use activity::{Heartbeat, RefusedHeartbeat};
pub use archive::{ArchiveError, Archived, Returning};
pub use arrivals::{Arrival, ArrivalNo, OrderSource};
pub use audit::{AuditEntry, AuditPage, AuditQuery, LiveSession, PendingEvents};
pub use backup::{BackedUp, BackupError, UNFINISHED_SUFFIX, remove_unfinished};
pub use citus::citus_statements;
pub use console::{ConsoleSession, Oversight, SessionUse, SignInProof};
pub use cooperative::yield_if_due;
pub use dashboard::{
    AislesJson, DashboardQuery, DeviceElement, DevicePart, DeviceSales, DevicesRead, FleetSales,
    FleetSalesQuery, ProductRank, ProductSales, ProfileElement, SilentDevice, Summary,
};
pub use db::{
    Changes, ClockCheck, Copied, FileSizes, OpenOptions, SessionLease, StoreLocation, WhenAbsent,
    shown_address,
};
pub use devices::{CodeFilter, Device, DeviceQuery, OnlineSince};
pub use directory::{
    ServerLock, ServerProcess, create_directory, data_files, has_data, mode_for_others,
    server_process,
};
pub use error::{Error, Refused};
pub use fleet::{
    Applied, ApplyError, ChangeCounts, DatedMove, DeleteError, EntryDifference, FieldDifference,
    FleetFault, FleetSnapshot, NewHash, NewHashes, OwnerDifference,
};
pub use followers::{ChangeWait, Follower};
pub use imports::{IMPORT_ACTIVE_INTERVAL, IMPORT_REJECTED_MAX, ImportRejections};
pub use inventory::{
    DamagedOrder, DeviceOrders, DeviceSearch, DeviceState, ExportedOrder, FleetKey, FleetPart,
    FoundDevice, FoundDevices, FoundOrders, Listed, Listing, OrderKey, OrderPosition, OrdersOf,
    Passwords, RateKey, SaleTimes,
};
pub use json_records::JsonRecords;
pub use keys::{CreatedKey, KeyEntry, KeyHolder, KeyUse, RevokedKey};
pub use known_sources::SourceStatus;
pub use metadata::marker_of_unopened;
pub use orders::changes::{ChangeQuery, OrderChanges};
pub use orders::record::{Incoming, ProductNames, Record, derived_trade_no_in};
pub use orders::{History, OrderPage, OrderQuery, Span, TradeNumbers};
pub use owners::DeviceGroups;
pub use rates::{DatedRate, RateJump, RatesSet, ReplacedRate};
pub use receive::{
    BatchPart, EntryIndexes, LockedGroups, NeededEntries, OrderOutcome, Owners, ReceiveOptions,
};
pub use refused_requests::{Exchange, FoundRequest, REFUSED_AGE_MS, RefusedRequest, Sender};
pub use restore::{RestoreError, Staged, ensure_backup, stage_backup};
pub use scoped::GroupFilter;
#[doc(hidden)]
pub use scoped::Unproven;
pub use sessions::{EndedSession, OpenedSession};
pub use transfer::{MoveError, MovePreview, MoveProgress, MoveStep, Moved};
pub use usage::{AccountUse, CodeCount, FunctionUsage, Guesses};
pub use verify::Verified;

use activity::Activity;
use cache::{CACHE_BYTES, Cache};
use dashboard::{BestSellerHints, KnownDevices};
use db::{ClosedData, Db, Deadline};
use dictionaries::Training;
use followers::Followers;
use histories::Opening;
use orders::record::dictionaries::Dictionaries;
use refused_requests::RefusedQueue;
use scoped::ProvenBefore;
use session_clock::SessionClock;
use usage::Usage;

/// The data of one platform. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Store {
    db: Db,
    zone: Zone,
    opening: Opening,
    activity: Arc<Activity>,
    cache: Arc<Cache>,
    dictionaries: Arc<Dictionaries>,
    training: Arc<Training>,
    proven_before: Arc<ProvenBefore>,
    best_seller_hints: Arc<BestSellerHints>,
    known_devices: Arc<KnownDevices>,
    session_clock: Arc<SessionClock>,
    refused: Arc<RefusedQueue>,
    usage: Arc<Usage>,
    followers: Arc<Followers>,
}

impl Store {
    /// Opens a store, and brings its layout up to date.
    ///
    /// # Errors
    /// No data where some was expected, data of a newer program, another time zone than the
    /// recorded one, or an engine that fails.
    pub async fn open(options: &OpenOptions<'_>) -> Result<Store, Error> {
        let store = Store::open_unsettled(options).await?;
        transfer::check_complete(&store.db).await?;
        store.db.hide_tables(&dry_run::TABLES).await?;
        store.db.start_lease().await?;
        Ok(store)
    }

    /// The same for a move, of which the source may have been moved away already, and the target
    /// may be incomplete.
    ///
    /// # Errors
    /// As above.
    pub async fn open_unsettled(options: &OpenOptions<'_>) -> Result<Store, Error> {
        let db = Db::open(options, migrate::REGISTER)?;
        let (when_absent, now) = (options.when_absent, options.now);
        let wanted = options.zone.cloned();
        let (zone, clock_ms) = db
            .write_to(ClosedData::Accepted, Deadline::None, async move |write| {
                migrate::up(write, when_absent, now).await?;
                let zone = metadata::settle_zone(write, wanted.as_ref()).await?;
                Ok::<_, Error>((zone, metadata::clock(write).await?))
            })
            .await?;
        Ok(Store {
            db,
            zone,
            opening: Opening::new(options.random),
            activity: Arc::default(),
            cache: Arc::new(Cache::new(CACHE_BYTES)),
            dictionaries: Arc::default(),
            training: Arc::default(),
            proven_before: Arc::default(),
            best_seller_hints: Arc::default(),
            known_devices: Arc::default(),
            session_clock: Arc::new(SessionClock::new(clock_ms)),
            refused: Arc::default(),
            usage: Arc::default(),
            followers: Arc::default(),
        })
    }

    /// Returns the platform's time zone.
    #[must_use]
    pub fn zone(&self) -> &Zone {
        &self.zone
    }

    /// Returns whether no change is stored; see [`Changes::RolledBack`].
    #[must_use]
    pub fn is_dry_run(&self) -> bool {
        self.db.is_dry_run()
    }

    /// Returns whether the data is in SQLite, which this process writes itself.
    #[must_use]
    pub fn is_file(&self) -> bool {
        self.db.is_file()
    }

    /// Returns whether the data is distributed over the workers of a Citus cluster.
    #[must_use]
    pub fn is_sharded(&self) -> bool {
        self.db.is_sharded()
    }

    /// Returns the sizes of the files of SQLite.
    #[must_use]
    pub fn file_sizes(&self) -> Option<FileSizes> {
        self.db.file_sizes()
    }

    /// Returns the hosts and the name of the database server's database; `None` for SQLite.
    #[must_use]
    pub fn database(&self) -> Option<String> {
        self.db.database()
    }

    /// Compares this node's clock with the database's; `None` for SQLite, which has no other clock.
    /// While the difference is larger than the lease allows, this node answers for no session.
    pub fn check_clock(&self, now: UnixMs) -> Option<ClockCheck> {
        self.db.check_clock(now)
    }

    /// Returns how many milliseconds this node's clock was ahead of the database's when
    /// [`Store::check_clock`] compared them last, if that is too much.
    #[must_use]
    pub fn clock_off_ms(&self) -> Option<i64> {
        self.db.clock_off_ms()
    }

    /// Prepares every statement of this crate on the engine, and checks its columns, for tests.
    /// Returns how many there are.
    ///
    /// # Errors
    /// The name of the first statement that is refused, and why.
    pub async fn prepare_all(&self) -> Result<usize, Error> {
        let statements = || all_statements().chain(transfer::statements());
        let prepare = async move |read: &db::Read<'_>| {
            read.prepare_all(statements(), sessions::check_statement()).await
        };
        self.db.read(Deadline::None, prepare).await?;
        Ok(statements().count())
    }
}

/// Returns every statement but those that move data to another store.
fn all_statements() -> impl Iterator<Item = &'static sql::Sql> {
    let groups = [
        accounts::ALL,
        activity::ALL,
        aisle_texts::ALL,
        archive::ALL,
        arrivals::ALL,
        console::ALL,
        dictionaries::ALL,
        followers::ALL,
        histories::ALL,
        imports::ALL,
        metadata::ALL,
        keys::ALL,
        known_sources::ALL,
        migrate::ALL,
        owners::ALL,
        rates::ALL,
        session_clock::ALL,
        sums::ALL,
        usage::ALL,
        versions::ALL,
    ];
    let parts = fleet::all()
        .chain(audit::all())
        .chain(receive::all())
        .chain(refused_requests::all())
        .chain(dashboard::all())
        .chain(verify::all())
        .chain(devices::all())
        .chain(orders::all())
        .chain(inventory::all())
        .chain(sessions::all());
    groups.into_iter().flatten().copied().chain(parts)
}
