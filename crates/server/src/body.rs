//! Takes a request's body in, within its limits.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use kiosque_model::Limits;

/// How many times the limit is still read, and forgotten, of a body that is too large: a caller
/// that is cut off while sending may never see the answer that says why.
const PATIENCE: usize = 8;

/// Why a body could not be taken in, as a sentence for the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BodyFault {
    /// More than so many bytes.
    #[error("the body is larger than {0} bytes")]
    TooLarge(usize),
    /// Not all of it came in time.
    #[error("the body did not arrive within {0:?}")]
    Late(Duration),
    /// It ended in the middle.
    #[error("the body broke off")]
    Broken,
}

/// The whole body.
pub(crate) async fn read(body: &mut Incoming, limits: &Limits) -> Result<Bytes, BodyFault> {
    read_up_to(body, limits.body_max_bytes, limits).await
}

/// The whole body, for a call that takes larger ones.
pub(crate) async fn read_up_to(
    body: &mut Incoming,
    max_bytes: usize,
    limits: &Limits,
) -> Result<Bytes, BodyFault> {
    let reading = tokio::time::timeout(limits.body_deadline, collect(body, max_bytes));
    reading.await.unwrap_or(Err(BodyFault::Late(limits.body_deadline)))
}

async fn collect(body: &mut Incoming, max: usize) -> Result<Bytes, BodyFault> {
    let mut first = Bytes::new();
    let mut rest: Vec<u8> = Vec::new();
    let mut seen = 0_usize;
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| BodyFault::Broken)?;
        let Ok(data) = frame.into_data() else { continue };
        let is_first = seen == 0;
        seen = seen.saturating_add(data.len());
        if seen > max.saturating_mul(PATIENCE) {
            break;
        }
        if seen > max {
            rest = Vec::new();
        } else if is_first {
            first = data;
        } else {
            // Nearly every body is one frame, which is taken as it is.
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
        return Err(BodyFault::TooLarge(max));
    }
    Ok(if rest.is_empty() { first } else { Bytes::from(rest) })
}
