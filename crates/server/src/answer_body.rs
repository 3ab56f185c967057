//! The body of an answer on its way to the caller: whole, or in parts that are made while it is
//! sent.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures_util::Stream;
use hyper::body::{Body, Frame, SizeHint};

use crate::connection_activity::ActiveRequest;

/// The most bytes that are passed to hyper at once. Each piece must be sent within the idle
/// timeout, so that this is also the least that a caller must read in that time.
const PIECE_MAX_BYTES: usize = 64 << 10;

/// The parts of an answer after its first one. An error breaks the answer off; its cause has been
/// logged.
pub(crate) type LaterParts = Pin<Box<dyn Stream<Item = Result<Bytes, BrokenOff>> + Send>>;

/// An answer broke off after its first byte: the connection is closed, or its HTTP/2 stream is
/// reset.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the answer broke off")]
pub(crate) struct BrokenOff;

/// The bytes of an answer.
pub(crate) struct Content {
    first: Bytes,
    later: Option<LaterParts>,
}

impl Content {
    /// Returns the content that begins with `first`.
    pub(crate) fn in_parts(first: Bytes, later: LaterParts) -> Content {
        Content { first, later: Some(later) }
    }

    /// Returns the bytes, unless they are in parts.
    #[cfg(test)]
    pub(crate) fn whole(self) -> Option<Bytes> {
        self.later.is_none().then_some(self.first)
    }

    /// Returns the body that sends this content, and holds the connection open meanwhile.
    pub(crate) fn sent(self, request: ActiveRequest) -> AnswerBody {
        AnswerBody { ready: self.first, later: self.later, request }
    }
}

impl<B: Into<Bytes>> From<B> for Content {
    fn from(whole: B) -> Content {
        Content { first: whole.into(), later: None }
    }
}

/// Sends an answer. Its bytes count as unsent on their connection until they are passed to the
/// socket.
pub(crate) struct AnswerBody {
    ready: Bytes,
    later: Option<LaterParts>,
    request: ActiveRequest,
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = BrokenOff;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BrokenOff>>> {
        let body = &mut *self;
        while body.ready.is_empty() {
            let Some(later) = &mut body.later else { return Poll::Ready(None) };
            match ready!(later.as_mut().poll_next(context)) {
                Some(Ok(part)) => body.ready = part,
                Some(Err(broken)) => return Poll::Ready(Some(Err(broken))),
                None => body.later = None,
            }
        }
        let piece = body.ready.split_to(body.ready.len().min(PIECE_MAX_BYTES));
        Poll::Ready(Some(Ok(Frame::data(body.request.unsent(piece)))))
    }

    fn is_end_stream(&self) -> bool {
        self.ready.is_empty() && self.later.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        match &self.later {
            None => SizeHint::with_exact(self.ready.len() as u64),
            Some(_) => SizeHint::default(),
        }
    }
}
