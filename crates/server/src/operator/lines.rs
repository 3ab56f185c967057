//! A body as lines, a chunk at a time: however long it is, little of it is held.

use std::time::Duration;

use bytes::{Buf, Bytes};
use http::StatusCode;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use kiosque_store::yield_if_due;

use super::problem::Problem;
use crate::call::BodyFault;
use kiosque_ingest::ndjson::{Cutter, RawLine};

/// What is checked and stored together, unless the caller pauses before.
const CHUNK_LINES: usize = 1_000;
/// How long whole lines wait for more to come.
const LINGER: Duration = Duration::from_millis(200);

/// The lines of a body.
pub(super) struct Lines<'a> {
    body: &'a mut Incoming,
    /// How long the caller may be silent; how long all of it takes does not matter.
    idle_deadline: Duration,
    cutter: Cutter,
    piece: Bytes,
}

/// What came of a body.
enum Came {
    Piece(Bytes),
    End,
    /// Nothing for a while.
    Silence,
}

impl Lines<'_> {
    pub(super) fn of(body: &mut Incoming, idle_deadline: Duration) -> Lines<'_> {
        Lines { body, idle_deadline, cutter: Cutter::default(), piece: Bytes::new() }
    }

    /// The next lines that are not blank, until they are `enough_bytes`; `None` at the end.
    pub(super) async fn next_chunk(
        &mut self,
        enough_bytes: usize,
    ) -> Result<Option<Vec<RawLine>>, Problem> {
        let mut lines = Vec::new();
        let mut bytes = 0;
        loop {
            while !self.piece.is_empty() {
                let (taken, line) = self.cutter.take(&self.piece);
                self.piece.advance(taken);
                let Some(line) = line else { continue };
                yield_if_due();
                bytes += line.text.len();
                lines.push(line);
                if lines.len() >= CHUNK_LINES || bytes >= enough_bytes {
                    return Ok(Some(lines));
                }
            }
            let patience = if lines.is_empty() { self.idle_deadline } else { LINGER };
            match self.came_within(patience).await? {
                Came::Piece(piece) => {
                    self.piece = piece;
                    // Much may have come: others who wait for this thread go first.
                    tokio::task::yield_now().await;
                }
                Came::Silence if lines.is_empty() => return Err(self.silent()),
                Came::Silence => return Ok(Some(lines)),
                Came::End => {
                    lines.extend(self.cutter.finish());
                    return Ok((!lines.is_empty()).then_some(lines));
                }
            }
        }
    }

    async fn came_within(&mut self, patience: Duration) -> Result<Came, Problem> {
        match tokio::time::timeout(patience, self.body.frame()).await {
            Err(_) => Ok(Came::Silence),
            Ok(None) => Ok(Came::End),
            Ok(Some(Err(_))) => Err(BodyFault::Broken.into()),
            // Trailers say nothing here.
            Ok(Some(Ok(frame))) => Ok(Came::Piece(frame.into_data().unwrap_or_default())),
        }
    }

    fn silent(&self) -> Problem {
        let detail = format!(
            "nothing came for {:?}; what was stored before stays, and all of it may be sent again",
            self.idle_deadline
        );
        Problem::new(StatusCode::REQUEST_TIMEOUT, detail)
    }
}
