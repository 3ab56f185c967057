use kiosque_testkit::DEVICES_PATH;
use serde_json::json;

use super::Change::{InQuery, Query, Refuse, Set};
use super::{ALWAYS, Call, Plant, at, plant};

pub(super) fn plants() -> Vec<Plant> {
    let devices = at(DEVICES_PATH);
    vec![
        plant("size is 20 by default").on(devices.query(""), Query("size=20")),
        plant("the body has current and size").call(|call, _| {
            let body = call.json();
            if call.path == DEVICES_PATH && body.get("size").is_some() {
                call.query = format!("current={}&size={}", body["current"], body["size"]);
            }
        }),
        plant("an empty size is absent").on(ALWAYS.query("size="), Query("")),
        plant("page 0 is page 1").on(ALWAYS.query("current=0"), Query("")),
        plant("the last of two sizes counts").on(ALWAYS.query("size=1&size=1"), Query("size=1")),
        plant("a large page is shortened").on(ALWAYS, InQuery("9223372036854775807", "1000")),
        plant("total is a text").on(devices, Set("data.total", json!("2"))),
        plant("total counts the page").answer(|call, given, _| {
            if call.path == DEVICES_PATH && given.code() == 200 {
                let count = given.list("records").len();
                given.data()["total"] = json!(count);
            }
        }),
        plant("a page past the end is the last one").call(|call, _| {
            if call.path == DEVICES_PATH && is_past_the_end(call) {
                call.query = "size=10".to_owned();
            }
        }),
        plant("total counts a device too few").answer(|call, given, _| {
            let is_of_rules = call.query.is_empty() || call.query.starts_with("current=");
            if call.path == DEVICES_PATH && is_of_rules && given.code() == 200 {
                let data = given.data();
                data["total"] = json!(data["total"].as_i64().map(|total| total - 1));
            }
        }),
        plant("a page past the end is refused")
            .on(ALWAYS.query("current=1000000"), Refuse(-1, "There is no such page")),
        plant("pages overlap")
            .on(devices.query("size=1&current=2"), Set("data.records.*.deviceCode", json!("E1"))),
    ]
}

/// Whether a page is behind the few records of these servers.
fn is_past_the_end(call: &Call) -> bool {
    let current = call.query.strip_prefix("current=");
    let current = current.and_then(|rest| rest.split('&').next()?.parse::<u64>().ok());
    current.is_some_and(|current| current > 2)
}
