//! Applies a fleet: entries are created or changed, the rest of the data is unchanged, and nothing
//! is applied if any entry is invalid.
//!
//! The stored state of all entries is read first, the changes are computed from it, and then they
//! are written: a fixed number of statements for every few thousand rows. The groups whose devices
//! change are locked last, because order streams wait for them. An apply that changes nothing
//! replaces no version.

mod accounts;
mod changes;
mod deletion;
mod device_rows;
mod devices;
mod differences;
mod groups;
mod ownership;
mod products;
mod snapshot;

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::hash::Hash;
use std::sync::{Arc, Mutex};

use futures_util::future::try_join_all;
use kiosque_clock::Clock;
use kiosque_contract::{DatedMove, FleetCounts};
use kiosque_locks::lock_ignoring_poison;
use kiosque_model::audit::AuditEvent;
use kiosque_model::fleet::{DeviceEntry, EntryId, EntryKind, Fleet};
use kiosque_model::{ActedBy, GroupNo, UnixMs};

use crate::audit::{self, Act};
use crate::change_counts::count_entry;
use crate::db::{Deadline, Read, Write};
use crate::error::Error;
use crate::histories::Opening;
use crate::sql::{FromRow, Sql, Value, statements};
use crate::views::FleetView;
use crate::{aisle_texts, metadata, owners, versions};
pub(crate) use accounts::groups_of_accounts;
use accounts::{Accounts, EndedSession};
use changes::FleetChanges;
pub use deletion::DeleteError;
use devices::{DevicePlan, Devices, errors_of_late_moves};
pub(crate) use devices::{DeviceRow, aisles_of, periods_of};
pub use differences::{EntryDifference, FieldDifference, OwnerDifference, Unnamed};
use groups::Groups;
pub(crate) use ownership::Period;
use products::Products;
pub(crate) use products::products_by_id;
pub use snapshot::FleetSnapshot;

statements! {
    [accounts, deletion, device_rows, devices, differences, groups, products, snapshot]
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
    #[error("{}", lines(.0))]
    Invalid(Vec<FleetError>),
    /// Another password was set after the given one was compared with the stored hash. Compare it
    /// again, and repeat the apply.
    #[error("another apply has changed a password at the same time; apply the fleet again")]
    PasswordChanged,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] Error),
}

/// An error in a fleet. Its text begins with its entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FleetError {
    /// A new entry has none of these fields, but requires one of them.
    Required {
        /// The entry.
        entry: EntryId,
        /// The names of the fields in a fleet file.
        fields: &'static [&'static str],
    },
    /// Any other error.
    Other(String),
}

impl FleetError {
    /// Returns the error of a new entry that has none of these fields.
    fn required(kind: EntryKind, id: &str, fields: &'static [&'static str]) -> FleetError {
        FleetError::Required { entry: EntryId::new(kind, id), fields }
    }
}

impl fmt::Display for FleetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FleetError::Required { entry, fields } => {
                let (fields, kind) = (fields.join(" or "), entry.kind.name());
                write!(f, "{entry}: {fields}: required for a new {kind}")
            }
            FleetError::Other(text) => f.write_str(text),
        }
    }
}

impl From<String> for FleetError {
    fn from(text: String) -> FleetError {
        FleetError::Other(text)
    }
}

/// Returns errors as text, one per line.
fn lines(errors: &[FleetError]) -> String {
    let errors: Vec<String> = errors.iter().map(FleetError::to_string).collect();
    errors.join("\n")
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

    /// Returns the errors that an apply of the fleet would report. Passwords are not checked.
    ///
    /// # Errors
    /// The store failed.
    pub async fn errors(self, fleet: Arc<Fleet>, now: UnixMs) -> Result<Vec<FleetError>, Error> {
        let check = async move |read: &Read<'_>| {
            let stored = read_stored(read, &fleet).await?;
            match plan(read, &fleet, stored, &NewHashes::new(), now).await {
                // No password is compared.
                Ok(_) | Err(ApplyError::PasswordChanged) => Ok(Vec::new()),
                Err(ApplyError::Invalid(errors)) => Ok(errors),
                Err(ApplyError::Store(error)) => Err(error),
            }
        };
        self.0.db.read(Deadline::OfRequest, check).await
    }

    /// Checks the products and devices of a fleet that do not exist, or lack a price, as an apply
    /// would. Returns the codes of the devices, each with the number of its group.
    ///
    /// # Errors
    /// All errors of these entries, or the store failed.
    pub async fn check_new_entries(
        self,
        fleet: Arc<Fleet>,
        now: UnixMs,
    ) -> Result<Vec<(String, GroupNo)>, ApplyError> {
        let check = async move |read: &Read<'_>| {
            let NewEntries { fleet, stored } = NewEntries::read(read, (*fleet).clone()).await?;
            let (changes, _) = plan(read, &fleet, stored, &NewHashes::new(), now).await?;
            let devices = changes.devices.iter();
            let devices = devices.flat_map(|device| {
                device.present_groups.iter().map(|group| (device.code.to_owned(), *group))
            });
            Ok(devices.collect())
        };
        self.0.db.read(Deadline::None, check).await
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
            applied.unnamed = differences::unnamed(self.write, fleet).await?;
        }
        let act = Act::new(AuditEvent::FleetApplied, changes.audit_details(counts));
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

/// The products and devices of a fleet that do not exist, or are products without a price that the
/// fleet has. Only these are created or changed for orders.
pub(crate) struct NewEntries {
    fleet: Fleet,
    stored: StoredFleet,
}

impl NewEntries {
    /// Locks the fleet until the transaction ends, and reads which entries do not exist.
    pub(crate) async fn lock(write: &Write<'_>, fleet: Fleet) -> Result<NewEntries, Error> {
        metadata::lock(write, metadata::FLEET).await?;
        NewEntries::read(write, fleet).await
    }

    async fn read(read: &Read<'_>, mut fleet: Fleet) -> Result<NewEntries, Error> {
        let stored = read_stored(read, &fleet).await?;
        let (_, products, _, devices) = &stored;
        let entries = fleet.products.into_iter();
        fleet.products = entries.filter_map(|entry| products.completing(entry)).collect();
        fleet.devices.retain(|entry| !devices.contains(entry.code.as_str()));
        Ok(NewEntries { fleet, stored })
    }

    /// Returns the groups of the devices.
    pub(crate) fn groups(&self) -> impl Iterator<Item = GroupNo> {
        let (groups, ..) = &self.stored;
        let group = |entry: &DeviceEntry| Some(groups.get(entry.group.as_ref()?)?.group_no);
        self.fleet.devices.iter().filter_map(group)
    }

    /// Creates the entries. Returns them, and their entry for the audit trail, unless there was
    /// nothing to create.
    pub(crate) async fn create(
        self,
        write: &Write<'_>,
        by: &ActedBy,
        opening: Opening,
    ) -> Result<(Fleet, Option<Act>), ApplyError> {
        let NewEntries { fleet, stored } = self;
        let mut act = None;
        if fleet != Fleet::default() {
            let new_hashes = &NewHashes::new();
            let apply = Apply { write, new_hashes, by, opening, is_dry_run: false };
            act = Some(apply.change(&fleet, stored).await?.act);
        }
        Ok((fleet, act))
    }
}

/// Returns the next free number, read by `sql`.
async fn next_number(read: &Read<'_>, sql: &'static Sql) -> Result<i64, Error> {
    Ok(read.one(sql, &[]).await?.unwrap_or_default())
}

/// Returns the values of the rows of a bulk statement by their keys, which come first in each row.
async fn lists_of<K, V>(
    read: &Read<'_>,
    sql: &'static Sql,
    rows: &[[Value<'_>; 1]],
) -> Result<HashMap<K, Vec<V>>, Error>
where
    K: for<'r> FromRow<'r> + Eq + Hash,
    V: for<'r> FromRow<'r>,
{
    let mut lists: HashMap<K, Vec<V>> = HashMap::new();
    for (key, value) in read.all_of(sql, rows, &[]).await? {
        lists.entry(key).or_default().push(value);
    }
    Ok(lists)
}
