//! Streams of orders: each chunk is checked and sorted, and stored while the next one is read. The
//! chunks of a stream are stored in order.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kiosque_clock::Clock;
use kiosque_contract::{FailedOrder, OrdersFailed, OrdersReceived, RejectedOrder};
use kiosque_locks::lock_ignoring_poison;
use kiosque_model::intake::{KeyOrders, OrderCounts};
use kiosque_model::order::Order;
use kiosque_model::shares::{NoShare, Share, Shares};
use kiosque_model::{KeyName, Limits};
use kiosque_store::{FleetSnapshot, Incoming, Store};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, TryAcquireError, oneshot};

use super::given_order::DateRules;
use super::group_commit::GroupCommit;
use super::import::{Chunk, check_block};
use super::intake_record::{IntakeRecord, Outcomes, RejectedLine};
use super::ndjson::RawLine;
use super::rejected::Rejected;
use super::response_lists::LINES_LISTED_MAX;
use super::storage_order::{CheckedOrder, StorageOrder, sort_for_storage};
use super::unknown_keys::{add_to_list, shown};
use crate::Error;

/// The minimum and the maximum chunk. Orders of many groups touch fewer pages per order in a larger
/// chunk.
const CHUNK_BYTES_MIN: usize = 256 << 10;
const CHUNK_BYTES_MAX: usize = 1 << 20;
/// The unknown keys that are logged, each once per run of the server.
const UNKNOWN_KEYS_LOGGED_MAX: usize = 1_000;

/// Admits, checks and stores streams of orders, within the limits of concurrent streams and of
/// queued bytes.
pub struct StreamIntake {
    store: Store,
    commits: Arc<GroupCommit>,
    /// Held while orders are checked or stored. There is one permit fewer than cores, so that
    /// requests keep a core.
    cpu_permits: Arc<Semaphore>,
    /// The open streams, with a share for each key.
    streams: Shares<KeyName>,
    queue_bytes: Arc<Semaphore>,
    queue_bytes_max: usize,
    clock: Clock,
    /// The maximum time by which a date of an order may be in the future.
    lead_max: Duration,
    fleet: Mutex<Arc<FleetSnapshot>>,
    unknown_keys: Mutex<BTreeSet<String>>,
    record: Arc<IntakeRecord>,
}

impl std::fmt::Debug for StreamIntake {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("StreamIntake")
    }
}

/// An admitted stream.
pub struct OrderStream<'a> {
    intake: &'a StreamIntake,
    key: KeyName,
    _share: Share<KeyName>,
    received: OrdersReceived,
    /// The most recently submitted lines that could not be stored, with the reason.
    failed: Vec<FailedOrder>,
    failure: Option<Arc<kiosque_store::Error>>,
    /// The last line with a known outcome.
    last_line: u64,
    storing: Option<Storing>,
    started: bool,
}

/// A chunk that is being stored.
struct Storing {
    /// The outcomes of its invalid lines.
    invalid: Outcomes,
    result: Option<oneshot::Receiver<Outcomes>>,
    last_line: u64,
}

/// A chunk whose lines have been checked and sorted.
struct SortedChunk {
    orders: StorageOrder,
    /// The fleet by whose groups the orders are sorted.
    fleet: Arc<FleetSnapshot>,
    rejected: Vec<RejectedOrder>,
    unknown_keys: BTreeSet<String>,
    last_line: u64,
}

impl StreamIntake {
    /// Returns an intake without streams, with the limits of `limits`.
    pub fn new(store: &Store, clock: &Clock, limits: &Limits) -> StreamIntake {
        let cpu_permits = Arc::new(Semaphore::new(limits.ingest_threads));
        let record = Arc::<IntakeRecord>::default();
        let commits = GroupCommit::new(
            store.clone(),
            clock.clone(),
            Arc::clone(&cpu_permits),
            limits.store_wait,
            Arc::clone(&record),
        );
        // The permits of a chunk are counted by a `u32`.
        let queue_bytes_max = limits.ingest_queue_max_bytes.min(u32::MAX as usize);
        StreamIntake {
            store: store.clone(),
            commits: Arc::new(commits),
            cpu_permits,
            streams: Shares::new(limits.ingest_streams_max),
            queue_bytes: Arc::new(Semaphore::new(queue_bytes_max)),
            queue_bytes_max,
            clock: clock.clone(),
            lead_max: limits.order_lead_max,
            fleet: Mutex::default(),
            unknown_keys: Mutex::default(),
            record,
        }
    }

    /// Returns the orders that this process received in the last minutes, by key.
    pub fn orders_by_key(&self) -> Vec<KeyOrders> {
        self.record.by_key(self.clock.now())
    }

    /// Returns the lines that this process rejected most recently, the last one first.
    pub fn latest_rejected(&self) -> Vec<RejectedLine> {
        self.record.rejected()
    }

    /// Returns the number of open streams.
    pub fn streams_open(&self) -> usize {
        self.streams.taken()
    }

    /// Returns whether a transaction is in progress, and the number of waiting submissions.
    pub fn waiting_to_be_stored(&self) -> (bool, usize) {
        self.commits.waiting()
    }

    /// Returns the bytes of text that are being checked or wait to be stored.
    pub fn queue_bytes(&self) -> usize {
        self.queue_bytes_max.saturating_sub(self.queue_bytes.available_permits())
    }

    /// Admits another stream, sent with a key.
    ///
    /// # Errors
    /// [`Error::Busy`] if there are too many, in total or with the key.
    pub fn admit(&self, key: KeyName) -> Result<OrderStream<'_>, Error> {
        let share = self.streams.take(key.clone()).map_err(|no_share| {
            Error::Busy(match no_share {
                NoShare::OfHolder => {
                    "too many order streams at a time: the key has its share of \
                     ingest_streams_max; end one of its streams, or send with another key"
                }
                NoShare::OfAll => {
                    "too many order streams at a time: ingest_streams_max are open; try again when \
                     one has ended"
                }
            })
        })?;
        Ok(OrderStream {
            intake: self,
            key,
            _share: share,
            received: OrdersReceived::default(),
            failed: Vec::new(),
            failure: None,
            last_line: 0,
            storing: None,
            started: false,
        })
    }

    /// Returns the bytes of a chunk, which depend on the number of open streams.
    pub fn chunk_bytes(&self) -> usize {
        chunk_bytes(self.queue_bytes_max, self.streams_open())
    }

    /// Checks lines on a blocking thread, since a chunk takes milliseconds. The permits limit the
    /// number of cores that this uses.
    async fn check(&self, lines: Vec<RawLine>) -> Result<SortedChunk, Error> {
        let permit = Arc::clone(&self.cpu_permits).acquire_owned().await;
        let permit = permit.map_err(Error::internal)?;
        let zone = self.store.zone().clone();
        let fleet = self.present_fleet().await?;
        let now = self.clock.now();
        let lead_max = self.lead_max;
        let checking = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            check(lines, &DateRules { zone: &zone, now, lead_max }, fleet)
        });
        checking.await.map_err(Error::internal)
    }

    /// Returns the fleet, which is reloaded after a change.
    async fn present_fleet(&self) -> Result<Arc<FleetSnapshot>, Error> {
        let fleet = Arc::clone(&lock_ignoring_poison(&self.fleet));
        let Some(changed) = self.store.fleet().newer_snapshot(&fleet).await? else {
            return Ok(fleet);
        };
        let changed = Arc::new(changed);
        *lock_ignoring_poison(&self.fleet) = Arc::clone(&changed);
        Ok(changed)
    }

    /// Reserves queue space for a chunk. A stream's first chunk, which can still be refused as a
    /// whole, does not wait for space; later ones do, which slows the caller down.
    async fn reserve(&self, bytes: usize, started: bool) -> Result<OwnedSemaphorePermit, Error> {
        let bytes = u32::try_from(bytes.min(self.queue_bytes_max)).unwrap_or(u32::MAX);
        let queue_bytes = Arc::clone(&self.queue_bytes);
        if started {
            return queue_bytes.acquire_many_owned(bytes).await.map_err(Error::internal);
        }
        queue_bytes.try_acquire_many_owned(bytes).map_err(|error| match error {
            TryAcquireError::NoPermits => Error::Busy("too many orders are waiting to be stored"),
            TryAcquireError::Closed => Error::internal(error),
        })
    }

    /// Logs a warning for each unknown key that was not logged before.
    fn log_unknown(&self, keys: &[String]) {
        if keys.is_empty() {
            return;
        }
        let mut logged = lock_ignoring_poison(&self.unknown_keys);
        for key in keys {
            if logged.len() < UNKNOWN_KEYS_LOGGED_MAX && logged.insert(key.clone()) {
                tracing::warn!(key = key.as_str(), "ignored an unknown key in streamed orders");
            }
        }
    }
}

impl OrderStream<'_> {
    /// Checks the next lines and queues their orders, unless [`OrderStream::has_failed`]. Returns
    /// the counts of the previous lines, once those are durable.
    ///
    /// # Errors
    /// None of these lines is stored.
    pub async fn submit(&mut self, lines: Vec<RawLine>) -> Result<OrderCounts, Error> {
        let bytes = lines.iter().map(|line| line.text.len()).sum();
        let reserved = self.intake.reserve(bytes, self.started).await?;
        self.started = true;
        let mut chunk = self.intake.check(lines).await?;
        self.list_ignored(std::mem::take(&mut chunk.unknown_keys));
        self.store(chunk, reserved).await
    }

    /// Queues a few valid orders. Their line numbers are their positions in the list. Returns what
    /// [`OrderStream::submit`] returns.
    ///
    /// # Errors
    /// None of these orders is stored.
    pub async fn submit_orders(&mut self, orders: Vec<Order>) -> Result<OrderCounts, Error> {
        let reserved = self.intake.reserve(CHUNK_BYTES_MIN, self.started).await?;
        self.started = true;
        let zone = self.intake.store.zone();
        let fleet = self.intake.present_fleet().await?;
        let checked = (1..).zip(orders).map(|(line, order)| {
            let incoming = Incoming::of(order, zone, &fleet.product_names)?;
            Ok(CheckedOrder { line, incoming })
        });
        let checked = checked.collect::<Result<Vec<_>, Error>>()?;
        let orders = sort_for_storage(checked, &fleet.groups_by_device);
        let rejected = Vec::new();
        let unknown_keys = BTreeSet::new();
        let last_line = 0;
        self.store(SortedChunk { orders, fleet, rejected, unknown_keys, last_line }, reserved).await
    }

    /// Queues a chunk. A later line may replace an order of an earlier one: the chunks are stored
    /// in order.
    async fn store(
        &mut self,
        chunk: SortedChunk,
        reserved: OwnedSemaphorePermit,
    ) -> Result<OrderCounts, Error> {
        let settled = self.settle().await?;
        if self.has_failed() {
            return Ok(settled);
        }
        let SortedChunk { orders, fleet, rejected, last_line, .. } = chunk;
        let intake = self.intake;
        let invalid = Outcomes::of_rejected(rejected);
        intake.record.add(self.key.as_str(), intake.clock.now(), &invalid);
        let result = (!orders.is_empty())
            .then(|| intake.commits.store(orders, self.key.clone(), fleet, reserved));
        self.storing = Some(Storing { invalid, result, last_line });
        Ok(settled)
    }

    /// Logs the unknown keys of a chunk, and adds new ones to the response.
    fn list_ignored(&mut self, keys: BTreeSet<String>) {
        let keys = shown(keys);
        self.intake.log_unknown(&keys);
        add_to_list(&mut self.received.ignored_keys, keys);
    }

    /// Returns whether a line could not be stored; no later line is stored then.
    pub fn has_failed(&self) -> bool {
        self.failure.is_some()
    }

    /// Returns the outcomes of the lines up to the last one whose outcome is known, and the first
    /// failure if some could not be stored. Call [`OrderStream::settle`] before.
    pub fn into_outcomes(self) -> (OrdersFailed, Option<Error>) {
        let OrderStream { received, mut failed, failure, last_line, .. } = self;
        let failed_count = u64::try_from(failed.len()).unwrap_or(u64::MAX);
        failed.sort_unstable_by_key(|one| one.line);
        failed.truncate(LINES_LISTED_MAX);
        (OrdersFailed { last_line, received, failed_count, failed }, failure.map(Error::from))
    }

    /// Returns whether the outcome of the most recently submitted lines is to be awaited.
    pub fn is_storing(&self) -> bool {
        self.storing.is_some()
    }

    /// Waits until the most recently submitted lines are durable or have failed, and returns their
    /// counts. A call that is cancelled may be repeated.
    ///
    /// # Errors
    /// The outcome of the lines is not known.
    pub async fn settle(&mut self) -> Result<OrderCounts, Error> {
        let stored = match self.storing.as_mut().and_then(|storing| storing.result.as_mut()) {
            Some(result) => Some(result.await.map_err(Error::internal)),
            None => None,
        };
        let Some(Storing { invalid: mut outcomes, last_line, .. }) = self.storing.take() else {
            return Ok(OrderCounts::default());
        };
        if let Some(stored) = stored {
            outcomes.add(stored?);
        }
        let Outcomes { counts, mut rejected, failed, failure, .. } = outcomes;
        (self.failed, self.failure, self.last_line) = (failed, failure, last_line);
        rejected.sort_by_key(|one| one.line);
        self.received.accepted += counts.accepted;
        self.received.updated += counts.updated;
        self.received.unchanged += counts.unchanged;
        self.received.rejected_count += counts.rejected;
        let room = LINES_LISTED_MAX.saturating_sub(self.received.rejected.len());
        self.received.rejected.extend(rejected.into_iter().take(room));
        Ok(counts)
    }
}

/// Returns the size of a chunk in bytes. Each stream has one chunk being stored and one being
/// checked, and half of the queue stays free for new streams.
fn chunk_bytes(queue_bytes_max: usize, streams: usize) -> usize {
    (queue_bytes_max / (2 * 2 * streams.max(1))).clamp(CHUNK_BYTES_MIN, CHUNK_BYTES_MAX)
}

/// Checks lines, and sorts the valid orders as an import does.
fn check(lines: Vec<RawLine>, dates: &DateRules<'_>, fleet: Arc<FleetSnapshot>) -> SortedChunk {
    let mut chunk = Chunk::default();
    let last_line = lines.last().map_or(0, |line| line.number);
    check_block(lines, dates, &fleet.product_names, &mut chunk);
    SortedChunk {
        orders: sort_for_storage(chunk.orders, &fleet.groups_by_device),
        fleet,
        rejected: chunk.rejected.iter().map(Rejected::reported).collect(),
        unknown_keys: chunk.unknown_keys.into_ignored(),
        last_line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_smaller_with_more_streams() {
        let queue_bytes_max = Limits::default().ingest_queue_max_bytes;
        for (streams, kib) in [(0, 1_024), (1, 1_024), (8, 1_024), (16, 512), (32, 256), (64, 256)]
        {
            assert_eq!(chunk_bytes(queue_bytes_max, streams), kib << 10, "{streams} streams");
        }
        assert_eq!(chunk_bytes(1, 1), CHUNK_BYTES_MIN);
    }
}
