//! The encrypted stream of a connection, whose reads and writes are monitored.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::connection_activity::{ConnectionActivity, Protocol};
use crate::control_frames::ControlFrames;

/// A stream that reports its reads and writes to a [`ConnectionActivity`].
pub(crate) struct MonitoredStream<S> {
    stream: S,
    activity: Arc<ConnectionActivity>,
    /// Counts control frames; `None` on HTTP/1.
    control_frames: Option<ControlFrames>,
}

impl<S> MonitoredStream<S> {
    pub(crate) fn new(stream: S, activity: &Arc<ConnectionActivity>) -> MonitoredStream<S> {
        let control_frames = match activity.protocol {
            Protocol::Http1 => None,
            Protocol::Http2 => Some(ControlFrames::new()),
        };
        MonitoredStream { stream, activity: Arc::clone(activity), control_frames }
    }

    fn wrote(&mut self, poll: &Poll<io::Result<usize>>) {
        self.activity.wrote(poll);
        if let (Some(frames), Poll::Ready(Ok(bytes))) = (&mut self.control_frames, poll) {
            frames.sent(*bytes);
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for MonitoredStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let poll = Pin::new(&mut self.stream).poll_read(context, buffer);
        let received = buffer.filled().get(before..).unwrap_or_default();
        if !received.is_empty() {
            self.activity.received();
            let MonitoredStream { activity, control_frames, .. } = &mut *self;
            if let Some(frames) = control_frames {
                frames.received(received)?;
                activity.set_stream_window(frames.stream_window());
            }
        }
        poll
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for MonitoredStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let poll = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.wrote(&poll);
        poll
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let poll = Pin::new(&mut self.stream).poll_flush(context);
        self.activity.wrote(&poll);
        if let Poll::Ready(Ok(())) = &poll {
            self.activity.flushed();
        }
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
        self.wrote(&poll);
        poll
    }
}
