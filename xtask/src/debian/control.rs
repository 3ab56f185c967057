//! The control files of the package: its description, its settings files, sums, and scripts.

use std::env;
use std::fs;

use anyhow::{Context, Result};

use crate::process::{output, program, root};

use super::tree::{SETTINGS, Tree};

/// Version of the package. The part after the hyphen counts changes of the packaging.
pub(super) const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "-1");

/// The maintainer, unless Debian's variables for this, `DEBFULLNAME` and `DEBEMAIL`, are set.
const MAINTAINER: (&str, &str) = ("Kiosque maintainers", "kiosque@packages.invalid");

/// The earliest version of the C library, major and minor, whose loader reads packed relocations.
/// `dpkg-shlibdeps` only checks symbols.
pub(super) const LOADER: (u32, u32) = (2, 36);
const C_LIBRARY: &str = "libc6 (>= ";

const SCRIPTS: [&str; 3] = ["postinst", "prerm", "postrm"];

const DESCRIPTION: &str = "\
Description: device and order query service of vending kiosks
 Kiosque stores the devices, orders and sales of a platform of vending kiosks,
 and answers the queries of integrators over HTTPS: devices, orders, and seven
 dashboard functions.
 .
 The data is in a SQLite file by default, or in a PostgreSQL database that
 several nodes share. The package has systemd units of the server and of daily
 backups, manual pages, completions, alert rules and a Grafana dashboard.
";

/// The source package that `dpkg-shlibdeps` reads.
const SOURCE: &str = "Source: kiosque\n\nPackage: kiosque\nArchitecture: any\n";

/// Writes the control files, and Debian's changelog.
pub(super) fn write(tree: &Tree, architecture: &str, epoch: &str) -> Result<()> {
    tree.add_compressed("usr/share/doc/kiosque/changelog.Debian", changelog(epoch)?.as_bytes())?;
    let files = tree.files()?;
    let mut sums = program("md5sum")?;
    let sums = output(sums.args(&files).current_dir(&tree.root))?;
    let control = control(tree, &files, architecture)?;
    tree.add("DEBIAN/control", control.as_bytes(), 0o644)?;
    tree.add("DEBIAN/md5sums", &sums, 0o644)?;
    tree.add("DEBIAN/conffiles", format!("/{SETTINGS}\n").as_bytes(), 0o644)?;
    for script in SCRIPTS {
        let source = root()?.join("deploy/debian").join(script);
        output(program("sh")?.arg("-n").arg(&source)).context("a script of the package")?;
        tree.add(&format!("DEBIAN/{script}"), &fs::read(source)?, 0o755)?;
    }
    Ok(())
}

fn control(tree: &Tree, files: &[String], architecture: &str) -> Result<String> {
    let mut bytes = 0;
    for file in files {
        bytes += fs::metadata(tree.root.join(file))?.len();
    }
    let libraries = libraries(tree)?;
    Ok(format!(
        "Package: kiosque\nVersion: {VERSION}\nArchitecture: {architecture}\n\
         Maintainer: {}\nInstalled-Size: {}\n\
         Depends: {libraries}, systemd | systemd-standalone-sysusers | systemd-sysusers\n\
         Suggests: prometheus, postgresql-client\n\
         Section: net\nPriority: optional\n{DESCRIPTION}",
        maintainer(),
        bytes.div_ceil(1_024),
    ))
}

fn maintainer() -> String {
    let name = env::var("DEBFULLNAME").unwrap_or_else(|_| MAINTAINER.0.to_owned());
    let address = env::var("DEBEMAIL").unwrap_or_else(|_| MAINTAINER.1.to_owned());
    format!("{name} <{address}>")
}

/// Returns the packages of the libraries that the program is linked with.
fn libraries(tree: &Tree) -> Result<String> {
    let source = tree.root.join("source");
    fs::create_dir_all(source.join("debian"))?;
    fs::write(source.join("debian/control"), SOURCE)?;
    let mut shlibdeps = program("dpkg-shlibdeps")?;
    shlibdeps.args(["-O", "-e"]).arg(tree.root.join("usr/bin/kiosque")).current_dir(&source);
    let printed = String::from_utf8(output(&mut shlibdeps)?)?;
    fs::remove_dir_all(&source)?;
    let depends = printed.trim().strip_prefix("shlibs:Depends=");
    let depends = depends.with_context(|| format!("dpkg-shlibdeps printed {printed:?}"))?;
    Ok(with_loader(depends))
}

/// Raises the version of the C library in a list of dependencies to [`LOADER`].
fn with_loader(depends: &str) -> String {
    let number = |version: &str| -> Option<(u32, u32)> {
        let (major, minor) = version.trim_end_matches(')').split_once('.')?;
        Some((major.parse().ok()?, minor.parse().ok()?))
    };
    let raised = depends.split(", ").map(|depend| {
        let version = depend.strip_prefix(C_LIBRARY).and_then(number);
        match version.is_some_and(|version| version < LOADER) {
            true => format!("{C_LIBRARY}{}.{})", LOADER.0, LOADER.1),
            false => depend.to_owned(),
        }
    });
    raised.collect::<Vec<_>>().join(", ")
}

fn changelog(epoch: &str) -> Result<String> {
    let date = ["--utc", "--rfc-email", "--date"];
    let date = output(program("date")?.args(date).arg(format!("@{epoch}")).env("LC_ALL", "C"))?;
    Ok(format!(
        "kiosque ({VERSION}) unstable; urgency=medium\n\n  \
         * Version {}; changelog.gz describes its changes.\n\n -- {}  {}",
        env!("CARGO_PKG_VERSION"),
        maintainer(),
        String::from_utf8(date)?,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_c_library_has_a_loader_of_packed_relocations() {
        for (printed, depends) in [
            ("libc6 (>= 2.34), libgcc-s1 (>= 4.2)", "libc6 (>= 2.36), libgcc-s1 (>= 4.2)"),
            ("libgcc-s1 (>= 3.0), libc6 (>= 2.9)", "libgcc-s1 (>= 3.0), libc6 (>= 2.36)"),
            ("libc6 (>= 2.41), libgcc-s1", "libc6 (>= 2.41), libgcc-s1"),
        ] {
            assert_eq!(with_loader(printed), depends);
        }
    }
}
