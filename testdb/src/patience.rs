//! Waiting for what another process does, and not for ever.

use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

/// Between two looks: short beside what a server takes to start, long beside what a look costs.
const BETWEEN_LOOKS: Duration = Duration::from_millis(5);

/// Looks again and again until the look says yes; an error of the look ends the waiting.
pub(crate) fn wait_until(
    what: &str,
    at_most: Duration,
    mut look: impl FnMut() -> Result<bool>,
) -> Result<()> {
    let start = Instant::now();
    while !look()? {
        if start.elapsed() > at_most {
            bail!("waited {at_most:?} in vain: {what}");
        }
        sleep(BETWEEN_LOOKS);
    }
    Ok(())
}
