//! Reads a body as chunks of lines, or of elements of a JSON array, so that little of a long body
//! is in memory.

use std::time::Duration;

use bytes::{Buf, Bytes};
use http::request::Parts;
use http::{StatusCode, header};
use http_body_util::BodyExt;
use hyper::body::Body;
use kiosque_store::yield_if_due;
use tokio::time::{Instant, timeout_at};

use crate::failure::Failure;
use kiosque_ingest::file_kind;
use kiosque_ingest::json_body::{JsonError, JsonSplitter};
use kiosque_ingest::ndjson::{LineSplitter, RawLine};
use kiosque_listener::{BodyError, BoxError};

/// Maximum lines of a chunk. A chunk is shorter if its lines arrive slowly.
const CHUNK_LINES: usize = 1_000;
/// The time for which the first complete line of a chunk waits for further ones.
const LINGER: Duration = Duration::from_millis(100);

/// The lines of a body, or the elements of a JSON body.
pub(super) struct Lines<'a, B> {
    body: &'a mut B,
    /// The maximum pause between two frames. There is no limit for the whole body.
    idle_deadline: Duration,
    splitter: Splitter,
    buffer: Bytes,
    /// Why no frame follows, not even the end.
    broken: Option<BodyError>,
    /// Whether the body has begun.
    is_begun: bool,
    /// Whether the body has ended.
    is_ended: bool,
}

/// How a body is split.
pub(super) enum Splitter {
    /// Lines.
    Lines(LineSplitter),
    /// The elements of an array, or objects.
    Json(JsonSplitter),
}

impl Splitter {
    /// Returns the splitter of a request: bodies of `application/json` are JSON, all others lines.
    ///
    /// # Errors
    /// The body has a content encoding. No line of it could be read.
    pub(super) fn of(head: &Parts) -> Result<Splitter, Failure> {
        let coding = head.headers.get(header::CONTENT_ENCODING);
        let coding = coding.filter(|coding| !coding.as_bytes().eq_ignore_ascii_case(b"identity"));
        if let Some(coding) = coding {
            let reason =
                format!("The body has the content encoding {coding:?}; send it uncompressed");
            return Err(Failure::denied(StatusCode::BAD_REQUEST, reason));
        }
        let is_json = head.headers.get(header::CONTENT_TYPE).is_some_and(|value| {
            let kind = value.as_bytes().split(|byte| *byte == b';').next().unwrap_or_default();
            kind.trim_ascii().eq_ignore_ascii_case(b"application/json")
        });
        Ok(match is_json {
            true => Splitter::Json(JsonSplitter::default()),
            false => Splitter::Lines(LineSplitter::default()),
        })
    }

    /// Consumes bytes as [`LineSplitter::push`] does.
    fn push(&mut self, bytes: &[u8]) -> (usize, Result<Option<RawLine>, JsonError>) {
        match self {
            Splitter::Lines(lines) => {
                let (consumed, line) = lines.push(bytes);
                (consumed, Ok(line))
            }
            Splitter::Json(elements) => elements.push(bytes),
        }
    }

    fn finish(&mut self) -> Result<Option<RawLine>, JsonError> {
        match self {
            Splitter::Lines(lines) => Ok(lines.finish()),
            Splitter::Json(elements) => elements.finish(),
        }
    }
}

impl<B: Body<Data = Bytes, Error: Into<BoxError>> + Unpin> Lines<'_, B> {
    pub(super) fn of(body: &mut B, splitter: Splitter, idle_deadline: Duration) -> Lines<'_, B> {
        let buffer = Bytes::new();
        Lines {
            body,
            idle_deadline,
            splitter,
            buffer,
            broken: None,
            is_begun: false,
            is_ended: false,
        }
    }

    /// Prepends the index of an element to the reason for its rejection. Lines have none.
    pub(super) fn name_element(&self, number: u64, reason: &mut String) {
        if let Splitter::Json(elements) = &self.splitter
            && elements.is_array()
        {
            reason.insert_str(0, &format!("[{}] ", number.saturating_sub(1)));
        }
    }

    /// Returns the next non-blank lines, about `chunk_bytes` of them; `None` at the end. The first
    /// one waits for the others for at most [`LINGER`], however they arrive.
    ///
    /// # Errors
    /// The body was aborted, is not JSON between its elements, or nothing arrived for too long. The
    /// complete lines before that were returned.
    pub(super) async fn next_chunk(
        &mut self,
        chunk_bytes: usize,
    ) -> Result<Option<Vec<RawLine>>, Failure> {
        let mut lines = Vec::new();
        let mut bytes = 0;
        let mut ends = None;
        loop {
            let line = match self.next_line(ends).await {
                Ok(Some(line)) => line,
                Err(failure) if lines.is_empty() => return Err(failure),
                Ok(None) | Err(_) => break,
            };
            yield_if_due();
            ends.get_or_insert_with(|| Instant::now() + LINGER);
            bytes += line.text.len();
            lines.push(line);
            if lines.len() >= CHUNK_LINES || bytes >= chunk_bytes {
                break;
            }
        }
        Ok((!lines.is_empty()).then_some(lines))
    }

    /// Returns the next line; `None` at the end. Waits for data until `ends`; if that is `None`,
    /// until nothing has arrived for the idle deadline.
    async fn next_line(&mut self, ends: Option<Instant>) -> Result<Option<RawLine>, Failure> {
        loop {
            while !self.buffer.is_empty() {
                let (consumed, line) = self.splitter.push(&self.buffer);
                self.buffer.advance(consumed);
                if let Some(line) = line.map_err(no_json)? {
                    return Ok(Some(line));
                }
            }
            let ends = ends.unwrap_or_else(|| Instant::now() + self.idle_deadline);
            let Some(data) = self.receive(ends).await? else {
                self.is_ended = true;
                return self.splitter.finish().map_err(no_json);
            };
            if !std::mem::replace(&mut self.is_begun, true)
                && let Some(kind) = file_kind::binary(&data)
            {
                let reason = format!("The body {kind}");
                return Err(Failure::denied(StatusCode::BAD_REQUEST, reason));
            }
            self.buffer = data;
            // The buffer may be large: other tasks of this thread run first.
            tokio::task::yield_now().await;
        }
    }

    /// Returns the next part of the body; `None` at its end.
    async fn receive(&mut self, ends: Instant) -> Result<Option<Bytes>, Failure> {
        if let Some(error) = self.broken {
            return Err(error.into());
        }
        if self.is_ended {
            return Ok(None);
        }
        match timeout_at(ends, self.body.frame()).await {
            Err(_) => Err(self.timed_out()),
            Ok(None) => Ok(None),
            Ok(Some(Err(error))) => {
                let error = BodyError::of_rest(error);
                self.broken = Some(error);
                Err(error.into())
            }
            // Trailers are ignored.
            Ok(Some(Ok(frame))) => Ok(Some(frame.into_data().unwrap_or_default())),
        }
    }

    fn timed_out(&self) -> Failure {
        let reason = format!(
            "no data arrived within {:?}; the lines stored before remain, and the whole body may \
             be sent again",
            self.idle_deadline
        );
        Failure::denied(StatusCode::REQUEST_TIMEOUT, reason)
    }
}

/// Returns the refusal of a body that is not JSON between its elements.
fn no_json(error: JsonError) -> Failure {
    let reason = format!(
        "{error}; the elements stored before remain, and the whole body may be sent again once it \
         is valid"
    );
    Failure::denied(StatusCode::BAD_REQUEST, reason)
}

#[cfg(test)]
mod tests {
    use futures_util::stream;
    use http_body_util::StreamBody;
    use hyper::body::Frame;
    use tokio::time::sleep;

    use super::*;

    const CHUNK_BYTES: usize = 1 << 20;
    const MS: Duration = Duration::from_millis(1);

    /// Returns a body that has a frame after each pause, and then ends or is aborted.
    fn body(
        frames: impl Iterator<Item = (Duration, Result<String, BodyError>)>,
    ) -> impl Body<Data = Bytes, Error = BodyError> + Unpin {
        let frames = stream::unfold(frames, |mut frames| async {
            let (pause, frame) = frames.next()?;
            sleep(pause).await;
            Some((frame.map(|text| Frame::data(Bytes::from(text))), frames))
        });
        StreamBody::new(Box::pin(frames))
    }

    fn of_lines() -> Splitter {
        Splitter::Lines(LineSplitter::default())
    }

    fn texts(lines: &[RawLine]) -> Vec<&str> {
        lines.iter().map(|line| std::str::from_utf8(&line.text).expect("text")).collect()
    }

    /// Each line arrives a gap after the previous one, so that a chunk within its time limit has
    /// few of them, on a slow machine fewer.
    async fn lines_with_gaps(gap: Duration) {
        let mut body = body((0..).map(|at| (gap, Ok(format!("{at}\n")))));
        let mut lines = Lines::of(&mut body, of_lines(), 10 * gap);
        let mut seen = 0;
        for _ in 0..3 {
            let chunk = lines.next_chunk(CHUNK_BYTES).await.expect("lines").expect("lines");
            for text in texts(&chunk) {
                assert_eq!(text, seen.to_string());
                seen += 1;
            }
            // The first line, those within its time, and one that arrives as it ends.
            let most = 2 + LINGER.as_millis() / gap.as_millis();
            assert!(chunk.len() as u128 <= most, "{gap:?}: {} lines", chunk.len());
        }
    }

    #[tokio::test]
    async fn a_line_waits_for_others_for_a_limited_time_whatever_the_gaps() {
        let gaps = [1, 7, 20, 50, 99, 100, 101, 150, 500].map(|gap| lines_with_gaps(gap * MS));
        futures_util::future::join_all(gaps).await;
    }
}
