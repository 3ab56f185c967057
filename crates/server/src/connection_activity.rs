//! The phase of a connection, which decides its deadline. hyper's own header deadline cannot
//! distinguish an idle connection from a slow one.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use kiosque_model::Limits;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

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
/// The value of `write_blocked_since_ms` while no write waits.
const NOT_BLOCKED: u64 = u64::MAX;

/// The phase of a connection with its start, and the number of its requests under way.
#[derive(Debug)]
pub(crate) struct ConnectionActivity {
    protocol: Protocol,
    start: Instant,
    phase: AtomicUsize,
    phase_since_ms: AtomicU64,
    requests: AtomicUsize,
    write_blocked_since_ms: AtomicU64,
}

impl ConnectionActivity {
    pub(crate) fn new(protocol: Protocol) -> Arc<ConnectionActivity> {
        Arc::new(ConnectionActivity {
            protocol,
            start: Instant::now(),
            phase: AtomicUsize::new(FRESH),
            phase_since_ms: AtomicU64::new(0),
            requests: AtomicUsize::new(0),
            write_blocked_since_ms: AtomicU64::new(NOT_BLOCKED),
        })
    }

    /// Counts a request as under way until the guard is dropped. The phase has no deadline
    /// meanwhile.
    pub(crate) fn request(self: &Arc<Self>) -> ActiveRequest {
        self.requests.fetch_add(1, Ordering::AcqRel);
        ActiveRequest(Arc::clone(self))
    }

    /// Returns the time at which the connection is closed unless its phase changes.
    pub(crate) fn deadline(&self, limits: &Limits) -> Option<Instant> {
        let blocked = match self.write_blocked_since_ms.load(Ordering::Acquire) {
            NOT_BLOCKED => None,
            since => Some(self.at(since) + limits.idle_deadline),
        };
        if self.requests.load(Ordering::Acquire) > 0 {
            return blocked;
        }
        let allowed = match self.phase.load(Ordering::Acquire) {
            FRESH => limits.first_byte_deadline,
            RECEIVING => limits.header_deadline,
            _ => limits.idle_deadline,
        };
        let phase = self.at(self.phase_since_ms.load(Ordering::Acquire)) + allowed;
        Some(blocked.map_or(phase, |blocked| blocked.min(phase)))
    }

    fn at(&self, ms: u64) -> Instant {
        self.start + Duration::from_millis(ms)
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_millis()).unwrap_or(NOT_BLOCKED - 1)
    }

    fn enter(&self, phase: usize) {
        self.phase_since_ms.store(self.now_ms(), Ordering::Release);
        self.phase.store(phase, Ordering::Release);
    }

    fn received(&self) {
        if self.requests.load(Ordering::Acquire) > 0 {
            return;
        }
        let phase = self.phase.load(Ordering::Acquire);
        if phase == FRESH || (phase == IDLE && self.protocol == Protocol::Http1) {
            self.enter(RECEIVING);
        }
    }

    fn wrote<T>(&self, poll: &Poll<T>) {
        if poll.is_ready() {
            if self.write_blocked_since_ms.load(Ordering::Relaxed) != NOT_BLOCKED {
                self.write_blocked_since_ms.store(NOT_BLOCKED, Ordering::Release);
            }
        } else {
            let now = self.now_ms();
            let first = self.write_blocked_since_ms.load(Ordering::Relaxed);
            self.write_blocked_since_ms.store(first.min(now), Ordering::Release);
        }
    }
}

/// A request under way.
pub(crate) struct ActiveRequest(Arc<ConnectionActivity>);

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        if self.0.requests.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.enter(IDLE);
        }
    }
}

/// A stream that reports its reads and writes to a [`ConnectionActivity`].
pub(crate) struct Monitored<S> {
    pub(crate) stream: S,
    pub(crate) activity: Arc<ConnectionActivity>,
}

impl<S: AsyncRead + Unpin> AsyncRead for Monitored<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let poll = Pin::new(&mut self.stream).poll_read(context, buffer);
        if buffer.filled().len() > before {
            self.activity.received();
        }
        poll
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Monitored<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let poll = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.activity.wrote(&poll);
        poll
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let poll = Pin::new(&mut self.stream).poll_flush(context);
        self.activity.wrote(&poll);
        poll
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let poll = Pin::new(&mut self.stream).poll_shutdown(context);
        self.activity.wrote(&poll);
        poll
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let poll = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.activity.wrote(&poll);
        poll
    }
}
