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

const SCRIPTS: [&str; 3] = ["postinst", "prerm", "postrm"];

/// Writes the control files, and Debian's changelog.
pub(super) fn write(tree: &Tree, epoch: &str) -> Result<()> {
    let changelog = changelog(epoch)?;
    tree.add_compressed("usr/share/doc/kiosque/changelog.Debian", changelog.as_bytes())?;
    let control = control(tree, &changelog)?;
    let mut sums = program("md5sum")?;
    let sums = output(sums.args(tree.files()?).current_dir(&tree.root))?;
    tree.add("DEBIAN/control", &control, 0o644)?;
    tree.add("DEBIAN/md5sums", &sums, 0o644)?;
    tree.add("DEBIAN/conffiles", format!("/{SETTINGS}\n").as_bytes(), 0o644)?;
    for script in SCRIPTS {
        let source = root()?.join("deploy/debian").join(script);
        output(program("sh")?.arg("-n").arg(&source)).context("a script of the package")?;
        tree.add(&format!("DEBIAN/{script}"), &fs::read(source)?, 0o755)?;
    }
    Ok(())
}

/// Returns the fields of `deploy/debian/control` with the size of the files, and with the packages
/// of the libraries that the program is linked with.
fn control(tree: &Tree, changelog: &str) -> Result<Vec<u8>> {
    let source = tree.root.with_file_name("source");
    fs::create_dir_all(source.join("debian"))?;
    fs::write(source.join("debian/changelog"), changelog)?;
    fs::copy(root()?.join("deploy/debian/control"), source.join("debian/control"))?;
    let mut shlibdeps = program("dpkg-shlibdeps")?;
    output(shlibdeps.arg(tree.root.join("usr/bin/kiosque")).current_dir(&source))?;
    let mut gencontrol = program("dpkg-gencontrol")?;
    gencontrol.arg("-O").arg(format!("-P{}", tree.root.display()));
    gencontrol.arg(format!("-Vmaintainer={}", maintainer()));
    let control = output(gencontrol.current_dir(&source))?;
    fs::remove_dir_all(source)?;
    Ok(control)
}

fn maintainer() -> String {
    let name = env::var("DEBFULLNAME").unwrap_or_else(|_| MAINTAINER.0.to_owned());
    let address = env::var("DEBEMAIL").unwrap_or_else(|_| MAINTAINER.1.to_owned());
    format!("{name} <{address}>")
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
