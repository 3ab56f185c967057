//! Heartbeats: in memory at first, written every few seconds and at a stop.

use kiosque_testkit::{DEVICES_PATH, Sandbox, Served, wait_until};
use serde_json::Value;

use crate::KIOSQUE;
use crate::fleet::fleet;

/// Sends a heartbeat of `D1`, and checks that this server shows it at once (DEV-7).
fn beat(sandbox: &Sandbox, served: &Served, token: &str) -> i64 {
    let key = sandbox.create_key(&["till", "--may", "activity"]);
    let reply = served
        .connect_operator()
        .call_operator("/operator/v1/activity", &key, r#"{"deviceCode":"D1"}"#)
        .unwrap();
    assert_eq!(reply.json["accepted"], 1, "{reply:?}");
    last_active(served, token).as_i64().unwrap()
}

fn last_active(served: &Served, token: &str) -> Value {
    let reply = served.connect().call(DEVICES_PATH, Some(token), "{}");
    reply.success()["records"][0]["lastActiveTimestamp"].clone()
}

/// Returns the last activity that another process reads.
fn stored_last_active(sandbox: &Sandbox) -> Value {
    sandbox.json(&["device", "show", "D1"])["lastActiveTimestamp"].clone()
}

/// Another process sees the heartbeats that have been written, and no others.
#[test]
fn heartbeats_are_written_every_few_seconds() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "UTC");
    let served = sandbox.serve_with(&["--activity-flush", "20ms"]);
    let token = served.connect().log_in("walker", "secret");
    let beaten = beat(&sandbox, &served, &token);
    wait_until("a heartbeat is written", || stored_last_active(&sandbox) == beaten);
}

#[test]
fn heartbeats_are_written_when_the_server_stops() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "UTC");
    let mut served = sandbox.serve_with(&["--activity-flush", "1h"]);
    let token = served.connect().log_in("walker", "secret");
    let beaten = beat(&sandbox, &served, &token);
    assert_eq!(stored_last_active(&sandbox), Value::Null, "in memory alone");
    assert!(served.stop().success());
    assert_eq!(stored_last_active(&sandbox), beaten);
}
