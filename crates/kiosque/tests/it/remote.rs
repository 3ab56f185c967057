//! `kiosque remote` with a real server.

mod answers;
mod exits;
mod mirror;
mod orders;
mod secrets;
mod sharing;
mod terminal;
mod through_broker;

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use kiosque_testkit::{FleetToml, OrderLine, Ran, Sandbox, Served, cheap_hash};
use serde_json::Value;

use crate::KIOSQUE;
use crate::faults::proxy;

/// A password that occurs nowhere by chance.
const PASSWORD: &str = "hunter2-9f3c";

/// A server with two accounts, and the directories of a user of `kiosque remote`.
struct Place {
    sandbox: Sandbox,
    server: Served,
}

impl Place {
    /// Starts a server. The account `ops` may select both groups, `guest` the second alone.
    fn new() -> Place {
        let hash = cheap_hash(PASSWORD);
        let fleet = FleetToml::new()
            .group("north", "North")
            .group("south", "South")
            .account_with_hash("ops", &hash, &["north", "south"])
            .account_with_hash("guest", &hash, &["south"])
            .device("N-1", "North 1", "north")
            .device("N-2", "North 2", "north")
            .device("S-1", "South 1", "south");
        let sandbox = KIOSQUE.sandbox_with(fleet, "Europe/Paris");
        let server = sandbox.serve();
        let place = Place { sandbox, server };
        place.write_password("pw", PASSWORD);
        place
    }

    /// Starts a server, and logs the account `ops` in.
    fn logged_in() -> Place {
        let place = Place::new();
        place.log_in();
        place
    }

    /// Starts a server with orders of the device `N-1`, and logs the account `ops` in.
    fn with_orders(count: usize) -> Place {
        let place = Place::logged_in();
        place.import("N-1", count);
        place
    }

    /// Writes a file with a password, for its owner alone.
    fn write_password(&self, name: &str, password: &str) -> String {
        let file = self.sandbox.file(name, format!("{password}\n"));
        std::fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
        file
    }

    /// Imports orders of a device.
    fn import(&self, device: &str, count: usize) {
        let line = |number: usize| {
            let start = format!("2026-03-{:02} 08:00:00", 1 + number % 28);
            OrderLine::new(format!("{device}-{number}"), device, start).to_string()
        };
        self.sandbox.import((0..count).map(line).collect::<String>());
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = KIOSQUE.command();
        command.env("XDG_CONFIG_HOME", self.sandbox.path("config"));
        command.env("XDG_RUNTIME_DIR", self.sandbox.path("run"));
        command.arg("remote").args(args).current_dir(self.sandbox.directory.path());
        command
    }

    /// Starts a command, which is killed when the result is dropped.
    fn spawn(&self, args: &[&str]) -> Served {
        Served::spawn(&mut self.command(args), &self.sandbox.certificate())
    }

    fn run(&self, args: &[&str]) -> Ran {
        Ran::of(&mut self.command(args))
    }

    /// Returns the arguments of a login, which read the password from a file.
    fn login<'a>(&'a self, username: &'a str, file: &'a str) -> Vec<&'a str> {
        login_at(&self.server.base, username, file)
    }

    /// Logs the account `ops` in.
    fn log_in(&self) {
        self.run(&self.login("ops", "pw")).success();
    }

    /// Starts a proxy with faults before the server, and logs the account `ops` in through it.
    fn log_in_through(&self, faults: &[&str]) -> Served {
        let proxy = proxy(&self.server.base, &self.sandbox.certificate(), faults);
        self.run(&login_at(&proxy.base, "ops", "pw")).success();
        proxy
    }

    /// Returns what a command prints as JSON.
    fn json(&self, args: &[&str]) -> Value {
        let ran = self.run(&[args, &["--output", "json"]].concat()).success();
        serde_json::from_str(&ran.stdout).unwrap()
    }

    /// Returns how often this event is in the audit trail.
    fn trail(&self, event: &str) -> usize {
        self.sandbox.trail_entries(event)
    }

    /// Ends the server, which then has written its refused logins to the audit trail.
    fn stop(&mut self) {
        assert!(self.server.stop().success());
    }
}

/// Returns the arguments of a login at a URL, where the certificate of the server is shown.
fn login_at<'a>(url: &'a str, username: &'a str, file: &'a str) -> Vec<&'a str> {
    let account = ["login", "--url", url, "--username", username, "--password-file", file];
    [&account[..], &["--ca-file", "data/tls/cert.pem"]].concat()
}
