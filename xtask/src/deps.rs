//! `cargo xtask deps`: may we ship what we depend on, do we need it, and do we have it once?

use anyhow::Result;

use crate::process::{self, cargo};
use crate::tools;

/// Checks licences, duplicates and sources by `deny.toml`, then looks for unused dependencies.
pub(crate) fn run() -> Result<()> {
    tools::ensure(&tools::DENY)?;
    tools::ensure(&tools::MACHETE)?;
    // What other platforms need counts too, and cargo-deny itself is kept off the network.
    process::run(&mut cargo(["fetch", "--locked"])?)?;
    // A warning is an exception that deny.toml makes and nothing needs any more.
    let checks = ["-D", "warnings", "licenses", "bans", "sources"];
    process::run(cargo(["deny", "--offline", "check"])?.args(checks))?;
    process::run(&mut cargo(["machete"])?)
}
