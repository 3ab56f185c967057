//! The spelling of the whole repository, checked by `typos` with `_typos.toml`.

use anyhow::{Context, Result};

use crate::packages;
use crate::process::{program, root, run as run_command};

/// The version that is installed, from PyPI: its package contains the program and needs no other.
const VERSION: &str = "1.52.0";

/// Installs the program into `target/` and runs it.
pub(crate) fn run() -> Result<()> {
    let directory = root()?.join(format!("target/typos-{VERSION}"));
    let typos = directory.join("bin/typos");
    if !typos.exists() {
        packages::ensure(packages::FOR_SPELLING)?;
        let mut pip = program("python3")?;
        pip.args(["-m", "pip", "install", "--quiet", "--no-deps", "--root-user-action=ignore"]);
        pip.arg("--target").arg(&directory).arg(format!("typos=={VERSION}"));
        run_command(&mut pip).context("typos is needed and could not be installed")?;
    }
    run_command(program(&typos)?.args(["--format", "brief"]))
}
