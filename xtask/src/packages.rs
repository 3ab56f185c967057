//! Programs from outside that some tasks need, as Debian packages.

use std::env;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::process;

/// A program and the Debian package that brings it.
pub(crate) struct Package {
    program: &'static str,
    name: &'static str,
}

/// The calls of the README are made with curl, as its reader makes them.
pub(crate) const FOR_TESTS: &[Package] = &[
    Package { program: "curl", name: "curl" },
    Package { program: "update-ca-certificates", name: "ca-certificates" },
];

/// libFuzzer is C++.
pub(crate) const FOR_FUZZ: &[Package] = &[Package { program: "c++", name: "g++" }];

/// Installs the packages whose program is missing.
pub(crate) fn ensure(packages: &[Package]) -> Result<()> {
    let missing = packages.iter().filter(|package| !is_installed(package.program));
    let missing: Vec<&str> = missing.map(|package| package.name).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let names = missing.join(" ");
    if !is_installed("apt-get") {
        bail!("missing: {names}. There is no apt-get here: install them by hand");
    }
    if !is_root()? {
        bail!("missing: {names}. Install them: sudo apt-get install {names}");
    }
    eprintln!("Installing what is missing: {names}");
    apt_get(["update", "--quiet"])?;
    apt_get(["install", "--yes", "--quiet", "--no-install-recommends"].into_iter().chain(missing))
}

fn apt_get<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Result<()> {
    let mut command = process::program("apt-get")?;
    process::run(command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive"))
}

fn is_installed(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    // The administrator's programs are not on everyone's PATH.
    let folders = env::split_paths(&path).chain(["/usr/sbin".into(), "/sbin".into()]);
    folders.into_iter().any(|folder| Path::new(&folder).join(program).is_file())
}

fn is_root() -> Result<bool> {
    let id = process::output(process::program("id")?.arg("-u")).context("who runs this")?;
    Ok(id.trim_ascii() == b"0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_found_by_its_whole_name() {
        assert!(is_installed("sh"));
        assert!(!is_installed("sh-of-no-one"));
    }
}
