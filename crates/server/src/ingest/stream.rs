//! Orders that come as a stream: checked and laid out a chunk at a time, and stored one chunk after
//! the other, while the next one is read.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kiosque_contract::{OrdersReceived, RejectedOrder};
use kiosque_model::{Limits, Zone, ids};
use kiosque_store::{FleetSnapshot, Store};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit, TryAcquireError, oneshot};

use super::group_commit::{self, GroupCommit, Stored};
use super::import::{Chunk, InTurn, check_block, in_turn};
use super::ndjson::RawLine;
use super::rejected::Rejected;
use crate::answer::Failure;
use crate::metrics::OrderCounters;
use kiosque_clock::Clock;

/// Rejected lines that an answer lists; the others are counted.
pub(super) const REJECTED_LISTED_MAX: usize = 1_000;
/// The longest reason that is told whole: it may quote what stood in the line.
pub(super) const REASON_CHARS_MAX: usize = 500;
/// How much text of a stream is checked and stored together, at least and at most: orders of many
/// groups that are stored together touch fewer pages the more of each group there are.
const CHUNK_BYTES_MIN: usize = 256 << 10;
const CHUNK_BYTES_MAX: usize = 1 << 20;
/// Keys that mean nothing here and were told in the log, each once while the server runs.
const UNKNOWN_KEYS_TOLD_MAX: usize = 1_000;

/// Takes streams in, as many at a time as are allowed.
pub(crate) struct Intake {
    store: Store,
    commits: Arc<GroupCommit>,
    /// Whoever checks or stores orders holds one; the others are left to those who ask.
    hands: Arc<Semaphore>,
    streams: Semaphore,
    room: Arc<Semaphore>,
    room_bytes: u32,
    streams_max: usize,
    counters: OrderCounters,
    fleet: Mutex<Arc<FleetSnapshot>>,
    unknown_keys: Mutex<BTreeSet<String>>,
}

impl std::fmt::Debug for Intake {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Intake")
    }
}

/// A stream under way.
pub(crate) struct OrderStream<'a> {
    intake: &'a Intake,
    _place: SemaphorePermit<'a>,
    received: OrdersReceived,
    storing: Option<Storing>,
    begun: bool,
}

/// A chunk that is being stored.
struct Storing {
    rejected: Vec<RejectedOrder>,
    answer: Option<oneshot::Receiver<group_commit::Answer>>,
}

/// A chunk that was checked.
struct Checked {
    orders: InTurn,
    /// The fleet that they were put in their order by.
    fleet: Arc<FleetSnapshot>,
    rejected: Vec<RejectedOrder>,
    unknown_keys: BTreeSet<String>,
}

impl Intake {
    pub(crate) fn new(
        store: &Store,
        clock: &Clock,
        limits: &Limits,
        counters: OrderCounters,
    ) -> Intake {
        let hands = Arc::new(Semaphore::new(limits.ingest_threads));
        let commits = GroupCommit::new(store.clone(), clock.clone(), Arc::clone(&hands));
        let room_bytes = u32::try_from(limits.ingest_queue_max_bytes).unwrap_or(u32::MAX);
        let room = Semaphore::new(usize::try_from(room_bytes).unwrap_or(usize::MAX));
        Intake {
            store: store.clone(),
            commits: Arc::new(commits),
            hands,
            streams: Semaphore::new(limits.ingest_streams_max),
            room: Arc::new(room),
            room_bytes,
            streams_max: limits.ingest_streams_max,
            counters,
            fleet: Mutex::default(),
            unknown_keys: Mutex::default(),
        }
    }

    /// How many streams are under way.
    pub(crate) fn streams_open(&self) -> usize {
        self.streams_max.saturating_sub(self.streams.available_permits())
    }

    /// How much text is being checked, or waits to be stored.
    pub(crate) fn queue_bytes(&self) -> usize {
        let room = usize::try_from(self.room_bytes).unwrap_or(usize::MAX);
        room.saturating_sub(self.room.available_permits())
    }

    /// Lets another stream in, unless there are too many.
    pub(crate) fn admit(&self) -> Result<OrderStream<'_>, Failure> {
        let place = self.streams.try_acquire();
        let place = place.map_err(|_| Failure::busy("too many order streams at a time"))?;
        let received = OrdersReceived::default();
        Ok(OrderStream { intake: self, _place: place, received, storing: None, begun: false })
    }

    /// How much of a stream to check and store together now.
    pub(crate) fn chunk_bytes(&self) -> usize {
        let room = usize::try_from(self.room_bytes).unwrap_or(usize::MAX);
        chunk_bytes(room, self.streams_open())
    }

    /// Checks lines on a thread for it, of which few are busy with orders at a time: it takes
    /// milliseconds, and others ask for pages meanwhile.
    async fn check(&self, lines: Vec<RawLine>) -> Result<Checked, Failure> {
        let hand = Arc::clone(&self.hands).acquire_owned().await;
        let hand = hand.map_err(|closed| Failure::internal(&closed))?;
        let (zone, mut seen) = (self.store.zone().clone(), Arc::clone(&on(&self.fleet)));
        if let Some(changed) = self.store.newer_fleet_snapshot(&seen).await? {
            seen = Arc::new(changed);
            *on(&self.fleet) = Arc::clone(&seen);
        }
        let checking = tokio::task::spawn_blocking(move || {
            let _hand = hand;
            check(lines, &zone, seen)
        });
        checking.await.map_err(|panic| Failure::internal(&panic))
    }

    /// Room for the text of a chunk: at once or not at all for the first of a stream, which can
    /// still be refused whole; the others wait, and their caller with them.
    async fn room(&self, bytes: usize, begun: bool) -> Result<OwnedSemaphorePermit, Failure> {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX).min(self.room_bytes);
        let room = Arc::clone(&self.room);
        if begun {
            return room
                .acquire_many_owned(bytes)
                .await
                .map_err(|closed| Failure::internal(&closed));
        }
        room.try_acquire_many_owned(bytes).map_err(|error| match error {
            TryAcquireError::NoPermits => Failure::busy("too many orders are waiting to be stored"),
            TryAcquireError::Closed => Failure::internal(&error),
        })
    }

    /// Unknown keys are ignored, with one warning each.
    fn tell_unknown(&self, keys: BTreeSet<String>) {
        let mut told = on(&self.unknown_keys);
        for key in keys {
            let key = cut(key, ids::ID_CHARS_MAX);
            if told.len() < UNKNOWN_KEYS_TOLD_MAX && told.insert(key.clone()) {
                tracing::warn!(key, "a key of streamed orders means nothing here and is ignored");
            }
        }
    }
}

impl OrderStream<'_> {
    /// Takes the next lines in; returns once those before them are durable.
    pub(crate) async fn take(&mut self, lines: Vec<RawLine>) -> Result<(), Failure> {
        let bytes = lines.iter().map(|line| line.text.len()).sum();
        let room = self.intake.room(bytes, self.begun).await?;
        self.begun = true;
        let checked = self.intake.check(lines).await?;
        self.intake.tell_unknown(checked.unknown_keys);
        // A line further down may be a later word on the same order: in their turn.
        self.settle().await?;
        let Checked { orders, fleet, .. } = checked;
        let answer = (!orders.is_empty()).then(|| self.intake.commits.store(orders, fleet, room));
        self.storing = Some(Storing { rejected: checked.rejected, answer });
        Ok(())
    }

    /// What became of all of it, once it is durable.
    pub(crate) async fn finish(mut self) -> Result<OrdersReceived, Failure> {
        self.settle().await?;
        Ok(self.received)
    }

    async fn settle(&mut self) -> Result<(), Failure> {
        let Some(Storing { mut rejected, answer }) = self.storing.take() else { return Ok(()) };
        if let Some(answer) = answer {
            let answer = answer.await.map_err(|gone| Failure::internal(&gone))?;
            let mut stored: Stored = answer.map_err(|error| Failure::from(&*error))?;
            let counters = &self.intake.counters;
            counters.accepted.inc_by(stored.accepted);
            counters.updated.inc_by(stored.updated);
            counters.unchanged.inc_by(stored.unchanged);
            self.received.accepted += stored.accepted;
            self.received.updated += stored.updated;
            self.received.unchanged += stored.unchanged;
            rejected.append(&mut stored.rejected);
        }
        rejected.sort_by_key(|one| one.line);
        let count = u64::try_from(rejected.len()).unwrap_or(u64::MAX);
        self.intake.counters.rejected.inc_by(count);
        self.received.rejected_count += count;
        let room = REJECTED_LISTED_MAX.saturating_sub(self.received.rejected.len());
        self.received.rejected.extend(rejected.into_iter().take(room));
        Ok(())
    }
}

/// Each stream has one chunk that is stored and one that is checked, and half of the room is left
/// to those who come.
fn chunk_bytes(room: usize, streams: usize) -> usize {
    (room / (2 * 2 * streams.max(1))).clamp(CHUNK_BYTES_MIN, CHUNK_BYTES_MAX)
}

/// Checks lines and lays out what is good of them as an import does.
fn check(lines: Vec<RawLine>, zone: &Zone, fleet: Arc<FleetSnapshot>) -> Checked {
    let mut chunk = Chunk::default();
    check_block(lines, zone, &fleet.product_names, &mut chunk);
    Checked {
        orders: in_turn(chunk.prepared, &fleet.groups_by_device),
        fleet,
        rejected: chunk.rejected.into_iter().map(told).collect(),
        unknown_keys: chunk.unknown_keys,
    }
}

/// A rejected line as its caller is told of it, who has what stood there.
fn told(rejected: Rejected) -> RejectedOrder {
    RejectedOrder {
        line: rejected.line,
        order_id: rejected.order_id.map(|id| cut(id, ids::ID_CHARS_MAX)),
        reason: cut(rejected.reason, REASON_CHARS_MAX),
    }
}

/// The beginning of a text that is longer than it may be.
pub(super) fn cut(mut text: String, chars_max: usize) -> String {
    if let Some((end, _)) = text.char_indices().nth(chars_max) {
        text.truncate(end);
        text.push('…');
        text.shrink_to_fit();
    }
    text
}

/// What panicked under these locks has left something whole.
fn on<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_streams_have_small_chunks_and_half_of_the_room_stays() {
        let room = Limits::for_cores(2).ingest_queue_max_bytes;
        for (streams, kib) in [(0, 1_024), (1, 1_024), (8, 1_024), (16, 512), (32, 256), (64, 256)]
        {
            assert_eq!(chunk_bytes(room, streams), kib << 10, "{streams} streams");
        }
        assert_eq!(chunk_bytes(1, 1), CHUNK_BYTES_MIN);
    }
}
