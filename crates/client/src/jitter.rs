//! Random parts of waits.

use std::time::Duration;

use kiosque_clock::Entropy;

/// Returns a random time below `most`, evenly distributed; without entropy, `most`, which is the
/// longest wait and affects no secret.
pub(crate) fn below(entropy: &Entropy, most: Duration) -> Duration {
    let Ok(bytes) = entropy.bytes::<4>() else { return most };
    let part = f64::from(u32::from_le_bytes(bytes)) / f64::from(u32::MAX);
    most.mul_f64(part)
}

/// Returns the wait before attempt `tries + 1`: `first`, doubled after each further attempt up to
/// eight times `first`, and a random time below `first`.
pub(crate) fn before_retry(entropy: &Entropy, first: Duration, tries: u32) -> Duration {
    let doublings = tries.saturating_sub(1).min(3);
    first.saturating_mul(1 << doublings) + below(entropy, first)
}
