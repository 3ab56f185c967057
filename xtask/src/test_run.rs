//! Runs `cargo test`, adds up the results of its test programs, and lists the tests that failed.

use std::fmt;
use std::io::{BufRead, BufReader, IsTerminal, Write};
use std::process::{Command, ExitCode, Stdio};

use anstream::adapter::strip_str;
use anyhow::{Context, Result};

use crate::process::show;

/// The results of one `cargo test`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Run {
    /// Its name in the summary, such as the engine that it ran on.
    name: String,
    /// Tests that passed.
    pub(crate) passed: u64,
    failed: u64,
    ignored: u64,
    /// Each failed test with its package.
    failures: Vec<String>,
    /// What the failed tests printed, each below its name.
    output: String,
}

impl Run {
    /// Whether no test failed.
    pub(crate) fn has_passed(&self) -> bool {
        self.failed == 0
    }

    /// Counts a failure other than a test's.
    pub(crate) fn fail(&mut self, reason: impl Into<String>) {
        self.failed += 1;
        self.failures.push(reason.into());
    }
}

/// The results of several runs. Displayed, it begins with what the failed tests printed, since that
/// is far above in the output of all tests, and ends with the line `N passed, N failed`.
#[derive(Debug, Default)]
pub(crate) struct Summary(Vec<Run>);

impl Summary {
    /// Adds a run.
    pub(crate) fn add(&mut self, run: Run) {
        self.0.push(run);
    }

    /// Prints the summary and returns whether every test passed.
    pub(crate) fn print(&self) -> ExitCode {
        println!("\n{self}");
        match self.0.iter().all(Run::has_passed) {
            true => ExitCode::SUCCESS,
            false => ExitCode::FAILURE,
        }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|run| f.write_str(&run.output))?;
        for Run { name, passed, failed, ignored, .. } in &self.0 {
            writeln!(f, "{name}: {passed} passed, {failed} failed, {ignored} ignored")?;
        }
        for run in &self.0 {
            for failure in &run.failures {
                writeln!(f, "failed on {}: {failure}", run.name)?;
            }
        }
        let total = |count: fn(&Run) -> u64| self.0.iter().map(count).sum::<u64>();
        write!(f, "{} passed, {} failed", total(|run| run.passed), total(|run| run.failed))
    }
}

/// Runs a `cargo test`, shows its output as it arrives, and returns the results. Failed tests are
/// part of the results and not an error.
pub(crate) fn run(name: &str, command: &mut Command) -> Result<Run> {
    run_into(&mut std::io::stdout(), name, command)
}

fn run_into(shown_on: &mut impl Write, name: &str, command: &mut Command) -> Result<Run> {
    let shown = show(command);
    eprintln!("$ {shown}");
    // One pipe for both outputs: cargo prints a package on stderr after the results on stdout.
    let (output, input) = std::io::pipe().context("a pipe for the tests' output")?;
    if std::io::stderr().is_terminal() {
        command.env("CARGO_TERM_COLOR", "always");
    }
    command.stdout(input.try_clone()?).stderr(input);
    let mut child = command.spawn().with_context(|| format!("cannot start `{shown}`"))?;
    // The command keeps the writing ends open, and reading would not end before they close.
    command.stdout(Stdio::null()).stderr(Stdio::null());

    let mut parser = Parser::new(name);
    let mut output = BufReader::new(output);
    let mut line = Vec::new();
    while output.read_until(b'\n', &mut line)? > 0 {
        shown_on.write_all(&line)?;
        parser.read(&String::from_utf8_lossy(&line));
        line.clear();
    }
    let status = child.wait()?;
    let mut run = parser.finish();
    if !status.success() && run.has_passed() {
        run.fail(format!("`{shown}` ({status})"));
    }
    Ok(run)
}

/// Parses the output of cargo and of the test programs that it runs one after the other.
#[derive(Default)]
struct Parser {
    run: Run,
    /// Whether a test program has begun and not yet given its results.
    is_open: bool,
    /// The latest list of failed tests.
    listed: Vec<String>,
    is_in_list: bool,
    /// Failed tests of the latest test program, until cargo prints its package.
    unnamed: Vec<String>,
}

impl Parser {
    fn new(name: &str) -> Parser {
        Parser { run: Run { name: name.to_owned(), ..Run::default() }, ..Parser::default() }
    }

    fn read(&mut self, line: &str) {
        // Without the escape sequences by which cargo colours its words.
        let line = strip_str(line).to_string();
        let line = line.trim_end();
        if self.is_in_list {
            self.run.output += line;
            self.run.output += "\n";
        }
        if let Some(counts) = line.strip_prefix("test result: ") {
            self.count(counts);
            self.unnamed.append(&mut self.listed);
            (self.is_open, self.is_in_list) = (false, false);
        } else if line.starts_with("running ") {
            self.is_open |= line.ends_with(" tests") || line.ends_with(" test");
        } else if line == "failures:" {
            // The first such line of a program heads the failed tests' output, the second the list.
            self.listed.clear();
            self.is_in_list = true;
        } else if let Some(package) = failed_package(line) {
            self.name_package(package);
        } else if let Some(test) = line.strip_prefix("    ").filter(|_| self.is_in_list) {
            self.listed.push(test.to_owned());
        }
    }

    /// Adds counts like `ok. 3 passed; 0 failed; 0 ignored; …`.
    fn count(&mut self, counts: &str) {
        let words: Vec<&str> = counts.split([' ', ';']).filter(|word| !word.is_empty()).collect();
        for pair in words.windows(2) {
            let Ok(count) = pair[0].parse::<u64>() else { continue };
            match pair[1] {
                "passed" => self.run.passed += count,
                "failed" => self.run.failed += count,
                "ignored" => self.run.ignored += count,
                _ => {}
            }
        }
    }

    fn name_package(&mut self, package: &str) {
        if self.is_open {
            self.run.failed += 1;
            self.unnamed.push("a test program ended without its results".to_owned());
            self.is_open = false;
        }
        let named = self.unnamed.drain(..).map(|test| format!("{package}: {test}"));
        self.run.failures.extend(named);
    }

    fn finish(mut self) -> Run {
        self.run.failures.append(&mut self.unnamed);
        self.run
    }
}

/// The package of a line like ``error: test failed, to rerun pass `-p kiosque-store --test it` ``.
fn failed_package(line: &str) -> Option<&str> {
    let (error, arguments) = line.split_once(" failed, to rerun pass `")?;
    let package = arguments.split_once("-p ").map_or("", |(_, rest)| rest);
    error.starts_with("error: ").then(|| package.split([' ', '`']).next().unwrap_or(package))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Run {
        let mut parser = Parser::new("SQLite");
        text.lines().for_each(|line| parser.read(line));
        parser.finish()
    }

    const FAILED: &str = "\
running 3 tests
test a::b ... ok
test a::c ... FAILED

failures:

---- a::c stdout ----
    indented output of the test
7 passed; said by a test itself
failures:
    a::c

test result: FAILED. 10 passed; 1 failed; 2 ignored; 0 measured; 0 filtered out; in 0.1s

\u{1b}[1m\u{1b}[91merror\u{1b}[0m: test failed, to rerun pass `-p kiosque-store --test it`
";

    #[test]
    fn results_are_added_up_and_failures_named() {
        let passed = "running 1 test\ntest result: ok. 3 passed; 0 failed; 1 ignored; in 0s\n";
        let run = read(&[passed, FAILED, passed].concat());
        assert_eq!((run.passed, run.failed, run.ignored), (16, 1, 4));
        assert_eq!(run.failures, ["kiosque-store: a::c"]);
    }

    #[test]
    fn a_program_that_ends_without_results_has_failed() {
        let aborted = "running 2 tests\ntest ok ... ok\n\
                       error: test failed, to rerun pass `-p kiosque --lib`\n";
        let run = read(&[aborted, FAILED].concat());
        assert_eq!((run.passed, run.failed), (10, 2));
        let ended = "kiosque: a test program ended without its results";
        assert_eq!(run.failures, [ended, "kiosque-store: a::c"]);
    }

    #[test]
    fn the_summary_repeats_the_output_of_failed_tests_and_ends_with_the_totals() {
        let mut summary = Summary::default();
        let mut other = read(FAILED);
        other.name = "PostgreSQL".to_owned();
        other.fail("`cargo test` (exit status: 101)");
        summary.add(read("test result: ok. 3 passed; 0 failed; 0 ignored\n"));
        summary.add(other);
        let expected = "\n---- a::c stdout ----\n    indented output of the test\n\
                        7 passed; said by a test itself\nfailures:\n    a::c\n\n\
                        test result: FAILED. 10 passed; 1 failed; 2 ignored; 0 measured; \
                        0 filtered out; in 0.1s\n\
                        SQLite: 3 passed, 0 failed, 0 ignored\n\
                        PostgreSQL: 10 passed, 2 failed, 2 ignored\n\
                        failed on PostgreSQL: kiosque-store: a::c\n\
                        failed on PostgreSQL: `cargo test` (exit status: 101)\n\
                        13 passed, 2 failed";
        assert_eq!(summary.to_string(), expected);
    }

    /// A failed command, and one that reports failed tests, are results and not errors.
    #[test]
    fn a_command_that_fails_is_counted() {
        let of = |script: &str| {
            let mut shown = Vec::new();
            run_into(&mut shown, "SQLite", Command::new("sh").args(["-c", script])).expect("sh")
        };
        let failed = of("echo 'test result: FAILED. 1 passed; 1 failed; 0 ignored' >&2; exit 101");
        assert_eq!((failed.passed, failed.failed), (1, 1));
        let broken = of("echo compiling; exit 101");
        assert_eq!((broken.passed, broken.failed), (0, 1));
        assert!(broken.failures[0].contains("exit status: 101"), "{broken:?}");
        assert_eq!(of("echo 'test result: ok. 2 passed; 0 failed'").failed, 0);
    }
}
