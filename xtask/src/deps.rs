//! `cargo xtask deps`: every dependency has a permitted licence, is used, and has one version.

use std::collections::BTreeSet;

use anyhow::{Context, Result, bail};

use crate::process::{self, cargo, output};
use crate::tools;

/// Checks licences, duplicates and sources by `deny.toml`, then looks for unused dependencies.
pub(crate) fn run() -> Result<()> {
    tools::ensure("deny", "0.20.2")?;
    tools::ensure("machete", "0.9.2")?;
    // Dependencies of other platforms count too, and cargo-deny itself is kept off the network.
    process::run(&mut cargo("fetch --locked")?)?;
    // A warning means an exception in deny.toml that is no longer needed.
    process::run(&mut cargo("deny --offline check -D warnings licenses bans sources")?)?;
    process::run(&mut cargo("machete")?)?;
    let packages = client_packages()?;
    eprintln!("kiosque-client is built from {} packages", packages.len());
    if packages.len() >= CLIENT_PACKAGES {
        bail!("kiosque-client must be built from fewer than {CLIENT_PACKAGES} packages");
    }
    Ok(())
}

/// Integrators build the client alone: it must not have more packages than this as dependencies.
const CLIENT_PACKAGES: usize = 100;

/// The packages from which the client is built, including itself.
fn client_packages() -> Result<BTreeSet<String>> {
    let tree = "tree --locked -p kiosque-client -e normal --prefix none --no-dedupe --format {p}";
    let tree = output(&mut cargo(tree)?)?;
    let tree = String::from_utf8(tree).context("cargo tree prints UTF-8")?;
    let named = tree.lines().map(str::trim).filter(|line| !line.is_empty());
    Ok(named.map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_client_has_few_packages() {
        let packages = client_packages().expect("cargo tree");
        assert!(packages.iter().any(|package| package.starts_with("hyper v")), "{packages:?}");
        assert!(packages.len() < CLIENT_PACKAGES, "{}: {packages:?}", packages.len());
    }
}
