//! `cargo xtask ci`: everything that a change must pass, cheapest first; stops at the first
//! failure. A warning of any step is a failure.

use std::fs;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result, bail};

use crate::process::{cargo, program, root, run as run_command};
use crate::{axe, clients, debian, deps, packages, python_client, spelling, tidy, tools};

/// The README's command for the tests. CI reads it there and runs it, so that it stays true.
const TEST_COMMAND: &str = "cargo xtask test";

/// The crates that integrators depend on.
const PUBLISHED: [&str; 6] = [
    "kiosque-client",
    "kiosque-clock",
    "kiosque-contract",
    "kiosque-https-client",
    "kiosque-locks",
    "kiosque-model",
];

type Step = (&'static str, fn() -> Result<()>);

const STEPS: [Step; 12] = [
    ("format", format),
    ("tidy", tidy::run),
    ("spelling", spelling::run),
    ("lints", lints),
    ("lints of fuzz targets", fuzz_targets),
    ("documents", documents),
    ("tests, by the README's command", tests),
    ("generated clients", clients::run),
    ("Python package", python_client::run),
    ("Rust packages", rust_packages),
    ("Debian package", debian::check),
    ("dependencies", deps::run),
];

/// Runs the steps and ends with a table of their times.
pub(crate) fn run() -> Result<()> {
    tools::ensure_components()?;
    let mut times = Vec::new();
    for (name, step) in STEPS {
        eprintln!("\n== {name}");
        let start = Instant::now();
        step().with_context(|| format!("CI stops at \"{name}\""))?;
        times.push((name, start.elapsed()));
        eprintln!("== {name}: ok, {:.1} s", start.elapsed().as_secs_f64());
    }
    println!("\n{}", table(&times));
    let names: Vec<&str> = times.iter().map(|(name, _)| *name).collect();
    println!("CI passed: {}", names.join(" · "));
    Ok(())
}

fn table(times: &[(&str, Duration)]) -> String {
    let total = times.iter().map(|(_, time)| time).sum();
    let rows = times.iter().copied().chain([("all", total)]);
    rows.map(|(name, time)| format!("{name:<32} {:>7.1} s\n", time.as_secs_f64())).collect()
}

fn format() -> Result<()> {
    run_command(&mut cargo("fmt --all --check")?)?;
    run_command(&mut cargo("fmt --manifest-path fuzz/Cargo.toml --check")?)
}

fn lints() -> Result<()> {
    run_command(&mut cargo("clippy --locked --workspace --all-targets -- -D warnings")?)
}

/// Lints the fuzz targets. They are another workspace; with the profiles and the directory of this
/// one, the libraries that the other lints have compiled are not compiled again.
fn fuzz_targets() -> Result<()> {
    packages::ensure(packages::FOR_FUZZ)?;
    let shared = "--config Cargo.toml --target-dir target";
    let lint = format!("clippy --locked --manifest-path fuzz/Cargo.toml {shared} -- -D warnings");
    run_command(&mut cargo(&lint)?)
}

fn documents() -> Result<()> {
    let mut doc = cargo("doc --locked --workspace --no-deps --document-private-items")?;
    run_command(doc.env("RUSTDOCFLAGS", "-D warnings"))
}

/// Runs the tests. Those of the console's pages also run axe-core on each page.
fn tests() -> Result<()> {
    let readme = fs::read_to_string(root()?.join("README.md")).context("there is no README.md")?;
    let Some(command) = commands(&readme).find(|line| *line == TEST_COMMAND) else {
        bail!("no code block of the README has the line `{TEST_COMMAND}`");
    };
    let (first, rest) = command.split_once(' ').context("a command and its arguments")?;
    run_command(program(first)?.args(rest.split(' ')).env(axe::SETTING, axe::script()?))
}

/// Returns the lines of a text's code blocks without comments.
fn commands(text: &str) -> impl Iterator<Item = &str> {
    let blocks = text.split("\n```").skip(1).step_by(2);
    let lines = blocks.flat_map(|block| block.lines().skip(1));
    lines.map(|line| line.split(" #").next().unwrap_or(line).trim())
}

/// Packs the client and the crates that it needs, and builds them from the packages.
#[expect(clippy::disallowed_methods, reason = "the time is a name that no run has used")]
fn rust_packages() -> Result<()> {
    let directory = root()?.join("target/packages");
    if directory.exists() {
        fs::remove_dir_all(&directory)?;
    }
    // Cargo keeps the unpacked sources of a package in its home, by version and by the path of the
    // registry in this directory. With the path of an earlier run it would build earlier sources.
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?.as_millis();
    let mut package = cargo("package --locked --allow-dirty --target-dir")?;
    package
        .arg(directory.join(now.to_string()))
        .args(PUBLISHED.iter().flat_map(|name| ["--package", name]));
    run_command(&mut package)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_read_from_code_blocks_alone() {
        let readme = "# K\n\n`cargo xtask ci`\n\n```sh\ncargo xtask test   # all tests\n\
                      cargo run\n```\n\ncargo build\n\n```\nls\n```\n";
        let read: Vec<&str> = commands(readme).collect();
        assert_eq!(read, ["cargo xtask test", "cargo run", "ls"]);
    }
}
