//! Takes a request's body in, within its limits.

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use kiosque_model::Limits;

/// How many times the limit is still read, and forgotten, of a body that is too large: a caller
/// that is cut off while sending may never see the answer that says why.
const PATIENCE: usize = 8;

/// The whole body.
///
/// # Errors
/// A sentence for the caller: too large, too slow, or broken off.
pub(crate) async fn read(body: Incoming, limits: &Limits) -> Result<Bytes, String> {
    let reading = tokio::time::timeout(limits.body_deadline, collect(body, limits.body_max_bytes));
    match reading.await {
        Ok(read) => read,
        Err(_) => Err(format!("the body did not arrive within {:?}", limits.body_deadline)),
    }
}

async fn collect(mut body: Incoming, max: usize) -> Result<Bytes, String> {
    let mut first = Bytes::new();
    let mut rest: Vec<u8> = Vec::new();
    let mut seen = 0_usize;
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| "the body broke off".to_owned())?;
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
        return Err(format!("the body is larger than {max} bytes"));
    }
    Ok(if rest.is_empty() { first } else { Bytes::from(rest) })
}
