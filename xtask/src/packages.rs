//! External programs that some tasks need, as Debian packages.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::process;

/// A Debian package, and a check whether its program is installed.
pub(crate) struct Package {
    is_installed: fn() -> bool,
    name: &'static str,
}

/// The README's calls are made with curl, as by its readers. The tests start PostgreSQL servers,
/// and send signals to their processes. They read the console with a browser, which needs a font
/// for its Chinese texts, and check a server that is written in Python.
pub(crate) const FOR_TESTS: &[Package] = &[
    Package { is_installed: || has_program("curl"), name: "curl" },
    Package { is_installed: || has_program("update-ca-certificates"), name: "ca-certificates" },
    Package { is_installed: || has_program("pkill"), name: "procps" },
    Package { is_installed: || has_program("python3"), name: "python3" },
    Package { is_installed: || has_program("chromium"), name: "chromium" },
    Package { is_installed: || has_program("chromedriver"), name: "chromium-driver" },
    Package { is_installed: || Path::new(CHINESE_FONT).exists(), name: "fonts-noto-cjk" },
    Package { is_installed: kiosque_testdb::is_installed, name: POSTGRESQL },
];

/// The Debian package is made by Debian's own programs.
pub(crate) const FOR_PACKAGE: &[Package] =
    &[Package { is_installed: || has_program("dpkg-shlibdeps"), name: "dpkg-dev" }];

/// libFuzzer is C++.
pub(crate) const FOR_FUZZ: &[Package] =
    &[Package { is_installed: || has_program("c++"), name: "g++" }];

/// Python packages are installed in virtual environments.
pub(crate) const FOR_PYTHON: &[Package] =
    &[Package { is_installed: has_venv, name: "python3-venv" }];

/// Generated clients are tested in TypeScript as well as Python.
pub(crate) const FOR_CLIENTS: &[Package] = &[
    Package { is_installed: || has_program("node"), name: "nodejs" },
    Package { is_installed: || has_program("npm"), name: "npm" },
];

const POSTGRESQL: &str = "postgresql";
const CHINESE_FONT: &str = "/usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc";
/// The directory of the settings that keep the package from creating a server when it is installed.
const CLUSTERS: &str = "/etc/postgresql-common/createcluster.d";

/// Installs the packages whose program is missing.
pub(crate) fn ensure(packages: &[Package]) -> Result<()> {
    let missing = packages.iter().filter(|package| !(package.is_installed)());
    let missing: Vec<&str> = missing.map(|package| package.name).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let names = missing.join(" ");
    if !has_program("apt-get") {
        bail!("missing: {names}. There is no apt-get here: install them");
    }
    if !is_root()? {
        bail!("missing: {names}. Install them: sudo apt-get install {names}");
    }
    eprintln!("Installing what is missing: {names}");
    apt_get(["update", "--quiet"])?;
    let install = ["install", "--yes", "--quiet", "--no-install-recommends"];
    let setting = missing.contains(&POSTGRESQL).then(without_a_cluster).transpose()?;
    let installed = apt_get(install.into_iter().chain(missing));
    if let Some(setting) = setting {
        fs::remove_file(&setting)
            .with_context(|| format!("cannot remove {}", setting.display()))?;
    }
    installed
}

/// Keeps the package of PostgreSQL from creating a server: the tests start their own. Returns the
/// file with this setting, which only applies to this installation.
fn without_a_cluster() -> Result<PathBuf> {
    let file = Path::new(CLUSTERS).join("kiosque.conf");
    let writing = || format!("cannot write {}", file.display());
    fs::create_dir_all(CLUSTERS).with_context(writing)?;
    fs::write(&file, "create_main_cluster = false\n").with_context(writing)?;
    Ok(file)
}

fn apt_get<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Result<()> {
    let mut command = process::program("apt-get")?;
    process::run(command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive"))
}

fn has_program(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    // The administrator's programs are not on every user's PATH.
    let directories = env::split_paths(&path).chain(["/usr/sbin".into(), "/sbin".into()]);
    directories.into_iter().any(|directory| Path::new(&directory).join(program).is_file())
}

/// Returns whether Python can create virtual environments.
fn has_venv() -> bool {
    let import = ["-c", "import ensurepip, venv"];
    process::program("python3").is_ok_and(|mut python| process::succeeds(python.args(import)))
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
        assert!(has_program("sh"));
        assert!(!has_program("sh-of-no-one"));
    }
}
