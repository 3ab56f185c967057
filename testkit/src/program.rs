//! Runs the program in separate processes, to its end or as a server.

use std::ffi::OsString;
use std::io::{BufReader, Read, Write};
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use serde_json::Value;
use tempfile::TempDir;

use crate::blocking::Client;
use crate::paths::ORDERS_CALL;
use crate::reply::Reply;
use crate::wait::{WAIT_MAX, wait_until};

/// The arguments of a server on free ports.
pub const SERVE: [&str; 5] =
    ["serve", "--listen", "127.0.0.1:0", "--operator-listen", "127.0.0.1:0"];

/// The program under test, by the path of its file.
#[derive(Clone, Copy, Debug)]
pub struct Program(pub &'static str);

impl Program {
    /// Returns a command with a fixed terminal width and no input, and without the settings in the
    /// environment of the tests.
    pub fn command(self) -> Command {
        let mut command = Command::new(self.0);
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("KIOSQUE_") {
                command.env_remove(name);
            }
        }
        command.env("COLUMNS", "100").stdin(Stdio::null());
        command
    }

    /// Returns an empty sandbox.
    pub fn sandbox(self) -> Sandbox {
        let directory = Arc::new(TempDir::new().unwrap());
        Sandbox { directory, program: self, store: None, environment: Vec::new() }
    }

    /// Returns a sandbox with data in a time zone, to which a fleet (TOML) was applied.
    pub fn sandbox_with(self, fleet: impl AsRef<str>, zone: &str) -> Sandbox {
        let sandbox = self.sandbox();
        let fleet = sandbox.file("fleet.toml", fleet.as_ref());
        sandbox.run(&["apply", &fleet, "--timezone", zone]).success();
        sandbox
    }
}

/// The result of a command that ended.
#[derive(Debug)]
pub struct Ran {
    /// The exit status.
    pub status: i32,
    /// Everything it printed on stdout.
    pub stdout: String,
    /// Everything it printed on stderr, but for the time that it took.
    pub stderr: String,
    /// The time that it printed at the end, such as `8.2 s`.
    pub took: Option<String>,
}

impl Ran {
    /// Runs a command to its end.
    pub fn of(command: &mut Command) -> Ran {
        Ran::from(command.output().unwrap())
    }

    /// Runs a command to its end, with `input` on its stdin.
    pub fn of_input(command: &mut Command, input: &[u8]) -> Ran {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input).unwrap();
        Ran::from(child.wait_with_output().unwrap())
    }

    /// Returns the result of a command that was run elsewhere.
    pub fn from(output: Output) -> Ran {
        let [stdout, mut stderr] =
            [output.stdout, output.stderr].map(|printed| String::from_utf8(printed).unwrap());
        let last = stderr.trim_end().rfind('\n').map_or(0, |end| end + 1);
        let took = stderr[last..].trim_end().strip_prefix("took ").map(str::to_owned);
        stderr.truncate(if took.is_some() { last } else { stderr.len() });
        Ran { status: output.status.code().unwrap(), stdout, stderr, took }
    }

    /// Asserts that the command succeeded.
    #[track_caller]
    pub fn success(self) -> Ran {
        assert_eq!(self.status, 0, "{self:?}");
        self
    }

    /// Returns the numbers of an import's `… accepted, … updated, … unchanged, … rejected`.
    #[track_caller]
    pub fn counts(&self) -> [usize; 4] {
        let mut numbers = self.stdout.split([' ', ',']).filter_map(|word| word.parse().ok());
        [(); 4].map(|()| numbers.next().unwrap())
    }

    /// Returns the output for a snapshot: stdout, the lines of stderr, each after an exclamation
    /// mark, and the exit status if it is not 0.
    pub fn transcript(&self) -> String {
        let mut shown = self.stdout.clone();
        for line in self.stderr.lines() {
            shown.push_str(&format!("! {line}\n"));
        }
        match self.status {
            0 => shown,
            status => format!("{shown}exit status {status}\n"),
        }
    }

    /// Asserts that the command failed.
    #[track_caller]
    pub fn failure(self) -> Ran {
        assert_eq!(self.status, 1, "{self:?}");
        self
    }
}

/// A separate directory for one test: the data in `data`, other files next to it. Clones share it.
#[derive(Clone)]
pub struct Sandbox {
    /// The directory.
    pub directory: Arc<TempDir>,
    program: Program,
    /// The address of the database that has the data.
    store: Option<String>,
    environment: Vec<(&'static str, OsString)>,
}

impl Sandbox {
    /// Returns the sandbox with its data in a database at this address.
    #[must_use]
    pub fn on(self, store: &str) -> Sandbox {
        Sandbox { store: Some(store.to_owned()), ..self }
    }

    /// Returns the same sandbox with commands of another version of the program.
    #[must_use]
    pub fn run_by(&self, program: Program) -> Sandbox {
        Sandbox { program, ..self.clone() }
    }

    /// Returns the same sandbox with a variable in the environment of its commands.
    #[must_use]
    pub fn with_variable(&self, name: &'static str, value: impl Into<OsString>) -> Sandbox {
        let mut sandbox = self.clone();
        sandbox.environment.push((name, value.into()));
        sandbox
    }

    /// Returns the directory of the data.
    pub fn data(&self) -> PathBuf {
        self.directory.path().join("data")
    }

    /// Returns the file of the self-signed certificate that a server makes.
    pub fn certificate(&self) -> PathBuf {
        self.data().join("tls/cert.pem")
    }

    /// Returns the path of a file in the directory.
    pub fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Writes a file and returns its path.
    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        std::fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// Returns the text of a file.
    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// Returns the command with this directory's data, which is not started yet.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = self.program.command();
        command.args(args).arg("--data").arg(self.data()).current_dir(self.directory.path());
        command.args(self.store.iter().flat_map(|store| ["--store", store]));
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Starts the command with these arguments, without waiting for anything.
    pub fn spawn(&self, args: &[&str]) -> Served {
        Served::spawn(&mut self.command(args), &self.certificate())
    }

    /// Runs the command with these arguments to its end.
    #[must_use]
    pub fn run(&self, args: &[&str]) -> Ran {
        Ran::of(&mut self.command(args))
    }

    /// Runs commands one after the other. Returns each with its output, for a snapshot, with `DIR`
    /// in place of the directory.
    pub fn transcript(&self, commands: &[&[&str]]) -> String {
        let mut shown = String::new();
        for args in commands {
            let ran = self.run(args);
            shown.push_str(&format!("$ kiosque {}\n{}\n", args.join(" "), ran.transcript()));
        }
        shown.replace(self.directory.path().to_str().unwrap(), "DIR")
    }

    /// Returns what a command prints as JSON, with success.
    #[track_caller]
    pub fn json(&self, args: &[&str]) -> Value {
        let ran = self.run(&[args, &["--output", "json"]].concat()).success();
        serde_json::from_str(&ran.stdout).unwrap()
    }

    /// Applies a fleet, in TOML, with success.
    #[track_caller]
    pub fn apply(&self, fleet: impl AsRef<[u8]>) -> Ran {
        self.run(&["apply", &self.file("fleet.toml", fleet)]).success()
    }

    /// Returns the access rights of a file or directory.
    #[track_caller]
    pub fn mode(&self, name: impl AsRef<Path>) -> u32 {
        self.path(name).metadata().unwrap().permissions().mode() & 0o777
    }

    /// Imports orders in NDJSON, with success.
    #[track_caller]
    pub fn import(&self, orders: impl AsRef<[u8]>) -> Ran {
        self.run_with_input(&["import", "orders", "-"], orders.as_ref()).success()
    }

    /// Creates an operator's key; the arguments are its name and, if not all, its rights.
    #[track_caller]
    pub fn create_key(&self, args: &[&str]) -> String {
        let ran = self.run(&[&["operator-key", "create"], args].concat()).success();
        ran.stdout.trim_end().to_owned()
    }

    /// Returns the number of entries of an event in the audit trail, at most 10,000.
    pub fn trail_entries(&self, event: &str) -> usize {
        let trail = self.json(&["audit", "--limit", "10000", "--event", event]);
        trail.as_array().unwrap().len()
    }

    /// Verifies the data, with success, and returns the number of its orders.
    #[track_caller]
    pub fn verified(&self) -> usize {
        let said = self.run(&["verify"]).success().stdout;
        assert!(said.ends_with(", no difference\n"), "{said}");
        said.split(' ').nth(1).unwrap().parse().unwrap()
    }

    /// Runs the command with `input` on its stdin.
    #[must_use]
    pub fn run_with_input(&self, args: &[&str], input: &[u8]) -> Ran {
        Ran::of_input(&mut self.command(args), input)
    }

    /// Serves the data on free ports.
    pub fn serve(&self) -> Served {
        self.serve_with(&[])
    }

    /// Serves the data on free ports, with more arguments.
    pub fn serve_with(&self, more: &[&str]) -> Served {
        self.start(&mut self.command(&[&SERVE, more].concat()))
    }

    /// Starts a server that shows the certificate of the data.
    pub fn start(&self, command: &mut Command) -> Served {
        Served::start(command, &self.certificate())
    }

    /// Runs statements on the database. A transaction that they begin is open until the connection
    /// is dropped.
    pub fn run_sql(&self, sql: &str) -> Connection {
        let connection = Connection::open(self.data().join("kiosque.db")).unwrap();
        connection.execute_batch(sql).unwrap();
        connection
    }

    /// Returns the path and the content of every file in the directory.
    pub fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut found = Vec::new();
        let mut directories = vec![self.directory.path().to_owned()];
        while let Some(directory) = directories.pop() {
            for entry in std::fs::read_dir(directory).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    directories.push(path);
                } else {
                    found.push((path.clone(), std::fs::read(path).unwrap()));
                }
            }
        }
        found
    }

    /// Returns the paths of the files in the directory that contain a text.
    pub fn files_with(&self, text: &str) -> Vec<PathBuf> {
        let text = text.as_bytes();
        let mut files = self.files();
        files.retain(|(_, content)| content.windows(text.len()).any(|part| part == text));
        files.into_iter().map(|(path, _)| path).collect()
    }

    /// Returns the names in a directory of this one, in their order.
    pub fn names(&self, directory: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.path(directory)).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }
}

/// A server in a separate process, which is killed when this is dropped.
#[must_use]
pub struct Served {
    child: Child,
    stdout: Printed,
    stderr: Printed,
    certificate: PathBuf,
    /// The base URL, once the server has printed it.
    pub base: String,
}

impl Served {
    /// Starts a server and waits until it prints its address.
    pub fn start(command: &mut Command, certificate: &Path) -> Served {
        let mut served = Served::spawn(command, certificate);
        served.wait_for_address();
        served
    }

    /// Starts a server.
    pub fn spawn(command: &mut Command, certificate: &Path) -> Served {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let stdout = Printed::from(child.stdout.take().unwrap());
        let stderr = Printed::from(child.stderr.take().unwrap());
        Served { child, stdout, stderr, certificate: certificate.to_owned(), base: String::new() }
    }

    /// Waits until it has printed its address.
    pub fn wait_for_address(&mut self) {
        wait_until("the server says where it listens", || {
            let said = format!("{}\n{}", self.stdout.text(), self.stderr.text());
            if let Some((before, _)) = said.split_once("/v8\n")
                && let Some((_, address)) = before.rsplit_once("https://")
            {
                self.base = format!("https://{address}/v8");
            }
            assert!(self.child.try_wait().unwrap().is_none(), "it ended: {said}");
            !self.base.is_empty()
        });
    }

    /// Returns the address of the integrators' listener.
    pub fn address(&self) -> SocketAddr {
        let address = self.base.strip_prefix("https://").unwrap();
        address.strip_suffix("/v8").unwrap().parse().unwrap()
    }

    /// Returns the address of the operator's listener, once the server has printed it.
    pub fn operator(&self) -> SocketAddr {
        let mut address = None;
        wait_until("the server says where the operator's calls are", || {
            let said = format!("{}\n{}", self.stdout.text(), self.stderr.text());
            let before = said.split_once("/operator/v1\n").map(|(before, _)| before);
            address = before.map(|it| it.rsplit_once("https://").unwrap().1.parse().unwrap());
            address.is_some()
        });
        address.unwrap()
    }

    /// Opens a connection to the operator's listener.
    pub fn connect_operator(&self) -> Client {
        Client::connect(self.operator(), &self.certificate)
    }

    /// Sends orders, in NDJSON, over a new connection to the operator's listener.
    #[must_use]
    pub fn post_orders(&self, key: &str, orders: &str) -> Reply {
        self.connect_operator().call_operator(ORDERS_CALL, key, orders).unwrap()
    }

    /// Opens a connection to the integrators' listener.
    pub fn connect(&self) -> Client {
        Client::connect(self.address(), &self.certificate)
    }

    /// Logs in with the password `secret` over a new connection. Returns the connection and the
    /// token.
    pub fn log_in(&self, username: &str) -> (Client, String) {
        let mut client = self.connect();
        let token = client.log_in(username, "secret");
        (client, token)
    }

    /// Trusts the certificate in another file from now on.
    pub fn trust(&mut self, certificate: &Path) {
        certificate.clone_into(&mut self.certificate);
    }

    /// Returns the process id.
    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// Returns its output on stdout so far.
    pub fn stdout(&self) -> String {
        self.stdout.text()
    }

    /// Returns its output on stdout, once that contains `wanted`.
    #[track_caller]
    pub fn stdout_until(&self, wanted: &str) -> String {
        self.stdout.until(wanted)
    }

    /// Returns its output on stderr, once that contains `wanted`.
    #[track_caller]
    pub fn stderr_until(&self, wanted: &str) -> String {
        self.stderr.until(wanted)
    }

    /// Returns its output on stderr so far.
    pub fn stderr(&self) -> String {
        self.stderr.text()
    }

    /// Returns the resident memory of the process, in KiB.
    pub fn memory_kib(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }

    /// Sends SIGKILL.
    pub fn kill_9(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Stops the server by a signal, and returns its exit status.
    pub fn stop(&mut self) -> ExitStatus {
        self.signal("TERM");
        self.wait()
    }

    /// Sends a signal by name, such as TERM.
    pub fn signal(&self, name: &str) {
        let mut kill = Command::new("kill");
        let sent = kill.arg(format!("-{name}")).arg(self.child.id().to_string()).status();
        assert!(sent.unwrap().success());
    }

    /// Waits until the process has its own handler for SIGINT.
    pub fn wait_for_interrupt_handler(&self) {
        const SIGINT: u64 = 1 << 1;
        let path = format!("/proc/{}/status", self.child.id());
        wait_until("the process handles SIGINT", || {
            let status = std::fs::read_to_string(&path).unwrap();
            let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
            u64::from_str_radix(caught.unwrap().trim(), 16).unwrap() & SIGINT != 0
        });
    }

    /// Returns whether the process has ended.
    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Waits until the process ends.
    pub fn wait(&mut self) -> ExitStatus {
        let mut status = None;
        wait_until("the server ends", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        status.unwrap()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // One that has ended already is no error.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A stream of a process's output, which a thread reads.
pub(crate) struct Printed(Arc<Mutex<Vec<u8>>>);

impl Printed {
    pub(crate) fn from(source: impl Read + Send + 'static) -> Printed {
        let printed = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&printed);
        thread::spawn(move || {
            for byte in BufReader::new(source).bytes() {
                sink.lock().unwrap().push(byte.unwrap());
            }
        });
        Printed(printed)
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap()).into_owned()
    }

    #[track_caller]
    fn until(&self, wanted: &str) -> String {
        let begun = Instant::now();
        loop {
            let said = self.text();
            if said.contains(wanted) {
                return said;
            }
            assert!(begun.elapsed() < WAIT_MAX, "{said:?} has no {wanted:?}");
            thread::sleep(Duration::from_millis(5));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_character_that_two_reads_bring_is_printed() {
        let (first, rest) = "東京".as_bytes().split_at(4);
        assert_eq!(Printed::from(first.chain(rest)).until("東京"), "東京");
    }
}
