//! The program on PostgreSQL: the database is replaced, goes away, or takes over the data of a
//! directory. Each test has its own servers, with durable commits.

mod access;
mod archiving;
mod away_standby;
mod dictionaries;
mod encryption;
mod failover;
mod followers;
mod moving;
mod no_connection;
mod old_primary;
mod outage;
mod read_only;
mod shared_directory;
mod two_versions;
mod warning;

use std::time::{Duration, Instant};

use kiosque_testdb::Server;
use kiosque_testkit::blocking::Client;
use kiosque_testkit::{DEVICES_PATH, FleetToml, OrderLine, Sandbox, TOKEN_PATH, wait_until};

use crate::KIOSQUE;

/// Two accounts; no login replaces the session of one of them.
fn fleet() -> FleetToml {
    FleetToml::new()
        .group("g", "Group")
        .account("walker", &["g"])
        .account("guest", &["g"])
        .device("D0", "D0", "g")
        .device("D1", "D1", "g")
}

/// Limits that are not met on a busy machine.
const UNHURRIED: [&str; 4] = ["--store-wait", "5m", "--session-lease", "5m"];

/// Returns the address of the database of these servers.
fn address(servers: &[&Server]) -> String {
    let hosts: Vec<String> =
        servers.iter().map(|server| format!("127.0.0.1:{}", server.port())).collect();
    format!("postgres://kiosque@{}/kiosque", hosts.join(","))
}

/// Returns one of several nodes on a database: its directory has its certificate.
pub(crate) fn node(servers: &[&Server]) -> Sandbox {
    KIOSQUE.sandbox().on(&address(servers))
}

/// Returns a node whose role `tills` owns the database, and is not a superuser.
fn node_of_owner(server: &Server) -> Sandbox {
    server.sql("create role tills login password 'right'").unwrap();
    server.sql("alter database kiosque owner to tills").unwrap();
    KIOSQUE.sandbox().on(&address(&[server]).replace("kiosque@", "tills@"))
}

/// Creates the data, and a key for the operator's calls.
fn create_data(node: &Sandbox) -> String {
    node.apply(fleet());
    node.create_key(&["tills"])
}

/// The body code of a use of a token.
fn use_of(caller: &mut Client, token: &str) -> i64 {
    caller.call(DEVICES_PATH, Some(token), "{}").code()
}

/// Logs in as soon as that can be done again, and returns the token.
fn log_in(caller: &mut Client, username: &str) -> String {
    let body = format!(r#"{{"username":"{username}","password":"secret"}}"#);
    let mut token = None;
    wait_until("a login is answered", || {
        let reply = caller.call(TOKEN_PATH, None, &body);
        assert!([200, 500].contains(&reply.code()), "{reply:?}");
        let is_good = reply.code() == 200;
        token = is_good.then(|| reply.success()["accessToken"].as_str().unwrap().to_owned());
        is_good
    });
    token.unwrap()
}

/// Waits until a token is good again, and returns how long that took. Until then only 500 is right.
fn until_good(caller: &mut Client, token: &str) -> Duration {
    let begun = Instant::now();
    wait_until("a token is good again", || {
        let code = use_of(caller, token);
        assert!([200, 500].contains(&code), "{code}");
        code == 200
    });
    begun.elapsed()
}

/// Returns an order that its number identifies.
fn order(name: &str, at: usize) -> String {
    let (device, minute) = (at % 2, at % 60);
    let time = |second| format!("2026-01-02 03:{minute:02}:{second}");
    OrderLine::new(order_id(name, at), format!("D{device}"), time("00"))
        .amount("USD", 100 + i64::try_from(at).unwrap())
        .paid(time("30"))
        .to_string()
}

fn order_id(name: &str, at: usize) -> String {
    format!("{name}-{at}")
}
