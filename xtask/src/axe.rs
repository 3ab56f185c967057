//! The console's pages in a browser, checked by the rules of axe-core for accessibility.

use anyhow::Result;

use crate::clients::npm_packages;
use crate::packages;
use crate::process::{cargo, root, run as run_command};

const AXE_CORE: &str = "axe-core@4.14.1";
/// The variable with the path of the script. The walk over the pages uses it if it is set.
const SETTING: &str = "KIOSQUE_AXE";
/// The name of the walk's test: see `crates/kiosque/tests/it/console/walk.rs`.
const WALK: &str = "console::walk";

/// Walks over the pages with axe-core.
pub(crate) fn run() -> Result<()> {
    packages::ensure(packages::FOR_TESTS)?;
    packages::ensure(packages::FOR_CLIENTS)?;
    let installed = npm_packages(root()?.join("target/axe"), &[AXE_CORE])?;
    let script = installed.join("node_modules/axe-core/axe.min.js");
    let mut tests = cargo(["test", "--locked", "--package", "kiosque", "--test", "it", WALK])?;
    run_command(tests.env(SETTING, script))
}
