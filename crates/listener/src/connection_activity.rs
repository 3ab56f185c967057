//! The phase of a connection and its unsent answers, which determine its deadline. hyper's own
//! header deadline cannot distinguish an idle connection from a slow one.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

use bytes::Bytes;
use kiosque_model::Limits;
use tokio::sync::{Notify, oneshot};

use crate::answer_durations::AnswerDurations;
use crate::control_frames::INITIAL_WINDOW;
use crate::unread_answers::AnswerMemory;

/// The protocol of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// Bytes between requests are the headers of the next one.
    Http1,
    /// Bytes between requests may be any frame, such as a ping.
    Http2,
}

const FRESH: usize = 0;
const RECEIVING: usize = 1;
const IDLE: usize = 2;
/// The value of `write_blocked_since_us` while no write waits, and of `unflushed_since_us` while no
/// answer is timed.
const NEVER: u64 = u64::MAX;

/// Time slots in an idle timeout: the precision with which unsent pieces are timed.
const SLOTS_PER_TIMEOUT: u32 = 16;
/// Total number of slots. A piece is late before its slot comes again.
const SLOTS: usize = 32;

/// The phase of a connection with its start, its requests in progress and its unsent answers.
#[derive(Debug)]
pub(crate) struct ConnectionActivity {
    pub(crate) protocol: Protocol,
    start: Instant,
    phase: AtomicUsize,
    phase_since_us: AtomicU64,
    /// Requests in progress, and unsent pieces of answers.
    requests: AtomicUsize,
    /// The path of the last request, as its index in the durations.
    path: AtomicUsize,
    /// The first byte of the request whose answer is complete but not flushed yet.
    unflushed_since_us: AtomicU64,
    durations: AnswerDurations,
    write_blocked_since_us: AtomicU64,
    idle_timeout: Duration,
    slot_us: u64,
    /// The initial window of the HTTP/2 streams of the connection.
    stream_window: AtomicU32,
    /// The unsent pieces of answers, by the time slot in which they were created. Pieces whose
    /// stream has a separate deadline do not count.
    unsent_pieces: [AtomicU32; SLOTS],
    unsent_bytes: AtomicUsize,
    unsent_max_bytes: usize,
    /// Notified when the number of unsent bytes decreases.
    sent: Notify,
}

impl ConnectionActivity {
    pub(crate) fn new(
        protocol: Protocol,
        limits: &Limits,
        durations: AnswerDurations,
    ) -> Arc<ConnectionActivity> {
        let slot_us = (limits.idle_deadline / SLOTS_PER_TIMEOUT).as_micros();
        Arc::new(ConnectionActivity {
            protocol,
            start: Instant::now(),
            phase: AtomicUsize::new(FRESH),
            phase_since_us: AtomicU64::new(0),
            requests: AtomicUsize::new(0),
            path: AtomicUsize::new(0),
            unflushed_since_us: AtomicU64::new(NEVER),
            durations,
            write_blocked_since_us: AtomicU64::new(NEVER),
            slot_us: u64::try_from(slot_us).unwrap_or(u64::MAX).max(1),
            idle_timeout: limits.idle_deadline,
            stream_window: AtomicU32::new(INITIAL_WINDOW),
            unsent_pieces: Default::default(),
            unsent_bytes: AtomicUsize::new(0),
            unsent_max_bytes: limits.unsent_max_bytes,
            sent: Notify::new(),
        })
    }

    /// Sets the initial window of the connection's HTTP/2 streams.
    pub(crate) fn set_stream_window(&self, bytes: u32) {
        self.stream_window.store(bytes, Ordering::Relaxed);
    }

    /// Counts a request as in progress until the guard is dropped. The phase has no deadline
    /// meanwhile.
    pub(crate) fn request_to(self: Arc<Self>, path: &str) -> ActiveRequest {
        if self.protocol == Protocol::Http1 {
            self.path.store(self.durations.index(path), Ordering::Relaxed);
        }
        self.request()
    }

    fn request(self: Arc<Self>) -> ActiveRequest {
        self.requests.fetch_add(1, Ordering::AcqRel);
        ActiveRequest(self)
    }

    /// Returns the time at which the connection is closed unless its phase changes or it sends.
    pub(crate) fn deadline(&self, limits: &Limits) -> Option<Instant> {
        let blocked = match self.write_blocked_since_us.load(Ordering::Acquire) {
            NEVER => None,
            since => Some(self.at(since) + limits.idle_deadline),
        };
        let unsent = self.oldest_unsent().map(|since| since + limits.idle_deadline);
        let sending = [blocked, unsent].into_iter().flatten().min();
        if self.requests.load(Ordering::Acquire) > 0 {
            return sending;
        }
        let allowed = match self.phase.load(Ordering::Acquire) {
            FRESH => limits.first_byte_deadline,
            RECEIVING => limits.header_deadline,
            _ => limits.idle_deadline,
        };
        let phase = self.at(self.phase_since_us.load(Ordering::Acquire)) + allowed;
        Some(sending.map_or(phase, |sending| sending.min(phase)))
    }

    /// Returns when the slot of the oldest unsent piece ended, or will end.
    fn oldest_unsent(&self) -> Option<Instant> {
        if self.unsent_bytes.load(Ordering::Acquire) == 0 {
            return None;
        }
        let now = self.now_us() / self.slot_us;
        let slots = now.saturating_sub(SLOTS as u64 - 1)..=now;
        let mut used = slots.filter(|slot| self.pieces_of(*slot).load(Ordering::Acquire) > 0);
        used.next().map(|slot| self.at(slot.saturating_add(1).saturating_mul(self.slot_us)))
    }

    fn pieces_of(&self, slot: u64) -> &AtomicU32 {
        &self.unsent_pieces[usize::try_from(slot % SLOTS as u64).unwrap_or_default()]
    }

    fn at(&self, us: u64) -> Instant {
        self.start + Duration::from_micros(us)
    }

    fn now_us(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_micros()).unwrap_or(NEVER - 1)
    }

    /// Enters a phase. Returns the start of the previous one.
    fn enter(&self, phase: usize) -> u64 {
        let since = self.phase_since_us.swap(self.now_us(), Ordering::AcqRel);
        self.phase.store(phase, Ordering::Release);
        since
    }

    /// Records that the last request in progress has ended. Its answer is timed if its first byte
    /// was noticed: this excludes HTTP/2 requests, and those that came before the previous answer.
    fn ended(&self) {
        let is_timed =
            self.protocol == Protocol::Http1 && self.phase.load(Ordering::Acquire) == RECEIVING;
        let since = self.enter(IDLE);
        if is_timed {
            self.unflushed_since_us.store(since, Ordering::Release);
        }
    }

    /// Records that all bytes written so far have been passed to the socket.
    pub(crate) fn flushed(&self) {
        let since = self.unflushed_since_us.load(Ordering::Acquire);
        if since == NEVER {
            return;
        }
        self.unflushed_since_us.store(NEVER, Ordering::Release);
        let took = Duration::from_micros(self.now_us().saturating_sub(since));
        self.durations.observe(self.path.load(Ordering::Relaxed), took);
    }

    /// Notes that bytes were received.
    pub(crate) fn received(&self) {
        if self.requests.load(Ordering::Acquire) > 0 {
            return;
        }
        let phase = self.phase.load(Ordering::Acquire);
        if phase == FRESH || (phase == IDLE && self.protocol == Protocol::Http1) {
            self.enter(RECEIVING);
        }
    }

    /// Records the result of a write, which waits while it is pending.
    pub(crate) fn wrote<T>(&self, poll: &Poll<T>) {
        if poll.is_ready() {
            if self.write_blocked_since_us.load(Ordering::Relaxed) != NEVER {
                self.write_blocked_since_us.store(NEVER, Ordering::Release);
            }
        } else {
            let now = self.now_us();
            let first = self.write_blocked_since_us.load(Ordering::Relaxed);
            self.write_blocked_since_us.store(first.min(now), Ordering::Release);
        }
    }
}

/// A request in progress, or an unsent piece of its answer.
pub(crate) struct ActiveRequest(Arc<ConnectionActivity>);

impl ActiveRequest {
    /// Returns once the connection has fewer unsent bytes than the maximum. A caller that does not
    /// read its answers gets no further ones.
    pub(crate) async fn room(&self) {
        let activity = &*self.0;
        let is_full = || activity.unsent_bytes.load(Ordering::SeqCst) >= activity.unsent_max_bytes;
        if !is_full() {
            return;
        }
        loop {
            let mut sent = pin!(activity.sent.notified());
            sent.as_mut().enable();
            if !is_full() {
                return;
            }
            sent.await;
        }
    }

    /// Returns whether an answer of this length may not fit the window of its stream, so that other
    /// answers of the connection can be read while it is not. `None` is an unknown length.
    pub(crate) fn must_pace(&self, length: Option<usize>) -> bool {
        let window = self.0.stream_window.load(Ordering::Relaxed);
        let fits = length.is_some_and(|length| u32::try_from(length).is_ok_and(|it| it <= window));
        self.0.protocol == Protocol::Http2 && !fits
    }

    /// Returns the time in which a piece of an answer must be sent.
    pub(crate) fn idle_timeout(&self) -> Duration {
        self.0.idle_timeout
    }

    /// Counts bytes of the answer as unsent.
    pub(crate) fn add_unsent(&self, bytes: usize) {
        self.0.unsent_bytes.fetch_add(bytes, Ordering::SeqCst);
    }

    /// Stops counting bytes of the answer as unsent.
    pub(crate) fn remove_unsent(&self, bytes: usize) {
        if bytes > 0 {
            self.0.unsent_bytes.fetch_sub(bytes, Ordering::SeqCst);
            self.0.sent.notify_waiters();
        }
    }

    /// Returns a piece of the answer, whose bytes count as unsent until its last copy is dropped.
    /// `memory` is held for as long, as is `paced`, if the piece has its stream's deadline.
    pub(crate) fn unsent(
        &self,
        bytes: Bytes,
        memory: Option<AnswerMemory>,
        paced: Option<oneshot::Sender<()>>,
    ) -> Bytes {
        let activity = &self.0;
        let slot = paced.is_none().then(|| {
            let slot = activity.now_us() / activity.slot_us;
            activity.pieces_of(slot).fetch_add(1, Ordering::AcqRel);
            slot
        });
        let request = Arc::clone(activity).request();
        Bytes::from_owner(Unsent { bytes, slot, _paced: paced, request, _memory: memory })
    }
}

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        if self.0.requests.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.ended();
        }
    }
}

/// An unsent piece of an answer.
struct Unsent {
    bytes: Bytes,
    /// The time slot in which the piece was created; `None` if its stream has the deadline.
    slot: Option<u64>,
    _paced: Option<oneshot::Sender<()>>,
    request: ActiveRequest,
    _memory: Option<AnswerMemory>,
}

impl AsRef<[u8]> for Unsent {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Unsent {
    fn drop(&mut self) {
        self.request.remove_unsent(self.bytes.len());
        if let Some(slot) = self.slot {
            self.request.0.pieces_of(slot).fetch_sub(1, Ordering::AcqRel);
        }
    }
}
