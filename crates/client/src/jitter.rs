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

/// Returns the wait before attempt `tries + 1`: random, below a limit that doubles with each
/// attempt from 200 ms to 5 s.
pub(crate) fn before_retry(entropy: &Entropy, tries: u32) -> Duration {
    const FIRST: Duration = Duration::from_millis(200);
    const MOST: Duration = Duration::from_secs(5);
    let doublings = tries.saturating_sub(1).min(8);
    below(entropy, FIRST.saturating_mul(1 << doublings).min(MOST))
}
