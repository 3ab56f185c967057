//! Ends an HTTP/2 stream whose answer is not read in time, without closing its connection.
//!
//! The body of the answer sets the deadline while hyper runs its stream. A late stream is dropped
//! with the rest of its answer, and h2 resets it.

use std::cell::Cell;
use std::future::poll_fn;
use std::pin::Pin;

use hyper::rt::Executor;
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
        tokio::spawn(run(stream));
    }
}

/// Runs a stream to its end, or until it is late.
fn run(stream: impl Future<Output = ()>) -> impl Future<Output = ()> {
    let mut stream = Box::pin(stream);
    let mut deadline = None;
    let mut timer: Option<Pin<Box<Sleep>>> = None;
    poll_fn(move |context| {
        DEADLINE.set(deadline);
        let poll = stream.as_mut().poll(context);
        deadline = DEADLINE.take();
        let Some(deadline) = deadline.filter(|_| poll.is_pending()) else { return poll };
        let timer = timer.get_or_insert_with(|| Box::pin(sleep_until(deadline)));
        if timer.deadline() != deadline {
            timer.as_mut().reset(deadline);
        }
        timer.as_mut().poll(context)
    })
}
