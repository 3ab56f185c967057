//! Waiting for a condition.

use std::thread;
use std::time::{Duration, Instant};

/// The time after which a wait fails: far longer than any takes on a busy machine.
pub const WAIT_MAX: Duration = Duration::from_secs(300);

/// Waits for a condition that another process or thread causes.
///
/// # Panics
///
/// After [`WAIT_MAX`].
#[track_caller]
pub fn wait_until(condition: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < WAIT_MAX, "{WAIT_MAX:?} were not enough: {condition}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Waits for a condition that another task causes.
///
/// # Panics
///
/// After [`WAIT_MAX`].
#[cfg(feature = "store")]
pub async fn eventually(condition: &str, mut holds: impl AsyncFnMut() -> bool) {
    let begun = Instant::now();
    while !holds().await {
        assert!(begun.elapsed() < WAIT_MAX, "{WAIT_MAX:?} were not enough: {condition}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}
