//! `cargo xtask package`: the Debian package, from the release build of the program.

mod control;
mod notices;
mod tree;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::clients::built_kiosque;
use crate::packages;
use crate::process::{cargo, output, program, root, run as run_command, succeeds, target};
use tree::Tree;

/// Maximum size of the release build of the program, in bytes. `docs/performance.md` has the cost
/// of smaller builds.
const PROGRAM_MAX_BYTES: u64 = 22_000_000;
/// The maximum exposure that `systemd-analyze security` may report for a unit, in tenths.
const EXPOSURE_MAX: &str = "--threshold=20";
const UNITS: [&str; 2] = ["kiosque.service", "kiosque-backup.service"];

/// The time of files in the package, and the variable that sets it, in seconds since 1970.
const EPOCH: &str = "SOURCE_DATE_EPOCH";

/// Builds the package, or only checks its inputs.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        [] => build(),
        ["--check"] => check(),
        _ => bail!("package takes nothing or --check; `cargo xtask help` shows examples"),
    }
}

/// Builds the package and prints its path.
fn build() -> Result<()> {
    packages::ensure(packages::FOR_PACKAGE)?;
    let program = release_program()?;
    let bytes = fs::metadata(&program)?.len();
    if bytes > PROGRAM_MAX_BYTES {
        bail!("{} has {bytes} bytes, more than {PROGRAM_MAX_BYTES}", program.display());
    }
    let directory = target()?.join("package");
    let package = package(&program, &directory, "-Zxz")?;
    check_units(&directory)?;
    lint(&package)?;
    eprintln!("the program has {bytes} bytes, the package {}", fs::metadata(&package)?.len());
    println!("{}", package.display());
    Ok(())
}

/// Builds the package of the program as built for tests, twice, and compares the two.
pub(crate) fn check() -> Result<()> {
    packages::ensure(packages::FOR_PACKAGE)?;
    let program = built_kiosque()?;
    let mut packages = Vec::new();
    for name in ["package-check", "package-check-again"] {
        let directory = target()?.join(name);
        packages.push(fs::read(package(&program, &directory, "-Znone")?)?);
        check_units(&directory)?;
        fs::remove_dir_all(&directory)?;
    }
    if packages[0] != packages[1] {
        bail!("two packages of the same program differ: the second has another time or order");
    }
    Ok(())
}

/// Code in C without tables for unwinding: a panic does not pass through it.
const C_WITHOUT_UNWINDING: &str = "-fno-asynchronous-unwind-tables -fno-unwind-tables";
/// zstd without the strategies of unused compression levels: level 3 has `dfast` for content of any
/// length, and lower levels `fast`.
const ZSTD_STRATEGIES: &str = "-DZSTD_EXCLUDE_GREEDY_BLOCK_COMPRESSOR \
    -DZSTD_EXCLUDE_LAZY_BLOCK_COMPRESSOR -DZSTD_EXCLUDE_LAZY2_BLOCK_COMPRESSOR \
    -DZSTD_EXCLUDE_BTLAZY2_BLOCK_COMPRESSOR -DZSTD_EXCLUDE_BTOPT_BLOCK_COMPRESSOR \
    -DZSTD_EXCLUDE_BTULTRA_BLOCK_COMPRESSOR";
/// Relocations as a bitmap, for which `deploy/debian/control` requires a loader that reads them:
/// `dpkg-shlibdeps` only checks symbols. A plain release build has them as a table, which takes 24
/// bytes for each and runs on older systems.
const PACKED_RELOCATIONS: &str = "link-arg=-Wl,-z,pack-relative-relocs";

/// Builds the program so that its bytes depend on as few directories of this machine as possible,
/// and few of them.
fn release_program() -> Result<PathBuf> {
    let target = target()?.join("package/build");
    let home = match env::var_os("CARGO_HOME") {
        Some(home) => PathBuf::from(home),
        None => Path::new(&env::var_os("HOME").context("HOME is not set")?).join(".cargo"),
    };
    // For a path that begins with several of them, the last one counts.
    let places = [(root()?, "/kiosque"), (home, "/cargo"), (target.clone(), "/target")];
    let remapped = |flag: &str| {
        let flags = places.iter().map(|(from, to)| format!("{flag}={}={to}", from.display()));
        flags.collect::<Vec<_>>().join(" ")
    };
    let mut build = cargo("rustc --release --locked --package kiosque --bin kiosque --target-dir")?;
    build.arg(&target);
    build.args(["--", "-C", PACKED_RELOCATIONS]);
    build.env("RUSTFLAGS", remapped("--remap-path-prefix"));
    let c_flags = remapped("-ffile-prefix-map");
    build.env("CFLAGS", format!("{c_flags} {C_WITHOUT_UNWINDING} {ZSTD_STRATEGIES}"));
    run_command(&mut build)?;
    Ok(target.join("release/kiosque"))
}

/// Creates the package of a program in a directory, and returns its path.
fn package(program_file: &Path, directory: &Path, compression: &str) -> Result<PathBuf> {
    let tree = Tree::create(directory.join("tree"), program_file)?;
    let architecture = output(program("dpkg")?.arg("--print-architecture"))?;
    let architecture = String::from_utf8(architecture)?.trim().to_owned();
    let epoch = source_date()?;
    control::write(&tree, &epoch)?;
    let name = format!("kiosque_{}_{architecture}.deb", control::VERSION);
    let package = directory.join(name);
    let mut build = program("dpkg-deb")?;
    build.args(["--root-owner-group", compression, "--build"]).arg(&tree.root).arg(&package);
    run_command(build.env(EPOCH, epoch))?;
    Ok(package)
}

/// Returns the time of all files, in seconds since 1970: the time of the last commit, unless the
/// environment specifies one.
fn source_date() -> Result<String> {
    if let Ok(given) = env::var(EPOCH) {
        return Ok(given);
    }
    let time = output(program("git")?.args(["log", "-1", "--format=%ct"]))?;
    Ok(String::from_utf8(time)?.trim().to_owned())
}

/// Checks the exposure of the units where systemd is installed.
fn check_units(directory: &Path) -> Result<()> {
    if !succeeds(program("systemd-analyze")?.arg("--version")) {
        eprintln!("systemd-analyze is not installed: the exposure of the units is not checked");
        return Ok(());
    }
    for unit in UNITS {
        let file = directory.join("tree/usr/lib/systemd/system").join(unit);
        let mut analyze = program("systemd-analyze")?;
        analyze.args(["security", "--no-pager", "--offline=true", EXPOSURE_MAX]).arg(file);
        let report = analyze.output().context("systemd-analyze")?;
        let text = String::from_utf8_lossy(&report.stdout).into_owned();
        let last = text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
        eprintln!("{}", last.trim());
        if !report.status.success() {
            bail!("the exposure of {unit} is above its limit:\n{text}");
        }
    }
    Ok(())
}

/// Checks the package by Debian's rules where lintian is installed.
fn lint(package: &Path) -> Result<()> {
    if !succeeds(program("lintian")?.arg("--version")) {
        eprintln!("lintian is not installed: the rules of Debian are not checked");
        return Ok(());
    }
    run_command(program("lintian")?.args(["--fail-on", "error,warning"]).arg(package))
}
