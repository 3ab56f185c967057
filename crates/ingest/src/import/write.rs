//! Stores checked orders in short transactions with pauses, so that a server on the same data can
//! write, too.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use kiosque_model::GroupNo;
use kiosque_store::{OrderOutcome, Owners, yield_if_due};

use super::{CheckedOrder, Import, ImportError, Progress};
use crate::rejected::Rejected;

/// The target duration of a transaction; other writers wait for about 20 ms at most.
const TRANSACTION_TARGET: Duration = Duration::from_millis(14);
/// The pause between two transactions. Another writer tries to lock the file every millisecond.
pub(crate) const PAUSE: Duration = Duration::from_millis(2);
/// Orders of a group that are sorted by device together.
const RUN: usize = 4_096;
pub(crate) const BATCH_START: usize = 64;
const BATCH_MAX: usize = 4_096;

/// Stores orders, whose sequence numbers follow trade start on each device. Adds those that the
/// store rejects to `rejected`.
pub(super) async fn store(
    import: &mut Import<'_>,
    orders: Vec<CheckedOrder>,
    rejected: &mut Vec<Rejected>,
) -> Result<(), ImportError> {
    let total = count(orders.len());
    let groups = import.store.groups_by_device().await?;
    let mut orders = sort_for_storage(orders, &groups).into_orders().into_iter();
    let owners = Arc::new(tokio::sync::Mutex::new(Owners::default()));
    let mut size = BATCH_START;
    let mut stored = 0;
    loop {
        let (lines, batch): (Vec<_>, Vec<_>) =
            orders.by_ref().take(size).map(|one| (one.line, one.incoming)).unzip();
        if batch.is_empty() {
            return Ok(());
        }
        let begun = Instant::now();
        let now = import.clock.now();
        let batch = Arc::new(batch);
        let outcomes = import.store.receive(Arc::clone(&batch), Arc::clone(&owners), now).await?;
        size = next_size(size, begun.elapsed(), TRANSACTION_TARGET);
        for ((line, incoming), outcome) in lines.into_iter().zip(&*batch).zip(outcomes) {
            match outcome {
                OrderOutcome::Accepted => import.done.accepted += 1,
                OrderOutcome::Updated => import.done.updated += 1,
                OrderOutcome::Unchanged => import.done.unchanged += 1,
                OrderOutcome::Rejected(reason) => {
                    rejected.push(Rejected::order(line, incoming, reason));
                }
            }
        }
        stored += count(batch.len());
        import.observer.progress(Progress::Stored(stored, total));
        tokio::time::sleep(PAUSE).await;
    }
}

/// Orders sorted for storage.
#[derive(Debug)]
pub(crate) struct SortedOrders {
    /// The first line of each order, by group; each device's by trade start.
    firsts: Vec<CheckedOrder>,
    /// The other lines, in the order of the file, so that the last line of an order wins.
    repeats: Vec<CheckedOrder>,
}

impl SortedOrders {
    pub(crate) fn is_empty(&self) -> bool {
        self.firsts.is_empty()
    }

    /// Rotates the groups so that `group` is the first. The order among groups is free.
    pub(crate) fn rotate_to(&mut self, group: GroupNo, groups: &HashMap<String, GroupNo>) {
        let is_before = |one: &CheckedOrder| group_of(one, groups) < Some(group);
        let start = self.firsts.partition_point(is_before);
        self.firsts.rotate_left(start);
    }

    pub(crate) fn into_orders(mut self) -> Vec<CheckedOrder> {
        self.firsts.append(&mut self.repeats);
        self.firsts
    }
}

/// Returns the group of an order's device.
pub(crate) fn group_of(one: &CheckedOrder, groups: &HashMap<String, GroupNo>) -> Option<GroupNo> {
    groups.get(one.incoming.device_code.as_str()).copied()
}

/// Sorts orders for storage.
pub(crate) fn sort_for_storage(
    mut orders: Vec<CheckedOrder>,
    groups: &HashMap<String, GroupNo>,
) -> SortedOrders {
    orders.sort_by_key(|one| one.line);
    let mut seen = HashSet::with_capacity(orders.len());
    let mut repeated = Vec::with_capacity(orders.len());
    for one in &orders {
        yield_if_due();
        // The same id on another device is another group's order, or will be rejected.
        let identity = (one.incoming.order_id.as_str(), one.incoming.device_code.as_str());
        repeated.push(!seen.insert(identity));
    }
    drop(seen);
    let mut repeats = Vec::new();
    let mut firsts = Vec::with_capacity(orders.len());
    for (one, repeated) in orders.into_iter().zip(repeated) {
        yield_if_due();
        if repeated { repeats.push(one) } else { firsts.push(one) }
    }
    sort_by_locality(&mut firsts, groups);
    SortedOrders { firsts, repeats }
}

/// Sorts orders by group, and within a group in runs by time, each sorted by device. Orders that
/// are read together are then adjacent, and a transaction touches few pages of each index. The
/// order among devices is free; the orders of one device stay sorted by trade start.
fn sort_by_locality(orders: &mut [CheckedOrder], groups: &HashMap<String, GroupNo>) {
    let group = |one: &CheckedOrder| group_of(one, groups);
    orders.sort_by_cached_key(|one| (group(one), one.incoming.trade_start, one.line));
    for of_group in orders.chunk_by_mut(|one, next| group(one) == group(next)) {
        for run in of_group.chunks_mut(RUN) {
            // A stable sort: the orders of one device stay sorted by trade start.
            run.sort_by(|one, next| one.incoming.device_code.cmp(&next.incoming.device_code));
        }
    }
}

/// Returns the size of a batch that takes about `target`, from the duration of the last one. The
/// size changes by half at most.
pub(crate) fn next_size(size: usize, took: Duration, target: Duration) -> usize {
    let took = took.as_micros().max(1);
    let fitting =
        u128::try_from(size).unwrap_or(u128::MAX).saturating_mul(target.as_micros()) / took;
    let fitting = usize::try_from(fitting).unwrap_or(BATCH_MAX);
    fitting.clamp(size / 2, size + size / 2).clamp(8, BATCH_MAX)
}

fn count(orders: usize) -> u64 {
    u64::try_from(orders).unwrap_or(u64::MAX)
}
