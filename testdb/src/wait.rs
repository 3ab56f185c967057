//! Waiting for a condition that another process brings about.

use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

/// Pause between two checks: short compared with the start of a server, long compared with a check.
const CHECK_INTERVAL: Duration = Duration::from_millis(5);

/// Repeats a check until it returns true; an error of the check ends the wait.
pub(crate) fn wait_until(
    condition: &str,
    at_most: Duration,
    mut check: impl FnMut() -> Result<bool>,
) -> Result<()> {
    let start = Instant::now();
    while !check()? {
        if start.elapsed() > at_most {
            bail!("{at_most:?} were not enough: {condition}");
        }
        sleep(CHECK_INTERVAL);
    }
    Ok(())
}
