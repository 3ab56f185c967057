//! Programs of the Rust world that some tasks need, installed by cargo or rustup when missing.

use anyhow::{Context, Result};

use crate::process::{cargo, program, run, succeeds};

/// Installs a subcommand of cargo in this version when cargo does not find it. A present one of
/// another version is taken as is.
pub(crate) fn ensure(subcommand: &str, version: &str) -> Result<()> {
    if succeeds(&mut cargo(&format!("{subcommand} --version"))?) {
        return Ok(());
    }
    let package = format!("cargo-{subcommand}@{version}");
    eprintln!("Installing {package}, which takes some minutes, once");
    run(&mut cargo(&format!("install --locked {package}"))?)
        .with_context(|| format!("{package} is needed and could not be installed"))
}

/// Adds the toolchain's own formatter and linter where only its minimal profile is installed.
pub(crate) fn ensure_components() -> Result<()> {
    for (subcommand, component) in [("fmt", "rustfmt"), ("clippy", "clippy")] {
        if !succeeds(&mut cargo(&format!("{subcommand} --version"))?) {
            run(program("rustup")?.args(["component", "add", component]))?;
        }
    }
    Ok(())
}
