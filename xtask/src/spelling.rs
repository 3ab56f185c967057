//! The spelling of the whole repository, checked by `typos` with `_typos.toml`.

use anyhow::Result;

use crate::clients::python_packages;
use crate::process::{program, root, run as run_command};

/// The package from PyPI contains the program and needs no other.
const TYPOS: &str = "typos==1.52.0";

/// Installs the program into `target/` and runs it.
pub(crate) fn run() -> Result<()> {
    let tools = python_packages(root()?.join("target/typos"), &[TYPOS])?;
    run_command(program(tools.join("bin/typos"))?.args(["--format", "brief"]))
}
