//! `cargo xtask openapi`: the committed OpenAPI documents are those that the program prints.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use crate::process::{cargo, output, root};

/// Each document, and the arguments of the program that print it.
const DOCUMENTS: [(&str, &[&str]); 2] = [
    ("docs/openapi.json", &["openapi"]),
    ("docs/openapi-operator.json", &["openapi", "--operator"]),
];

/// Writes the documents, or only compares them.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        [] => write(),
        ["--check"] => check(),
        _ => bail!("openapi takes nothing or --check; `cargo xtask help` shows examples"),
    }
}

/// Fails when a committed document is not the generated one.
pub(crate) fn check() -> Result<()> {
    for (document, arguments) in DOCUMENTS {
        let committed =
            fs::read(path(document)?).with_context(|| format!("there is no {document}"))?;
        let generated = generate(arguments)?;
        if committed != generated {
            let line = first_difference(&committed, &generated);
            bail!("{document} differs from line {line} on: run `cargo xtask openapi` and commit it")
        }
    }
    Ok(())
}

fn write() -> Result<()> {
    for (document, arguments) in DOCUMENTS {
        fs::write(path(document)?, generate(arguments)?)?;
        eprintln!("wrote {document}");
    }
    Ok(())
}

fn path(document: &str) -> Result<PathBuf> {
    Ok(root()?.join(document))
}

fn generate(arguments: &[&str]) -> Result<Vec<u8>> {
    let mut command = cargo(["run", "--quiet", "--locked", "--package", "kiosque", "--"])?;
    output(command.args(arguments))
}

/// Returns the number of the first line in which two different texts differ, from 1.
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
