//! `cargo xtask test`: every test of the workspace, on a machine with nothing but Rust.

use std::env;
use std::path::PathBuf;

use anyhow::{Result, bail};

use crate::database::Database;
use crate::process::{cargo, in_ci, root};
use crate::tally;

/// Says to the tests where the sales report lies that they import whole.
const SALES_REPORT: &str = "KIOSQUE_SALES_REPORT";
/// Where it lies unless someone says otherwise: beside the repository.
const SALES_REPORT_DEFAULT: &str = "../shared/data/vending_machine_sales.csv";

/// Says to the tests which engine keeps their data.
const ENGINE: &str = "KIOSQUE_TEST_ENGINE";
/// Whose integration tests run on both engines.
const ON_BOTH_ENGINES: [&str; 2] = ["kiosque-store", "kiosque-server"];

/// Runs the tests, once on each engine; the arguments go to `cargo test`.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let database = Database::start()?;
    let mut tests = cargo(["test", "--locked"])?;
    if !names_a_package(arguments) {
        tests.arg("--workspace");
    }
    tests.args(arguments);
    if let Some(report) = sales_report()? {
        tests.env(SALES_REPORT, report);
    }
    database.tell(&mut tests);
    tally::run(&mut tests)?;
    on_postgres(arguments, &database)
}

/// Runs again what must answer the same on both engines.
fn on_postgres(arguments: &[String], database: &Database) -> Result<()> {
    let all = !names_a_package(arguments);
    let wanted: Vec<&str> = ON_BOTH_ENGINES
        .into_iter()
        .filter(|package| all || arguments.iter().any(|argument| argument.ends_with(package)))
        .collect();
    if wanted.is_empty() {
        return Ok(());
    }
    let mut tests = cargo(["test", "--locked", "--test", "it"])?;
    tests.args(wanted.iter().flat_map(|package| ["-p", package]));
    // What stands behind the names of packages: filters, and what the tests themselves take.
    tests.args(arguments.iter().skip_while(|argument| *argument != "--"));
    tests.env(ENGINE, "postgres");
    database.tell(&mut tests);
    tally::run(&mut tests)?;
    Ok(())
}

fn names_a_package(arguments: &[String]) -> bool {
    let for_cargo = arguments.iter().take_while(|argument| *argument != "--");
    let mut names = for_cargo.filter(|argument| argument.starts_with("-p"));
    names.next().is_some() || arguments.iter().any(|argument| argument.starts_with("--package"))
}

/// The report's absolute path, since cargo runs each test in its crate's folder. `None`: no one has
/// put it anywhere, and the tests that want it say so.
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
             put it at {SALES_REPORT_DEFAULT} or say in {SALES_REPORT} where it is"
        ),
        Err(_) => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_named_package_is_tested_alone() {
        let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        assert!(names_a_package(&words("-p kiosque-store")));
        assert!(names_a_package(&words("--package=kiosque-store -- login")));
        assert!(!names_a_package(&words("--lib -- -payments")));
    }
}
