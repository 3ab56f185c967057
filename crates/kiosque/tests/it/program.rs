//! Runs the real program, to its end or as a server.

use std::io::{Read, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::caller::Caller;

/// How long a test waits for a condition before it fails: far longer than any takes on a busy
/// machine.
pub(crate) const WAIT_MAX: Duration = Duration::from_secs(300);

/// Waits for a condition that another process or thread brings about.
#[track_caller]
pub(crate) fn wait_until(condition: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < WAIT_MAX, "{WAIT_MAX:?} were not enough: {condition}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// The program, with a fixed terminal width and without the settings of the environment of the
/// tests.
pub(crate) fn kiosque() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kiosque"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("KIOSQUE_") {
            command.env_remove(name);
        }
    }
    command.env("COLUMNS", "100").stdin(Stdio::null());
    command
}

/// The result of a command that ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) status: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    pub(crate) fn of(command: &mut Command) -> Ran {
        Ran::from(command.output().unwrap())
    }

    pub(crate) fn from(output: Output) -> Ran {
        Ran {
            status: output.status.code().unwrap(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Returns the output of a command that succeeded.
    #[track_caller]
    pub(crate) fn good(self) -> Ran {
        assert_eq!(self.status, 0, "{self:?}");
        self
    }

    /// The numbers of an import's `… accepted, … updated, … unchanged, … rejected`.
    #[track_caller]
    pub(crate) fn counts(&self) -> [usize; 4] {
        let mut numbers = self.stdout.split([' ', ',']).filter_map(|word| word.parse().ok());
        [(); 4].map(|()| numbers.next().unwrap())
    }

    /// Returns the error text of a command that failed.
    #[track_caller]
    pub(crate) fn bad(self) -> Ran {
        assert_eq!(self.status, 1, "{self:?}");
        self
    }
}

/// A folder of its own for one test: the data in `data`, other files next to it.
pub(crate) struct Sandbox {
    pub(crate) folder: TempDir,
}

impl Sandbox {
    pub(crate) fn new() -> Sandbox {
        Sandbox { folder: TempDir::new().unwrap() }
    }

    /// A folder to which a fleet was applied.
    pub(crate) fn with(fleet: &str, zone: &str) -> Sandbox {
        let sandbox = Sandbox::new();
        let fleet = sandbox.file("fleet.toml", fleet);
        sandbox.run(&["apply", &fleet, "--timezone", zone]).good();
        sandbox
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file and returns its path.
    pub(crate) fn file(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        std::fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// Returns the command, not started yet, with this folder's data.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = kiosque();
        command.args(args).arg("--data").arg(self.data()).current_dir(self.folder.path());
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        Ran::of(&mut self.command(args))
    }

    /// Imports `input` through standard input.
    pub(crate) fn run_with_input(&self, args: &[&str], input: &[u8]) -> Ran {
        let mut command = self.command(args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input).unwrap();
        Ran::from(child.wait_with_output().unwrap())
    }

    /// Serves the data on a free port.
    pub(crate) fn serve(&self) -> Served {
        self.serve_with(&[])
    }

    pub(crate) fn serve_with(&self, more: &[&str]) -> Served {
        let mut args = vec!["serve", "--listen", "127.0.0.1:0", "--operator-listen", "127.0.0.1:0"];
        args.extend_from_slice(more);
        Served::start(&mut self.command(&args), &self.data().join("tls/cert.pem"))
    }

    /// Returns every byte of every file in the folder, by path.
    pub(crate) fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut found = Vec::new();
        let mut folders = vec![self.folder.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    found.push((path.clone(), std::fs::read(path).unwrap()));
                }
            }
        }
        found
    }
}

/// A program that runs until it is stopped; killed when dropped.
pub(crate) struct Served {
    child: Child,
    stdout: Heard,
    stderr: Heard,
    cert: PathBuf,
    pub(crate) base: String,
}

impl Served {
    /// Starts a server and waits until it prints its address.
    pub(crate) fn start(command: &mut Command, cert: &Path) -> Served {
        let mut served = Served::spawn(command, cert);
        served.wait_for_address();
        served
    }

    /// Starts a server.
    pub(crate) fn spawn(command: &mut Command, cert: &Path) -> Served {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let stdout = Heard::from(child.stdout.take().unwrap());
        let stderr = Heard::from(child.stderr.take().unwrap());
        Served { child, stdout, stderr, cert: cert.to_owned(), base: String::new() }
    }

    /// Waits until it has printed its address.
    pub(crate) fn wait_for_address(&mut self) {
        wait_until("the server says where it listens", || {
            let said = format!("{}\n{}", self.stdout.text(), self.stderr.text());
            if let Some((_, rest)) = said.split_once("https://")
                && let Some((address, _)) = rest.split_once("/v8\n")
            {
                self.base = format!("https://{address}/v8");
            }
            assert!(self.child.try_wait().unwrap().is_none(), "it ended: {said}");
            !self.base.is_empty()
        });
    }

    pub(crate) fn address(&self) -> SocketAddr {
        let address = self.base.strip_prefix("https://").unwrap();
        address.strip_suffix("/v8").unwrap().parse().unwrap()
    }

    /// Returns the address of the operator's listener, once the server has printed it.
    pub(crate) fn operator(&self) -> SocketAddr {
        let said = self.stderr.until("/operator/v1\n");
        let (before, _) = said.split_once("/operator/v1\n").unwrap();
        before.rsplit_once("https://").unwrap().1.parse().unwrap()
    }

    /// Returns a client of the operator's listener.
    pub(crate) fn operator_caller(&self) -> Caller {
        Caller::connect(self.operator(), &self.cert)
    }

    pub(crate) fn caller(&self) -> Caller {
        Caller::connect(self.address(), &self.cert)
    }

    /// Returns a client that trusts this certificate alone.
    pub(crate) fn caller_trusting(&self, cert: &Path) -> Caller {
        Caller::connect(self.address(), cert)
    }

    pub(crate) fn stdout(&self) -> String {
        self.stdout.text()
    }

    /// Returns its output on stdout, once that contains `wanted`.
    pub(crate) fn stdout_until(&self, wanted: &str) -> String {
        self.stdout.until(wanted)
    }

    /// Returns its output on stderr, once that contains `wanted`.
    pub(crate) fn stderr_until(&self, wanted: &str) -> String {
        self.stderr.until(wanted)
    }

    pub(crate) fn stderr(&self) -> String {
        self.stderr.text()
    }

    /// Returns the resident memory of the process.
    pub(crate) fn memory_kib(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }

    /// Sends SIGKILL.
    pub(crate) fn kill_9(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Sends a signal by name, such as TERM.
    pub(crate) fn signal(&self, name: &str) {
        let mut kill = Command::new("kill");
        let sent = kill.arg(format!("-{name}")).arg(self.child.id().to_string()).status();
        assert!(sent.unwrap().success());
    }

    pub(crate) fn wait(&mut self) -> ExitStatus {
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

/// The output of a program so far.
struct Heard(Arc<Mutex<String>>);

impl Heard {
    fn from(mut source: impl Read + Send + 'static) -> Heard {
        let heard = Arc::new(Mutex::new(String::new()));
        let hears = Arc::clone(&heard);
        thread::spawn(move || {
            let mut chunk = [0; 4_096];
            while let Ok(size @ 1..) = source.read(&mut chunk) {
                hears.lock().unwrap().push_str(&String::from_utf8_lossy(&chunk[..size]));
            }
        });
        Heard(heard)
    }

    fn text(&self) -> String {
        self.0.lock().unwrap().clone()
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
