//! Group commit for streams: a single writer stores the orders that were queued during one
//! transaction together in the next one. Each submission is answered once it is durable.

mod batch;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use kiosque_contract::RejectedOrder;
use kiosque_locks::lock_ignoring_poison;
use kiosque_model::GroupNo;
use kiosque_store::{Error, FleetSnapshot, Incoming, OrderOutcome, Owners, Store, yield_if_due};
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore, SemaphorePermit, oneshot};

use super::import::{BATCH_START, CheckedOrder, PAUSE, SortedOrders, group_of, next_size};
use batch::{Batch, Orders, Part};
use kiosque_clock::Clock;

/// The target duration of a transaction. A longer one would store a tenth more orders per second,
/// because the pages written grow more slowly than the orders; but those pages are written without
/// a break, and requests wait meanwhile.
const TRANSACTION_TARGET: Duration = Duration::from_millis(10);
/// The target duration where a database server writes the pages and each statement is a round trip.
const TRANSACTION_TARGET_REMOTE: Duration = Duration::from_millis(40);
/// Orders after which the writer empties its cache of device owners. The cache also has an entry
/// for each unknown device code, and a stream may name any number of them.
const OWNERS_CACHE_ORDERS: usize = 100_000;

/// The outcomes of the orders of a submission.
#[derive(Debug, Default)]
pub(super) struct Stored {
    pub(super) accepted: u64,
    pub(super) updated: u64,
    pub(super) unchanged: u64,
    pub(super) rejected: Vec<RejectedOrder>,
}

/// The result of a submission. The streams of a failed transaction share its error.
pub(super) type CommitResult = Result<Stored, Arc<Error>>;

/// Orders of one stream that wait for a transaction.
struct Submission {
    orders: std::vec::IntoIter<CheckedOrder>,
    /// The fleet whose groups they are sorted by.
    fleet: Arc<FleetSnapshot>,
    stored: Stored,
    result: oneshot::Sender<CommitResult>,
    /// Their bytes in the queue.
    _bytes: OwnedSemaphorePermit,
}

impl Submission {
    /// Returns the group of the next order.
    fn group(&self) -> Option<GroupNo> {
        let next = self.orders.as_slice().first()?;
        group_of(next, &self.fleet.groups_by_device)
    }

    fn finish(self, result: CommitResult) {
        // The stream may have ended; its stored orders stay.
        let _ = self.result.send(result);
    }
}

/// The submissions that wait, and the state of the writer.
#[derive(Default)]
struct Queue {
    submissions: VecDeque<Submission>,
    /// Whether the writer is running.
    writing: bool,
    /// Orders per transaction. It outlives the writer, so that the next one need not adapt again.
    size: usize,
    /// The group whose orders the next transaction begins with. A new submission starts with the
    /// same group, so that its orders touch the same pages.
    current_group: Option<GroupNo>,
}

/// A queue of orders and the writer that stores them.
pub(super) struct GroupCommit {
    store: Store,
    clock: Clock,
    cpu_permits: Arc<Semaphore>,
    queue: Mutex<Queue>,
    /// The writer's cache of device owners.
    owners: Arc<tokio::sync::Mutex<Owners>>,
}

impl GroupCommit {
    /// Returns an empty queue. A transaction on SQLite holds one of `cpu_permits`.
    pub(super) fn new(store: Store, clock: Clock, cpu_permits: Arc<Semaphore>) -> GroupCommit {
        let queue = Queue { size: BATCH_START, ..Queue::default() };
        GroupCommit { store, clock, cpu_permits, queue: Mutex::new(queue), owners: Arc::default() }
    }

    /// Queues orders. The receiver gets their outcomes once they are durable; `bytes` is released
    /// with them.
    pub(super) fn store(
        self: &Arc<Self>,
        mut orders: SortedOrders,
        fleet: Arc<FleetSnapshot>,
        bytes: OwnedSemaphorePermit,
    ) -> oneshot::Receiver<CommitResult> {
        let (result, receiver) = oneshot::channel();
        let current_group = self.queue().current_group;
        if let Some(group) = current_group {
            orders.rotate_to(group, &fleet.groups_by_device);
        }
        let (orders, stored) = (orders.into_orders().into_iter(), Stored::default());
        let mut queue = self.queue();
        queue.submissions.push_back(Submission { orders, fleet, stored, result, _bytes: bytes });
        if !queue.writing {
            queue.writing = true;
            tokio::spawn(Arc::clone(self).write());
        }
        receiver
    }

    /// Returns whether a transaction is under way, and the number of submissions that wait.
    pub(super) fn waiting(&self) -> (bool, usize) {
        let queue = self.queue();
        (queue.writing, queue.submissions.len())
    }

    /// Locks the queue, which is consistent even after a panic under the lock.
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
            let Some(batch) = writer.next_batch() else { return };
            looked_up += batch.orders.0.len();
            if looked_up > OWNERS_CACHE_ORDERS {
                *self.owners.lock().await = Owners::default();
                looked_up = batch.orders.0.len();
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
        if self.store.is_file() { self.cpu_permits.acquire().await.map(Some) } else { Ok(None) }
    }

    /// Returns whether more orders wait than one transaction takes.
    fn has_backlog(&self) -> bool {
        let queue = self.queue();
        queue.submissions.iter().map(|submission| submission.orders.len()).sum::<usize>()
            > queue.size
    }

    /// Stores a batch in one transaction.
    async fn commit(&self, batch: Batch) {
        let begun = Instant::now();
        let received = self.receive(Arc::clone(&batch.orders)).await;
        self.adapt_size(batch.orders.0.len(), begun.elapsed());
        match received {
            Ok(outcomes) => {
                let mut outcomes = outcomes.into_iter();
                for part in batch.parts {
                    let size = part.range.len();
                    let orders = &batch.orders.0[part.range.clone()];
                    self.record_outcomes(part, orders, outcomes.by_ref().take(size));
                }
            }
            Err(error) => self.commit_each(batch, Arc::new(error)).await,
        }
    }

    /// Stores each part in a transaction of its own, after the one for all has failed, so that a
    /// fault of one stream does not fail the others.
    async fn commit_each(&self, batch: Batch, error: Arc<Error>) {
        let single = batch.parts.len() == 1;
        let mut failed = (single || is_busy(&error)).then_some(error);
        for part in batch.parts {
            if let Some(error) = &failed {
                part.submission.finish(Err(Arc::clone(error)));
                continue;
            }
            let orders = Arc::new(Orders(batch.orders.0[part.range.clone()].to_vec()));
            match self.receive(Arc::clone(&orders)).await {
                Ok(outcomes) => self.record_outcomes(part, &orders.0, outcomes.into_iter()),
                Err(error) => {
                    let error = Arc::new(error);
                    part.submission.finish(Err(Arc::clone(&error)));
                    failed = is_busy(&error).then_some(error);
                }
            }
        }
        if let Some(busy) = failed.filter(|error| is_busy(error)) {
            // The others have waited as long already; another wait would not help.
            for submission in std::mem::take(&mut self.queue().submissions) {
                submission.finish(Err(Arc::clone(&busy)));
            }
        }
    }

    async fn receive(&self, orders: Arc<Orders>) -> Result<Vec<OrderOutcome>, Error> {
        self.store.receive(orders, Arc::clone(&self.owners), self.clock.now()).await
    }

    fn transaction_target(&self) -> Duration {
        if self.store.is_file() { TRANSACTION_TARGET } else { TRANSACTION_TARGET_REMOTE }
    }

    /// Adapts the orders per transaction after one that was full or took too long.
    fn adapt_size(&self, orders: usize, took: Duration) {
        let target = self.transaction_target();
        let mut queue = self.queue();
        if orders >= queue.size || took > target {
            queue.size = next_size(queue.size, took, target);
        }
    }

    /// Adds the outcomes of a part to its submission, which is finished or queued again with its
    /// other orders.
    fn record_outcomes(
        &self,
        mut part: Part,
        orders: &[Incoming],
        outcomes: impl Iterator<Item = OrderOutcome>,
    ) {
        let stored = &mut part.submission.stored;
        for ((line, order), outcome) in part.lines.into_iter().zip(orders).zip(outcomes) {
            yield_if_due();
            match outcome {
                OrderOutcome::Accepted => stored.accepted += 1,
                OrderOutcome::Updated => stored.updated += 1,
                OrderOutcome::Unchanged => stored.unchanged += 1,
                OrderOutcome::Rejected(reason) => {
                    let order_id = Some(order.order_id.as_str().to_owned());
                    stored.rejected.push(RejectedOrder { line, order_id, reason });
                }
            }
        }
        if part.submission.orders.len() > 0 {
            self.queue().submissions.push_back(part.submission);
        } else {
            let stored = std::mem::take(&mut part.submission.stored);
            part.submission.finish(Ok(stored));
        }
    }
}

fn is_busy(error: &Error) -> bool {
    matches!(error, Error::Busy(_) | Error::Unreachable(_))
}

/// The single writer. If it ends early, the streams that wait receive an error.
struct Writer<'a> {
    of: &'a GroupCommit,
    finished: bool,
}

impl Writer<'_> {
    /// Takes the next batch from the queue; `None` when it is empty.
    fn next_batch(&mut self) -> Option<Batch> {
        let mut queue = self.of.queue();
        let count = queue.submissions.len().min(queue.size);
        if count == 0 {
            queue.writing = false;
            self.finished = true;
            return None;
        }
        let size = queue.size;
        let submissions: Vec<Submission> = queue.submissions.drain(..count).collect();
        drop(queue);
        let batch = Batch::of(submissions, size);
        self.of.queue().current_group = batch.current_group();
        Some(batch)
    }
}

impl Drop for Writer<'_> {
    fn drop(&mut self) {
        if !self.finished {
            let mut queue = self.of.queue();
            queue.submissions.clear();
            queue.writing = false;
        }
    }
}
