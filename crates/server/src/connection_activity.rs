//! Knows what a connection is doing, so that each phase can have its deadline. hyper's own header
//! deadline cannot distinguish an idle connection from a slow one.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use kiosque_model::Limits;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// How a connection's bytes are to be understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// Bytes while nothing is under way are the headers of the next request.
    Http1,
    /// Bytes while nothing is under way may be anything, such as a ping.
    Http2,
}

const FRESH: usize = 0;
const RECEIVING: usize = 1;
const IDLE: usize = 2;
/// No write is waiting.
const FLOWING: u64 = u64::MAX;

/// What a connection is doing, and since when.
#[derive(Debug)]
pub(crate) struct ConnectionActivity {
    protocol: Protocol,
    start: Instant,
    phase: AtomicUsize,
    phase_since_ms: AtomicU64,
    under_way: AtomicUsize,
    write_stuck_since_ms: AtomicU64,
}

impl ConnectionActivity {
    pub(crate) fn new(protocol: Protocol) -> Arc<ConnectionActivity> {
        Arc::new(ConnectionActivity {
            protocol,
            start: Instant::now(),
            phase: AtomicUsize::new(FRESH),
            phase_since_ms: AtomicU64::new(0),
            under_way: AtomicUsize::new(0),
            write_stuck_since_ms: AtomicU64::new(FLOWING),
        })
    }

    /// Holds the connection open while a request is answered.
    pub(crate) fn request(self: &Arc<Self>) -> UnderWay {
        self.under_way.fetch_add(1, Ordering::AcqRel);
        UnderWay(Arc::clone(self))
    }

    /// When the connection is to be closed unless something happens.
    pub(crate) fn deadline(&self, limits: &Limits) -> Option<Instant> {
        let stuck = match self.write_stuck_since_ms.load(Ordering::Acquire) {
            FLOWING => None,
            since => Some(self.at(since) + limits.idle_deadline),
        };
        if self.under_way.load(Ordering::Acquire) > 0 {
            return stuck;
        }
        let allowed = match self.phase.load(Ordering::Acquire) {
            FRESH => limits.first_byte_deadline,
            RECEIVING => limits.header_deadline,
            _ => limits.idle_deadline,
        };
        let phase = self.at(self.phase_since_ms.load(Ordering::Acquire)) + allowed;
        Some(stuck.map_or(phase, |stuck| stuck.min(phase)))
    }

    fn at(&self, ms: u64) -> Instant {
        self.start + Duration::from_millis(ms)
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_millis()).unwrap_or(FLOWING - 1)
    }

    fn enter(&self, phase: usize) {
        self.phase_since_ms.store(self.now_ms(), Ordering::Release);
        self.phase.store(phase, Ordering::Release);
    }

    fn received(&self) {
        if self.under_way.load(Ordering::Acquire) > 0 {
            return;
        }
        let phase = self.phase.load(Ordering::Acquire);
        if phase == FRESH || (phase == IDLE && self.protocol == Protocol::Http1) {
            self.enter(RECEIVING);
        }
    }

    fn wrote<T>(&self, poll: &Poll<T>) {
        if poll.is_ready() {
            if self.write_stuck_since_ms.load(Ordering::Relaxed) != FLOWING {
                self.write_stuck_since_ms.store(FLOWING, Ordering::Release);
            }
        } else {
            let now = self.now_ms();
            let first = self.write_stuck_since_ms.load(Ordering::Relaxed);
            self.write_stuck_since_ms.store(first.min(now), Ordering::Release);
        }
    }
}

/// A request being answered.
pub(crate) struct UnderWay(Arc<ConnectionActivity>);

impl Drop for UnderWay {
    fn drop(&mut self) {
        if self.0.under_way.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.enter(IDLE);
        }
    }
}

/// A stream that records its reads and writes.
pub(crate) struct Monitored<S> {
    pub(crate) stream: S,
    pub(crate) pulse: Arc<ConnectionActivity>,
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
            self.pulse.received();
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
        self.pulse.wrote(&poll);
        poll
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let poll = Pin::new(&mut self.stream).poll_flush(context);
        self.pulse.wrote(&poll);
        poll
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let poll = Pin::new(&mut self.stream).poll_shutdown(context);
        self.pulse.wrote(&poll);
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
        self.pulse.wrote(&poll);
        poll
    }
}
