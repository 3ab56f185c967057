//! The body of an answer on its way to the caller: complete, or in parts that are created while it
//! is sent.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::{Stream, StreamExt};
use hyper::body::{Body, Frame, SizeHint};
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::connection_activity::ActiveRequest;
use crate::stream_deadline;
use crate::unread_answers::AnswerMemory;

/// The maximum bytes that are passed to hyper at once. Each piece must be sent within the idle
/// timeout, so this is also the minimum that a caller must read in that time.
const PIECE_MAX_BYTES: usize = 64 << 10;

/// Answers up to this length are never compressed.
const SHORT_BYTES: usize = 1 << 10;

/// The parts of an answer after its first one. An error aborts the answer; its cause has been
/// logged.
pub type LaterParts = Pin<Box<dyn Stream<Item = Result<Bytes, BrokenOff>> + Send>>;

/// An answer was aborted after its first byte: the connection is closed, or its HTTP/2 stream is
/// reset.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the answer was aborted")]
pub struct BrokenOff;

/// The bytes of an answer.
pub struct Content {
    first: Bytes,
    later: Option<LaterParts>,
    memory: Option<AnswerMemory>,
    has_secret: bool,
}

impl Content {
    /// Returns the content that begins with `first`.
    pub fn in_parts(first: Bytes, later: LaterParts) -> Content {
        Content { first, later: Some(later), memory: None, has_secret: false }
    }

    /// Marks this content as containing a secret, so that it is never compressed: the length of a
    /// compressed answer depends on whether its parts repeat each other.
    #[must_use]
    pub fn secret(self) -> Content {
        Content { has_secret: true, ..self }
    }

    /// Returns whether the content may be compressed, and is long enough for that.
    pub(crate) fn is_compressible(&self) -> bool {
        !self.has_secret && (self.later.is_some() || self.first.len() > SHORT_BYTES)
    }

    /// Returns the number of bytes, unless they are in parts.
    pub fn length(&self) -> Option<usize> {
        self.later.is_none().then_some(self.first.len())
    }

    /// Returns the first part, the later ones, and the memory of complete content. Whether the
    /// content has a secret is lost.
    #[must_use]
    pub fn into_parts(self) -> (Bytes, Option<LaterParts>, Option<AnswerMemory>) {
        (self.first, self.later, self.memory)
    }

    /// Returns this content, whose memory is counted until it has been sent.
    #[must_use]
    pub fn counted(self, memory: Option<AnswerMemory>) -> Content {
        Content { memory, ..self }
    }

    /// Returns the bytes, unless they are in parts.
    pub fn whole(self) -> Option<Bytes> {
        self.later.is_none().then_some(self.first)
    }

    /// Reads at most a number of bytes, and returns them and whether they are all. An aborted
    /// answer is not complete.
    pub async fn beginning(self, bytes_max: usize) -> (Bytes, bool) {
        let mut read = BytesMut::from(&*self.first);
        let mut is_whole = true;
        if let Some(mut later) = self.later {
            while read.len() <= bytes_max {
                match later.next().await {
                    Some(Ok(part)) => read.extend_from_slice(&part),
                    Some(Err(BrokenOff)) => {
                        is_whole = false;
                        break;
                    }
                    None => break,
                }
            }
        }
        is_whole &= read.len() <= bytes_max;
        read.truncate(bytes_max);
        (read.freeze(), is_whole)
    }

    /// Returns the body that sends this content, and holds the connection open meanwhile.
    pub(crate) fn sent(self, request: ActiveRequest) -> AnswerBody {
        let pacing = request.must_pace(self.length()).then(Pacing::default);
        let (ready, later, memory) = self.into_parts();
        request.add_unsent(ready.len());
        AnswerBody { ready, later, memory, pacing, must_yield: false, request }
    }
}

impl<B: Into<Bytes>> From<B> for Content {
    fn from(whole: B) -> Content {
        Content { first: whole.into(), later: None, memory: None, has_secret: false }
    }
}

/// Sends an answer. Its bytes count as unsent on their connection until they are passed to the
/// socket.
pub(crate) struct AnswerBody {
    ready: Bytes,
    later: Option<LaterParts>,
    memory: Option<AnswerMemory>,
    /// For an answer that may be longer than the window of its HTTP/2 stream.
    pacing: Option<Pacing>,
    /// Whether the next piece waits until the other tasks of the thread have run. hyper sends as
    /// long as the body is ready and the socket has space, so a long answer to a fast reader would
    /// delay every other connection.
    must_yield: bool,
    request: ActiveRequest,
}

/// Passes one piece of an answer to hyper at a time, and ends the stream if it is not sent within
/// the idle timeout. An answer that fits the window of its stream needs none: its pieces are sent
/// whatever else the caller reads, and if they are late, so is the connection.
#[derive(Default)]
struct Pacing {
    /// Closed once the current piece has been sent.
    piece: Option<oneshot::Receiver<()>>,
}

impl Pacing {
    /// Returns ready once the last piece has been sent.
    fn poll_sent(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if let Some(piece) = &mut self.piece {
            let _ = ready!(Pin::new(piece).poll(context));
            self.piece = None;
            stream_deadline::set(None);
        }
        Poll::Ready(())
    }

    /// Returns the sender that is dropped once the next piece has been sent.
    fn begin_piece(&mut self, timeout: Duration) -> oneshot::Sender<()> {
        stream_deadline::set(Some(Instant::now() + timeout));
        let (sender, piece) = oneshot::channel();
        self.piece = Some(piece);
        sender
    }
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = BrokenOff;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BrokenOff>>> {
        let body = &mut *self;
        if let Some(pacing) = &mut body.pacing {
            ready!(pacing.poll_sent(context));
        }
        if std::mem::take(&mut body.must_yield) {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        while body.ready.is_empty() {
            let Some(later) = &mut body.later else { return Poll::Ready(None) };
            match ready!(later.as_mut().poll_next(context)) {
                Some(Ok(part)) => {
                    body.request.add_unsent(part.len());
                    body.ready = part;
                }
                Some(Err(broken)) => return Poll::Ready(Some(Err(broken))),
                None => body.later = None,
            }
        }
        let piece = body.ready.split_to(body.ready.len().min(PIECE_MAX_BYTES));
        let is_last = body.ready.is_empty() && body.later.is_none();
        let memory = if is_last { body.memory.take() } else { None };
        body.must_yield = !is_last && body.pacing.is_none();
        let timeout = body.request.idle_timeout();
        let paced = body.pacing.as_mut().map(|pacing| pacing.begin_piece(timeout));
        Poll::Ready(Some(Ok(Frame::data(body.request.unsent(piece, memory, paced)))))
    }

    fn is_end_stream(&self) -> bool {
        let is_sending = self.pacing.as_ref().is_some_and(|pacing| pacing.piece.is_some());
        self.ready.is_empty() && self.later.is_none() && !is_sending
    }

    fn size_hint(&self) -> SizeHint {
        match &self.later {
            None => SizeHint::with_exact(self.ready.len() as u64),
            Some(_) => SizeHint::default(),
        }
    }
}

impl Drop for AnswerBody {
    fn drop(&mut self) {
        self.request.remove_unsent(self.ready.len());
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use futures_util::stream;
    use kiosque_model::Limits;

    use super::*;
    use crate::answer_durations::AnswerDurations;
    use crate::connection_activity::{ConnectionActivity, Protocol};

    #[test]
    fn a_long_answer_yields_after_every_piece() {
        let durations = AnswerDurations::new(std::iter::empty());
        let activity = ConnectionActivity::new(Protocol::Http1, &Limits::default(), durations);
        let part = || Ok(Bytes::from(vec![b'x'; PIECE_MAX_BYTES]));
        let later = Box::pin(stream::iter([part(), part()]));
        let first = Bytes::from(vec![b'x'; 2 * PIECE_MAX_BYTES]);
        let mut body = pin!(Content::in_parts(first, later).sent(activity.request_to("/")));
        let mut context = Context::from_waker(std::task::Waker::noop());
        let mut polled = Vec::new();
        loop {
            match body.as_mut().poll_frame(&mut context) {
                Poll::Ready(None) => break,
                Poll::Ready(Some(frame)) => {
                    let piece = frame.expect("not broken off").into_data().expect("data");
                    polled.push(piece.len());
                }
                Poll::Pending => polled.push(0),
            }
        }
        let piece = PIECE_MAX_BYTES;
        assert_eq!(polled, [piece, 0, piece, 0, piece, 0, piece, 0], "0: yielded");
    }
}
