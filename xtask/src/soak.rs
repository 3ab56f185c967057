//! `cargo xtask soak`: the tests that have a size, at their full size.

use anyhow::{Result, bail};

use crate::process::cargo;
use crate::tally;

/// Tells the tests to take their full size.
const SOAK: &str = "KIOSQUE_SOAK";
/// What the names of the tests that have a size contain.
const SIZED_TESTS: [&str; 5] = ["histories", "kill_9", "slow_clients", "paging", "scope"];

/// Runs each kind of sized test; they print their own counts and seeds.
pub(crate) fn run() -> Result<()> {
    for name in SIZED_TESTS {
        let mut tests = cargo(["test", "--release", "--locked", "--workspace", "--"])?;
        let tally = tally::run(tests.args(["--nocapture", name]).env(SOAK, "1"))?;
        if tally.passed == 0 {
            bail!("no test has `{name}` in its name");
        }
    }
    Ok(())
}
