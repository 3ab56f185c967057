//! Stores what streams bring: one writer takes what queued up while the last transaction ran into
//! the next one, and each is answered once it is durable.

mod batch;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use kiosque_contract::RejectedOrder;
use kiosque_locks::lock_ignoring_poison;
use kiosque_model::GroupNo;
use kiosque_store::{Error, FleetSnapshot, Incoming, Outcome, Owners, Store, yield_if_due};
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore, SemaphorePermit, oneshot};

use super::import::{BATCH_START, InTurn, PAUSE, Prepared, group_of, next_size};
use batch::{Batch, Orders, Piece};
use kiosque_clock::Clock;

/// What a transaction is meant to take. A longer one would store a tenth more a second, since what
/// is written grows slower than the orders do; but its pages are written at one stretch, and who
/// asks for a page meanwhile waits.
const TURN: Duration = Duration::from_millis(10);
/// The same where a database writes the pages, and each statement is a way there and back.
const TURN_OF_DATABASE: Duration = Duration::from_millis(40);
/// Orders after which the writer reads again who owns which device: codes that do not exist are
/// remembered, too, and a stream may name any number of them.
const OWNERS_KEPT_FOR: usize = 100_000;

/// What became of orders.
#[derive(Debug, Default)]
pub(super) struct Stored {
    pub(super) accepted: u64,
    pub(super) updated: u64,
    pub(super) unchanged: u64,
    pub(super) rejected: Vec<RejectedOrder>,
}

/// The outcome of a transaction, shared by all streams with orders in it.
pub(super) type Answer = Result<Stored, Arc<Error>>;

/// Orders of one stream that wait for their transaction.
struct Parcel {
    orders: std::vec::IntoIter<Prepared>,
    /// The fleet that they were put in their order by.
    fleet: Arc<FleetSnapshot>,
    stored: Stored,
    answer: oneshot::Sender<Answer>,
    /// The place that they take in the queue.
    _room: OwnedSemaphorePermit,
}

impl Parcel {
    /// The group whose orders come next.
    fn group(&self) -> Option<GroupNo> {
        let next = self.orders.as_slice().first()?;
        group_of(next, &self.fleet.groups_by_device)
    }

    fn answer(self, answer: Answer) {
        // A caller that has gone away does not hear it; what is stored stays.
        let _ = self.answer.send(answer);
    }
}

/// The chunks that wait, and whether the writer is running.
#[derive(Default)]
struct Queue {
    parcels: VecDeque<Parcel>,
    writing: bool,
    /// How many orders a transaction takes; kept from one rush to the next.
    size: usize,
    /// The group that those who share the transactions have come to. Who comes begins there, too:
    /// their orders touch the same pages then.
    current_group: Option<GroupNo>,
}

/// The queue before the store.
pub(super) struct GroupCommit {
    store: Store,
    clock: Clock,
    hands: Arc<Semaphore>,
    queue: Mutex<Queue>,
    /// What the writer has read of who owns which device.
    owners: Arc<tokio::sync::Mutex<Owners>>,
}

impl GroupCommit {
    /// A queue of its own; a transaction of a file needs one of `hands` while it is made.
    pub(super) fn new(store: Store, clock: Clock, hands: Arc<Semaphore>) -> GroupCommit {
        let queue = Queue { size: BATCH_START, ..Queue::default() };
        GroupCommit { store, clock, hands, queue: Mutex::new(queue), owners: Arc::default() }
    }

    /// Queues orders, which are answered once they are durable. `room` is given back with them.
    pub(super) fn store(
        self: &Arc<Self>,
        mut orders: InTurn,
        fleet: Arc<FleetSnapshot>,
        room: OwnedSemaphorePermit,
    ) -> oneshot::Receiver<Answer> {
        let (answer, answered) = oneshot::channel();
        let begins_with = self.queue().current_group;
        if let Some(group) = begins_with {
            orders.begin_with(group, &fleet.groups_by_device);
        }
        let (orders, stored) = (orders.into_orders().into_iter(), Stored::default());
        let mut queue = self.queue();
        queue.parcels.push_back(Parcel { orders, fleet, stored, answer, _room: room });
        if !queue.writing {
            queue.writing = true;
            tokio::spawn(Arc::clone(self).write());
        }
        answered
    }

    /// Returns whether a transaction is under way, and the number of chunks that wait for the next.
    pub(super) fn waiting(&self) -> (bool, usize) {
        let queue = self.queue();
        (queue.writing, queue.parcels.len())
    }

    /// A panic under the lock has left a queue that is whole.
    fn queue(&self) -> MutexGuard<'_, Queue> {
        lock_ignoring_poison(&self.queue)
    }

    /// Writes until nothing waits any more.
    async fn write(self: Arc<Self>) {
        let mut writer = Writer { of: &self, finished: false };
        let mut looked_up = 0;
        loop {
            // What queues up while this waits goes in, too.
            let Ok(hand) = self.hand().await else { return };
            let Some(batch) = writer.next_batch() else { return };
            looked_up += batch.orders.0.len();
            if looked_up > OWNERS_KEPT_FOR {
                *self.owners.lock().await = Owners::default();
                looked_up = batch.orders.0.len();
            }
            self.commit(batch).await;
            drop(hand);
            if self.is_crowded() {
                // Other processes ask for their turn every millisecond.
                tokio::time::sleep(PAUSE).await;
            }
        }
    }

    /// One of the hands, where it is this process that stores.
    async fn hand(&self) -> Result<Option<SemaphorePermit<'_>>, AcquireError> {
        if self.store.is_file() { self.hands.acquire().await.map(Some) } else { Ok(None) }
    }

    /// Whether more waits than goes into a transaction.
    fn is_crowded(&self) -> bool {
        let queue = self.queue();
        queue.parcels.iter().map(|parcel| parcel.orders.len()).sum::<usize>() > queue.size
    }

    /// One transaction for all.
    async fn commit(&self, batch: Batch) {
        let begun = Instant::now();
        let received = self.receive(Arc::clone(&batch.orders)).await;
        self.learn(batch.orders.0.len(), begun.elapsed());
        match received {
            Ok(outcomes) => {
                let mut outcomes = outcomes.into_iter();
                for piece in batch.pieces {
                    let size = piece.place.len();
                    let orders = &batch.orders.0[piece.place.clone()];
                    self.settle(piece, orders, outcomes.by_ref().take(size));
                }
            }
            Err(error) => self.commit_each(batch, Arc::new(error)).await,
        }
    }

    /// One transaction for each, after the one for all has failed: what fails of one stream is not
    /// held against the others.
    async fn commit_each(&self, batch: Batch, error: Arc<Error>) {
        let alone = batch.pieces.len() == 1;
        let mut failed = (alone || is_busy(&error)).then_some(error);
        for piece in batch.pieces {
            if let Some(error) = &failed {
                piece.parcel.answer(Err(Arc::clone(error)));
                continue;
            }
            let orders = Arc::new(Orders(batch.orders.0[piece.place.clone()].to_vec()));
            match self.receive(Arc::clone(&orders)).await {
                Ok(outcomes) => self.settle(piece, &orders.0, outcomes.into_iter()),
                Err(error) => {
                    let error = Arc::new(error);
                    piece.parcel.answer(Err(Arc::clone(&error)));
                    failed = is_busy(&error).then_some(error);
                }
            }
        }
        if let Some(busy) = failed.filter(|error| is_busy(error)) {
            // All of them have waited as long; waiting again would not help.
            for parcel in std::mem::take(&mut self.queue().parcels) {
                parcel.answer(Err(Arc::clone(&busy)));
            }
        }
    }

    async fn receive(&self, orders: Arc<Orders>) -> Result<Vec<Outcome>, Error> {
        self.store.receive(orders, Arc::clone(&self.owners), self.clock.now()).await
    }

    fn turn(&self) -> Duration {
        if self.store.is_file() { TURN } else { TURN_OF_DATABASE }
    }

    /// A transaction that had all the orders it was allowed, or took too long, says how many the
    /// next one may have.
    fn learn(&self, orders: usize, took: Duration) {
        let mut queue = self.queue();
        if orders >= queue.size || took > self.turn() {
            queue.size = next_size(queue.size, took, self.turn());
        }
    }

    /// Notes what became of a part of a parcel; the rest of it goes to the end of the queue.
    fn settle(
        &self,
        mut piece: Piece,
        orders: &[Incoming],
        outcomes: impl Iterator<Item = Outcome>,
    ) {
        let stored = &mut piece.parcel.stored;
        for ((line, order), outcome) in piece.lines.into_iter().zip(orders).zip(outcomes) {
            yield_if_due();
            match outcome {
                Outcome::Accepted => stored.accepted += 1,
                Outcome::Updated => stored.updated += 1,
                Outcome::Unchanged => stored.unchanged += 1,
                Outcome::Rejected(reason) => {
                    let order_id = Some(order.order_id.as_str().to_owned());
                    stored.rejected.push(RejectedOrder { line, order_id, reason });
                }
            }
        }
        if piece.parcel.orders.len() > 0 {
            self.queue().parcels.push_back(piece.parcel);
        } else {
            let stored = std::mem::take(&mut piece.parcel.stored);
            piece.parcel.answer(Ok(stored));
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
    /// What goes into the next transaction; `None` when nothing waits.
    fn next_batch(&mut self) -> Option<Batch> {
        let mut queue = self.of.queue();
        let together = queue.parcels.len().min(queue.size);
        if together == 0 {
            queue.writing = false;
            self.finished = true;
            return None;
        }
        let size = queue.size;
        let parcels: Vec<Parcel> = queue.parcels.drain(..together).collect();
        drop(queue);
        let batch = Batch::of(parcels, size);
        self.of.queue().current_group = batch.current_group();
        Some(batch)
    }
}

impl Drop for Writer<'_> {
    fn drop(&mut self) {
        if !self.finished {
            let mut queue = self.of.queue();
            queue.parcels.clear();
            queue.writing = false;
        }
    }
}
