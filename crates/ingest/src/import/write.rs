//! Stores checked orders in short transactions with a pause between, so that logins beside an
//! import pass.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use kiosque_model::GroupNo;
use kiosque_store::{Outcome, Owners, yield_if_due};

use super::{Import, ImportError, Prepared, Progress};
use crate::rejected::Rejected;

/// What a transaction is meant to take; others never wait for more than about 20 ms.
const TURN: Duration = Duration::from_millis(14);
/// How long others have to come in between two transactions. A waiting write asks every
/// millisecond.
pub(crate) const PAUSE: Duration = Duration::from_millis(2);
/// Orders of a group that are laid out together.
const RUN: usize = 4_096;
pub(crate) const BATCH_START: usize = 64;
const BATCH_MAX: usize = 4_096;

/// Stores orders by trade start, each device's new orders numbered so; adds what is not taken to
/// `rejected`.
pub(super) async fn store(
    import: &mut Import<'_>,
    prepared: Vec<Prepared>,
    rejected: &mut Vec<Rejected>,
) -> Result<(), ImportError> {
    let total = count(prepared.len());
    let groups = import.store.groups_by_device().await?;
    let mut orders = in_turn(prepared, &groups).into_orders().into_iter();
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
        size = next_size(size, begun.elapsed(), TURN);
        for ((line, incoming), outcome) in lines.into_iter().zip(&*batch).zip(outcomes) {
            match outcome {
                Outcome::Accepted => import.done.accepted += 1,
                Outcome::Updated => import.done.updated += 1,
                Outcome::Unchanged => import.done.unchanged += 1,
                Outcome::Rejected(reason) => {
                    rejected.push(Rejected::order(line, incoming, reason));
                }
            }
        }
        stored += count(batch.len());
        import.watch.progress(Progress::Stored(stored, total));
        tokio::time::sleep(PAUSE).await;
    }
}

/// Orders as they may be stored one after the other.
#[derive(Debug)]
pub(crate) struct InTurn {
    /// Every order once, group by group, each device's by trade start.
    firsts: Vec<Prepared>,
    /// Those that come again, in the order of the file, so that the last line of an order is what
    /// stays.
    repeats: Vec<Prepared>,
}

impl InTurn {
    pub(crate) fn is_empty(&self) -> bool {
        self.firsts.is_empty()
    }

    /// Begins with a group; those before it come at the end. The order among groups is free.
    pub(crate) fn begin_with(&mut self, group: GroupNo, groups: &HashMap<String, GroupNo>) {
        let is_before = |one: &Prepared| group_of(one, groups) < Some(group);
        let begins = self.firsts.partition_point(is_before);
        self.firsts.rotate_left(begins);
    }

    pub(crate) fn into_orders(mut self) -> Vec<Prepared> {
        self.firsts.append(&mut self.repeats);
        self.firsts
    }
}

/// Whose orders an order is stored with.
pub(crate) fn group_of(one: &Prepared, groups: &HashMap<String, GroupNo>) -> Option<GroupNo> {
    groups.get(one.incoming.device_code.as_str()).copied()
}

/// Brings orders in an order in which they may be stored.
pub(crate) fn in_turn(mut prepared: Vec<Prepared>, groups: &HashMap<String, GroupNo>) -> InTurn {
    prepared.sort_by_key(|one| one.line);
    let mut seen = HashSet::with_capacity(prepared.len());
    let mut again = Vec::with_capacity(prepared.len());
    for one in &prepared {
        yield_if_due();
        // The same id on another device is another group's order, or will be rejected.
        let identity = (one.incoming.order_id.as_str(), one.incoming.device_code.as_str());
        again.push(!seen.insert(identity));
    }
    drop(seen);
    let mut repeats = Vec::new();
    let mut firsts = Vec::with_capacity(prepared.len());
    for (one, again) in prepared.into_iter().zip(again) {
        yield_if_due();
        if again { repeats.push(one) } else { firsts.push(one) }
    }
    side_by_side(&mut firsts, groups);
    InTurn { firsts, repeats }
}

/// Orders that are read together come to lie together, and a transaction touches few pages of each
/// index: group by group, and there in runs by time, in each of which a device's orders are
/// neighbours. The order among devices is free; each device's own stays by trade start.
fn side_by_side(orders: &mut [Prepared], groups: &HashMap<String, GroupNo>) {
    let group = |one: &Prepared| group_of(one, groups);
    orders.sort_by_cached_key(|one| (group(one), one.incoming.trade_start, one.line));
    for of_group in orders.chunk_by_mut(|one, next| group(one) == group(next)) {
        for run in of_group.chunks_mut(RUN) {
            // Stable: what has the same device stays by trade start.
            run.sort_by(|one, next| one.incoming.device_code.cmp(&next.incoming.device_code));
        }
    }
}

/// A batch that takes about a turn, from what the last one took.
pub(crate) fn next_size(size: usize, took: Duration, turn: Duration) -> usize {
    let took = took.as_micros().max(1);
    let fitting = u128::try_from(size).unwrap_or(u128::MAX).saturating_mul(turn.as_micros()) / took;
    let fitting = usize::try_from(fitting).unwrap_or(BATCH_MAX);
    fitting.clamp(size / 2, size + size / 2).clamp(8, BATCH_MAX)
}

fn count(orders: usize) -> u64 {
    u64::try_from(orders).unwrap_or(u64::MAX)
}
