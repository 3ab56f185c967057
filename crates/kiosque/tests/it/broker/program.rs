//! The command: one broker for an account, its status, its end, and a start after a crash.

use std::path::PathBuf;
use std::process::Command;

use kiosque_testkit::{DEVICES_PATH, FleetToml, Ran, Sandbox, Served, TOKEN_PATH};

use super::LOG_IN;
use super::flags::{status, status_address};
use crate::KIOSQUE;
use crate::faults::proxy;

/// A server with an account of two groups, and the files of a broker.
pub(super) struct Place {
    pub(super) sandbox: Sandbox,
    pub(super) server: Served,
    password_file: String,
}

impl Place {
    pub(super) fn new() -> Place {
        let fleet = FleetToml::new()
            .group("north", "North")
            .group("south", "South")
            .cheap_account("ops", &["north", "south"])
            .device("north-1", "Kiosk", "north")
            .device("south-1", "Kiosk", "south");
        Place::with(fleet)
    }

    /// Starts a server with this fleet, which has the account `ops`.
    pub(super) fn with(fleet: FleetToml) -> Place {
        let sandbox = KIOSQUE.sandbox_with(fleet, "UTC");
        let server = sandbox.serve();
        let password_file = sandbox.file("password", "secret\n");
        Place { sandbox, server, password_file }
    }

    pub(super) fn command(&self, listen: &str, more: &[&str]) -> Command {
        self.command_before(&self.server.base, listen, more)
    }

    fn command_before(&self, upstream: &str, listen: &str, more: &[&str]) -> Command {
        let mut command = self.without_status(upstream, listen);
        command.args(["--status-listen", "127.0.0.1:0"]).args(more);
        command
    }

    fn without_status(&self, upstream: &str, listen: &str) -> Command {
        let mut command = KIOSQUE.command();
        command.env("XDG_STATE_HOME", self.sandbox.path("state"));
        command.args(["broker", "--upstream", upstream, "--username", "ops"]);
        command.args(["--password-file", &self.password_file, "--listen", listen]);
        command.arg("--ca-file").arg(self.server_certificate());
        command
    }

    pub(super) fn start(&self) -> Served {
        self.start_with(&[])
    }

    pub(super) fn start_with(&self, more: &[&str]) -> Served {
        self.start_at("127.0.0.1:0", more)
    }

    fn start_at(&self, listen: &str, more: &[&str]) -> Served {
        Served::start(&mut self.command(listen, more), &self.certificate())
    }

    /// Starts a proxy with faults before the server, and a broker before the proxy.
    pub(super) fn start_with_fault(&self, fault: &str, more: &[&str]) -> [Served; 2] {
        let proxy = proxy(&self.server.base, &self.server_certificate(), &[fault]);
        let mut broker = self.command_before(&proxy.base, "127.0.0.1:0", more);
        let broker = Served::start(&mut broker, &self.certificate());
        [broker, proxy]
    }

    /// Returns the certificate of the server.
    pub(super) fn server_certificate(&self) -> PathBuf {
        self.sandbox.certificate()
    }

    /// Returns the certificate of the broker.
    pub(super) fn certificate(&self) -> PathBuf {
        self.sandbox.path("state/kiosque/tls/cert.pem")
    }

    pub(super) fn trail(&self, event: &str) -> usize {
        self.sandbox.trail_entries(event)
    }
}

/// AUTH-16, AUTH-22: after a kill -9 and a start, a worker sees one -4, logs in, and continues.
#[test]
fn a_broker_that_was_killed_starts_again() {
    let place = Place::new();
    let mut first = place.start();
    let (mut worker, token) = first.log_in("ops");
    worker.call(DEVICES_PATH, Some(&token), "{}").success();
    let address = first.address().to_string();
    first.kill_9();

    let second = place.start_at(&address, &[]);
    let mut worker = second.connect();
    assert_eq!(worker.call(DEVICES_PATH, Some(&token), "{}").code(), -4);
    let token = worker.log_in("ops", "secret");
    for _ in 0..2 {
        let reply = worker.call(DEVICES_PATH, Some(&token), "{}");
        assert_eq!(reply.success()["total"], 1);
    }
    assert_eq!(place.trail("login"), 2);
}

/// AUTH-21: a second broker of the account is refused with the process ID of the first one,
/// which logs the account out when it is stopped.
#[test]
fn an_account_has_one_broker_which_logs_out_when_it_stops() {
    let place = Place::new();
    let mut broker = place.start();
    let mut worker = broker.connect();
    let reply = worker.call(TOKEN_PATH, None, LOG_IN);
    assert_eq!(reply.success()["groupId"], "north");

    let message = format!("process {} is already a broker of ops at ", broker.process());
    let base = place.server.base.clone();
    for upstream in [format!("{base}/"), base.replace("/v8", ""), base] {
        let mut second = place.command_before(&upstream, "127.0.0.1:0", &[]);
        let second = Ran::of(&mut second).failure();
        assert!(second.stderr.contains(&message), "{upstream}: {second:?}");
    }

    let address = status_address(&broker);
    let printed = status(&broker);
    let session = "session      group north, until ";
    assert!(printed.contains(session), "{printed}");
    assert!(printed.contains("events       1 logins, 0 switches, 0 evictions\n"), "{printed}");
    assert!(printed.contains("workers      ops: 1 session\n"), "{printed}");

    assert!(broker.stop().success());
    broker.stderr_until("the session of the account is logged out");
    assert_eq!((place.trail("login"), place.trail("logout")), (1, 1));
    let again = ["broker", "status", "--status-listen", &address];
    let gone = Ran::of(KIOSQUE.command().args(again)).failure();
    assert!(gone.stderr.contains("no broker at "), "{gone:?}");
    // Its lock is free. Without a session, none is logged out.
    let mut idle = place.start();
    assert!(idle.stop().success());
    let log = idle.stderr_until("stopping: ");
    assert!(!log.contains("logged out"), "{log}");
}

/// Returns the number of TCP sockets on which a process listens.
fn listening_sockets(process: u32) -> usize {
    let links = std::fs::read_dir(format!("/proc/{process}/fd")).unwrap();
    let links = links.filter_map(|link| std::fs::read_link(link.ok()?.path()).ok());
    let links: Vec<String> = links.map(|link| link.display().to_string()).collect();
    let table = std::fs::read_to_string(format!("/proc/{process}/net/tcp")).unwrap();
    let listening = table.lines().filter_map(|line| {
        let columns: Vec<&str> = line.split_whitespace().collect();
        (columns[3] == "0A").then(|| format!("socket:[{}]", columns[9]))
    });
    listening.filter(|socket| links.contains(socket)).count()
}

/// ADDR-4: the status has the names of groups and workers, and is there only if it is requested.
#[test]
fn there_is_no_status_by_default() {
    let place = Place::new();
    for (flags, sockets) in [(&["--status-listen", "127.0.0.1:0"][..], 2), (&[], 1)] {
        let mut command = place.without_status(&place.server.base, "127.0.0.1:0");
        let broker = Served::start(command.args(flags), &place.certificate());
        broker.connect().log_in("ops", "secret");
        assert_eq!(listening_sockets(broker.process()), sockets, "{flags:?}");
    }
}

/// Arguments that cannot work are refused before anything is sent.
#[test]
fn wrong_arguments_are_refused() {
    let place = Place::new();
    let empty = place.sandbox.file("empty", "\n");
    for (more, message) in [
        (&["--plain-listen", "0.0.0.0:0"][..], "is not a loopback address"),
        (&["--plain-listen", "[::]:0"], "is not a loopback address"),
        (&["--workers", &empty], "has no worker"),
        (&["--workers", "nowhere"], "cannot read nowhere"),
    ] {
        let ran = Ran::of(&mut place.command("127.0.0.1:0", more)).failure();
        assert!(ran.stderr.contains(message), "{message}: {ran:?}");
    }
    let two = place.sandbox.file("two", "secret\nmore\n");
    let reason = format!("--password-file: {two} has more than one line");
    let ran = Ran::of(&mut Place { password_file: two, ..place }.command("127.0.0.1:0", &[]));
    assert!(ran.status == 1 && ran.stderr.contains(&reason), "{ran:?}");
    let mut without = KIOSQUE.command();
    let ran = Ran::of(without.args(["broker", "--username", "ops"]));
    assert_eq!(ran.status, 2, "{ran:?}");
    assert!(ran.stderr.contains("--upstream"), "{ran:?}");
}
