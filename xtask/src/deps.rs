//! `cargo xtask deps`: every dependency has a permitted licence, is used, and has one version.

use anyhow::Result;

use crate::process::{self, cargo};
use crate::tools;

/// Checks licences, duplicates and sources by `deny.toml`, then looks for unused dependencies.
pub(crate) fn run() -> Result<()> {
    tools::ensure(&tools::DENY)?;
    tools::ensure(&tools::MACHETE)?;
    // Dependencies of other platforms count too, and cargo-deny itself is kept off the network.
    process::run(&mut cargo(["fetch", "--locked"])?)?;
    // A warning is an exception that deny.toml makes and nothing needs any more.
    let checks = ["-D", "warnings", "licenses", "bans", "sources"];
    process::run(cargo(["deny", "--offline", "check"])?.args(checks))?;
    process::run(&mut cargo(["machete"])?)
}
