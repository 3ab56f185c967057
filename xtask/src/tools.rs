//! Programs of the Rust world that some tasks need, installed by cargo or rustup when missing.

use anyhow::{Context, Result};

use crate::process::{cargo, program, run, succeeds};

/// A cargo subcommand, and the version that is installed where there is none.
pub(crate) struct Tool {
    subcommand: &'static str,
    version: &'static str,
}

/// Licences, duplicates, sources.
pub(crate) const DENY: Tool = Tool { subcommand: "deny", version: "0.20.2" };
/// Unused dependencies.
pub(crate) const MACHETE: Tool = Tool { subcommand: "machete", version: "0.9.2" };
/// Fuzzing.
pub(crate) const FUZZ: Tool = Tool { subcommand: "fuzz", version: "0.13.2" };

/// Installs the tool when cargo does not find it. A present one of another version is taken as is.
pub(crate) fn ensure(tool: &Tool) -> Result<()> {
    if succeeds(&mut cargo([tool.subcommand, "--version"])?) {
        return Ok(());
    }
    let package = format!("cargo-{}@{}", tool.subcommand, tool.version);
    eprintln!("Installing {package}, which takes some minutes, once");
    run(&mut cargo(["install", "--locked", &package])?)
        .with_context(|| format!("{package} is needed and could not be installed"))
}

/// Adds the toolchain's own formatter and linter where only its minimal profile is installed.
pub(crate) fn ensure_components() -> Result<()> {
    for (subcommand, component) in [("fmt", "rustfmt"), ("clippy", "clippy")] {
        if !succeeds(&mut cargo([subcommand, "--version"])?) {
            run(program("rustup")?.args(["component", "add", component]))?;
        }
    }
    Ok(())
}
