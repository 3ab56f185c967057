//! Running tests and counting them: cargo reports each test binary alone, people ask for the whole.

use std::fmt;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::process::show;

/// What all test binaries of one run reported together.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Tests that passed.
    pub(crate) passed: u64,
    failed: u64,
    ignored: u64,
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Tally { passed, failed, ignored } = self;
        write!(f, "{passed} passed; {failed} failed; {ignored} ignored")
    }
}

impl Tally {
    /// Adds a line like `test result: ok. 3 passed; 0 failed; 0 ignored; …`; ignores every other.
    fn add(&mut self, line: &str) {
        let Some(counts) = line.strip_prefix("test result: ") else { return };
        let words: Vec<&str> = counts.split([' ', ';']).filter(|word| !word.is_empty()).collect();
        for pair in words.windows(2) {
            let Ok(count) = pair[0].parse::<u64>() else { continue };
            match pair[1] {
                "passed" => self.passed += count,
                "failed" => self.failed += count,
                "ignored" => self.ignored += count,
                _ => {}
            }
        }
    }
}

/// Runs a `cargo test`, passes on what it says, and ends with the tally of the whole.
pub(crate) fn run(command: &mut Command) -> Result<Tally> {
    let shown = show(command);
    eprintln!("$ {shown}");
    let starting = || format!("cannot start `{shown}`");
    let mut child = command.stdout(Stdio::piped()).spawn().with_context(starting)?;
    let mut output = BufReader::new(child.stdout.take().context("stdout is piped")?);

    let mut tally = Tally::default();
    let mut line = Vec::new();
    while output.read_until(b'\n', &mut line)? > 0 {
        std::io::stdout().write_all(&line)?;
        tally.add(&String::from_utf8_lossy(&line));
        line.clear();
    }
    let status = child.wait()?;
    println!("all tests: {tally}");
    if !status.success() {
        bail!("`{shown}` failed ({status})");
    }
    Ok(tally)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tally_sums_the_binaries_and_nothing_else() {
        let mut tally = Tally::default();
        for line in [
            "running 3 tests\n",
            "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 2 filtered out; in 0s\n",
            "test a::b ... ok\n",
            "7 passed; said by a test itself\n",
            "test result: FAILED. 10 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out\n",
        ] {
            tally.add(line);
        }
        assert_eq!(tally, Tally { passed: 13, failed: 2, ignored: 1 });
        assert_eq!(tally.to_string(), "13 passed; 2 failed; 1 ignored");
    }
}
