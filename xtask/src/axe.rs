//! axe-core, which checks the console's pages for accessibility.

use std::path::PathBuf;

use anyhow::Result;

use crate::clients::npm_packages;
use crate::packages;
use crate::process::root;

const AXE_CORE: &str = "axe-core@4.14.1";
/// The variable with the path of the script. The walk over the pages, in
/// `crates/kiosque/tests/it/console/walk.rs`, uses it if it is set.
pub(crate) const SETTING: &str = "KIOSQUE_AXE";

/// Installs axe-core and returns the path of its script.
pub(crate) fn script() -> Result<PathBuf> {
    packages::ensure(packages::FOR_CLIENTS)?;
    let installed = npm_packages(root()?.join("target/axe"), &[AXE_CORE])?;
    Ok(installed.join("node_modules/axe-core/axe.min.js"))
}
