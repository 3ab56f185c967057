//! Persistence: every SQL statement, and the mapping between rows and types of the model.
//! Independent of HTTP, and reads no clock (`now` is an argument).
//!
//! Every statement is written once, in the SQL that SQLite and PostgreSQL share, in the module that
//! uses it. Business reads go through `scoped`, which proves the session in the same
//! snapshot as the rows. `ARCHITECTURE.md` has the layers of the modules.

mod account_use;
mod accounts;
mod activity;
mod aisle_texts;
mod archive;
mod arrivals;
mod audit;
mod backup;
mod cache;
mod change_counts;
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
mod heartbeats;
mod hints;
mod histories;
mod imports;
mod inventory;
mod json_records;
mod keys;
mod known_sources;
mod listing;
mod markers;
mod metadata;
mod migrate;
mod open;
mod orders;
mod owners;
mod rates;
mod readiness;
mod receive;
mod record;
mod refused_queue;
mod refused_requests;
mod restore;
mod scoped;
mod session_clock;
mod sessions;
mod sql;
mod state;
#[cfg(test)]
mod statements;
mod sums;
mod transfer;
mod usage;
mod varint;
mod verify;
mod versions;
mod views;

use std::sync::Arc;

use kiosque_model::Zone;

pub use account_use::AccountUse;
pub use accounts::Credentials;
pub use archive::{ArchiveError, Archived, Returning};
pub use arrivals::{ARRIVAL_MAX_MS, Arrival, ArrivalNo, OrderSource};
pub use audit::{Act, AuditPage, AuditQuery, LiveSession, PendingEvents};
pub use backup::{BackedUp, BackupError, UNFINISHED_SUFFIX, have_same_data, remove_unfinished};
pub use citus::citus_statements;
pub use console::{ConsoleSession, Oversight, SessionUse, SignInProof};
pub use cooperative::yield_if_due;
pub use dashboard::*;
pub use db::{
    Changes, ClockCheck, Copied, Db, Faults, FileSizes, OpenOptions, SessionLease, StoreLocation,
    WhenAbsent, shown_address,
};
pub use devices::{CodeFilter, Device, DeviceQuery, DeviceRow, OnlineSince};
pub use directory::{
    ServerLock, ServerProcess, create_directory, data_files, has_data, mode_for_others,
    server_process,
};
pub use error::{Error, Refused};
pub use fleet::{
    Applied, ApplyError, DeleteError, EntryDifference, FieldDifference, FleetError, FleetSnapshot,
    NewHash, NewHashes, OwnerDifference, Unnamed,
};
pub use followers::{ChangeWait, Follower};
pub use heartbeats::{Heartbeat, RefusedHeartbeat};
pub use hints::GroupFilter;
pub use imports::{IMPORT_ACTIVE_INTERVAL, IMPORT_REJECTED_MAX, ImportRejections};
pub use inventory::{
    DamagedOrder, DeviceOrders, DeviceSearch, ExportedOrder, FleetPart, FoundDevice, FoundDevices,
    FoundOrders, Maintenance, NumberedOrders, OrderFilter, OrderKey, OrderPlace, OrderPosition,
    OrdersOf, Passwords, RateKey, SaleTimes,
};
pub use json_records::JsonRecords;
pub use keys::{CreatedKey, KeyHolder, KeyUse};
pub use known_sources::SourceStatus;
pub use listing::{Listed, Listing};
pub use metadata::marker_of_unopened;
pub use orders::changes::{ChangeQuery, GroupTotals, OrderChanges};
pub use orders::{History, OrderPage, OrderQuery, Span, TradeNumbers};
pub use owners::DeviceGroups;
pub use rates::{DatedRate, RateChange, RatesSet};
pub use receive::{
    BatchPart, EntryIndexes, LockedGroups, NeededEntries, OrderOutcome, Owners, ReceiveOptions,
    Received,
};
pub use record::{Incoming, ProductNames, Record, derived_trade_no_in};
pub use refused_queue::{Exchange, RefusedQueue, Sender};
pub use refused_requests::{FoundRequest, REFUSED_AGE_MS};
pub use restore::{RestoreError, Staged, ensure_backup, stage_backup};
#[doc(hidden)]
pub use scoped::Unproven;
pub use sessions::{EndedSession, OpenedSession};
pub use transfer::{MoveError, MoveProgress, MoveStep, Moved};
pub use usage::Usage;
pub use verify::Verified;
pub use views::{
    FleetView, Intake, Inventory, Operators, Orders, Reports, Sessions, Trail, Upkeep,
};

use state::State;

/// The data of one platform. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Store {
    state: Arc<State>,
}

impl Store {
    /// Opens a store, and brings its layout up to date.
    ///
    /// # Errors
    /// No data where some was expected, data of a newer program, a time zone other than the
    /// recorded one, or a failing engine.
    pub async fn open(options: &OpenOptions<'_>) -> Result<Store, Error> {
        Ok(Store { state: Arc::new(open::open(options).await?) })
    }

    /// Opens the source or the target of a move: the source may already have been moved away, and
    /// the target may be incomplete.
    ///
    /// # Errors
    /// See [`Store::open`].
    pub async fn open_unsettled(options: &OpenOptions<'_>) -> Result<Store, Error> {
        Ok(Store { state: Arc::new(open::open_unsettled(options).await?) })
    }

    /// Returns the platform's time zone.
    pub fn zone(&self) -> &Zone {
        &self.state.zone
    }

    /// Returns whether opening it has created the data. Of several processes, one has.
    pub fn is_new(&self) -> bool {
        self.state.is_new
    }

    /// Returns the engine that stores the data.
    pub fn engine(&self) -> &Db {
        &self.state.db
    }

    /// Returns the view of sessions of integrators.
    pub fn sessions(&self) -> Sessions<'_> {
        Sessions(&self.state)
    }

    /// Returns the view of keys of operators and sessions of the console.
    pub fn operators(&self) -> Operators<'_> {
        Operators(&self.state)
    }

    /// Returns the view of orders that integrators read.
    pub fn orders(&self) -> Orders<'_> {
        Orders(&self.state)
    }

    /// Returns the view of reports on devices and sales.
    pub fn reports(&self) -> Reports<'_> {
        Reports(&self.state)
    }

    /// Returns the view of received orders and heartbeats.
    pub fn intake(&self) -> Intake<'_> {
        Intake(&self.state)
    }

    /// Returns the view of changes of the fleet.
    pub fn fleet(&self) -> FleetView<'_> {
        FleetView(&self.state)
    }

    /// Returns the view of the operator's lists of the stored data.
    pub fn inventory(&self) -> Inventory<'_> {
        Inventory(&self.state)
    }

    /// Returns the view of recorded events.
    pub fn trail(&self) -> Trail<'_> {
        Trail(&self.state)
    }

    /// Returns the view of readiness, backups and the archive.
    pub fn upkeep(&self) -> Upkeep<'_> {
        Upkeep(&self.state)
    }
}
