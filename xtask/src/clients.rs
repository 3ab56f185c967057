//! `cargo xtask clients`: clients that are generated from the OpenAPI documents compile, and work
//! against a demo.

use std::env;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Stdio};

use anyhow::{Context, Result};

use crate::openapi::DOCUMENTS;
use crate::packages;
use crate::process::{cargo, program, root, run as run_command, target};

/// The generator of Python clients, and the checker of the types of the code that uses them.
const PYTHON_PACKAGES: [&str; 2] = ["openapi-python-client==0.29.1", "mypy==1.18.2"];
/// The packages of the clients that the generator creates from the documents. It warns about bodies
/// of lines, which the operator's document has in addition to JSON bodies.
const PYTHON_CLIENTS: [(&str, &str, &[&str]); 2] = [
    (DOCUMENTS[0].0, "kiosque_client", &["--fail-on-warning"]),
    (DOCUMENTS[1].0, "kiosque_operator_client", &[]),
];
/// The generator of TypeScript types, a client that uses them, and the compiler.
const NPM_PACKAGES: [&str; 3] =
    ["openapi-typescript@7.13.0", "openapi-fetch@0.17.0", "typescript@5.9.3"];

/// Generates the clients, compiles them and uses them.
pub(crate) fn run() -> Result<()> {
    packages::ensure(packages::FOR_CLIENTS)?;
    let kiosque = built_kiosque()?;
    let directory = root()?.join("target/clients");
    fs::create_dir_all(&directory)?;
    // The clients send orders that an earlier run has already sent.
    let data = directory.join("demo");
    if data.exists() {
        fs::remove_dir_all(&data)?;
    }
    let demo = Demo::start(&kiosque, &data)?;
    python(&directory, &demo)?;
    typescript(&directory, &demo)
}

/// Builds the program, and returns its path.
pub(crate) fn built_kiosque() -> Result<PathBuf> {
    run_command(&mut cargo("build --quiet --locked --package kiosque")?)?;
    Ok(target()?.join("debug/kiosque"))
}

/// Returns the directory of programs that `install` has installed. It is called if these packages
/// are not installed yet.
fn installed(
    directory: PathBuf,
    packages: &[&str],
    install: impl FnOnce(&Path) -> Result<()>,
) -> Result<PathBuf> {
    let list = packages.join("\n");
    let mark = directory.join("installed");
    if fs::read_to_string(&mark).is_ok_and(|installed| installed == list) {
        return Ok(directory);
    }
    if directory.exists() {
        fs::remove_dir_all(&directory)?;
    }
    fs::create_dir_all(&directory)?;
    install(&directory).with_context(|| format!("{list}: needed, and not installed"))?;
    fs::write(mark, list)?;
    Ok(directory)
}

/// Returns a directory in which npm has installed these packages.
pub(crate) fn npm_packages(directory: PathBuf, packages: &[&str]) -> Result<PathBuf> {
    installed(directory, packages, |directory| {
        fs::write(directory.join("package.json"), "{\"type\": \"module\", \"private\": true}\n")?;
        let mut npm = program("npm")?;
        npm.args(["install", "--silent", "--no-fund", "--no-audit"]).args(packages);
        run_command(npm.current_dir(directory))
    })
}

/// Returns a virtual environment in which pip has installed these packages.
pub(crate) fn python_packages(directory: PathBuf, names: &[&str]) -> Result<PathBuf> {
    packages::ensure(packages::FOR_PYTHON)?;
    installed(directory, names, |directory| {
        run_command(program("python3")?.args(["-m", "venv"]).arg(directory))?;
        let mut pip = program(directory.join("bin/pip"))?;
        run_command(pip.args(["install", "--quiet"]).args(names))
    })
}

fn python(directory: &Path, demo: &Demo) -> Result<()> {
    let tools = python_packages(directory.join("python-tools"), &PYTHON_PACKAGES)?;
    let clients = directory.join("python");
    fs::create_dir_all(&clients)?;
    // The generator formats its code with ruff, one of its dependencies.
    let path = env::join_paths([tools.join("bin"), PathBuf::from("/usr/bin"), "/bin".into()])?;
    for (document, package, more) in PYTHON_CLIENTS {
        let mut generate = program(tools.join("bin/openapi-python-client"))?;
        generate.args(["generate", "--overwrite", "--meta", "none"]).args(more).env("PATH", &path);
        generate.args(["--path", document]);
        run_command(generate.arg("--output-path").arg(clients.join(package)))?;
    }
    let script = root()?.join("xtask/clients/use_client.py");
    let mut mypy = program(tools.join("bin/mypy"))?;
    mypy.args(["--strict", "--follow-imports", "silent", "--cache-dir", "/dev/null"]);
    run_command(mypy.arg(&script).env("MYPYPATH", &clients))?;
    let mut python = program(tools.join("bin/python"))?;
    python.arg(&script).args([&demo.base_url, &demo.operator, &demo.key]).arg(&demo.certificate);
    run_command(python.env("PYTHONPATH", &clients))
}

fn typescript(directory: &Path, demo: &Demo) -> Result<()> {
    let tools = npm_packages(directory.join("typescript"), &NPM_PACKAGES)?;
    let bin = tools.join("node_modules/.bin");
    for ((document, _), types) in DOCUMENTS.into_iter().zip(["kiosque.d.ts", "operator.d.ts"]) {
        let mut generate = program(bin.join("openapi-typescript"))?;
        run_command(generate.args([document, "--output"]).arg(tools.join(types)))?;
    }
    for file in ["use_client.ts", "tsconfig.json"] {
        fs::copy(root()?.join("xtask/clients").join(file), tools.join(file))?;
    }
    run_command(program(bin.join("tsc"))?.arg("--project").arg(&tools))?;
    let mut node = program("node")?;
    node.arg("use_client.js").arg(&demo.base_url).current_dir(&tools);
    run_command(node.env("NODE_EXTRA_CA_CERTS", &demo.certificate))
}

/// A demo that serves until it is dropped.
struct Demo {
    process: Child,
    /// Open as long as the demo may print.
    _output: BufReader<ChildStdout>,
    base_url: String,
    /// The address of the operator's listener, and a key for it.
    operator: String,
    key: String,
    certificate: PathBuf,
}

impl Demo {
    fn start(kiosque: &Path, directory: &Path) -> Result<Demo> {
        let mut command = program(kiosque)?;
        command.args(["demo", "--quiet", "--listen", "127.0.0.1:0"]);
        command.args(["--operator-listen", "127.0.0.1:0"]).arg("--data").arg(directory);
        let mut process = command.stdout(Stdio::piped()).spawn().context("cannot start a demo")?;
        let mut output = BufReader::new(process.stdout.take().context("stdout is a pipe")?);
        let mut lines = output.by_ref().lines().map_while(Result::ok);
        let mut next = |name: &str| {
            let value = lines.find_map(|line| printed(&line, name));
            value.with_context(|| format!("the demo printed no `{name}`"))
        };
        let (base_url, operator, key) = (next("base URL")?, next("operator")?, next("key")?);
        let operator = operator.trim_end_matches("/operator/v1").to_owned();
        let certificate = directory.join("tls/cert.pem");
        Ok(Demo { process, _output: output, base_url, operator, key, certificate })
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Returns the value in a line of the demo that begins with a name.
fn printed(line: &str, name: &str) -> Option<String> {
    let value = line.strip_prefix(name)?.strip_prefix(' ')?;
    value.split_whitespace().next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_found_between_its_name_and_what_is_said_of_it() {
        let found = printed("key        kqo_1  (all rights, until the next demo)", "key");
        assert_eq!(found.as_deref(), Some("kqo_1"));
        assert_eq!(printed("keys       none", "key"), None);
    }
}
