//! Heartbeats: `POST /operator/v1/activity`.

use kiosque_testkit::{DEVICES_PATH, START_MS, TestServer, eventually};
use serde_json::json;

use super::{ACTIVITY, whole, with_key};
use crate::abuse::wire::Target;

/// Returns the devices of the selected group with their `isOnline`, and the number that the filter
/// finds.
async fn online(server: &TestServer, token: &str) -> (i64, Vec<(String, i64)>) {
    let reply = server.call(DEVICES_PATH, Some(token), r#"{"isOnline":1}"#).await;
    let records = reply.data()["records"].as_array().unwrap();
    let devices = records.iter().map(|record| {
        assert_eq!(record["isOnline"], 1);
        let code = record["deviceCode"].as_str().unwrap().to_owned();
        (code, record["lastActiveTimestamp"].as_i64().unwrap())
    });
    (reply.data()["total"].as_i64().unwrap(), devices.collect())
}

/// DEV-7: a heartbeat is visible to the next request on the same node. Invalid lines are rejected
/// by name, and the others are stored.
#[tokio::test]
async fn heartbeats_are_seen_by_the_next_request() {
    let (server, key) = with_key("activity").await;
    let token = server.log_in("ops").await.token;
    assert_eq!(online(&server, &token).await, (0, Vec::new()));
    let past = START_MS - 60_000;
    let body = format!(
        "{{\"deviceCode\":\"D1\",\"timestamp\":{past}}}\n\n\
         {{\"deviceCode\":\"D9\"}}\n\
         {{\"deviceCode\":\"D1\",\"timestamp\":-5}}\n\
         nonsense\n\
         {{\"deviceCode\":\"D2\",\"timestamp\":{}}}\n",
        START_MS + 60_000
    );
    let reply = server.call_operator(ACTIVITY, Some(&key), body).await;
    insta::assert_snapshot!("heartbeats", whole(&reply));
    assert_eq!(online(&server, &token).await, (1, vec![("D1".to_owned(), past)]));
    // A time in the future counts as now.
    let token = server.switch(&token, "g2").await.token;
    assert_eq!(online(&server, &token).await, (1, vec![("D2".to_owned(), START_MS)]));
    // So does a missing timestamp.
    let reply = server.call_operator(ACTIVITY, Some(&key), r#"{"deviceCode":"D1"}"#).await;
    let want = json!({"accepted": 1, "rejectedCount": 0, "rejected": [], "ignoredKeys": []});
    assert_eq!(reply.json, want);
    let token = server.switch(&token, "g1").await.token;
    assert_eq!(online(&server, &token).await, (1, vec![("D1".to_owned(), START_MS)]));
}

/// At most 1,000 rejected lines are listed, however long the stream is; all are counted.
#[tokio::test]
async fn a_long_stream_is_counted_whole() {
    let (server, key) = with_key("activity").await;
    let mut body = String::new();
    for at in 0..2_500 {
        body += &format!("{{\"deviceCode\":\"{}\"}}\n", if at % 2 == 0 { "D1" } else { "DX" });
    }
    let reply = server.call_operator(ACTIVITY, Some(&key), body).await;
    assert_eq!(
        (&reply.json["accepted"], &reply.json["rejectedCount"]),
        (&json!(1_250), &json!(1_250))
    );
    let rejected = reply.json["rejected"].as_array().unwrap();
    assert_eq!(rejected.len(), 1_000);
    let lines = rejected.iter().map(|one| one["line"].as_u64().unwrap());
    assert!(lines.eq((0..1_000).map(|at| 2 * at + 2)));
}

/// Heartbeats are counted as they are recorded, also those of a stream that breaks off.
#[tokio::test]
async fn heartbeats_of_a_stream_that_breaks_off_are_counted() {
    let (server, key) = with_key("activity").await;
    let mut wire = Target::of_operator(&server).open().await;
    let body = "{\"deviceCode\":\"D1\"}\n{\"deviceCode\":\"D9\"}\n";
    let head = format!(
        "POST {ACTIVITY} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n\
         Content-Length: 1000\r\n\r\n{body}"
    );
    wire.say(head).await;
    drop(wire);
    eventually("they are counted", async || {
        let metrics = server.get_operator("/metrics", None).await.text;
        ["accepted", "rejected"].iter().all(|outcome| {
            let line = format!("kiosque_heartbeats_total{{outcome=\"{outcome}\"}} 1\n");
            metrics.contains(&line)
        })
    })
    .await;
}
