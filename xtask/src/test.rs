//! `cargo xtask test`: every test of the workspace, on a machine with nothing but Rust.

use std::env;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::thread;

use anyhow::{Context, Result, bail};
use kiosque_testdb::SETTING;

use crate::database::Database;
use crate::process::{cargo, in_ci, root};
use crate::snapshots::References;
use crate::test_run::{self, Summary};

/// The variable with the path of the sales report that some tests import as a whole.
const SALES_REPORT: &str = "KIOSQUE_SALES_REPORT";
/// Its default path: next to the repository.
const SALES_REPORT_DEFAULT: &str = "../shared/data/vending_machine_sales.csv";

/// The variable with the engine that the tests store their data in.
const ENGINE: &str = "KIOSQUE_TEST_ENGINE";
/// The packages whose integration tests run on both engines.
const ON_BOTH_ENGINES: [&str; 2] = ["kiosque-store", "kiosque-server"];
/// The target with those tests.
const TARGET: &str = "it";
/// The package with whose features a run of the workspace compiles the libraries. Its integration
/// tests are another target.
const PROGRAM: &str = "kiosque";
/// Their modules whose tests are on PostgreSQL in every run: the first run has them.
const ON_POSTGRESQL_ALWAYS: [&str; 4] =
    ["engines::", "retries::", "round_trips::", "several_nodes::"];

/// The variable with the number of tests that run at a time.
const THREADS: &str = "RUST_TEST_THREADS";
/// Its default, per core: most tests of the program wait for processes.
const THREADS_PER_CORE: usize = 2;

/// The argument with the URL of the coordinator of a Citus cluster.
const CITUS: &str = "--citus";

/// Runs the tests, then the tests of both engines on the second one, and ends with a summary. The
/// arguments are passed to `cargo test`. A failure ends neither run. With [`CITUS`], only runs the
/// tests of both engines on that cluster, and the tests of the statements.
pub(crate) fn run(arguments: &[String]) -> Result<ExitCode> {
    if let Some((url, arguments)) = on_citus(arguments)? {
        let mut summary = Summary::default();
        let mut tests = on_one_engine(&arguments, "citus", &["--lib", "--test", TARGET])?
            .with_context(|| format!("{CITUS} runs the tests of {ON_BOTH_ENGINES:?}"))?;
        tests.env(SETTING, url);
        summary.add(test_run::run("Citus", &mut tests)?);
        return Ok(summary.print());
    }
    let database = Database::start()?;
    let references = References::new()?;
    let mut summary = Summary::default();

    let mut tests = cargo_test()?;
    if !names_a_package(arguments) {
        tests.arg("--workspace");
    }
    tests.args(arguments);
    if let Some(report) = sales_report()? {
        tests.env(SALES_REPORT, report);
    }
    database.share(&mut tests);
    references.record(&mut tests);
    let mut run = test_run::run("SQLite", &mut tests)?;
    // A test that fails, or does not run, leaves its snapshots without a reference.
    if arguments.is_empty() && run.has_passed() {
        for snapshot in references.unreferenced()? {
            run.fail(format!("no test refers to {snapshot}: remove it"));
        }
    }
    summary.add(run);
    if let Some(mut tests) = on_one_engine(arguments, "postgres", &["--test", TARGET])? {
        database.share(&mut tests);
        if arguments.is_empty() {
            println!("\nPostgreSQL: the first run had the tests of {ON_POSTGRESQL_ALWAYS:?}");
            tests.arg("--").args(ON_POSTGRESQL_ALWAYS.iter().flat_map(|module| ["--skip", module]));
        }
        summary.add(test_run::run("PostgreSQL", &mut tests)?);
        println!("\nCitus: not run; `cargo xtask test {CITUS} URL` runs its tests on a cluster");
    }
    Ok(summary.print())
}

/// Splits the URL of a Citus cluster from the other arguments.
fn on_citus(arguments: &[String]) -> Result<Option<(String, Vec<String>)>> {
    let own = arguments.iter().take_while(|argument| *argument != "--").position(|it| it == CITUS);
    let Some(at) = own else { return Ok(None) };
    let url = arguments.get(at + 1).filter(|url| url.starts_with("postgres"));
    let url = url.with_context(|| format!("{CITUS} needs the coordinator: postgres://…"))?;
    let others = arguments[..at].iter().chain(&arguments[at + 2..]);
    Ok(Some((url.clone(), others.cloned().collect())))
}

/// Returns the command that tests these targets of the packages of both engines on one of them, if
/// the arguments select the packages.
fn on_one_engine(arguments: &[String], engine: &str, targets: &[&str]) -> Result<Option<Command>> {
    let all = !names_a_package(arguments);
    let wanted: Vec<&str> = ON_BOTH_ENGINES
        .into_iter()
        .filter(|package| all || arguments.iter().any(|argument| argument.ends_with(package)))
        .collect();
    if wanted.is_empty() {
        return Ok(None);
    }
    let mut tests = cargo_test()?;
    tests.args(targets);
    tests.args(wanted.iter().flat_map(|package| ["-p", package]));
    if all {
        // With other features than in the run of the workspace, all libraries would be compiled
        // again.
        tests.args(["-p", PROGRAM]);
    }
    // The filters and the arguments of the test programs follow the names of packages.
    tests.args(arguments.iter().skip_while(|argument| *argument != "--"));
    tests.env(ENGINE, engine);
    Ok(Some(tests))
}

/// Returns a `cargo test` without packages and filters.
fn cargo_test() -> Result<Command> {
    let mut tests = cargo("test --locked --no-fail-fast")?;
    if env::var_os(THREADS).is_none() {
        let cores = thread::available_parallelism().context("the number of cores")?;
        tests.env(THREADS, (THREADS_PER_CORE * cores.get()).to_string());
    }
    Ok(tests)
}

fn names_a_package(arguments: &[String]) -> bool {
    let for_cargo = arguments.iter().take_while(|argument| *argument != "--");
    let mut names = for_cargo.filter(|argument| argument.starts_with("-p"));
    names.next().is_some() || arguments.iter().any(|argument| argument.starts_with("--package"))
}

/// Returns the report's absolute path, since cargo runs each test in its crate's directory, or
/// `None` without a report: the tests that use it then print that they did not run.
fn sales_report() -> Result<Option<PathBuf>> {
    let set = env::var_os(SALES_REPORT);
    let report = match &set {
        Some(path) => PathBuf::from(path),
        None => root()?.join(SALES_REPORT_DEFAULT),
    };
    match report.canonicalize() {
        Ok(report) => Ok(Some(report)),
        Err(_) if set.is_some() => bail!("{SALES_REPORT}: there is no {}", report.display()),
        Err(_) if in_ci() => bail!(
            "the sales report is absent, and CI skips no test: \
             put it at {SALES_REPORT_DEFAULT}, or its path into {SALES_REPORT}"
        ),
        Err(_) => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_url_of_a_cluster_is_no_argument_of_cargo() {
        let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let split = |line: &str| on_citus(&words(line));
        let url = "postgres://a@b/c".to_owned();
        let found = split("--citus postgres://a@b/c -p kiosque-store -- login").expect("a URL");
        assert_eq!(found, Some((url, words("-p kiosque-store -- login"))));
        assert_eq!(split("-- --citus").expect("for the tests"), None);
        assert!(split("--citus").is_err() && split("--citus -p kiosque-store").is_err());
    }

    #[test]
    fn a_named_package_is_tested_alone() {
        let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        assert!(names_a_package(&words("-p kiosque-store")));
        assert!(names_a_package(&words("--package=kiosque-store -- login")));
        assert!(!names_a_package(&words("--lib -- -payments")));
    }
}
