//! `cargo xtask pictures`: the pictures of `docs/console.md`.

use anyhow::Result;

use crate::packages;
use crate::process::{cargo, root, run as run_command};

/// The variable with the directory to which the test writes them.
const SETTING: &str = "KIOSQUE_PICTURES";
/// The name of the test: see `crates/kiosque/tests/it/console/pictures.rs`.
const TEST: &str = "console::pictures";

/// Takes the pictures again.
pub(crate) fn run() -> Result<()> {
    packages::ensure(packages::FOR_TESTS)?;
    let mut tests = cargo("test --locked --package kiosque --test program")?;
    run_command(tests.arg(TEST).env(SETTING, root()?.join("docs/console")))
}
