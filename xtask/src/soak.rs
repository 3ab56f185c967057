//! `cargo xtask soak`: the sized tests at full size, the cost of dashboards and of the console with
//! ten times as many orders, and the cost of one tenant's load for another.

use std::process::ExitCode;

use anyhow::{Context, Result, bail, ensure};

use crate::bench;
use crate::database::Database;
use crate::process::{cargo, root};
use crate::test_run::{self, Summary};

/// The variable that selects the full size of tests.
const SOAK: &str = "KIOSQUE_SOAK";
/// The variable with the number of runs of the selected tests.
const RUNS: &str = "KIOSQUE_RUNS";
/// Words, one of which is in the name of each sized test.
const SIZED_TESTS: [&str; 20] = [
    "shared_accounts",
    "several_nodes",
    "random_histories",
    "engines::",
    "failover",
    "two_versions",
    "kill_9",
    "slow_clients",
    "noise",
    "paging",
    "scope",
    "brute_force",
    "client::",
    "broker::",
    "database",
    "changes",
    "power_loss",
    "bad_disk",
    "damage_",
    "steady",
];

/// The orders with which the dashboards and the console are measured.
const ORDERS: &str = "10000000";

/// Runs the part selected by the first argument, or all of them; the other parts only if the tests
/// passed. `growth` and `console` take another number of orders, a test name another number of
/// runs, of which `steady` takes one a minute.
pub(crate) fn run(arguments: &[String]) -> Result<ExitCode> {
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => match tests(&SIZED_TESTS, None)? {
            ExitCode::SUCCESS => {
                growth(ORDERS)?;
                console(ORDERS)?;
                neighbors()
            }
            failed => Ok(failed),
        },
        ["tests"] => tests(&SIZED_TESTS, None),
        ["growth"] => growth(ORDERS),
        ["growth", orders] => growth(orders),
        ["console"] => console(ORDERS),
        ["console", orders] => console(orders),
        ["neighbors"] => neighbors(),
        [name] if let Some(test) = sized_test(name) => tests(&[test], None),
        [name, runs] if let Some(test) = sized_test(name) => {
            let count: usize = runs.parse().with_context(|| format!("{runs}: a number of runs"))?;
            tests(&[test], Some(count))
        }
        _ => bail!(
            "soak takes `tests`, `growth [ORDERS]`, `console [ORDERS]`, `neighbors`, or one of {} \
             with a number of runs, or nothing; see `cargo xtask help`",
            SIZED_TESTS.map(shown).join(", ")
        ),
    }
}

/// Returns the words of the tests with a name as it is shown.
fn sized_test(name: &str) -> Option<&'static str> {
    SIZED_TESTS.into_iter().find(|test| shown(test) == name)
}

/// Returns the name by which an argument selects tests, such as `power-loss`.
fn shown(test: &str) -> String {
    test.trim_matches([':', '_']).replace('_', "-")
}

/// Pages of the console with orders of ten years, of 3,000 devices: at ten million orders, some
/// 20 GB of disk.
fn console(orders: &str) -> Result<ExitCode> {
    bench::run(&["--console", "--orders", orders, "--years", "10"])?;
    Ok(ExitCode::SUCCESS)
}

/// The dashboards at a million orders of one year, and at more of ten years: at ten million, some
/// 30 GB of disk, for the files of orders and the data made from them.
fn growth(orders: &str) -> Result<ExitCode> {
    ensure!(
        orders.parse::<u64>().is_ok_and(|orders| orders > 1_000_000),
        "`growth` compares with 1000000 orders: expected a larger number, not {orders:?}"
    );
    let figures = root()?.join("target/bench/dashboards.json").display().to_string();
    let common = ["--dashboards-only", "--one-import", "--json"];
    bench::run(&[&common[..], &[figures.as_str()]].concat())?;
    let more_figures = figures.replace("dashboards", &format!("dashboards-{orders}"));
    let more = ["--orders", orders, "--years", "10", "--slope-from"];
    bench::run(&[&common[..], &[more_figures.as_str()], &more, &[figures.as_str()]].concat())?;
    Ok(ExitCode::SUCCESS)
}

/// The calls of a small tenant, of the operator and of the console during each heavy load of
/// another tenant, compared with the same calls during processes that only compute.
fn neighbors() -> Result<ExitCode> {
    bench::run(&["--fairness"])?;
    Ok(ExitCode::SUCCESS)
}

/// Runs each kind of sized test, which print their own counts and seeds, and ends with a summary.
fn tests(names: &[&str], runs: Option<usize>) -> Result<ExitCode> {
    let database = Database::start()?;
    let mut summary = Summary::default();
    for (at, name) in names.iter().enumerate() {
        let mut tests =
            cargo("test --locked --no-fail-fast --workspace --profile soak -- --nocapture")?;
        database.share(tests.arg(name).env(SOAK, "1"));
        // A test that has several of the words runs once.
        tests.args(names[..at].iter().flat_map(|earlier| ["--skip", earlier]));
        tests.envs(runs.map(|runs| (RUNS, runs.to_string())));
        let mut run = test_run::run(name, &mut tests)?;
        if run.has_passed() && run.passed == 0 {
            run.fail(format!("no test has `{name}` in its name"));
        }
        summary.add(run);
    }
    Ok(summary.print())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::files_of_git;

    /// Calls and names by which a test gets its size, or reads the variable itself.
    const MARKS: [&str; 5] =
        [" size(", "(size(", " runs(", "(runs(", concat!("\"KIOSQUE", "_SOAK\"")];
    /// The files that define the size.
    const DEFINITIONS: [&str; 2] = ["harness.rs", "chance.rs"];

    /// Returns the sized tests of a file, by their names in `cargo test`.
    fn sized(file: &str) -> Vec<String> {
        let text = std::fs::read_to_string(root().expect("the root").join(file)).expect("a test");
        let (_, module) = file.split_once("/tests/it/").expect("an integration test");
        let module = module.trim_end_matches(".rs").replace('/', "::");
        let mut test = "";
        let mut found = Vec::new();
        for line in text.lines() {
            if let Some((_, rest)) = line.split_once("fn ") {
                test = rest.split('(').next().unwrap_or(rest);
            }
            if MARKS.iter().any(|mark| line.contains(mark)) {
                found.push(format!("{module}::{test}"));
            }
        }
        found
    }

    #[test]
    fn the_soak_runs_every_test_that_has_a_size() {
        let tests =
            ["kiosque", "server", "store"].map(|name| format!("crates/{name}/tests/it/*.rs"));
        let mut files = files_of_git(&tests.each_ref().map(String::as_str)).expect("tests");
        files.retain(|path| !DEFINITIONS.iter().any(|file| path.ends_with(file)));
        let found: Vec<String> = files.iter().flat_map(|file| sized(file)).collect();
        assert!(found.len() > 10, "{found:?}");
        let missed = found.iter().filter(|test| !SIZED_TESTS.iter().any(|one| test.contains(one)));
        let missed: Vec<&String> = missed.collect();
        assert!(missed.is_empty(), "not in SIZED_TESTS: {missed:?}");
    }
}
