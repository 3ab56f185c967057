//! Hostile callers: every request that is answered is answered with an envelope, slow callers are
//! disconnected at their deadline, and other callers are served throughout.

mod framing;
mod headers;
pub(crate) mod http2;
mod noise;
mod paths;
pub(crate) mod slow_clients;
pub(crate) mod stalled_clients;
mod tls;
pub(crate) mod wire;

use kiosque_testkit::{DEVICES_PATH, FleetToml, Reply, TestServer};

/// A group, its account and its device.
pub(crate) fn fleet() -> FleetToml {
    FleetToml::new().group("g1", "One").account("ops", &["g1"]).device("D1", "Lobby", "g1")
}

/// Checks an answer for the promises of every answer. ENV-1: the envelope. ENV-2: the HTTP status
/// follows from `code`. ENV-8, ENV-9, ENV-10: its headers.
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
    // The answer to a panic; see the router's test.
    assert!(!reply.text.contains("could not be answered"), "{reply:?}");
}

/// REQ-4: the answer to a body that cannot be read is `code` 500 with a diagnostic.
#[track_caller]
pub(crate) fn assert_unreadable(reply: &Reply, said: &str) {
    assert_envelope(reply);
    assert_eq!((reply.status, reply.code()), (200, 500), "{reply:?}");
    assert_eq!(reply.json["msg"], "system error");
    let data = reply.data().as_str().unwrap_or_else(|| panic!("no diagnostic: {reply:?}"));
    assert!(data.contains(said), "{data:?} does not say {said:?}");
}

/// Checks that the server still answers.
pub(crate) async fn assert_serves(server: &TestServer, token: &str) {
    let reply = server.call(DEVICES_PATH, Some(token), "{}").await;
    assert_envelope(&reply);
    assert_eq!(reply.code(), 200, "{reply:?}");
}
