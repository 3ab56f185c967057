//! `cargo xtask openapi`: the committed OpenAPI document is the one that the wire types give.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use crate::process::{cargo, output, root};

const DOCUMENT: &str = "docs/openapi.json";

/// Writes the document, or only compares it.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        [] => write(),
        ["--check"] => check(),
        _ => bail!("openapi takes nothing or --check; `cargo xtask help` shows examples"),
    }
}

/// Fails when the committed document is not the generated one.
pub(crate) fn check() -> Result<()> {
    let committed = fs::read(path()?).with_context(|| format!("there is no {DOCUMENT}"))?;
    let generated = generate()?;
    if committed == generated {
        return Ok(());
    }
    let line = first_difference(&committed, &generated);
    bail!("{DOCUMENT} differs from line {line} on: run `cargo xtask openapi` and commit it")
}

fn write() -> Result<()> {
    let path = path()?;
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(&path, generate()?)?;
    eprintln!("wrote {DOCUMENT}");
    Ok(())
}

fn path() -> Result<PathBuf> {
    Ok(root()?.join(DOCUMENT))
}

fn generate() -> Result<Vec<u8>> {
    output(&mut cargo(["run", "--quiet", "--locked", "--package", "kiosque", "--", "openapi"])?)
}

/// The number of the first line in which two different texts differ, from 1.
fn first_difference(one: &[u8], other: &[u8]) -> usize {
    let alike = one.iter().zip(other).take_while(|(a, b)| a == b);
    1 + alike.filter(|(byte, _)| **byte == b'\n').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_that_differs_is_named() {
        assert_eq!(first_difference(b"a\nb\nc\n", b"a\nb\nd\n"), 3);
        assert_eq!(first_difference(b"a\nb\n", b"a\nb\nc\n"), 3);
        assert_eq!(first_difference(b"x", b"y"), 1);
    }
}
