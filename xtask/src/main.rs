//! The tasks of this repository: `cargo xtask help` lists them.

mod axe;
mod bench;
mod ci;
mod clients;
mod database;
mod debian;
mod deps;
mod fuzz;
mod openapi;
mod packages;
mod pictures;
mod process;
mod python_client;
mod snapshots;
mod soak;
mod spelling;
mod test;
mod test_run;
mod tidy;
mod tools;

use std::process::ExitCode;

use anyhow::{Result, bail};

const HELP: &str = "\
The tasks of this repository.

    cargo xtask <task> [arguments]

  test     all tests, those of the store and the server on both engines; installs the programs
           that they need. Arguments go to `cargo test`. --citus URL runs those of the store and
           the server on a Citus cluster instead, in schemas that remain
  ci       all that a change must pass, as .ci/run does
  tidy     the rules of this repository: lengths, dependencies, words, circles of imports …
  deps     licences and duplicates (cargo-deny), unused dependencies (cargo-machete)
  openapi  writes docs/openapi*.json, which a test compares
  clients  clients in Python and TypeScript, generated from these documents and tried with a demo
  python   the types and the tests of the Python package in clients/python
  pictures takes the pictures of docs/console.md again, with a browser
  package  the Debian package, in target/package; --check only checks its parts, as CI does
  bench    the load test against the bare limit. Arguments go to the bench
  soak     the scalable tests at their full sizes, the dashboards and the console at ten million
           orders, and the load of neighbors: takes long.
           [tests|growth [ORDERS]|console [ORDERS]|neighbors] runs one of them, and NAME [RUNS]
           the tests of one kind, such as power-loss, bad-disk and damage; steady [MINUTES] a mix of
           calls; two-versions with the program KIOSQUE_OTHER_PROGRAM. KIOSQUE_SEED repeats a run;
           runs with other seeds add up
  fuzz     every fuzz target, 600 seconds each: [TARGET] [--seconds N]
  help     this text

Examples:

    cargo xtask test                            everything
    cargo xtask test -p kiosque-store           one crate
    cargo xtask test -- switch_group            the tests with these words in their name
    cargo xtask soak bad-disk 100               a hundred runs on disks with errors
    cargo xtask fuzz body --seconds 60          one fuzz target for a minute
    cargo xtask ci                              before you push
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> Result<ExitCode> {
    let (task, rest) = match arguments {
        [] => ("help", arguments),
        [task, rest @ ..] => (task.as_str(), rest),
    };
    match task {
        // These two end with their own summary, with nothing after it.
        "test" => return test::run(rest),
        "soak" => return soak::run(rest),
        "bench" => bench::run(rest)?,
        "fuzz" => fuzz::run(rest)?,
        "openapi" => alone(rest, openapi::run)?,
        "package" => debian::run(rest)?,
        "help" | "--help" | "-h" => print!("{HELP}"),
        "ci" => alone(rest, ci::run)?,
        "clients" => alone(rest, clients::run)?,
        "python" => alone(rest, python_client::run)?,
        "pictures" => alone(rest, pictures::run)?,
        "tidy" => alone(rest, tidy::run)?,
        "deps" => alone(rest, deps::run)?,
        _ => bail!("there is no task `{task}`; `cargo xtask help` lists them"),
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs a task that takes no arguments, so that a misplaced one is not ignored.
fn alone(arguments: &[String], task: fn() -> Result<()>) -> Result<()> {
    match arguments {
        [] => task(),
        _ => bail!("this task takes no arguments; `cargo xtask help` shows examples"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_call_is_refused_and_points_to_the_help() {
        for call in
            [vec!["tests"], vec!["tidy", "crates"], vec!["soak", "all"], vec!["openapi", "--chek"]]
        {
            let call: Vec<String> = call.into_iter().map(str::to_owned).collect();
            let error = run(&call).expect_err("a wrong call").to_string();
            assert!(error.contains("cargo xtask help"), "{error}");
        }
    }
}
