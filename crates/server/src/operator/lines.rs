//! Reads a body as chunks of lines, so that little of a long body is in memory.

use std::time::Duration;

use bytes::{Buf, Bytes};
use http::StatusCode;
use http_body_util::BodyExt;
use kiosque_store::yield_if_due;

use super::problem::Problem;
use crate::call::SentBody;
use kiosque_ingest::ndjson::{LineSplitter, RawLine};
use kiosque_listener::BodyFault;

/// Lines of a chunk at most. A chunk is shorter if the caller pauses.
const CHUNK_LINES: usize = 1_000;
/// The time for which complete lines wait for further ones.
const LINGER: Duration = Duration::from_millis(200);

/// The lines of a body.
pub(super) struct Lines<'a> {
    body: &'a mut SentBody,
    /// The longest pause between two frames. There is no limit for the whole body.
    idle_deadline: Duration,
    splitter: LineSplitter,
    buffer: Bytes,
}

/// The result of waiting for a part of a body.
enum Received {
    Data(Bytes),
    End,
    TimedOut,
}

impl Lines<'_> {
    pub(super) fn of(body: &mut SentBody, idle_deadline: Duration) -> Lines<'_> {
        Lines { body, idle_deadline, splitter: LineSplitter::default(), buffer: Bytes::new() }
    }

    /// Returns the next lines that are not blank, about `chunk_bytes` of them; `None` at the end.
    pub(super) async fn next_chunk(
        &mut self,
        chunk_bytes: usize,
    ) -> Result<Option<Vec<RawLine>>, Problem> {
        let mut lines = Vec::new();
        let mut bytes = 0;
        loop {
            while !self.buffer.is_empty() {
                let (consumed, line) = self.splitter.push(&self.buffer);
                self.buffer.advance(consumed);
                let Some(line) = line else { continue };
                yield_if_due();
                bytes += line.text.len();
                lines.push(line);
                if lines.len() >= CHUNK_LINES || bytes >= chunk_bytes {
                    return Ok(Some(lines));
                }
            }
            let wait_max = if lines.is_empty() { self.idle_deadline } else { LINGER };
            match self.receive(wait_max).await? {
                Received::Data(data) => {
                    self.buffer = data;
                    // The buffer may be large: other tasks of this thread run first.
                    tokio::task::yield_now().await;
                }
                Received::TimedOut if lines.is_empty() => return Err(self.timed_out()),
                Received::TimedOut => return Ok(Some(lines)),
                Received::End => {
                    lines.extend(self.splitter.finish());
                    return Ok((!lines.is_empty()).then_some(lines));
                }
            }
        }
    }

    async fn receive(&mut self, wait_max: Duration) -> Result<Received, Problem> {
        match tokio::time::timeout(wait_max, self.body.frame()).await {
            Err(_) => Ok(Received::TimedOut),
            Ok(None) => Ok(Received::End),
            Ok(Some(Err(_))) => Err(BodyFault::Broken.into()),
            // Trailers are ignored.
            Ok(Some(Ok(frame))) => Ok(Received::Data(frame.into_data().unwrap_or_default())),
        }
    }

    fn timed_out(&self) -> Problem {
        let detail = format!(
            "no data arrived within {:?}; the lines stored before stay, and the whole body may be \
             sent again",
            self.idle_deadline
        );
        Problem::new(StatusCode::REQUEST_TIMEOUT, detail)
    }
}
