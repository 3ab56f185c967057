//! Stores a batch together with the products and devices that its orders need.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use kiosque_model::fleet::Fleet;
use kiosque_model::{ActedBy, GroupNo, Zone};
use tokio::sync::Mutex;

use super::{BatchWriter, OrderOutcome, Owners, ReceiveOptions, Received, Written};
use crate::db::{Deadline, Write};
use crate::error::Error;
use crate::fleet::{ApplyError, NewEntries};
use crate::histories::Opening;
use crate::record::Incoming;
use crate::record::dictionaries::Dictionaries;
use crate::views::Intake;
use crate::{audit, owners};

/// Products and devices that the orders of a batch may need.
#[derive(Clone, Debug)]
pub struct NeededEntries {
    /// The entries, each once.
    pub fleet: Arc<Fleet>,
    /// The entries that each order of the batch needs.
    pub of_orders: Vec<EntryIndexes>,
}

/// Positions in the lists of a fleet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EntryIndexes {
    /// The index of the device's entry, if the device may not exist yet.
    pub device: Option<usize>,
    /// The indexes of the entries of products that may not exist yet.
    pub products: Vec<usize>,
}

impl OrderOutcome {
    /// Returns whether the order is stored now.
    pub fn is_stored(&self) -> bool {
        matches!(self, OrderOutcome::Accepted | OrderOutcome::Updated | OrderOutcome::Unchanged)
    }
}

impl Intake<'_> {
    /// Stores a batch like [`Intake::receive`], and creates, in the same transaction, missing
    /// products and devices that its stored orders need. Orders that are not stored create nothing.
    ///
    /// # Errors
    /// The errors of the entries, or the store failed; then no order of the batch was stored.
    pub async fn receive_creating(
        self,
        batch: Arc<Vec<Incoming>>,
        needed: NeededEntries,
        options: ReceiveOptions,
        by: ActedBy,
    ) -> Result<Received, ApplyError> {
        // At first all orders are attempted. One that is not stored is not attempted again.
        let mut outcomes = vec![OrderOutcome::Accepted; batch.len()];
        let mut groups = vec![None; batch.len()];
        let NeededEntries { fleet, of_orders } = needed;
        let (zone, opening) = (self.0.zone.clone(), self.0.opening);
        let dictionaries = Arc::clone(&self.0.dictionaries);
        let mut attempt = CreatingBatch {
            orders: batch,
            of_orders,
            fleet,
            options,
            by,
            zone,
            opening,
            dictionaries,
        };
        loop {
            let transaction = attempt.clone();
            let run = async move |write: &Write<'_>| transaction.run(write).await;
            let (done, decided) = match self.0.db.write(Deadline::None, run).await {
                Ok(written) => (true, self.committed(written).await),
                Err(Ended::Unneeded(decided)) => (false, decided),
                Err(Ended::Failed(error)) => return Err(error),
            };
            let orders = outcomes.iter_mut().zip(&mut groups);
            let attempted = orders.filter(|(outcome, _)| outcome.is_stored());
            let new = decided.outcomes.iter().zip(decided.groups);
            for ((outcome, group), (new_outcome, new_group)) in attempted.zip(new) {
                outcome.clone_from(new_outcome);
                *group = new_group;
            }
            if done {
                return Ok(Received { outcomes, groups, lost_arrival: false });
            }
            // An order that is not stored does not affect the others: without it, they are decided
            // in the same way.
            attempt.retain(&decided.outcomes);
        }
    }
}

/// The end of a transaction that stored nothing.
enum Ended {
    /// It created an entry that only unstored orders need.
    Unneeded(Received),
    Failed(ApplyError),
}

impl From<ApplyError> for Ended {
    fn from(error: ApplyError) -> Self {
        Ended::Failed(error)
    }
}

impl From<Error> for Ended {
    fn from(error: Error) -> Self {
        Ended::Failed(error.into())
    }
}

/// A batch, the entries that it needs, and how to store it.
#[derive(Clone)]
struct CreatingBatch {
    orders: Arc<Vec<Incoming>>,
    of_orders: Vec<EntryIndexes>,
    fleet: Arc<Fleet>,
    options: ReceiveOptions,
    by: ActedBy,
    zone: Zone,
    opening: Opening,
    dictionaries: Arc<Dictionaries>,
}

impl CreatingBatch {
    async fn run(&self, write: &Write<'_>) -> Result<Written, Ended> {
        let new = NewEntries::lock(write, self.entries(|_| true)).await?;
        let mut owners = Owners::default();
        self.lock_groups(write, &mut owners, &new).await?;
        let (created, act) = new.create(write, &self.by, self.opening).await?;
        let history = self.opening.history(write);
        let CreatingBatch { options, zone, dictionaries, .. } = self;
        let writer = BatchWriter { write, options, zone, history, dictionaries };
        let written = writer.write(&self.orders, &Mutex::new(owners)).await?;
        let is_stored =
            |index| written.received.outcomes.get(index).is_some_and(OrderOutcome::is_stored);
        if !has_all(&self.entries(is_stored), &created) {
            return Err(Ended::Unneeded(written.received));
        }
        if let Some(act) = act {
            audit::act(write, &act, &self.by).await?;
        }
        Ok(written)
    }

    /// Locks the groups of the orders and of the new devices, in the order of their numbers.
    async fn lock_groups(
        &self,
        write: &Write<'_>,
        owners: &mut Owners,
        new: &NewEntries,
    ) -> Result<(), Error> {
        let codes = || self.orders.iter().map(|order| order.device_code.as_str());
        owners.refresh(write).await?;
        owners.load(write, codes()).await?;
        let mut groups: BTreeSet<GroupNo> = new.groups().collect();
        groups.extend(codes().filter_map(|code| owners.get(code)).flat_map(|one| one.groups()));
        owners::lock_groups(write, &groups).await
    }

    /// Returns the entries that the orders with these indexes need.
    fn entries(&self, is_included: impl Fn(usize) -> bool) -> Fleet {
        fn at<T: Clone>(all: &[T], positions: &BTreeSet<usize>) -> Vec<T> {
            positions.iter().filter_map(|at| all.get(*at)).cloned().collect()
        }
        let mut products: BTreeSet<usize> = BTreeSet::new();
        let mut devices: BTreeSet<usize> = BTreeSet::new();
        for (index, one) in self.of_orders.iter().enumerate() {
            if is_included(index) {
                products.extend(&one.products);
                devices.extend(one.device);
            }
        }
        Fleet {
            products: at(&self.fleet.products, &products),
            devices: at(&self.fleet.devices, &devices),
            ..Fleet::default()
        }
    }

    /// Removes the orders that are not stored.
    fn retain(&mut self, outcomes: &[OrderOutcome]) {
        let orders = self.orders.iter().zip(outcomes).filter(|(_, outcome)| outcome.is_stored());
        self.orders = Arc::new(orders.map(|(order, _)| order.clone()).collect());
        let mut keep = outcomes.iter().map(OrderOutcome::is_stored);
        self.of_orders.retain(|_| keep.next().unwrap_or_default());
    }
}

/// Returns whether all created entries are among the needed ones.
fn has_all(needed: &Fleet, created: &Fleet) -> bool {
    let products: HashSet<&str> = needed.products.iter().map(|one| one.id.as_str()).collect();
    let devices: HashSet<&str> = needed.devices.iter().map(|one| one.code.as_str()).collect();
    created.products.iter().all(|one| products.contains(one.id.as_str()))
        && created.devices.iter().all(|one| devices.contains(one.code.as_str()))
}
