//! Ends an HTTP/2 stream whose answer is not read in time, without closing its connection.
//!
//! The body of the answer sets the deadline while hyper runs its stream. A late stream is dropped
//! with the rest of its answer, and h2 resets it.

use std::cell::Cell;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::rt::Executor;
use pin_project_lite::pin_project;
use tokio::time::{Instant, Sleep, sleep_until};

thread_local! {
    /// The deadline of the stream that this thread is running.
    static DEADLINE: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Sets or clears the deadline of the stream that is running.
pub(crate) fn set(deadline: Option<Instant>) {
    DEADLINE.set(deadline);
}

/// Runs the streams of HTTP/2 connections.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StreamExecutor;

impl<F: Future<Output = ()> + Send + 'static> Executor<F> for StreamExecutor {
    fn execute(&self, stream: F) {
        tokio::spawn(StreamTask { stream, deadline: None, timer: None });
    }
}

pin_project! {
    struct StreamTask<F> {
        #[pin]
        stream: F,
        deadline: Option<Instant>,
        timer: Option<Pin<Box<Sleep>>>,
    }
}

impl<F: Future<Output = ()>> Future for StreamTask<F> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let task = self.project();
        DEADLINE.set(*task.deadline);
        let poll = task.stream.poll(context);
        *task.deadline = DEADLINE.take();
        let Some(deadline) = task.deadline.filter(|_| poll.is_pending()) else { return poll };
        let timer = task.timer.get_or_insert_with(|| Box::pin(sleep_until(deadline)));
        if timer.deadline() != deadline {
            timer.as_mut().reset(deadline);
        }
        timer.as_mut().poll(context)
    }
}
