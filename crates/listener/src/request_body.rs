//! Reads the body of a request, within its limit and its deadline.

use std::error::Error;
use std::io;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::Body;
use kiosque_model::Limits;

/// The multiple of the limit up to which a body that is too large is read and discarded. A caller
/// that is disconnected while it sends may never read the answer (REQ-13, LIM-1).
const DRAIN_LIMITS: usize = 8;

/// Why a body could not be read, as a diagnostic for the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BodyError {
    /// It has more bytes than the limit.
    #[error("the body is larger than {0} bytes")]
    TooLarge(usize),
    /// It did not arrive within the deadline.
    #[error("the body did not arrive within {0:?}")]
    Late(Duration),
    /// The connection, or the HTTP/2 stream, ended before the body.
    #[error("the body ended early")]
    Broken,
    /// Its chunks are not those of RFC 9112, so that its end is unknown.
    #[error("the chunked encoding of the body is malformed")]
    Malformed,
}

/// An error of a body of any kind.
pub type BoxError = Box<dyn Error + Send + Sync>;

impl BodyError {
    /// Returns why no more of a body arrives. hyper reports malformed chunks as invalid input or
    /// data.
    pub fn of_rest(error: impl Into<BoxError>) -> BodyError {
        let error: BoxError = error.into();
        let cause = error.source().and_then(|cause| cause.downcast_ref::<io::Error>());
        match cause.map(io::Error::kind) {
            Some(io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData) => BodyError::Malformed,
            _ => BodyError::Broken,
        }
    }
}

/// Reads a whole body of at most `max_bytes`, within the body deadline (LIM-1, LIM-6).
///
/// # Errors
/// The body is too large, late or incomplete.
pub async fn read_body(
    body: &mut (impl Body<Data = Bytes, Error: Into<BoxError>> + Unpin),
    max_bytes: usize,
    limits: &Limits,
) -> Result<Bytes, BodyError> {
    let reading = tokio::time::timeout(limits.body_deadline, collect(body, max_bytes));
    reading.await.unwrap_or(Err(BodyError::Late(limits.body_deadline)))
}

async fn collect(
    body: &mut (impl Body<Data = Bytes, Error: Into<BoxError>> + Unpin),
    max: usize,
) -> Result<Bytes, BodyError> {
    let mut first = Bytes::new();
    let mut rest: Vec<u8> = Vec::new();
    let mut seen = 0_usize;
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(BodyError::of_rest)?;
        let Ok(data) = frame.into_data() else { continue };
        let is_first = seen == 0;
        seen = seen.saturating_add(data.len());
        if seen > max.saturating_mul(DRAIN_LIMITS) {
            break;
        }
        if seen > max {
            rest = Vec::new();
        } else if is_first {
            first = data;
        } else {
            // Nearly every body is one frame, which is not copied.
            if rest.is_empty() {
                rest.extend_from_slice(&first);
            }
            rest.extend_from_slice(&data);
        }
        if body.is_end_stream() {
            break;
        }
    }
    if seen > max {
        return Err(BodyError::TooLarge(max));
    }
    Ok(if rest.is_empty() { first } else { Bytes::from(rest) })
}
