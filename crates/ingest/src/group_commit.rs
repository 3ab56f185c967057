//! Group commit for streams: a single writer stores the orders that were queued during one
//! transaction together in the next one. Each submission is answered once it is durable.

mod arrivals;
mod batch;
mod submission;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use kiosque_clock::Clock;
use kiosque_locks::lock_ignoring_poison;
use kiosque_model::{GroupNo, KeyName};
use kiosque_store::{
    BatchPart, Error, FleetSnapshot, Incoming, LockedGroups, OrderOutcome, Owners, ReceiveOptions,
    Store,
};
use tokio::sync::{
    AcquireError, Notify, OwnedSemaphorePermit, Semaphore, SemaphorePermit, oneshot,
};

use crate::batch_size::{BATCH_START, Throughput, TransactionTime};
use crate::import::PAUSE;
use crate::inconsistent_data::log_inconsistent_data;
use crate::intake_record::IntakeRecord;
use crate::storage_order::StorageOrder;
use arrivals::Arrivals;
use batch::{Batch, Orders, Part};
pub(super) use submission::CommitResult;
use submission::Recorded;
use submission::Submission;

/// The target duration of a transaction. A longer one would store a tenth more orders per second,
/// because the pages written grow more slowly than the orders; but those pages are written without
/// a break, and requests wait meanwhile.
const FILE_TIME: TransactionTime =
    TransactionTime { target: Duration::from_millis(10), longest: Duration::from_millis(10) };
/// The duration where a database server writes the pages and each statement is a round trip. The
/// locks of the groups are held so long.
const REMOTE_TIME: TransactionTime =
    TransactionTime { target: Duration::from_millis(40), longest: Duration::from_millis(250) };
/// Orders after which the writer empties its cache of device owners. The cache also has an entry
/// for each unknown device code, and a stream may name any number of them.
const OWNERS_CACHE_ORDERS: usize = 100_000;

/// The interval at which orders of locked groups are tried again.
const LOCK_RETRY: Duration = Duration::from_millis(10);

/// The submissions that wait, and the state of the writer.
#[derive(Default)]
struct Queue {
    submissions: VecDeque<Submission>,
    /// Submissions with orders of groups that another transaction has locked.
    locked: Vec<Submission>,
    /// When they are tried again, if there are any.
    retry_at: Option<Instant>,
    /// Whether the writer is running.
    writing: bool,
    /// Orders per transaction. It outlives the writer, so that the next one need not adapt again.
    size: usize,
    throughput: Throughput,
    /// The group whose orders the next transaction begins with. A new submission starts with the
    /// same group, so that its orders touch the same pages.
    current_group: Option<GroupNo>,
}

/// The next work of the writer.
enum Next {
    Batch(Batch),
    /// Wait for new submissions, until it is time to try locked groups again.
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
    /// Returns an empty queue. A transaction on SQLite holds one of `cpu_permits`. A group that is
    /// locked for `wait` fails the submissions with its orders. What is stored is added to
    /// `record`.
    pub(super) fn new(
        (store, clock): (Store, Clock),
        cpu_permits: Arc<Semaphore>,
        wait: Duration,
        record: Arc<IntakeRecord>,
    ) -> GroupCommit {
        let queue = Mutex::new(Queue { size: BATCH_START, ..Queue::default() });
        let (submitted, owners) = (Notify::new(), Arc::default());
        let arrivals = tokio::sync::Mutex::new(Arrivals::here());
        GroupCommit { store, clock, wait, cpu_permits, queue, submitted, owners, arrivals, record }
    }

    /// Queues orders that come with a key. The receiver gets their outcomes once they are durable;
    /// `bytes` is released with them.
    pub(super) fn store(
        self: &Arc<Self>,
        mut orders: StorageOrder,
        key: KeyName,
        fleet: Arc<FleetSnapshot>,
        bytes: OwnedSemaphorePermit,
    ) -> oneshot::Receiver<CommitResult> {
        let (result, receiver) = oneshot::channel();
        let current_group = self.queue().current_group;
        if let Some(group) = current_group {
            orders.rotate_to(group, &fleet.groups_by_device);
        }
        let submission = Submission::new((orders, key), fleet, bytes, result);
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

    /// Returns whether a transaction is under way, and the number of submissions that wait.
    pub(super) fn waiting(&self) -> (bool, usize) {
        let queue = self.queue();
        (queue.writing, queue.submissions.len() + queue.locked.len())
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
            let batch = match writer.next() {
                Next::Batch(batch) => batch,
                Next::Wait(until) => {
                    drop(permit);
                    let _ = tokio::time::timeout_at(until.into(), self.submitted.notified()).await;
                    continue;
                }
                Next::Nothing => return,
            };
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
        queue.submissions.iter().map(Submission::len).sum::<usize>() > queue.size
    }

    /// Stores a batch in one transaction.
    async fn commit(&self, batch: Batch) {
        let begun = Instant::now();
        let parts = batch.parts.iter().map(|part| (part.submission.key(), part.orders.clone()));
        let received = self.receive(&batch.orders, parts.collect()).await;
        let Batch { parts, orders } = batch;
        let orders = Orders::after(orders);
        match received {
            Ok(outcomes) => {
                let took = begun.elapsed();
                let mut decided = 0;
                let mut outcomes = orders.into_iter().zip(outcomes);
                for Part { mut submission, lines, orders } in parts {
                    let outcomes = lines.into_iter().zip(outcomes.by_ref());
                    let outcomes = outcomes.map(|(line, (order, outcome))| (line, order, outcome));
                    let recorded = submission.record(outcomes, orders.sorted, begun);
                    decided += recorded.decided;
                    self.add(&mut submission, recorded);
                    self.finish_or_queue(submission);
                }
                self.adapt_size(decided, took);
            }
            Err(error) if is_busy(&error) => {
                // The transaction waited as long as a request does.
                let error = Arc::new(error);
                for part in parts {
                    part.submission.finish_with(Arc::clone(&error));
                }
            }
            Err(error) => self.commit_each(parts, orders, error).await,
        }
    }

    /// Stores the orders of each stream and group in a transaction of their own, after the one for
    /// all has failed: a fault of one of them does not fail the others.
    async fn commit_each(&self, parts: Vec<Part>, orders: Vec<Incoming>, error: Error) {
        let error = Arc::new(error);
        let mut orders = orders.into_iter();
        let is_single = parts.len() == 1;
        let mut unavailable = None;
        for mut part in parts {
            let own: Vec<Incoming> = orders.by_ref().take(part.lines.len()).collect();
            let runs = self.runs_by_group(&own, part.orders.sorted).await;
            if is_single && runs.len() == 1 {
                part.submission.fail(Arc::clone(&error));
            } else if unavailable.is_none() {
                unavailable = self.commit_runs(&mut part, own, runs).await.err();
            }
            match &unavailable {
                Some(error) => part.submission.finish_with(Arc::clone(error)),
                None => self.finish_or_queue(part.submission),
            }
        }
    }

    /// Returns the lengths of the runs of neighbours that belong to the same group, first those of
    /// the sorted orders.
    async fn runs_by_group(&self, orders: &[Incoming], sorted: usize) -> Vec<usize> {
        let owners = self.owners.lock().await;
        let (sorted, by_line) = orders.split_at(sorted.min(orders.len()));
        let same = |one: &Incoming, next: &Incoming| owners.group_of(one) == owners.group_of(next);
        let runs = sorted.chunk_by(same).chain(by_line.chunk_by(same));
        runs.map(<[_]>::len).collect()
    }

    /// Stores each run of a part in a transaction of its own.
    ///
    /// # Errors
    /// The store is not available.
    async fn commit_runs(
        &self,
        part: &mut Part,
        orders: Vec<Incoming>,
        runs: Vec<usize>,
    ) -> Result<(), Arc<Error>> {
        let mut orders = std::mem::take(&mut part.lines).into_iter().zip(orders);
        let (mut sorted, mut is_complete) = (part.orders.sorted, true);
        for size in runs {
            let (lines, run): (Vec<u64>, Vec<Incoming>) = orders.by_ref().take(size).unzip();
            let run = Arc::new(Orders(run));
            let of_run = BatchPart {
                orders: 0..size,
                sorted: sorted.min(size),
                orders_max: size,
                arrival: None,
            };
            sorted -= of_run.sorted;
            let received = if is_complete || of_run.sorted > 0 {
                self.receive(&run, vec![(part.submission.key(), of_run.clone())]).await
            } else {
                Ok(vec![OrderOutcome::NotReached; size])
            };
            match received {
                Ok(outcomes) => {
                    let outcomes = lines.into_iter().zip(Orders::after(run)).zip(outcomes);
                    let outcomes = outcomes.map(|((line, order), outcome)| (line, order, outcome));
                    let now = Instant::now();
                    let recorded = part.submission.record(outcomes, of_run.sorted, now);
                    is_complete &= recorded.undecided == 0 || of_run.sorted == 0;
                    self.add(&mut part.submission, recorded);
                }
                Err(error) if is_busy(&error) => return Err(Arc::new(error)),
                Err(error) => part.submission.fail(Arc::new(error)),
            }
        }
        Ok(())
    }

    /// Stores the parts of a batch, each with the key that it came with.
    async fn receive(
        &self,
        orders: &Arc<Orders>,
        of_keys: Vec<(&KeyName, BatchPart)>,
    ) -> Result<Vec<OrderOutcome>, Error> {
        let (now, locked_groups) = (self.clock.now(), LockedGroups::Skip);
        let mut arrivals = self.arrivals.lock().await;
        let mut parts = Vec::with_capacity(of_keys.len());
        for (key, part) in of_keys {
            let arrival = Some(arrivals.of(&self.store, key, now).await?);
            parts.push(BatchPart { arrival, ..part });
        }
        drop(arrivals);
        let options = ReceiveOptions { now, locked_groups, parts };
        let received = self.store.receive(Arc::clone(orders), Arc::clone(&self.owners), options);
        received.await.inspect(|outcomes| log_inconsistent_data(outcomes))
    }

    /// Adds the outcomes of a transaction to its submission, and to the record at once: the stream
    /// may wait for its next line.
    fn add(&self, submission: &mut Submission, recorded: Recorded) {
        self.record.add(submission.key().as_str(), self.clock.now(), &recorded.outcomes);
        submission.add(recorded.outcomes);
    }

    /// Adapts the orders per transaction after one of so many orders.
    fn adapt_size(&self, orders: usize, took: Duration) {
        let time = if self.store.is_file() { FILE_TIME } else { REMOTE_TIME };
        let queue = &mut *self.queue();
        queue.size = queue.throughput.next_size(queue.size, (orders, took), time);
    }

    /// Finishes a submission, or queues it again with its other orders.
    fn finish_or_queue(&self, submission: Submission) {
        let now = Instant::now();
        if submission.len() == 0 {
            submission.finish();
        } else if submission.waited_for_lock(self.wait, now) {
            submission.finish_with(Arc::new(Error::Busy(self.wait)));
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
    matches!(error, Error::Busy(_) | Error::Unreachable(_))
}

/// The single writer. If it ends early, the streams that wait receive an error.
struct Writer<'a> {
    of: &'a GroupCommit,
    finished: bool,
}

impl Writer<'_> {
    /// Takes the next batch from the queue.
    fn next(&mut self) -> Next {
        let mut queue = self.of.queue();
        if queue.retry_at.take_if(|at| *at <= Instant::now()).is_some() {
            let locked = std::mem::take(&mut queue.locked);
            queue.submissions.extend(locked);
        }
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
