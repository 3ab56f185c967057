//! Heartbeats: in memory at first, written every few seconds and at a stop.

use serde_json::Value;

use crate::caller::DEVICES_PATH;
use crate::fleet::FLEET;
use crate::program::{Sandbox, Served, wait_until};

/// Sends a heartbeat of `D1`, and checks that this server shows it at once (DEV-7).
fn beat(sandbox: &Sandbox, served: &Served, token: &str) -> i64 {
    let key = sandbox.run(&["operator-key", "create", "till", "--may", "activity"]).good().stdout;
    let reply = served
        .operator_caller()
        .operate("/operator/v1/activity", key.trim(), r#"{"deviceCode":"D1"}"#)
        .unwrap();
    assert_eq!(reply.json["accepted"], 1, "{reply:?}");
    last_active(served, token).as_i64().unwrap()
}

fn last_active(served: &Served, token: &str) -> Value {
    let reply = served.caller().call(DEVICES_PATH, Some(token), "{}");
    reply.data()["records"][0]["lastActiveTimestamp"].clone()
}

/// Another process sees the heartbeats that have been written, and no others.
#[test]
fn heartbeats_are_written_every_few_seconds() {
    let sandbox = Sandbox::with(FLEET, "UTC");
    let served = sandbox.serve_with(&["--activity-flush", "20ms"]);
    let token = served.caller().log_in("walker", "secret");
    let beaten = beat(&sandbox, &served, &token);
    let other = sandbox.serve();
    wait_until("a heartbeat is written", || last_active(&other, &token) == beaten);
}

#[test]
fn heartbeats_are_written_when_the_server_stops() {
    let sandbox = Sandbox::with(FLEET, "UTC");
    let mut served = sandbox.serve_with(&["--activity-flush", "1h"]);
    let token = served.caller().log_in("walker", "secret");
    let beaten = beat(&sandbox, &served, &token);
    let other = sandbox.serve();
    assert_eq!(last_active(&other, &token), Value::Null, "in memory alone");
    served.signal("TERM");
    assert!(served.wait().success());
    assert_eq!(last_active(&other, &token), beaten);
}
