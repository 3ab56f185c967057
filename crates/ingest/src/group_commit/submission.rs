//! Orders of one stream that wait for a transaction, and their outcomes.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::vec::IntoIter;

use kiosque_contract::RejectedOrder;
use kiosque_model::{GroupNo, KeyName};
use kiosque_store::{BatchPart, Error, FleetSnapshot, Incoming, OrderOutcome, yield_if_due};
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use crate::intake_record::Outcomes;
use crate::rejected::Reason;
use crate::storage_order::{CheckedOrder, StorageOrder, group_of};

/// Orders of one stream that wait for a transaction. The result is as if each came after all lines
/// before it.
pub(super) struct Submission {
    /// Sorted orders that the last transaction left undecided; they come before `sorted`.
    left: Vec<CheckedOrder>,
    sorted: IntoIter<CheckedOrder>,
    /// Orders that depend on others. They follow the sorted ones in the order of their lines.
    by_line: Vec<CheckedOrder>,
    /// The orders that the last transaction left undecided because their groups were locked.
    locked: usize,
    /// The time of the first of these transactions in a row.
    locked_since: Option<Instant>,
    /// The name of the stream's key.
    key: KeyName,
    /// The fleet by whose groups the orders are sorted.
    fleet: Arc<FleetSnapshot>,
    outcomes: Outcomes,
    result: oneshot::Sender<Outcomes>,
    /// Their bytes in the queue.
    _bytes: OwnedSemaphorePermit,
}

impl Submission {
    pub(super) fn new(
        orders: StorageOrder,
        key: KeyName,
        fleet: Arc<FleetSnapshot>,
        bytes: OwnedSemaphorePermit,
        result: oneshot::Sender<Outcomes>,
    ) -> Submission {
        Submission {
            left: Vec::new(),
            sorted: orders.sorted.into_iter(),
            by_line: orders.by_line,
            locked: 0,
            locked_since: None,
            key,
            fleet,
            outcomes: Outcomes::default(),
            result,
            _bytes: bytes,
        }
    }

    pub(super) fn key(&self) -> &KeyName {
        &self.key
    }

    /// Returns the number of orders without an outcome.
    pub(super) fn len(&self) -> usize {
        self.left.len() + self.sorted.len() + self.by_line.len()
    }

    /// Returns the group of the next order.
    pub(super) fn group(&self) -> Option<GroupNo> {
        let next = self.left.first().or_else(|| self.sorted.as_slice().first());
        group_of(next.or(self.by_line.first())?, &self.fleet.groups_by_device)
    }

    /// Adds the next orders to a batch, and their lines to `lines`. At most `share` of them are
    /// decided. All orders of locked groups are included, so that no later order of their device is
    /// stored before them; further orders are added, which need not wait for the lock.
    pub(super) fn fill(
        &mut self,
        batch: &mut Vec<Incoming>,
        lines: &mut Vec<u64>,
        share: usize,
    ) -> BatchPart {
        let start = batch.len();
        let mut add = |one: CheckedOrder| {
            yield_if_due();
            lines.push(one.line);
            batch.push(one.incoming);
        };
        let room = (share + self.locked).saturating_sub(self.left.len());
        let sorted = self.left.len() + room.min(self.sorted.len());
        self.left.drain(..).chain(self.sorted.by_ref().take(room)).for_each(&mut add);
        if self.sorted.as_slice().is_empty() {
            self.by_line.sort_unstable_by_key(|one| one.line);
            let room = (share + self.locked).saturating_sub(sorted).min(self.by_line.len());
            self.by_line.drain(..room).for_each(add);
        }
        BatchPart { orders: start..batch.len(), sorted, orders_max: share, arrival: None }
    }

    /// Records the outcomes of orders that [`Submission::fill`] returned, in the same order; the
    /// first `sorted` orders were sorted. Orders without an outcome are queued again, unless an
    /// order of their group failed.
    pub(super) fn record(
        &mut self,
        outcomes: impl Iterator<Item = (u64, Incoming, Result<OrderOutcome, Arc<Error>>)>,
        sorted: usize,
        now: Instant,
    ) -> Outcomes {
        let before = self.locked_since;
        self.locked = 0;
        let mut of_orders = Outcomes::default();
        let mut failed_groups = BTreeSet::new();
        for (index, (line, incoming, outcome)) in outcomes.enumerate() {
            yield_if_due();
            let outcome = match outcome {
                Ok(outcome) => outcome,
                Err(error) => {
                    of_orders.fail(line, &incoming, &error);
                    let device = incoming.device_code.as_str();
                    failed_groups.extend(self.fleet.groups_by_device.all(device));
                    continue;
                }
            };
            let Outcomes { counts, newest_trade, rejected, .. } = &mut of_orders;
            let stored = match outcome {
                OrderOutcome::Accepted => &mut counts.accepted,
                OrderOutcome::Updated => &mut counts.updated,
                OrderOutcome::Unchanged => &mut counts.unchanged,
                OrderOutcome::Rejected(reason) | OrderOutcome::Inconsistent(reason) => {
                    let order_id = Some(incoming.order_id.as_str().to_owned());
                    let reason = Reason::new(&reason).reported();
                    rejected.push(RejectedOrder { line, order_id, reason });
                    counts.rejected += 1;
                    continue;
                }
                OrderOutcome::Deferred => {
                    self.by_line.push(CheckedOrder { line, incoming });
                    continue;
                }
                OrderOutcome::GroupLocked | OrderOutcome::NotReached => {
                    self.locked += usize::from(outcome == OrderOutcome::GroupLocked);
                    let left = if index < sorted { &mut self.left } else { &mut self.by_line };
                    left.push(CheckedOrder { line, incoming });
                    continue;
                }
            };
            *stored += 1;
            *newest_trade = (*newest_trade).max(Some(incoming.trade_start));
        }
        self.fail_groups(&failed_groups, &mut of_orders);
        self.locked_since = (self.locked > 0).then(|| before.unwrap_or(now));
        of_orders
    }

    /// Fails the remaining orders of groups. A later line of an order that failed is not stored:
    /// the failed one, sent again, would replace it.
    fn fail_groups(&mut self, groups: &BTreeSet<Option<GroupNo>>, of_orders: &mut Outcomes) {
        let Some(error) = of_orders.failure.clone() else { return };
        let fleet = Arc::clone(&self.fleet);
        let fails = |one: &mut CheckedOrder| {
            let device = one.incoming.device_code.as_str();
            fleet.groups_by_device.all(device).any(|group| groups.contains(&group))
        };
        let mut sorted: Vec<CheckedOrder> = self.sorted.by_ref().collect();
        for orders in [&mut self.left, &mut sorted, &mut self.by_line] {
            for one in orders.extract_if(.., fails) {
                of_orders.fail(one.line, &one.incoming, &error);
            }
        }
        self.sorted = sorted.into_iter();
    }

    /// Adds outcomes to those that are reported.
    pub(super) fn add(&mut self, outcomes: Outcomes) {
        self.outcomes.add(outcomes);
    }

    /// Returns whether the last transaction found a group locked.
    pub(super) fn is_locked(&self) -> bool {
        self.locked > 0
    }

    /// Returns whether a group has been locked for as long as a request waits.
    pub(super) fn waited_for_lock(&self, wait: Duration, now: Instant) -> bool {
        self.locked_since.is_some_and(|since| now.duration_since(since) >= wait)
    }

    /// Reports the outcomes.
    pub(super) fn finish(self) {
        // The stream may have ended; its stored orders remain.
        let _ = self.result.send(self.outcomes);
    }

    /// Reports the outcomes, and the remaining orders as failed.
    pub(super) fn finish_with(mut self, error: &Arc<Error>) {
        for one in self.left.drain(..).chain(self.sorted.by_ref()).chain(self.by_line.drain(..)) {
            self.outcomes.fail(one.line, &one.incoming, error);
        }
        self.finish();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::group_commit::batch::tests::submission;

    /// An order of a device that moved may belong to any of its groups: the lines of all of them
    /// fail with it.
    #[test]
    fn the_lines_of_a_group_fail_with_a_line_of_a_device_that_was_in_it() {
        let mut waiting = submission(&["1@a1", "2@a1#N", "3@m2", "4@c1", "1@a1"]);
        let (mut batch, mut lines) = (Vec::new(), Vec::new());
        let part = waiting.fill(&mut batch, &mut lines, 3);
        assert_eq!(lines, [2, 1, 3], "sorted");
        let outcome = |line| match line {
            3 => Err(Arc::new(Error::Gone)),
            _ => Ok(OrderOutcome::Accepted),
        };
        let outcomes =
            lines.into_iter().zip(batch).map(|(line, order)| (line, order, outcome(line)));
        let outcomes = waiting.record(outcomes, part.sorted, Instant::now());
        let failed: Vec<u64> = outcomes.failed.iter().map(|one| one.line).collect();
        assert_eq!((failed, waiting.len()), (vec![3, 5], 1));
    }
}
