//! Callers that mean harm, or do it: whatever they send, each request that is answered is answered
//! with an envelope, what is slow ends at its deadline, and the others are served all along.

mod bodies;
mod framing;
mod headers;
pub(crate) mod http2;
mod noise;
mod paths;
pub(crate) mod slow_clients;
mod stalled_clients;
mod tls;
pub(crate) mod wire;

use crate::harness::{DEVICES_PATH, Reply, TestServer};

pub(crate) const FLEET: &str = r#"
    [[group]]
    id = "g1"
    name = "One"
    [[account]]
    login_name = "ops"
    password = "secret"
    third_party_api = true
    groups = ["g1"]
    [[device]]
    code = "D1"
    name = "Lobby"
    group = "g1"
"#;

/// Holds an answer to what every answer is: "every response uses one envelope", "every response
/// carries x-request-id and cache-control: no-store".
#[track_caller]
pub(crate) fn assert_envelope(reply: &Reply) {
    assert!([200, 404, 500].contains(&reply.status), "{reply:?}");
    let object = reply.json.as_object().unwrap_or_else(|| panic!("no envelope: {reply:?}"));
    let keys: Vec<&str> = object.keys().map(String::as_str).collect();
    assert_eq!(keys, ["code", "msg", "enMsg", "data"], "{reply:?}");
    let code = reply.code();
    assert!([200, -1, -2, -3, -4, 0, 500].contains(&code), "{reply:?}");
    assert_eq!(reply.status == 404, code == 0, "{reply:?}");
    assert!(reply.status != 500 || code == 500, "{reply:?}");
    assert_eq!(reply.headers["content-type"], "application/json; charset=UTF-8");
    assert_eq!(reply.headers["cache-control"], "no-store");
    assert!(!reply.headers["x-request-id"].is_empty());
    // What a panic is answered with; see the router.
    assert!(!reply.text.contains("could not be answered"), "{reply:?}");
}

/// "invalid JSON or UTF-8, over the body limit, too deep, duplicate keys: code 500, msg system
/// error, data a diagnostic string".
#[track_caller]
pub(crate) fn assert_unreadable(reply: &Reply, said: &str) {
    assert_envelope(reply);
    assert_eq!((reply.status, reply.code()), (200, 500), "{reply:?}");
    assert_eq!(reply.json["msg"], "system error");
    let data = reply.data().as_str().unwrap_or_else(|| panic!("no diagnostic: {reply:?}"));
    assert!(data.contains(said), "{data:?} does not say {said:?}");
}

/// The server still serves.
pub(crate) async fn assert_serves(server: &TestServer, token: &str) {
    let reply = server.call(DEVICES_PATH, Some(token), "{}").await;
    assert_envelope(&reply);
    assert_eq!(reply.code(), 200, "{reply:?}");
}
