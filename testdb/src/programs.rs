//! The programs of PostgreSQL, wherever the system has installed them.

use std::env;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use anyhow::{Context, Result, bail};

/// Debian's directory of the programs, by version: only client programs are on the PATH.
const DEBIAN: &str = "/usr/lib/postgresql";

/// Returns whether this machine has a PostgreSQL server.
#[must_use]
pub fn is_installed() -> bool {
    directory().is_some()
}

/// Returns one of PostgreSQL's programs, without the caller's own settings for PostgreSQL and with
/// English messages.
pub(crate) fn program(name: &str) -> Result<Command> {
    let mut command = Command::new(found(directory())?.join(name));
    for (name, _) in env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("PG")) {
        command.env_remove(name);
    }
    command.env("LC_ALL", "C.UTF-8").env("PGCONNECT_TIMEOUT", "30");
    Ok(command)
}

/// Runs a program and returns its output, without the final line end.
pub(crate) fn run(command: &mut Command) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.stdin(Stdio::null()).output();
    let output = output.with_context(|| format!("cannot start {name}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("{name} failed ({}): {}", output.status, said.trim_end());
    }
    let mut said = String::from_utf8(output.stdout).context("an answer that is no UTF-8")?;
    said.truncate(said.trim_end_matches('\n').len());
    Ok(said)
}

/// Runs statements, each text in a separate transaction, and returns the rows of all: one per line,
/// values separated by `|`.
pub(crate) fn psql<'a>(url: &str, texts: impl IntoIterator<Item = &'a str>) -> Result<String> {
    let mut psql = program("psql")?;
    psql.args(["-XqAt", "-v", "ON_ERROR_STOP=1", "-d", url]);
    run(psql.args(texts.into_iter().flat_map(|text| ["-c", text])))
}

/// Runs a script of `psql`.
pub(crate) fn psql_script(url: &str, script: &str) -> Result<()> {
    let mut file = tempfile::NamedTempFile::new().context("a file for a script")?;
    file.write_all(script.as_bytes()).context("a file for a script")?;
    let mut psql = program("psql")?;
    psql.args(["-Xq", "-v", "ON_ERROR_STOP=1", "-d", url, "-f"]).arg(file.path());
    run(&mut psql).map(|_| ())
}

fn found(directory: Option<&Path>) -> Result<&Path> {
    directory.context("PostgreSQL is not installed here; `cargo xtask test` installs it")
}

fn directory() -> Option<&'static Path> {
    // Only success is cached: `cargo xtask test` searches again once it has installed PostgreSQL.
    static FOUND: OnceLock<PathBuf> = OnceLock::new();
    if FOUND.get().is_none() {
        let found = from_pg_config().or_else(newest_of_debian)?;
        return Some(FOUND.get_or_init(|| found));
    }
    FOUND.get().map(PathBuf::as_path)
}

/// Clients come with `pg_config` too, so its answer alone does not mean that there is a server.
fn from_pg_config() -> Option<PathBuf> {
    let said = run(Command::new("pg_config").arg("--bindir")).ok()?;
    Some(PathBuf::from(said)).filter(|directory| has_server(directory))
}

fn newest_of_debian() -> Option<PathBuf> {
    let versions = fs::read_dir(DEBIAN).ok()?.filter_map(|entry| Some(entry.ok()?.path()));
    let number = |directory: &PathBuf| directory.file_name()?.to_str()?.parse::<u32>().ok();
    let mut numbered: Vec<(u32, PathBuf)> = versions
        .filter_map(|directory| Some((number(&directory)?, directory.join("bin"))))
        .filter(|(_, directory)| has_server(directory))
        .collect();
    numbered.sort();
    numbered.pop().map(|(_, directory)| directory)
}

fn has_server(directory: &Path) -> bool {
    ["postgres", "initdb", "psql"].iter().all(|name| directory.join(name).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_postgresql_the_error_names_the_command_that_installs_it() {
        let error = found(None).unwrap_err().to_string();
        assert!(error.contains("cargo xtask test"), "{error}");
        assert!(found(directory()).is_ok());
    }

    #[test]
    fn a_directory_without_a_server_is_not_taken() {
        assert!(!has_server(Path::new("/usr/bin")));
    }
}
