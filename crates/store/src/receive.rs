//! Stores batches of orders, each in one transaction. New orders take the next sequence numbers of
//! their (group, device). An order whose id is already stored is an update, or changes nothing.
//!
//! For each group of a batch: lock it, read the stored state of its orders, apply order by order,
//! and write the changes. A batch takes a handful of statements on PostgreSQL, which accepts many
//! rows at once.

mod creating;
mod group_writer;
mod order_state;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::sync::Arc;

use futures_util::future::try_join_all;
use kiosque_model::ids::unknown_device;
use kiosque_model::{DeviceNo, GroupNo, HistoryId, UnixMs, Zone};
use tokio::sync::Mutex;
use tokio::try_join;

use crate::arrivals::ArrivalNo;
use crate::cooperative::yield_if_due;
use crate::db::{Deadline, Read, Write};
use crate::error::Error;
use crate::record::Incoming;
use crate::record::dictionaries::{Dictionaries, Dictionary};
use crate::sql::{Value, distinct, statements};
use crate::views::Intake;
use crate::{dictionaries, metadata, owners};

pub use crate::owners::Owners;
use crate::owners::Ownership;
pub use creating::{EntryIndexes, NeededEntries};
use group_writer::GroupWriter;

statements! {
    [group_writer, order_state]
    STARTS_OF_ORDERS(group_no) -> (String, (DeviceNo, UnixMs)) = "select o.order_id, o.device_no,
            o.trade_start_ms
        from {each r: id text}
        cross join orders o where o.group_no = $group_no and o.order_id = r.id";
}

/// The outcome of an order of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OrderOutcome {
    /// It is new, and stored.
    Accepted,
    /// It replaced the stored order.
    Updated,
    /// It equals the stored order.
    Unchanged,
    /// It is not stored, for this reason.
    Rejected(String),
    /// It is not stored: the stored order is damaged, or the rows of its device contradict each
    /// other, as described.
    Inconsistent(String),
    /// It is not decided: another transaction has locked one of the groups of its device.
    GroupLocked,
    /// It is not decided: its part of the batch already has the maximum number of decided orders.
    NotReached,
    /// It is not decided: it may depend on earlier lines of its stream, which come later.
    Deferred,
}

/// The result of a batch, with an element for each order.
#[derive(Clone, Debug)]
pub struct Received {
    /// The outcomes.
    pub outcomes: Vec<OrderOutcome>,
    /// The groups to which the orders belong, as far as that was decided: the group in which an
    /// order is stored already, or the owner of its device at the start of the trade.
    pub groups: Vec<Option<GroupNo>>,
    /// Whether the arrival of a part may be lost. Its orders have none then, and the caller begins
    /// another one for later orders.
    pub lost_arrival: bool,
}

/// How a batch is stored.
#[derive(Clone, Debug)]
pub struct ReceiveOptions {
    /// The time of arrival.
    pub now: UnixMs,
    /// How to treat groups that another transaction has locked.
    pub locked_groups: LockedGroups,
    /// The parts of the batch, without gaps. If empty, the batch is one part in line order.
    pub parts: Vec<BatchPart>,
}

impl ReceiveOptions {
    /// Decides all orders in order, and waits for the locks of their groups.
    pub fn at(now: UnixMs) -> ReceiveOptions {
        ReceiveOptions { now, locked_groups: LockedGroups::Wait, parts: Vec::new() }
    }
}

/// How to treat a group that another transaction has locked. SQLite has one writer, which never
/// finds a group locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockedGroups {
    /// Wait for the lock.
    Wait,
    /// Leave its orders undecided, as [`OrderOutcome::GroupLocked`].
    Skip,
}

/// Consecutive orders of a batch from the same stream.
#[derive(Clone, Debug)]
pub struct BatchPart {
    /// Their indexes in the batch.
    pub orders: Range<usize>,
    /// The number of orders that come first and are sorted for page locality. They share no order
    /// id and no internal trade number with an earlier line. One that finds its number taken, or
    /// would free a number, depends on the lines before it: it is [`OrderOutcome::Deferred`]. The
    /// other orders follow in line order; they are [`OrderOutcome::NotReached`] if one before them
    /// is not decided.
    pub sorted: usize,
    /// The maximum number of orders to decide; the others are [`OrderOutcome::NotReached`].
    pub orders_max: usize,
    /// The arrival of its new orders, if known.
    pub arrival: Option<ArrivalNo>,
}

impl Intake<'_> {
    /// Stores a batch, durably. A rejected order does not affect the others. The caller bounds the
    /// size of a batch, since other writers wait for it.
    ///
    /// # Errors
    /// The store failed; then no order of the batch was stored.
    pub async fn receive(
        self,
        batch: Arc<Vec<Incoming>>,
        owners: Arc<Mutex<Owners>>,
        options: ReceiveOptions,
    ) -> Result<Received, Error> {
        let (zone, opening) = (self.0.zone.clone(), self.0.opening);
        let dictionaries = Arc::clone(&self.0.dictionaries);
        let stored = self.0.db.write(Deadline::OfRequest, async move |write| {
            let history = opening.history(write);
            let writer = BatchWriter {
                write,
                options: &options,
                zone: &zone,
                history,
                dictionaries: &dictionaries,
            };
            writer.write(&batch, &owners).await
        });
        Ok(self.committed(stored.await?).await)
    }

    /// Adds the owners of the devices of a batch to a cache.
    async fn cache_owners(
        self,
        owners: Arc<Mutex<Owners>>,
        batch: Arc<Vec<Incoming>>,
    ) -> Result<(), Error> {
        let mut owners = owners.lock_owned().await;
        let load = async move |read: &Read<'_>| {
            owners.refresh(read).await?;
            owners.load(read, batch.iter().map(|order| order.device_code.as_str())).await
        };
        self.0.db.read(Deadline::OfRequest, load).await
    }

    /// Returns a group for each order of a batch. Orders with different groups do not depend on one
    /// another, and separate transactions may store them. Orders of a device that moved have the
    /// same group as the orders of all its groups.
    ///
    /// # Errors
    /// The store failed.
    pub async fn separable_groups(
        self,
        owners: &Arc<Mutex<Owners>>,
        batch: &Arc<Vec<Incoming>>,
    ) -> Result<Vec<Option<GroupNo>>, Error> {
        let has_all = owners.lock().await.has_all_of(batch);
        if !has_all {
            self.cache_owners(Arc::clone(owners), Arc::clone(batch)).await?;
        }
        Ok(owners.lock().await.first_groups(batch))
    }

    /// Wakes the followers of a durable batch, and trains a dictionary if it is due. Returns its
    /// result.
    async fn committed(self, batch: Written) -> Received {
        self.0.followers.changed(&batch.changes);
        if batch.packed_with_built_in > 0 {
            dictionaries::train_if_due(self.0, batch.packed_with_built_in).await;
        }
        batch.received
    }
}

/// An order with its group: the one that already has it, or that owned its device at the start of
/// the trade.
#[derive(Clone, Copy)]
struct OwnedOrder<'a> {
    index: usize,
    order: &'a Incoming,
    group: GroupNo,
    ownership: &'a Ownership,
    /// The index of its part.
    part: usize,
    position: Position,
    arrival: Option<i64>,
}

/// Why an order has its position in a part.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Position {
    /// It is sorted for page locality; earlier lines may come later.
    Sorted,
    /// It comes after all lines before it.
    OfLine,
}

impl OwnedOrder<'_> {
    /// Returns the other groups that may have orders of the device.
    fn other_groups(&self) -> impl Iterator<Item = GroupNo> {
        self.ownership.groups().iter().copied().filter(|other| *other != self.group)
    }
}

/// A batch that was written.
struct Written {
    received: Received,
    /// The last change number of each group with a changed order.
    changes: Vec<(GroupNo, i64)>,
    /// The number of records that were packed with dictionary 0.
    packed_with_built_in: i64,
}

/// The transaction of a batch, and the shared context of its groups.
struct BatchWriter<'a> {
    write: &'a Write<'a>,
    options: &'a ReceiveOptions,
    zone: &'a Zone,
    /// The history that the changes begin, unless an earlier batch has begun it.
    history: HistoryId,
    dictionaries: &'a Arc<Dictionaries>,
}

impl BatchWriter<'_> {
    async fn write(&self, batch: &[Incoming], owners: &Mutex<Owners>) -> Result<Written, Error> {
        let mut outcomes = vec![OrderOutcome::NotReached; batch.len()];
        let mut ownerships;
        let (owned, locked_elsewhere, dictionary) = loop {
            let fleet_version;
            (fleet_version, ownerships) = self.ownerships(batch, owners).await?;
            let owned = self.assign_owners(batch, &ownerships, &mut outcomes);
            let locked_elsewhere = self.lock_groups(&owned).await?;
            // A device may have moved before the groups were locked, but not after. Nor can a
            // record be stored with another dictionary from now on.
            let (version, dictionary) = try_join!(
                biased;
                metadata::last(self.write, metadata::FLEET),
                dictionaries::load(self.write, self.dictionaries),
            )?;
            if version == fleet_version {
                break (owned, locked_elsewhere, dictionary);
            }
            owners.lock().await.refresh(self.write).await?;
        };
        let mut owned = self.choose(owned, &locked_elsewhere, &mut outcomes);
        let stored = StoredGroups::read(self.write, &owned).await?;
        stored.restore(&mut owned);
        let mut groups = vec![None; batch.len()];
        let mut by_group: BTreeMap<GroupNo, Vec<OwnedOrder<'_>>> = BTreeMap::new();
        for one in &owned {
            by_group.entry(one.group).or_default().push(*one);
            if let Some(group) = groups.get_mut(one.index) {
                *group = Some(one.group);
            }
        }
        // The statements of all groups are pipelined.
        let loads = by_group.iter().map(|(group, orders)| GroupWriter::load(self, *group, orders));
        let loaded = try_join_all(loads).await?;
        let mut writers: BTreeMap<GroupNo, GroupWriter<'_>> =
            by_group.keys().copied().zip(loaded).collect();
        let mut incomplete_part = None;
        for one in &owned {
            yield_if_due();
            if one.position == Position::OfLine && incomplete_part == Some(one.part) {
                continue;
            }
            let stored_in = one.other_groups().find(|other| {
                let is_in_batch = writers.get(other).is_some_and(|writer| writer.has(one));
                is_in_batch || stored.start_in(*other, one).is_some()
            });
            let Some(writer) = writers.get_mut(&one.group) else { continue };
            let outcome = writer.apply(one, stored_in).await?;
            if outcome == OrderOutcome::Deferred {
                incomplete_part = Some(one.part);
            }
            if let Some(slot) = outcomes.get_mut(one.index) {
                *slot = outcome;
            }
        }
        let dictionary = match dictionary {
            Some(trained) => trained,
            None => Dictionary::built_in()?,
        };
        let packed = try_join_all(writers.values_mut().map(|one| one.write(dictionary))).await?;
        let packed_with_built_in = if dictionary.is_built_in() { packed.iter().sum() } else { 0 };
        let changes = writers.iter().filter_map(|(group, one)| Some((*group, one.last_change()?)));
        let changes = changes.collect();
        let mut arrivals = self.options.parts.iter().filter_map(|part| part.arrival);
        let lost_arrival = arrivals.any(|one| one.in_history(self.history).is_none());
        let received = Received { outcomes, groups, lost_arrival };
        Ok(Written { received, changes, packed_with_built_in })
    }

    /// Returns the owners of the device of each order, and the version of the fleet in which they
    /// own it. Other transactions share the cache, which may be older than the fleet.
    async fn ownerships(
        &self,
        batch: &[Incoming],
        owners: &Mutex<Owners>,
    ) -> Result<(i64, Vec<Option<Arc<Ownership>>>), Error> {
        let codes = || batch.iter().map(|order| order.device_code.as_str());
        let mut owners = owners.lock().await;
        if !owners.has_all_of(batch) {
            owners.refresh(self.write).await?;
            owners.load(self.write, codes()).await?;
        }
        Ok((owners.fleet_version(), codes().map(|code| owners.get(code).cloned()).collect()))
    }

    /// Assigns each order to the group that owned its device at the start of the trade. Rejects
    /// orders of unknown devices.
    fn assign_owners<'o>(
        &self,
        batch: &'o [Incoming],
        ownerships: &'o [Option<Arc<Ownership>>],
        outcomes: &mut [OrderOutcome],
    ) -> Vec<OwnedOrder<'o>> {
        let mut owned = Vec::with_capacity(batch.len());
        let orders = batch.iter().zip(ownerships).zip(outcomes);
        for (index, ((order, ownership), outcome)) in orders.enumerate() {
            yield_if_due();
            let owner = |it: &'o Ownership| Some((it, it.owner_at(order.trade_start)?));
            let Some((ownership, group)) = ownership.as_deref().and_then(owner) else {
                *outcome = OrderOutcome::Rejected(unknown_device(&order.device_code));
                continue;
            };
            *outcome = OrderOutcome::NotReached;
            owned.push(OwnedOrder {
                index,
                order,
                group,
                ownership,
                part: 0,
                position: Position::OfLine,
                arrival: None,
            });
        }
        owned
    }

    /// Locks all groups of the devices of the orders: while an order is stored in one of them, no
    /// other transaction stores it in another. Returns those that another transaction has locked.
    async fn lock_groups(&self, owned: &[OwnedOrder<'_>]) -> Result<Vec<GroupNo>, Error> {
        let of_devices = owned.iter().flat_map(|one| one.ownership.groups());
        let groups: BTreeSet<GroupNo> = of_devices.copied().collect();
        match self.options.locked_groups {
            LockedGroups::Wait => {
                owners::lock_groups(self.write, &groups).await?;
                Ok(Vec::new())
            }
            LockedGroups::Skip => owners::try_lock_groups(self.write, &groups).await,
        }
    }

    /// Returns the orders to decide now. An order of a device that moved waits for all of the
    /// device's groups: lines of one order may belong to several of them.
    fn choose<'o>(
        &self,
        owned: Vec<OwnedOrder<'o>>,
        locked_elsewhere: &[GroupNo],
        outcomes: &mut [OrderOutcome],
    ) -> Vec<OwnedOrder<'o>> {
        let all = usize::MAX;
        let whole = [BatchPart { orders: 0..all, sorted: 0, orders_max: all, arrival: None }];
        let parts = if self.options.parts.is_empty() { &whole[..] } else { &self.options.parts };
        let is_locked = |one: &OwnedOrder<'_>| {
            !locked_elsewhere.is_empty()
                && one.ownership.groups().iter().any(|group| locked_elsewhere.contains(group))
        };
        let mut chosen = Vec::with_capacity(owned.len());
        let mut owned = owned.into_iter().peekable();
        for (at, part) in parts.iter().enumerate() {
            let sorted_end = part.orders.start.saturating_add(part.sorted);
            let arrival = part.arrival.and_then(|arrival| arrival.in_history(self.history));
            let mut left = part.orders_max;
            let mut is_complete = true;
            while let Some(one) = owned.next_if(|one| one.index < part.orders.end) {
                let is_sorted = one.index < sorted_end;
                let position = if is_sorted { Position::Sorted } else { Position::OfLine };
                let is_next = left > 0 && (is_sorted || is_complete);
                if is_locked(&one) {
                    if let Some(outcome) = outcomes.get_mut(one.index) {
                        *outcome = OrderOutcome::GroupLocked;
                    }
                } else if is_next {
                    left -= 1;
                    chosen.push(OwnedOrder { part: at, position, arrival, ..one });
                    continue;
                }
                is_complete = false;
            }
        }
        chosen
    }
}

fn reject(field: &str, reason: &str) -> OrderOutcome {
    OrderOutcome::Rejected(format!("{field}: {reason}"))
}

/// The stored orders with the ids of a batch's orders, in the groups of the devices that moved: by
/// group and id, their devices and their starts. An order stays in the group in which it was
/// stored, even if it started after a later move of its device, such as on a device whose clock is
/// ahead.
struct StoredGroups(HashMap<GroupNo, HashMap<String, (DeviceNo, UnixMs)>>);

impl StoredGroups {
    /// Reads them, with one statement for each group of these devices, and none if no device moved.
    async fn read(write: &Write<'_>, owned: &[OwnedOrder<'_>]) -> Result<StoredGroups, Error> {
        let mut ids: BTreeMap<GroupNo, Vec<&str>> = BTreeMap::new();
        for one in owned.iter().filter(|one| one.other_groups().next().is_some()) {
            for group in one.ownership.groups() {
                ids.entry(*group).or_default().push(one.order.order_id.as_str());
            }
        }
        let reads = ids.into_iter().map(async |(group, ids)| {
            let stored = stored_orders(write, group, &distinct(ids.into_iter())).await?;
            Ok::<_, Error>((group, stored.into_iter().collect()))
        });
        Ok(StoredGroups(try_join_all(reads).await?.into_iter().collect()))
    }

    /// Assigns orders of devices that moved to the group in which they are stored with the same
    /// start. An order that is not stored, or is stored with another start, stays with the owner at
    /// its start.
    fn restore(&self, owned: &mut [OwnedOrder<'_>]) {
        for one in owned {
            let start = Some(one.order.trade_start);
            let others = one.other_groups().filter(|other| self.start_in(*other, one) == start);
            one.group = others.max().unwrap_or(one.group);
        }
    }

    /// Returns the start of the order with this id and this device in a group, if the group has it.
    fn start_in(&self, group: GroupNo, one: &OwnedOrder<'_>) -> Option<UnixMs> {
        let (device, start) = self.0.get(&group)?.get(one.order.order_id.as_str())?;
        (*device == one.ownership.device).then_some(*start)
    }
}

/// Returns the orders with these ids that a group has, each with its device and its start.
pub(crate) async fn stored_orders(
    read: &Read<'_>,
    group: GroupNo,
    ids: &[[Value<'_>; 1]],
) -> Result<Vec<(String, (DeviceNo, UnixMs))>, Error> {
    read.all_of(&STARTS_OF_ORDERS, ids, &[group.into()]).await
}

#[cfg(test)]
mod tests;
