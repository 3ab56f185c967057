//! Starting other programs, always from the root of the repository.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// Returns the root of the repository of this run. Cargo provides it at run time, because several
/// checkouts may share one target directory.
pub(crate) fn root() -> Result<PathBuf> {
    let own = env::var_os("CARGO_MANIFEST_DIR").context("start the tasks as `cargo xtask`")?;
    let root = Path::new(&own).parent().context("xtask lies in the root of the repository")?;
    Ok(root.to_owned())
}

/// Returns the directory of build results.
pub(crate) fn target() -> Result<PathBuf> {
    Ok(root()?.join(env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into())))
}

/// Returns a program, to be run from the root.
pub(crate) fn program(name: impl AsRef<OsStr>) -> Result<Command> {
    let mut command = Command::new(name);
    command.current_dir(root()?);
    // Cargo's variables about this run would mislead other programs: cargo-machete, for one, then
    // reads its arguments differently.
    let about_us = env::vars_os().map(|(name, _)| name).filter(|name| {
        let name = name.to_string_lossy();
        name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")
    });
    for name in about_us {
        command.env_remove(name);
    }
    Ok(command)
}

/// Returns the cargo that started this run, to be run from the root, with the arguments in a line.
pub(crate) fn cargo(line: &str) -> Result<Command> {
    let mut command = program(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))?;
    command.args(line.split_whitespace());
    Ok(command)
}

/// Shows the command and runs it.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let shown = show(command);
    eprintln!("$ {shown}");
    let status = command.status().with_context(|| format!("cannot start `{shown}`"))?;
    if !status.success() {
        bail!("`{shown}` failed ({status})");
    }
    Ok(())
}

/// Runs the command and returns its stdout; its stderr stays visible.
pub(crate) fn output(command: &mut Command) -> Result<Vec<u8>> {
    let shown = show(command);
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot start `{shown}`"))?;
    if !output.status.success() {
        bail!("`{shown}` failed ({})", output.status);
    }
    Ok(output.stdout)
}

/// Returns the paths of the files that git tracks or would track and that match these patterns, or
/// of all; relative to the root, sorted. Those deleted since the last commit are left out.
pub(crate) fn files_of_git(patterns: &[&str]) -> Result<Vec<String>> {
    let list = ["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate"];
    let listed = output(program("git")?.args(list).arg("--").args(patterns))?;
    let listed = String::from_utf8(listed).context("a path is no UTF-8")?;
    let root = root()?;
    let present = listed.split_terminator('\0').filter(|path| root.join(path).exists());
    let mut present: Vec<String> = present.map(str::to_owned).collect();
    present.sort();
    Ok(present)
}

/// Returns whether the command can be started and succeeds; its output is not shown.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}

/// Returns whether this is a CI run, in which an absent dependency is a failure.
pub(crate) fn in_ci() -> bool {
    env::var("CI").is_ok_and(|value| value == "true")
}

/// Returns the command as typed on a command line.
pub(crate) fn show(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or_default();
    let words = std::iter::once(program).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}
