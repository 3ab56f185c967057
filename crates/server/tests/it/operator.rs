//! The operator's calls: HTTPS with the same certificate at a separate address, ordinary HTTP
//! statuses, errors as `application/problem+json`.

mod activity;
mod calls;
mod fleet;
mod inventory;
mod isolation;
mod json_bodies;
mod keys;
pub(crate) mod orders;
pub(crate) mod overload;
mod slow_streams;
pub(crate) mod streams;
mod texts;
mod watch;

use kiosque_testkit::{FleetToml, ORDERS_CALL, ORDERS_PATH, OrderLine, Reply, TestServer};
use serde_json::Value;

use crate::abuse::wire::{Target, Wire};

pub(crate) const FLEET_CALL: &str = "/operator/v1/fleet";
const ACTIVITY: &str = "/operator/v1/activity";

pub(crate) fn fleet() -> FleetToml {
    FleetToml::new()
        .group("g1", "One")
        .group("g2", "Two")
        .account("ops", &["g1", "g2"])
        .product("cola", "Cola", "EUR")
        .device("D1", "Lobby", "g1")
        .device("D2", "Platform", "g2")
}

/// Starts a server with the fleet, and creates a key of these rights.
pub(crate) async fn with_key(rights: &str) -> (TestServer, String) {
    let server = TestServer::start(fleet()).await;
    let key = server.create_key(rights).await;
    (server, key)
}

/// Returns a valid order of device `D1` as a line.
pub(crate) fn line(id: &str, total: i64) -> String {
    OrderLine::new(id, "D1", "2026-03-01 09:00:00")
        .amount("EUR", total)
        .paid("2026-03-01 09:00:20")
        .to_string()
}

/// Returns lines of orders that are all new.
pub(crate) fn lines(name: &str, count: usize) -> String {
    (0..count).map(|at| line(&format!("{name}{at}"), 100)).collect()
}

/// Returns every order of `D1` as List orders shows it, newest first. They are read by another
/// connection to the file than the one that writes.
pub(crate) async fn shown(server: &TestServer, token: &str) -> Vec<Value> {
    let mut caller = server.connect().await;
    let (mut all, mut page) = (Vec::new(), 1);
    loop {
        let path = format!("{ORDERS_PATH}?size=1000&current={page}");
        let reply = caller.call(&path, Some(token), r#"{"deviceCode":"D1"}"#).await;
        let records = reply.data()["records"].as_array().unwrap().clone();
        if !records.is_empty() {
            all.extend(records);
            page += 1;
        } else if reply.data()["total"] == all.len() {
            return all;
        } else {
            // Orders of a caller that has disconnected were stored meanwhile.
            (all, page) = (Vec::new(), 1);
        }
    }
}

/// Returns the `orderId`s of these orders, sorted.
pub(crate) async fn kept(server: &TestServer, token: &str) -> Vec<String> {
    let shown = shown(server, token).await;
    let ids = shown.iter().map(|order| order["orderId"].as_str().unwrap().to_owned());
    let mut ids: Vec<String> = ids.collect();
    ids.sort();
    ids
}

/// Returns a whole answer as text for a snapshot; random parts are checked and removed.
pub(crate) fn whole(reply: &Reply) -> String {
    let id = &reply.headers["x-request-id"];
    assert_eq!(reply.headers["cache-control"], "no-store");
    let mut text = format!("HTTP {}\n", reply.status);
    for (name, value) in &reply.headers {
        if !["date", "content-length", "x-request-id"].contains(&name.as_str()) {
            text.push_str(&format!("{name}: {value}\n"));
        }
    }
    if reply.headers.get("content-type").is_some_and(|kind| kind == "application/problem+json") {
        assert_eq!(reply.json["requestId"], id.as_str());
        assert_eq!(reply.json["status"], reply.status);
    }
    let body = match &reply.json {
        Value::Null => reply.text.clone(),
        json => serde_json::to_string_pretty(json).unwrap(),
    };
    format!("{text}\n{}", body.replace(id.as_str(), "[request id]"))
}

/// A request whose body is sent in pieces.
pub(crate) struct Stream(pub(crate) Wire);

impl Stream {
    pub(crate) async fn open(server: &TestServer, key: &str) -> Stream {
        Stream::open_to(server, ORDERS_CALL, key).await
    }

    pub(crate) async fn open_to(server: &TestServer, path: &str, key: &str) -> Stream {
        Stream::open_as(server, (path, key), "application/x-ndjson").await
    }

    pub(crate) async fn open_as(
        server: &TestServer,
        (path, key): (&str, &str),
        kind: &str,
    ) -> Stream {
        let mut wire = Target::of_operator(server).open().await;
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n\
             Content-Type: {kind}\r\nTransfer-Encoding: chunked\r\n\r\n"
        );
        wire.say(head).await;
        Stream(wire)
    }

    pub(crate) async fn say(&mut self, text: impl AsRef<[u8]>) {
        let text = text.as_ref();
        let size = format!("{:x}\r\n", text.len());
        self.0.say([size.as_bytes(), text, b"\r\n"].concat()).await;
    }

    pub(crate) async fn end(mut self) -> Reply {
        self.0.ask("0\r\n\r\n").await
    }
}

/// Returns the counts of an answer: accepted, updated, unchanged, rejected.
#[track_caller]
pub(crate) fn counts(reply: &Reply) -> [i64; 4] {
    assert_eq!(reply.status, 200, "{reply:?}");
    ["accepted", "updated", "unchanged", "rejectedCount"]
        .map(|name| reply.json[name].as_i64().unwrap())
}
