//! `cargo xtask fuzz`: every target of `fuzz/`, each for a while.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use anyhow::{Context, Result, bail};

use crate::process::{cargo, root, show};
use crate::{packages, tools};

const SECONDS: u64 = 600;

/// Fuzzes one target or all of them, and ends with a table of the runs.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (target, seconds) = read(&words)?;
    let all = targets()?;
    let chosen = match target.map(str::to_owned) {
        None => all,
        Some(target) if all.contains(&target) => vec![target],
        Some(target) => bail!("there is no fuzz target `{target}`; there are: {}", all.join(", ")),
    };
    packages::ensure(packages::FOR_FUZZ)?;
    tools::ensure("fuzz", "0.13.2")?;

    let mut findings = Vec::new();
    let mut rows = Vec::new();
    for target in chosen {
        let (is_clean, text) = fuzz(&target, seconds)?;
        rows.push(format!("{target:<20} {text}"));
        if !is_clean {
            findings.push(target);
        }
    }
    println!("\n{}", rows.join("\n"));
    match findings.is_empty() {
        true => Ok(()),
        false => bail!("findings in {}: see fuzz/artifacts", findings.join(", ")),
    }
}

/// Returns the target, if the arguments name one, and the seconds of each.
fn read<'a>(words: &[&'a str]) -> Result<(Option<&'a str>, u64)> {
    let (target, seconds) = match *words {
        [] => (None, None),
        ["--seconds", seconds] => (None, Some(seconds)),
        ["--seconds", seconds, target] | [target, "--seconds", seconds] => {
            (Some(target), Some(seconds))
        }
        [target] if !target.starts_with('-') => (Some(target), None),
        _ => bail!("fuzz takes [TARGET] [--seconds N]; `cargo xtask help` shows an example"),
    };
    let seconds = seconds.map_or(Ok(SECONDS), str::parse);
    Ok((target, seconds.context("--seconds wants a number of seconds")?))
}

/// The names of the targets, in order.
fn targets() -> Result<Vec<String>> {
    let directory = root()?.join("fuzz/fuzz_targets");
    let mut names = Vec::new();
    for entry in fs::read_dir(&directory).context("there is no fuzz/fuzz_targets")? {
        let file = entry?.file_name().to_string_lossy().into_owned();
        names.extend(file.strip_suffix(".rs").map(str::to_owned));
    }
    names.sort();
    Ok(names)
}

/// Returns whether there was no finding, and the result in words.
fn fuzz(target: &str, seconds: u64) -> Result<(bool, String)> {
    // New inputs go into the first directory; the second is only read, and is committed.
    let (corpus, seeds) = (format!("fuzz/corpus/{target}"), format!("fuzz/seeds/{target}"));
    fs::create_dir_all(root()?.join(&corpus)).with_context(|| format!("cannot make {corpus}"))?;
    let limit = format!("-max_total_time={seconds}");
    let run = format!("fuzz run --fuzz-dir fuzz {target} {corpus} {seeds} -- {limit}");
    let mut command = cargo(&run)?;
    // The sanitizer's flags belong to nightly compilers; with this, the stable one accepts them.
    command.env("RUSTC_BOOTSTRAP", "1").stderr(Stdio::piped());
    eprintln!("$ {}", show(&command));
    let mut child = command.spawn().context("cannot start cargo fuzz")?;
    let mut output = BufReader::new(child.stderr.take().context("stderr is piped")?);

    let mut done = None;
    let mut line = Vec::new();
    while output.read_until(b'\n', &mut line)? > 0 {
        std::io::stderr().write_all(&line)?;
        let text = String::from_utf8_lossy(&line);
        // libFuzzer's last line, such as "Done 1234 runs in 601 second(s)".
        done = text.starts_with("Done ").then(|| text.trim().to_owned()).or(done);
        line.clear();
    }
    let status = child.wait()?;
    Ok(match done {
        Some(text) if status.success() => (true, format!("{text}, clean")),
        _ => (false, format!("FINDING or failure ({status})")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn target_and_seconds_come_in_either_order() {
        let read = |line: &'static str| read(&line.split_whitespace().collect::<Vec<_>>());
        assert_eq!(read("").expect("nothing"), (None, 600));
        assert_eq!(read("--seconds 5").expect("all targets"), (None, 5));
        for line in ["body --seconds 5", "--seconds 5 body"] {
            assert_eq!(read(line).expect(line), (Some("body"), 5));
        }
        for line in ["--seconds", "--seconds soon", "body date", "--second 5"] {
            read(line).expect_err(line);
        }
    }
}
