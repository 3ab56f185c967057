//! `cargo xtask python`: the types and the tests of the Python package in `clients/python`.

use anyhow::Result;

use crate::clients::{built_kiosque, python_packages};
use crate::process::{program, root, run as run_command};

/// The build tool of the package, its dependency, and its type checker.
const PYTHON_PACKAGES: [&str; 3] = ["hatchling==1.33.0", "urllib3==2.8.0", "mypy==1.18.2"];

/// Installs the package, checks its types, and runs its tests with the current program. A warning
/// of Python is a failure.
pub(crate) fn run() -> Result<()> {
    let kiosque = built_kiosque()?;
    let tools = python_packages(root()?.join("target/python-client"), &PYTHON_PACKAGES)?;
    let package = root()?.join("clients/python");
    let mut pip = program(tools.join("bin/pip"))?;
    pip.args(["install", "--quiet", "--no-index", "--no-deps", "--no-build-isolation"]);
    run_command(pip.arg("--force-reinstall").arg(&package))?;
    let mut mypy = program(tools.join("bin/mypy"))?;
    mypy.args(["--strict", "--cache-dir", "/dev/null"]).arg("src/kiosque_client");
    run_command(mypy.current_dir(&package))?;
    let mut python = program(tools.join("bin/python"))?;
    python.args(["-B", "-W", "error", "-m", "unittest"]).current_dir(&package);
    run_command(python.env("KIOSQUE_PROGRAM", kiosque))
}
