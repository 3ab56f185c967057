//! The log of `kiosque serve`.

use kiosque_testkit::{DEVICES_PATH, ORDERS_CALL, ORDERS_PATH, SERVE, sql, wait_until};
use serde_json::Value;

use crate::KIOSQUE;
use crate::fleet::{fleet, order};

const LINE: &str = "requests failed because the server is overloaded";

/// Requests that fail by overload are counted and logged together, so that no caller can fill the
/// log.
#[test]
fn overload_is_logged_by_its_number() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "UTC");
    let key = sandbox.create_key(&["feed"]);
    let served = sandbox.serve_with(&["--ingest-streams-max", "1"]);
    let refused = || {
        let reply = served.connect_operator().call_operator(ORDERS_CALL, &key, "\n");
        reply.unwrap().status == 503
    };
    served
        .connect_operator()
        .call_operator_while(ORDERS_CALL, &key, "\n", || {
            // The first stream may not have arrived yet.
            wait_until("a second stream is refused", refused);
            assert!((1..50).all(|_| refused()));
        })
        .unwrap();
    let count = |log: &str| {
        let lines = log.lines().filter(|line| line.contains(LINE));
        let counts = lines.map(|line| {
            assert!(line.contains(r#"kind="overloaded""#), "{line}");
            line.rsplit_once("requests=").unwrap().1.parse::<usize>().unwrap()
        });
        counts.sum::<usize>()
    };
    wait_until("all are in the log", || count(&served.stderr()) == 50);
    assert!(!served.stderr().contains("too many order streams"), "{}", served.stderr());
}

/// The message of a request that failed for a cause of the store.
const STORE_FAILED: &str = "the store is not available";

/// Returns how many requests failed by the log, and in how many lines.
fn failures(log: &str, message: &str) -> (usize, usize) {
    let lines = log.lines().filter(|line| line.contains(message));
    let requests = lines.clone().map(|line| {
        assert!(line.contains("request.id=") && line.contains("cause="), "{line}");
        let repeated = line.rsplit_once("requests=");
        repeated.map_or(1, |(_, requests)| requests.parse::<usize>().unwrap())
    });
    (requests.sum(), lines.count())
}

/// The first request that fails because the data has gone is in the log; those that follow are
/// counted, with their cause.
#[test]
fn a_store_that_fails_does_not_fill_the_log() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "UTC");
    let served = sandbox.serve();
    let (mut caller, token) = served.log_in("walker");
    let mut code = || caller.call(DEVICES_PATH, Some(&token), "{}").code();
    std::fs::rename(sandbox.data(), sandbox.path("away")).unwrap();
    wait_until("requests fail", || code() == 500);
    assert!((1..300).all(|_| code() == 500));
    wait_until("all are in the log", || failures(&served.stderr(), STORE_FAILED).0 == 300);
    assert!(failures(&served.stderr(), STORE_FAILED).1 < 300, "{}", served.stderr());
}

/// ENV-11: the log identifies the damaged order for which requests fail, and callers cannot fill
/// it.
#[test]
fn a_damaged_order_is_named_in_the_log() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "UTC");
    sandbox.import(order("broken"));
    drop(sandbox.run_sql(&sql("damage_order").replace("ORDER", "broken").replace("BY", "1")));
    let served = sandbox.serve();
    let (mut caller, token) = served.log_in("walker");
    let mut code = || caller.call(ORDERS_PATH, Some(&token), r#"{"deviceCode":"D1"}"#).code();
    assert!((0..50).all(|_| code() == 500));
    let message = "a stored order of this answer is damaged";
    wait_until("all are in the log", || failures(&served.stderr(), message).0 == 50);
    let log = served.stderr();
    assert!(failures(&log, message).1 < 50, "{log}");
    let is_named = |line: &&str| line.contains("ERROR") && line.contains("order broken is damaged");
    let named = log.lines().filter(is_named).count();
    assert_eq!(named, failures(&log, message).1, "{log}");
}

/// Every line of the log is an object, from the start of the server to its end.
#[test]
fn the_log_is_json_on_request() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "UTC");
    let mut served = sandbox.spawn(&[&SERVE[..], &["--log-format", "json"]].concat());
    served.stderr_until("/operator/v1\"");
    served.wait_for_interrupt_handler();
    assert!(served.stop().success());
    let said = served.stderr_until("stopping: finishing open requests");
    let lines = said.lines().map(|line| serde_json::from_str::<Value>(line).expect(line));
    let lines: Vec<Value> = lines.collect();
    for line in &lines {
        assert!(line["timestamp"].as_str().unwrap().ends_with('Z'), "{line}");
        assert_eq!(line["level"], "INFO", "{line}");
    }
    let messages: Vec<&str> = lines.iter().map(|line| line["message"].as_str().unwrap()).collect();
    assert!(messages[0].starts_with("kiosque ") && messages[1].ends_with("/v8"), "{messages:?}");

    // The failure of a command, too.
    let ran = sandbox.run(&["serve", "--log-format", "json", "--tls-cert", "absent.pem"]).failure();
    let line: Value = serde_json::from_str(&ran.stderr).unwrap();
    assert_eq!(line["level"], "ERROR", "{line}");
    assert_eq!(line["message"], "--tls-cert and --tls-key must be given together");
    // A filter of the log does not hide it.
    let ran = sandbox.run(&["restore", "nothing.db", "--log-format", "json", "--log", "off"]);
    assert!(ran.failure().stderr.contains("nothing.db"));
}

/// Start lines have the time and the level of the log, and its filter holds for them.
#[test]
fn start_lines_are_lines_of_the_log() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "UTC");
    let served = sandbox.serve();
    let said = served.stderr_until("/operator/v1\n");
    assert_eq!(said.lines().filter(|line| line.contains("Z  INFO kiosque")).count(), 3, "{said}");
    assert_eq!(said.lines().count(), 3, "{said}");
}

/// Unknown keys of orders are ignored, with one warning each however often they occur.
#[test]
fn a_key_that_means_nothing_is_warned_of_once() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "UTC");
    let key = sandbox.create_key(&["till"]);
    let served = sandbox.serve();
    let mut caller = served.connect_operator();
    for id in ["o1", "o2", "o3"] {
        let odd = order(id).replace("\"currency\"", "\"colour\":1,\"currency\"");
        let body = format!("{odd}\n{}", odd.replace(id, &format!("{id}-again")));
        let reply = caller.call_operator(ORDERS_CALL, &key, &body).unwrap();
        assert_eq!(reply.json["accepted"], 2, "{:?}", reply.json);
    }
    let said = served.stderr_until("colour");
    let warned = said.lines().filter(|line| line.contains("WARN")).collect::<Vec<_>>();
    assert_eq!(warned.len(), 1, "{said}");
    assert!(warned[0].contains("key=\"colour\""), "{said}");
}
