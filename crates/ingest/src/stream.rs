//! Orders that come as a stream: checked and laid out a chunk at a time, and stored one chunk after
//! the other, while the next one is read.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use kiosque_clock::Clock;
use kiosque_contract::{OrdersReceived, RejectedOrder};
use kiosque_locks::lock_ignoring_poison;
use kiosque_model::{Limits, Zone, ids};
use kiosque_store::{FleetSnapshot, Store};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit, TryAcquireError, oneshot};

use super::group_commit::{self, GroupCommit, Stored};
use super::import::{Chunk, InTurn, check_block, in_turn};
use super::ndjson::RawLine;
use super::rejected::Rejected;
use crate::Error;

/// Rejected lines that an answer lists; the others are counted.
pub(super) const REJECTED_LISTED_MAX: usize = 1_000;
/// The longest reason that is reported whole: it may quote the line.
pub(super) const REASON_CHARS_MAX: usize = 500;
/// How much text of a stream is checked and stored together, at least and at most: orders of many
/// groups that are stored together touch fewer pages the more of each group there are.
const CHUNK_BYTES_MIN: usize = 256 << 10;
const CHUNK_BYTES_MAX: usize = 1 << 20;
/// Unknown keys that have been logged, each once while the server runs.
const UNKNOWN_KEYS_TOLD_MAX: usize = 1_000;

/// Takes streams in, as many at a time as are allowed.
pub struct StreamIntake {
    store: Store,
    commits: Arc<GroupCommit>,
    /// Held while orders are validated or stored. There is one fewer than cores, so that requests
    /// keep a core.
    hands: Arc<Semaphore>,
    streams: Semaphore,
    room: Arc<Semaphore>,
    room_bytes: u32,
    streams_max: usize,
    fleet: Mutex<Arc<FleetSnapshot>>,
    unknown_keys: Mutex<BTreeSet<String>>,
}

impl std::fmt::Debug for StreamIntake {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("StreamIntake")
    }
}

/// A stream that was admitted.
pub struct OrderStream<'a> {
    intake: &'a StreamIntake,
    _place: SemaphorePermit<'a>,
    received: OrdersReceived,
    storing: Option<Storing>,
    begun: bool,
}

/// The outcomes of a chunk of a stream, in lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OrderCounts {
    /// New orders.
    pub accepted: u64,
    /// Orders that replaced a stored one.
    pub updated: u64,
    /// Orders that were stored already.
    pub unchanged: u64,
    /// Lines that were not stored.
    pub rejected: u64,
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

impl StreamIntake {
    /// Returns an intake without streams.
    #[must_use]
    pub fn new(store: &Store, clock: &Clock, limits: &Limits) -> StreamIntake {
        let hands = Arc::new(Semaphore::new(limits.ingest_threads));
        let commits = GroupCommit::new(store.clone(), clock.clone(), Arc::clone(&hands));
        let room_bytes = u32::try_from(limits.ingest_queue_max_bytes).unwrap_or(u32::MAX);
        let room = Semaphore::new(usize::try_from(room_bytes).unwrap_or(usize::MAX));
        StreamIntake {
            store: store.clone(),
            commits: Arc::new(commits),
            hands,
            streams: Semaphore::new(limits.ingest_streams_max),
            room: Arc::new(room),
            room_bytes,
            streams_max: limits.ingest_streams_max,
            fleet: Mutex::default(),
            unknown_keys: Mutex::default(),
        }
    }

    /// How many streams are under way.
    #[must_use]
    pub fn streams_open(&self) -> usize {
        self.streams_max.saturating_sub(self.streams.available_permits())
    }

    /// Returns whether a transaction is under way, and the number of chunks that wait for the next.
    #[must_use]
    pub fn waiting_to_be_stored(&self) -> (bool, usize) {
        self.commits.waiting()
    }

    /// How much text is being checked, or waits to be stored.
    #[must_use]
    pub fn queue_bytes(&self) -> usize {
        let room = usize::try_from(self.room_bytes).unwrap_or(usize::MAX);
        room.saturating_sub(self.room.available_permits())
    }

    /// Lets another stream in, unless there are too many.
    ///
    /// # Errors
    /// [`Error::Busy`].
    pub fn admit(&self) -> Result<OrderStream<'_>, Error> {
        let place = self.streams.try_acquire();
        let place = place.map_err(|_| Error::Busy("too many order streams at a time"))?;
        let received = OrdersReceived::default();
        Ok(OrderStream { intake: self, _place: place, received, storing: None, begun: false })
    }

    /// How much of a stream to check and store together now.
    #[must_use]
    pub fn chunk_bytes(&self) -> usize {
        let room = usize::try_from(self.room_bytes).unwrap_or(usize::MAX);
        chunk_bytes(room, self.streams_open())
    }

    /// Checks lines on a thread for it, of which few are busy with orders at a time: it takes
    /// milliseconds, and others ask for pages meanwhile.
    async fn check(&self, lines: Vec<RawLine>) -> Result<Checked, Error> {
        let hand = Arc::clone(&self.hands).acquire_owned().await;
        let hand = hand.map_err(Error::internal)?;
        let (zone, mut seen) =
            (self.store.zone().clone(), Arc::clone(&lock_ignoring_poison(&self.fleet)));
        if let Some(changed) = self.store.newer_fleet_snapshot(&seen).await? {
            seen = Arc::new(changed);
            *lock_ignoring_poison(&self.fleet) = Arc::clone(&seen);
        }
        let checking = tokio::task::spawn_blocking(move || {
            let _hand = hand;
            check(lines, &zone, seen)
        });
        checking.await.map_err(Error::internal)
    }

    /// Room for the text of a chunk: at once or not at all for the first of a stream, which can
    /// still be refused whole; the others wait, and their caller with them.
    async fn room(&self, bytes: usize, begun: bool) -> Result<OwnedSemaphorePermit, Error> {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX).min(self.room_bytes);
        let room = Arc::clone(&self.room);
        if begun {
            return room.acquire_many_owned(bytes).await.map_err(Error::internal);
        }
        room.try_acquire_many_owned(bytes).map_err(|error| match error {
            TryAcquireError::NoPermits => Error::Busy("too many orders are waiting to be stored"),
            TryAcquireError::Closed => Error::internal(error),
        })
    }

    /// Unknown keys are ignored, with one warning each.
    fn tell_unknown(&self, keys: BTreeSet<String>) {
        let mut told = lock_ignoring_poison(&self.unknown_keys);
        for key in keys {
            let key = cut(key, ids::ID_CHARS_MAX);
            if told.len() < UNKNOWN_KEYS_TOLD_MAX && told.insert(key.clone()) {
                tracing::warn!(key, "a key of streamed orders means nothing here and is ignored");
            }
        }
    }
}

impl OrderStream<'_> {
    /// Checks the next lines and queues their orders. Returns the counts of the lines before them,
    /// once those are durable.
    ///
    /// # Errors
    /// Nothing of these lines is stored.
    pub async fn take(&mut self, lines: Vec<RawLine>) -> Result<OrderCounts, Error> {
        let bytes = lines.iter().map(|line| line.text.len()).sum();
        let room = self.intake.room(bytes, self.begun).await?;
        self.begun = true;
        let checked = self.intake.check(lines).await?;
        self.intake.tell_unknown(checked.unknown_keys);
        // A line further down may be a later word on the same order: in their turn.
        let settled = self.settle().await?;
        let Checked { orders, fleet, .. } = checked;
        let answer = (!orders.is_empty()).then(|| self.intake.commits.store(orders, fleet, room));
        self.storing = Some(Storing { rejected: checked.rejected, answer });
        Ok(settled)
    }

    /// Returns what was received, after [`OrderStream::settle`].
    #[must_use]
    pub fn into_received(self) -> OrdersReceived {
        self.received
    }

    /// Waits until the lines taken last are durable, and returns their counts.
    ///
    /// # Errors
    /// It is not known whether they were stored, or they were not.
    pub async fn settle(&mut self) -> Result<OrderCounts, Error> {
        let mut counts = OrderCounts::default();
        let Some(Storing { mut rejected, answer }) = self.storing.take() else {
            return Ok(counts);
        };
        if let Some(answer) = answer {
            let answer = answer.await.map_err(Error::internal)?;
            let mut stored: Stored = answer?;
            counts.accepted = stored.accepted;
            counts.updated = stored.updated;
            counts.unchanged = stored.unchanged;
            rejected.append(&mut stored.rejected);
        }
        rejected.sort_by_key(|one| one.line);
        counts.rejected = u64::try_from(rejected.len()).unwrap_or(u64::MAX);
        self.received.accepted += counts.accepted;
        self.received.updated += counts.updated;
        self.received.unchanged += counts.unchanged;
        self.received.rejected_count += counts.rejected;
        let room = REJECTED_LISTED_MAX.saturating_sub(self.received.rejected.len());
        self.received.rejected.extend(rejected.into_iter().take(room));
        Ok(counts)
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

/// A rejected line as it is reported to the caller, who has its text.
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
