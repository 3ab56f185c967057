//! The arguments of the command, and what it reports.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;

use kiosque_testkit::blocking::Client;
use kiosque_testkit::{DEVICES_PATH, Ran, Served, TOKEN_PATH, wait_until};
use serde_json::Value;

use super::LOG_IN;
use super::program::Place;
use crate::KIOSQUE;

/// Sends a request over plain HTTP, and returns the head and the body of the answer.
fn plain(address: &str, request: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.to_owned(), body.to_owned())
}

fn plain_call(address: &str, path: &str, token: &str, body: &str) -> Value {
    let head = format!("POST /v8/{path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n");
    let length = body.len();
    let rest = format!("third-api-token: {token}\r\ncontent-length: {length}\r\n\r\n{body}");
    let (head, body) = plain(address, &(head + &rest));
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    serde_json::from_str(&body).unwrap()
}

/// Returns the address that the broker has logged after a text.
fn logged(broker: &Served, text: &str) -> String {
    let mut address = None;
    wait_until("the broker logs an address", || {
        let said = broker.stderr();
        let rest = said.split_once(text).map(|(_, rest)| rest);
        address = rest.and_then(|rest| Some(rest.split_once('/')?.0.to_owned()));
        address.is_some()
    });
    address.unwrap()
}

pub(super) fn status_address(broker: &Served) -> String {
    logged(broker, "its status is at http://")
}

pub(super) fn status(broker: &Served) -> String {
    let address = status_address(broker);
    let args = ["broker", "status", "--status-listen", &address];
    Ran::of(KIOSQUE.command().args(args)).success().stdout
}

/// Logs a worker in and selects a group; returns its token.
fn log_in(worker: &mut Client, group: &str) -> String {
    let token = worker.log_in("ops", "secret");
    worker.switch(&token, group)
}

/// ADDR-5: workers on this machine may use plain HTTP.
#[test]
fn workers_may_call_without_tls() {
    let place = Place::new();
    let broker = place.start_with(&["--plain-listen", "127.0.0.1:0"]);
    let address = logged(&broker, "and without TLS http://");
    let logged_in = plain_call(&address, TOKEN_PATH, "", LOG_IN);
    let token = logged_in["data"]["accessToken"].as_str().unwrap();
    let devices = plain_call(&address, DEVICES_PATH, token, "{}");
    assert_eq!(devices["data"]["records"][0]["deviceCode"], "north-1");
    // The token belongs to a session of the broker, whatever the listener.
    let reply = broker.connect().call(DEVICES_PATH, Some(token), "{}");
    assert_eq!(*reply.success(), devices["data"]);
}

/// AUTH-8: workers with names and passwords of their own, and no others.
#[test]
fn workers_may_have_names_of_their_own() {
    let place = Place::new();
    let workers = "alice = \"a secret\"\n\"bob@example.com\" = \"another\"\n";
    let workers = place.sandbox.file("workers.toml", workers);
    let broker = place.start_with(&["--workers", &workers]);
    let mut worker = broker.connect();
    for (name, password) in [("alice", "a secret"), ("bob@example.com", "another")] {
        let token = worker.log_in(name, password);
        assert_eq!(worker.call(DEVICES_PATH, Some(&token), "{}").success()["total"], 1);
    }
    for refused in [LOG_IN, r#"{"username":"alice","password":"another"}"#] {
        assert_eq!(worker.call(TOKEN_PATH, None, refused).code(), -2, "{refused}");
    }
    for (workers, at) in [
        ("w1 = \"hunter\"2\"\n", "line 1, column 14"),
        ("w1 = 2\n", "w1 is not"),
        ("w1 = \" \"\n", "\"w1\": a name or a password is blank"),
        ("\"\" = \"hunter2\"\n", "\"\": a name or a password is blank"),
    ] {
        let workers = place.sandbox.file("wrong.toml", workers);
        let refused = Ran::of(&mut place.command("127.0.0.1:0", &["--workers", &workers]));
        let refused = refused.failure().stderr;
        assert!(refused.contains(at) && !refused.contains("hunter"), "{refused}");
    }
    let status = status(&broker);
    let workers = "workers      alice: 1 session\nworkers      bob@example.com: 1 session\n";
    assert!(status.contains(workers), "{status}");
    assert_eq!(place.trail("login"), 1);
}

/// AUTH-11, AUTH-16: by default the session is taken back from another user of the account; with
/// `fail` the worker is refused, and its next call takes it back.
#[test]
fn a_replaced_session_is_taken_back_or_reported() {
    for (policy, codes) in [("take-back", [200, 200]), ("fail", [-4, 200])] {
        let place = Place::new();
        let broker = place.start_with(&["--on-eviction", policy]);
        let (mut worker, token) = broker.log_in("ops");
        place.server.connect().log_in("ops", "secret");
        for code in codes {
            let reply = worker.call(DEVICES_PATH, Some(&token), "{}");
            assert_eq!(reply.code(), code, "{policy}: {reply:?}");
            let note = reply.headers.get("kiosque-broker-note");
            let is_refused = note.is_some_and(|note| note.contains("code -4"));
            assert_eq!((note.is_some(), is_refused), (code == -4, code == -4), "{reply:?}");
        }
        assert_eq!(place.trail("login"), 3, "{policy}");
        let mut said = String::new();
        wait_until("the status has the eviction", || {
            said = status(&broker);
            said.contains("events       2 logins, 0 switches, 1 evictions, the last one at ")
        });
    }
}

/// AUTH-11, AUTH-16: with `yield` the other user of the account has the session for a time, and
/// calls wait. Those whose turn does not come are answered with -4, and a note says why.
#[test]
fn a_replaced_session_may_be_left_to_the_other_user() {
    let place = Place::new();
    let hold = ["--on-eviction", "yield", "--evictions-max-hold", "1h", "--wait", "1s"];
    let broker = place.start_with(&hold);
    let mut worker = broker.connect();
    let mut token = None;
    wait_until("a login takes less than the longest wait", || {
        let reply = worker.call(TOKEN_PATH, None, LOG_IN);
        token = reply.data()["accessToken"].as_str().map(str::to_owned);
        token.is_some()
    });
    let (mut other, others) = place.server.log_in("ops");
    let log_ins = place.trail("login");
    // The first call is sent, and waits when its session turns out to be replaced.
    for note in ["gave up after 1 attempt; ", "no session was available in time; "] {
        let reply = worker.call(DEVICES_PATH, token.as_deref(), "{}");
        assert_eq!((reply.status, reply.code()), (200, -4), "{reply:?}");
        assert_eq!(reply.headers["kiosque-broker"], "own");
        assert!(reply.headers["kiosque-broker-note"].starts_with(note), "{reply:?}");
    }
    // AUTH-1: a log in takes no token, so -4 would say nothing about it.
    let reply = broker.connect().call(TOKEN_PATH, None, LOG_IN);
    assert_eq!((reply.status, reply.code()), (503, 500), "{reply:?}");
    let note = &*reply.headers["kiosque-broker-note"];
    assert!(note.starts_with("no session was available in time; "), "{note}");
    assert_eq!(other.call(DEVICES_PATH, Some(&others), "{}").code(), 200);
    assert_eq!(place.trail("login"), log_ins);
}

/// The status has the calls of a group that wait for the session.
#[test]
fn the_status_has_the_calls_that_wait() {
    let place = Place::new();
    let hold = ["--on-eviction", "yield", "--evictions-max-hold", "1h"];
    let broker = place.start_with(&hold);
    let address = status_address(&broker);
    let mut worker = broker.connect();
    let token = log_in(&mut worker, "south");
    place.server.connect().log_in("ops", "secret");
    thread::spawn(move || worker.try_call(DEVICES_PATH, Some(&token), "{}"));
    let request = "GET /status.json HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
    wait_until("the call waits", || {
        let status: Value = serde_json::from_str(&plain(&address, request).1).unwrap();
        let lane = &status["lanes"]["south"];
        lane["waiting"] == 1 && lane["calls"] == 1 && lane["oldestMs"].is_u64()
    });
}

/// DEV-4: with `--filter-devices` lists of devices of all groups need no switch.
#[test]
fn lists_of_devices_may_be_filtered() {
    let place = Place::new();
    for (flags, events) in [
        (&[][..], "events       1 logins, 2 switches, 0 evictions\n"),
        (&["--filter-devices"], "events       1 logins, 0 switches, 0 evictions\n"),
    ] {
        let broker = place.start_with(flags);
        let mut worker = broker.connect();
        for group in ["south", "north"] {
            let token = log_in(&mut worker, group);
            let reply = worker.call(DEVICES_PATH, Some(&token), "{}");
            let records = reply.success()["records"].as_array().unwrap();
            let codes: Vec<&Value> = records.iter().map(|record| &record["deviceCode"]).collect();
            assert_eq!(codes, [&Value::from(format!("{group}-1"))]);
        }
        let status = status(&broker);
        assert!(status.contains(events), "{flags:?}: {status}");
    }
}

/// The metrics, by name; the counters have the numbers of what has happened.
#[test]
fn metrics_count_what_has_happened() {
    let place = Place::new();
    let broker = place.start();
    let mut worker = broker.connect();
    let token = log_in(&mut worker, "south");
    for _ in 0..3 {
        worker.call(DEVICES_PATH, Some(&token), "{}").success();
    }
    let address = status_address(&broker);
    let get = |path: &str| {
        plain(&address, &format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"))
    };
    let (head, text) = get("/metrics");
    assert!(head.contains("content-type: text/plain; version=0.0.4"), "{head}");
    let named = |line: &&str| !line.starts_with('#') && !line.contains("_bucket{");
    let lines = text.lines().filter(named).filter(|line| !line.contains("_sum "));
    assert_eq!(
        lines.collect::<Vec<_>>(),
        [
            "kiosque_broker_evictions_total 0",
            "kiosque_broker_lane_wait_seconds_count 3",
            "kiosque_broker_logins_total 1",
            "kiosque_broker_switches_total 1",
            // A login, a switch, and three lists of devices.
            "kiosque_broker_upstream_seconds_count 5",
        ]
    );
    let (_, json) = get("/status.json");
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&json["logIns"], &json["group"]), (&1.into(), &"south".into()));
    assert!(get("/unknown").0.starts_with("HTTP/1.1 404 "));
}

/// The status has the calls of each group and its think time; with `--watch` it is printed again.
#[test]
fn the_status_is_printed_again_and_again() {
    let place = Place::new();
    let broker = place.start();
    let address = status_address(&broker);
    let mut watch = KIOSQUE.command();
    watch.args(["broker", "status", "--watch", "--status-listen", &address]);
    let watched = Served::spawn(&mut watch, &place.sandbox.path("none"));
    let before = watched.stdout_until("session      none yet\n");
    assert!(!before.contains("lane "), "{before}");
    let mut worker = broker.connect();
    let token = log_in(&mut worker, "south");
    for _ in 0..2 {
        worker.call(DEVICES_PATH, Some(&token), "{}").success();
    }
    let after = watched.stdout_until("lane         south: 0 calls, 0 waiting, think time ");
    let lane = after.rsplit_once("lane ").unwrap().1;
    assert!(lane.contains(" us (median)\n"), "{after}");
    assert!(after.matches("broker       process ").count() >= 2, "{after}");
}
