//! Applies a fleet: entries are created or changed, the rest of the data is unchanged, and nothing
//! is applied if any entry is invalid.
//!
//! The stored state of all entries is read first, the changes are computed from it, and then they
//! are written: a fixed number of statements for every few thousand rows. The groups whose devices
//! change are locked last, because order streams wait for them. An apply that changes nothing
//! replaces no version.

mod accounts;
mod audit_details;
mod changes;
mod check;
mod creation;
mod deletion;
mod device_rows;
mod devices;
mod differences;
mod error;
mod groups;
mod ownership;
mod products;
mod reads;
mod snapshot;
mod stored_devices;
mod unnamed;

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex};

use futures_util::future::try_join_all;
use kiosque_clock::Clock;
use kiosque_contract::{DatedMove, FleetCounts};
use kiosque_locks::lock_ignoring_poison;
use kiosque_model::audit::AuditEvent;
use kiosque_model::fleet::Fleet;
use kiosque_model::{ActedBy, GroupNo, UnixMs};

use crate::audit::{self, Act};
use crate::change_counts::count_entry;
use crate::db::{Deadline, Read, Write};
use crate::error::Error;
use crate::histories::Opening;
use crate::sql::statements;
use crate::views::FleetView;
use crate::{aisle_texts, metadata, owners, versions};
pub(crate) use accounts::groups_of_accounts;
use accounts::{Accounts, EndedSession};
use audit_details::audit_details;
use changes::FleetChanges;
pub(crate) use creation::NewEntries;
pub use deletion::DeleteError;
use devices::DevicePlan;
pub use differences::{EntryDifference, FieldDifference, OwnerDifference};
pub use error::FleetError;
use groups::Groups;
pub(crate) use ownership::Period;
use products::Products;
pub(crate) use products::products_by_id;
pub use snapshot::FleetSnapshot;
pub(crate) use stored_devices::{DeviceRow, aisles_of, periods_of};
use stored_devices::{Devices, errors_of_late_moves};
pub use unnamed::Unnamed;

statements! {
    [accounts, deletion, device_rows, groups, products, snapshot, stored_devices, unnamed]
}

/// The hashes of the given passwords, by login name.
pub type NewHashes = HashMap<String, NewHash>;

/// A given password, compared with the stored hash.
#[derive(Clone)]
pub struct NewHash {
    /// The hash that was stored; `None` for a new account. If a different one is stored when the
    /// fleet is applied, the comparison must be repeated.
    pub compared_with: Option<String>,
    /// The hash to store; `None` if the password is the stored one.
    pub new: Option<String>,
}

impl fmt::Debug for NewHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NewHash(***)")
    }
}

/// The result of applying a fleet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// The numbers of changes.
    pub counts: FleetCounts,
    /// The new moves that take effect at a time other than now.
    pub dated_moves: Vec<DatedMove>,
    /// The entries that were created or changed, with their fields; only in a dry run.
    pub differences: Vec<EntryDifference>,
    /// The stored entries that are not in the fleet; only in a dry run.
    pub unnamed: Vec<Unnamed>,
}

/// Why a fleet was not applied, not even in part.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// The errors, each with its entry.
    #[error("{}", error::lines(.0))]
    Invalid(Vec<FleetError>),
    /// Another password was set after the given one was compared with the stored hash. Compare it
    /// again, and repeat the apply.
    #[error("another apply has changed a password at the same time; apply the fleet again")]
    PasswordChanged,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] Error),
}

impl FleetView<'_> {
    /// Applies a fleet, all or nothing, and records it in the audit trail. Each list of the fleet
    /// has an entry once. `new_hashes` has the hashes of its passwords.
    ///
    /// It takes effect at the time of `clock` when no other apply can change the fleet: a fleet
    /// that waited, or whose passwords were hashed, must not mistake a move that has begun
    /// meanwhile for a planned one.
    ///
    /// # Errors
    /// All errors of the fleet, a password that was changed at the same time, or the store failed.
    pub async fn apply(
        self,
        fleet: impl Into<Arc<Fleet>>,
        new_hashes: NewHashes,
        by: ActedBy,
        clock: &Clock,
    ) -> Result<Applied, ApplyError> {
        let (fleet, clock) = (fleet.into(), clock.clone());
        // SQLite has one writer, for which others wait: the reading is done before.
        let read_ahead = match self.0.db.is_file() {
            true => Some(self.read_ahead(Arc::clone(&fleet)).await?),
            false => None,
        };
        let is_dry_run = self.0.db.is_dry_run();
        let opening = self.0.opening;
        let read_ahead = Mutex::new(read_ahead);
        let change = async move |write: &Write<'_>| {
            let read_ahead = lock_ignoring_poison(&read_ahead).take();
            write.wait_for_earlier_leases().await?;
            metadata::lock(write, metadata::FLEET).await?;
            let by = ActedBy { at: clock.now(), ..by.clone() };
            let apply = Apply { write, new_hashes: &new_hashes, by: &by, opening, is_dry_run };
            apply.run(&fleet, read_ahead).await
        };
        self.0.db.write(Deadline::None, change).await
    }

    /// Reads the stored state of a fleet before the transaction that changes it.
    async fn read_ahead(self, fleet: Arc<Fleet>) -> Result<ReadAhead, Error> {
        let read_all = async move |read: &Read<'_>| {
            let last_entry = metadata::last(read, metadata::AUDIT).await?;
            Ok(ReadAhead { last_entry, stored: read_stored(read, &fleet).await? })
        };
        self.0.db.read(Deadline::None, read_all).await
    }
}

/// The stored state of a fleet, which is current until another one is applied or a device deleted.
struct ReadAhead {
    /// The last entry of the audit trail, which has an entry for each of these changes.
    last_entry: i64,
    stored: StoredFleet,
}

/// The stored state of everything that a fleet refers to, by kind.
type StoredFleet = (Groups, Products, Accounts, Devices);

async fn read_stored(read: &Read<'_>, fleet: &Fleet) -> Result<StoredFleet, Error> {
    let groups = Groups::read(read, fleet).await?;
    let products = Products::read(read, fleet).await?;
    let accounts = Accounts::read(read, fleet).await?;
    Ok((groups, products, accounts, Devices::read(read, fleet).await?))
}

/// The effect of an apply.
struct Changed {
    applied: Applied,
    /// For the audit trail.
    act: Act,
    /// The sessions that ended.
    ended: Vec<EndedSession>,
}

/// The transaction of an apply, which has locked the fleet.
struct Apply<'a> {
    write: &'a Write<'a>,
    new_hashes: &'a NewHashes,
    by: &'a ActedBy,
    opening: Opening,
    is_dry_run: bool,
}

impl Apply<'_> {
    async fn run(
        &self,
        fleet: &Fleet,
        read_ahead: Option<ReadAhead>,
    ) -> Result<Applied, ApplyError> {
        let stored = match read_ahead {
            Some(ReadAhead { last_entry, stored })
                if !audit::is_fleet_changed_since(self.write, last_entry).await? =>
            {
                stored
            }
            _ => read_stored(self.write, fleet).await?,
        };
        let Changed { applied, act, ended } = self.change(fleet, stored).await?;
        // The audit trail is written last: writing locks it, and a login that waits for it may hold
        // a session that the apply needs.
        for EndedSession { account, reason, session } in ended {
            audit::session_ended(self.write, &account, reason, session, self.by).await?;
        }
        audit::act(self.write, &act, self.by).await?;
        Ok(applied)
    }

    /// Writes the changes from the stored state to a fleet.
    async fn change(&self, fleet: &Fleet, stored: StoredFleet) -> Result<Changed, ApplyError> {
        let now = self.by.at;
        let (changes, counts) = plan(self.write, fleet, stored, self.new_hashes, now).await?;
        let ended = self.write(&changes).await?;
        let counts = FleetCounts { sessions_ended: ended.len(), ..counts };
        let dated_moves = changes.dated_moves(now);
        let mut applied = Applied { counts, dated_moves, ..Applied::default() };
        if self.is_dry_run {
            applied.differences = differences::of(&changes, now);
            applied.unnamed = unnamed::read(self.write, fleet).await?;
        }
        let act = Act::new(AuditEvent::FleetApplied, audit_details(counts, &changes));
        Ok(Changed { applied, act, ended })
    }

    /// Writes the changes, and returns the sessions that they end.
    async fn write(&self, changes: &FleetChanges<'_>) -> Result<Vec<EndedSession>, ApplyError> {
        let write = self.write;
        groups::write(write, &changes.groups).await?;
        products::write(write, &changes.products).await?;
        let ended = accounts::write(write, &changes.accounts, self.by.at).await?;
        device_rows::write(write, &changes.devices).await?;
        let relabeled: Vec<_> = changes.relabeled_products().map(|id| [id.into()]).collect();
        aisle_texts::update(write, changes.devices_with_new_aisles(), &relabeled).await?;
        let mut listing = changes.groups_with_new_lists();
        listing.append(&mut versions::groups_selling(write, &relabeled, self.by.at).await?);
        self.lock_groups(changes, &listing).await?;
        device_rows::write_moves(write, &changes.devices).await?;
        device_rows::write_names(write, &changes.devices, self.by.at).await?;
        device_rows::count_devices(write, changes.groups_of_devices()).await?;
        if changes.changes_owners_or_names() {
            metadata::set(write, metadata::FLEET, self.opening.version(write)).await?;
        }
        Ok(ended)
    }

    /// Locks all groups with rows that the apply changes, in the order of their numbers, and
    /// invalidates the lists of the groups in `listing`. From then on, no stream adds orders to
    /// them until this transaction ends.
    async fn lock_groups(
        &self,
        changes: &FleetChanges<'_>,
        listing: &BTreeSet<GroupNo>,
    ) -> Result<(), ApplyError> {
        let groups = &changes.groups_of_devices() | listing;
        let locks = groups.iter().map(async |group| {
            if listing.contains(group) {
                versions::lists_change(self.write, *group, self.opening).await
            } else {
                owners::lock_group(self.write, *group).await
            }
        });
        try_join_all(locks).await?;
        // Orders may have arrived since the moves were planned.
        let late_moves = &changes.late_moves;
        let errors = errors_of_late_moves(self.write, late_moves, self.by.at).await?;
        if errors.is_empty() { Ok(()) } else { Err(ApplyError::Invalid(sorted(errors))) }
    }
}

/// Computes the changes from the stored state, and counts them.
async fn plan<'f>(
    read: &Read<'_>,
    fleet: &'f Fleet,
    stored: StoredFleet,
    new_hashes: &NewHashes,
    now: UnixMs,
) -> Result<(FleetChanges<'f>, FleetCounts), ApplyError> {
    let (mut groups, mut products, mut accounts, devices) = stored;
    let mut counts = FleetCounts::default();
    let mut errors = Vec::new();
    let changed_groups = groups.plan(&fleet.groups, &mut counts.groups, &mut errors);
    let changed_products = products.plan(&fleet.products, &mut counts.products, &mut errors);
    let of_accounts = &mut counts.accounts;
    let changed_accounts =
        accounts.plan(&fleet.accounts, new_hashes, &groups, of_accounts, &mut errors)?;
    let late_moves = devices.late_moves(&fleet.devices, &groups, now);
    let mut plan = DevicePlan {
        groups: &groups,
        products: &products,
        late_moves: errors_of_late_moves(read, &late_moves, now).await?,
        now,
        errors: &mut errors,
    };
    let changed_devices = plan.run(&fleet.devices, devices, &mut counts.devices);
    if !errors.is_empty() {
        return Err(ApplyError::Invalid(errors));
    }
    let changes = FleetChanges {
        groups: changed_groups,
        products: changed_products,
        accounts: changed_accounts,
        devices: changed_devices,
        late_moves,
    };
    Ok((changes, counts))
}

fn sorted(errors: HashMap<String, String>) -> Vec<FleetError> {
    let mut errors: Vec<String> = errors.into_values().collect();
    errors.sort_unstable();
    errors.into_iter().map(FleetError::Other).collect()
}
