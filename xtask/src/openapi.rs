//! `cargo xtask openapi`: writes the OpenAPI documents that the program prints. A test of
//! `kiosque-openapi` compares them.

use std::fs;

use anyhow::Result;

use crate::process::{cargo, output, root};

/// Each document, and the arguments of the program that print it.
pub(crate) const DOCUMENTS: [(&str, &[&str]); 2] = [
    ("docs/openapi.json", &["openapi"]),
    ("docs/openapi-operator.json", &["openapi", "--operator"]),
];

/// Writes the documents.
pub(crate) fn run() -> Result<()> {
    for (document, arguments) in DOCUMENTS {
        let mut command = cargo("run --quiet --locked --package kiosque --")?;
        fs::write(root()?.join(document), output(command.args(arguments))?)?;
        eprintln!("wrote {document}");
    }
    Ok(())
}
