//! `cargo xtask bench`: the load test, with a release build of the program.

use std::ffi::OsStr;

use anyhow::Result;

use crate::process::{self, cargo};

/// Builds the program and runs the bench; the arguments go to the bench.
pub(crate) fn run(arguments: &[impl AsRef<OsStr>]) -> Result<()> {
    process::run(&mut cargo("build --release --locked --package kiosque")?)?;
    let mut bench = cargo("run --release --locked --package kiosque-bench --")?;
    process::run(bench.args(arguments))
}
