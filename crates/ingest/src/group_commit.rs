//! Group commit for streams: a single writer stores the orders that were queued during one
//! transaction together in the next one. Each submission is answered once it is durable. On a
//! sharded store, each group's orders have a separate transaction.

mod arrivals;
mod batch;
mod submission;
mod transaction;

use std::collections::VecDeque;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use futures_util::{StreamExt, stream};
use kiosque_clock::Clock;
use kiosque_locks::lock_ignoring_poison;
use kiosque_model::{GroupNo, KeyName, UnixMs};
use kiosque_store::{
    BatchPart, Error, FleetSnapshot, Incoming, LockedGroups, OrderOutcome, Owners, ReceiveOptions,
    Received, Store,
};
use tokio::sync::{
    AcquireError, Notify, OwnedSemaphorePermit, Semaphore, SemaphorePermit, oneshot,
};

use crate::batch_size::{BATCH_START, Throughput, TransactionTime};
use crate::import::PAUSE;
use crate::inconsistent_data::log_inconsistent_data;
use crate::intake_record::{IntakeRecord, Outcomes};
use crate::storage_order::StorageOrder;
use arrivals::Arrivals;
use batch::{Batch, Part};
use submission::Submission;
use transaction::{Decided, Transaction};

/// The target duration of a transaction. A longer one would store a tenth more orders per second,
/// because the pages written grow more slowly than the orders; but those pages are written without
/// a pause, and requests wait meanwhile.
const FILE_TIME: TransactionTime =
    TransactionTime { target: Duration::from_millis(10), longest: Duration::from_millis(10) };
/// The target duration where a database server writes the pages and each statement is a round trip.
/// The locks of the groups are held for as long.
const REMOTE_TIME: TransactionTime =
    TransactionTime { target: Duration::from_millis(40), longest: Duration::from_millis(250) };
/// Orders after which the writer empties its cache of device owners. The cache also has an entry
/// for each unknown device code, and a stream may contain any number of them.
const OWNERS_CACHE_ORDERS: usize = 100_000;

/// The concurrent transactions of a batch. Other writers need connections, too.
const TRANSACTIONS_MAX: usize = 6;

/// The interval at which orders of locked groups are retried.
const LOCK_RETRY: Duration = Duration::from_millis(10);

/// The waiting submissions, and the state of the writer.
#[derive(Default)]
struct Queue {
    submissions: VecDeque<Submission>,
    /// Submissions with orders of groups that another transaction has locked.
    locked: Vec<Submission>,
    /// When they are retried, if there are any.
    retry_at: Option<Instant>,
    /// Whether the writer is running.
    writing: bool,
    /// Orders per transaction, kept so that the next writer need not adapt again.
    size: usize,
    throughput: Throughput,
    /// The group with which the next transaction begins. A new submission starts with the same
    /// group, so that its orders touch the same pages.
    current_group: Option<GroupNo>,
}

impl Queue {
    /// Queues the submissions with orders of locked groups again if it is time. They precede newer
    /// ones, which may have later versions of their orders.
    fn retry_locked(&mut self, now: Instant) {
        if self.retry_at.take_if(|at| *at <= now).is_some() {
            let newer = mem::replace(&mut self.submissions, mem::take(&mut self.locked).into());
            self.submissions.extend(newer);
        }
    }
}

/// The next work of the writer.
enum Next {
    Batch(Batch),
    /// Wait for new submissions, until it is time to retry locked groups.
    Wait(Instant),
    /// Nothing; the writer has ended.
    Nothing,
}

/// A queue of orders and the writer that stores them.
pub(super) struct GroupCommit {
    store: Store,
    clock: Clock,
    /// How long a request waits.
    wait: Duration,
    cpu_permits: Arc<Semaphore>,
    queue: Mutex<Queue>,
    /// Wakes a writer that waits for locked groups.
    submitted: Notify,
    /// The writer's cache of device owners.
    owners: Arc<tokio::sync::Mutex<Owners>>,
    /// The writer's arrivals.
    arrivals: tokio::sync::Mutex<Arrivals>,
    record: Arc<IntakeRecord>,
}

impl GroupCommit {
    /// Returns an empty queue. A transaction on SQLite holds one of `cpu_permits`. If a group is
    /// locked for `wait`, the submissions with its orders fail. Stored orders are added to
    /// `record`.
    pub(super) fn new(
        store: Store,
        clock: Clock,
        cpu_permits: Arc<Semaphore>,
        wait: Duration,
        record: Arc<IntakeRecord>,
    ) -> GroupCommit {
        let queue = Mutex::new(Queue { size: BATCH_START, ..Queue::default() });
        let submitted = Notify::new();
        let owners = Arc::default();
        let arrivals = tokio::sync::Mutex::new(Arrivals::here());
        GroupCommit { store, clock, wait, cpu_permits, queue, submitted, owners, arrivals, record }
    }

    /// Queues orders sent with a key. The receiver gets their outcomes once they are durable;
    /// `bytes` is released at the same time.
    pub(super) fn store(
        self: &Arc<Self>,
        mut orders: StorageOrder,
        key: KeyName,
        fleet: Arc<FleetSnapshot>,
        bytes: OwnedSemaphorePermit,
    ) -> oneshot::Receiver<Outcomes> {
        let (result, receiver) = oneshot::channel();
        let current_group = self.queue().current_group;
        if let Some(group) = current_group {
            orders.rotate_to(group, &fleet.groups_by_device);
        }
        let submission = Submission::new(orders, key, fleet, bytes, result);
        let mut queue = self.queue();
        queue.submissions.push_back(submission);
        if !queue.writing {
            queue.writing = true;
            tokio::spawn(Arc::clone(self).write());
        } else if queue.retry_at.is_some() {
            self.submitted.notify_one();
        }
        receiver
    }

    /// Returns whether a transaction is in progress, and the number of waiting submissions.
    pub(super) fn waiting(&self) -> (bool, usize) {
        let queue = self.queue();
        (queue.writing, queue.submissions.len() + queue.locked.len())
    }

    /// Locks the queue, which is consistent even after a panic while locked.
    fn queue(&self) -> MutexGuard<'_, Queue> {
        lock_ignoring_poison(&self.queue)
    }

    /// Runs transactions until the queue is empty.
    async fn write(self: Arc<Self>) {
        let mut writer = Writer { of: &self, finished: false };
        let mut looked_up = 0;
        loop {
            // Orders that are queued during this wait go into the same transaction.
            let Ok(permit) = self.cpu_permit().await else { return };
            let batch = match writer.next() {
                Next::Batch(batch) => batch,
                Next::Wait(until) => {
                    drop(permit);
                    let _ = tokio::time::timeout_at(until.into(), self.submitted.notified()).await;
                    continue;
                }
                Next::Nothing => return,
            };
            looked_up += batch.orders.len();
            if looked_up > OWNERS_CACHE_ORDERS {
                *self.owners.lock().await = Owners::default();
                looked_up = batch.orders.len();
            }
            self.commit(batch).await;
            drop(permit);
            if self.has_backlog() {
                // Other processes try to lock the file every millisecond.
                tokio::time::sleep(PAUSE).await;
            }
        }
    }

    /// Acquires a permit if this process writes the data itself.
    async fn cpu_permit(&self) -> Result<Option<SemaphorePermit<'_>>, AcquireError> {
        if self.store.engine().is_file() {
            self.cpu_permits.acquire().await.map(Some)
        } else {
            Ok(None)
        }
    }

    /// Returns whether more orders wait than one transaction takes.
    fn has_backlog(&self) -> bool {
        let queue = self.queue();
        queue.submissions.iter().map(Submission::len).sum::<usize>() > queue.size
    }

    /// Stores a batch, and reports the outcomes of its orders.
    async fn commit(&self, batch: Batch) {
        let begun = Instant::now();
        let Batch { parts, orders } = batch;
        let decided = self.store_batch(&parts, orders).await;
        let took = begun.elapsed();
        let mut outcomes = decided.into_iter().map(|(_, order, outcome)| (order, outcome));
        let mut decided = 0;
        let mut is_stored = true;
        for Part { mut submission, lines, orders } in parts {
            let outcomes = lines.into_iter().zip(outcomes.by_ref());
            let outcomes = outcomes.map(|(line, (order, outcome))| (line, order, outcome));
            let waiting = submission.len() + orders.orders.len();
            let outcomes = submission.record(outcomes, orders.sorted, begun);
            decided += waiting - submission.len();
            is_stored &= outcomes.failure.is_none();
            // At once: the stream may be waiting for its next line.
            self.record.add(submission.key().as_str(), self.clock.now(), &outcomes);
            let failure = outcomes.failure.clone().filter(|error| is_busy(error));
            submission.add(outcomes);
            match failure {
                // The transaction waited as long as a request may.
                Some(error) => submission.finish_with(&error),
                None => self.finish_or_queue(submission),
            }
        }
        if is_stored {
            self.adapt_size(decided, took);
        }
    }

    /// Stores a batch in one transaction; on a sharded store in one for each group, several at a
    /// time: none needs a two-phase commit, except for groups that share a device, and the workers
    /// run in parallel. Returns the orders in the same order.
    async fn store_batch(&self, parts: &[Part], orders: Vec<Incoming>) -> Vec<Decided> {
        let now = self.clock.now();
        let all = match self.with_arrivals(parts, now).await {
            Ok(parts) => Transaction::of_all(orders, parts),
            Err(error) => return Transaction::of_all(orders, Vec::new()).failed(&Arc::new(error)),
        };
        if !self.store.engine().is_sharded() {
            return self.store_or_divide(all, now).await;
        }
        let groups = match self.groups_of(&all).await {
            Ok(groups) => groups,
            Err(error) => return all.failed(&Arc::new(error)),
        };
        let of_groups = all.divide(&groups, |_, group| group).into_iter();
        let stored = of_groups.map(|transaction| self.store_or_divide(transaction, now));
        let stored: Vec<Vec<Decided>> =
            stream::iter(stored).buffer_unordered(TRANSACTIONS_MAX).collect().await;
        in_order(stored.into_iter().flatten().collect())
    }

    /// Runs a transaction. If it fails, the orders of each stream and group get a separate one, so
    /// that an order that makes the store fail does not affect other streams.
    async fn store_or_divide(&self, transaction: Transaction, now: UnixMs) -> Vec<Decided> {
        let error = match self.receive(&transaction, now).await {
            Ok(outcomes) => return transaction.decided(outcomes),
            Err(error) => Arc::new(error),
        };
        let groups = match self.groups_of(&transaction).await {
            Ok(groups) if !is_busy(&error) => groups,
            _ => return transaction.failed(&error),
        };
        let divided = transaction.divide(&groups, |part, group| (part, group));
        let is_single = divided.len() == 1;
        let mut unavailable = None;
        let mut decided = Vec::new();
        for one in divided {
            if is_single {
                return one.failed(&error);
            }
            let received = match &unavailable {
                Some(error) => Err(Arc::clone(error)),
                None => self.receive(&one, now).await.map_err(Arc::new),
            };
            match received {
                Ok(outcomes) => decided.extend(one.decided(outcomes)),
                Err(error) => {
                    decided.extend(one.failed(&error));
                    unavailable = Some(error).filter(|error| is_busy(error));
                }
            }
        }
        in_order(decided)
    }

    /// Returns the groups by which the orders of a transaction can be divided.
    async fn groups_of(&self, transaction: &Transaction) -> Result<Vec<Option<GroupNo>>, Error> {
        self.store.intake().separable_groups(&self.owners, &transaction.orders).await
    }

    /// Returns the parts of a batch, each with the arrival of its key.
    async fn with_arrivals(&self, parts: &[Part], now: UnixMs) -> Result<Vec<BatchPart>, Error> {
        let mut arrivals = self.arrivals.lock().await;
        let mut with_arrivals = Vec::with_capacity(parts.len());
        for part in parts {
            let arrival = Some(arrivals.of(&self.store, part.submission.key(), now).await?);
            with_arrivals.push(BatchPart { arrival, ..part.orders.clone() });
        }
        Ok(with_arrivals)
    }

    /// Stores the orders of a transaction.
    async fn receive(
        &self,
        transaction: &Transaction,
        now: UnixMs,
    ) -> Result<Vec<OrderOutcome>, Error> {
        let locked_groups = LockedGroups::Skip;
        let parts = transaction.parts();
        let options = ReceiveOptions { now, locked_groups, parts };
        let orders = Arc::clone(&transaction.orders);
        let owners = Arc::clone(&self.owners);
        let received = self.store.intake().receive(orders, owners, options).await;
        let Received { outcomes, lost_arrival, .. } = received?;
        if lost_arrival {
            self.arrivals.lock().await.forget();
        }
        log_inconsistent_data(&outcomes);
        Ok(outcomes)
    }

    /// Adapts the number of orders per transaction after one of `orders`.
    fn adapt_size(&self, orders: usize, took: Duration) {
        let time = if self.store.engine().is_file() { FILE_TIME } else { REMOTE_TIME };
        let queue = &mut *self.queue();
        queue.size = queue.throughput.next_size(queue.size, (orders, took), time);
    }

    /// Finishes a submission, or queues it again with its remaining orders.
    fn finish_or_queue(&self, submission: Submission) {
        let now = Instant::now();
        if submission.len() == 0 {
            submission.finish();
        } else if submission.waited_for_lock(self.wait, now) {
            submission.finish_with(&Arc::new(Error::Busy(self.wait)));
        } else if submission.is_locked() {
            let mut queue = self.queue();
            queue.retry_at.get_or_insert(now + LOCK_RETRY);
            queue.locked.push(submission);
        } else {
            self.queue().submissions.push_back(submission);
        }
    }
}

fn is_busy(error: &Error) -> bool {
    matches!(error, Error::Busy(_) | Error::Unreachable(_) | Error::NoAccess(_))
}

/// Restores the order that the orders had in their batch.
fn in_order(mut decided: Vec<Decided>) -> Vec<Decided> {
    decided.sort_unstable_by_key(|(index, ..)| *index);
    decided
}

/// The single writer. If it ends prematurely, the waiting streams receive an error.
struct Writer<'a> {
    of: &'a GroupCommit,
    finished: bool,
}

impl Writer<'_> {
    /// Takes the next batch from the queue.
    fn next(&mut self) -> Next {
        let mut queue = self.of.queue();
        queue.retry_locked(Instant::now());
        let count = queue.submissions.len().min(queue.size);
        if count == 0 {
            if let Some(retry_at) = queue.retry_at {
                return Next::Wait(retry_at);
            }
            queue.writing = false;
            self.finished = true;
            return Next::Nothing;
        }
        let size = queue.size;
        let submissions: Vec<Submission> = queue.submissions.drain(..count).collect();
        drop(queue);
        let batch = Batch::of(submissions, size);
        self.of.queue().current_group = batch.current_group();
        Next::Batch(batch)
    }
}

impl Drop for Writer<'_> {
    fn drop(&mut self) {
        if !self.finished {
            let mut queue = self.of.queue();
            queue.submissions.clear();
            queue.locked.clear();
            queue.retry_at = None;
            queue.writing = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::batch::tests::submission;
    use super::*;

    #[test]
    fn locked_submissions_are_tried_again_before_newer_ones() {
        let now = Instant::now();
        let mut queue = Queue {
            submissions: [submission(&["1@a1"]), submission(&["1@a1", "2@a1"])].into(),
            locked: vec![submission(&["1@a1", "2@a1", "3@a1"])],
            retry_at: Some(now + LOCK_RETRY),
            ..Queue::default()
        };
        queue.retry_locked(now);
        assert_eq!(queue.submissions.iter().map(Submission::len).collect::<Vec<_>>(), [1, 2]);
        queue.retry_locked(now + LOCK_RETRY);
        assert_eq!(queue.submissions.iter().map(Submission::len).collect::<Vec<_>>(), [3, 1, 2]);
        assert!(queue.locked.is_empty() && queue.retry_at.is_none());
    }
}
