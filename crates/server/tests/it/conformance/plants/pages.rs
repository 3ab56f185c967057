use kiosque_testkit::DEVICES_PATH;
use serde_json::json;

use super::{Call, Plant, plant};

pub(super) fn plants() -> Vec<Plant> {
    let mut plants = numbers();
    plants.extend(ends());
    plants
}

fn numbers() -> Vec<Plant> {
    vec![
        plant("size is 20 by default", &["pages.defaults", "requests.unknown-fields"]).call(
            |call, _| {
                if is_devices(call) && call.query.is_empty() {
                    call.query = "size=20".to_owned();
                }
            },
        ),
        plant("the body has current and size", &["pages.query", "requests.unknown-fields"]).call(
            |call, _| {
                let body = call.json();
                if is_devices(call) && body.get("size").is_some() {
                    call.query = format!("current={}&size={}", body["current"], body["size"]);
                }
            },
        ),
        plant("an empty size is absent", &["pages.positive"]).call(|call, _| {
            if call.query == "size=" {
                call.query.clear();
            }
        }),
        plant("page 0 is page 1", &["pages.positive"]).call(|call, _| {
            if call.query == "current=0" {
                call.query.clear();
            }
        }),
        plant("the last of two sizes counts", &["pages.given-once"]).call(|call, _| {
            if call.query == "size=1&size=1" {
                call.query = "size=1".to_owned();
            }
        }),
        plant("a large page is shortened", &["pages.largest"])
            .call(|call, _| call.query = call.query.replace("9223372036854775807", "1000")),
    ]
}

fn ends() -> Vec<Plant> {
    vec![
        plant("total is a text", &["pages.fields", "pages.end", "pages.past-the-end"]).answer(
            |call, given, _| {
                if is_devices(call) && given.code() == 200 {
                    let data = given.data();
                    data["total"] = json!(data["total"].to_string());
                }
            },
        ),
        plant("total counts the page", &["pages.fields", "pages.past-the-end"]).answer(
            |call, given, _| {
                if is_devices(call) && given.code() == 200 {
                    let count = given.list("records").len();
                    given.data()["total"] = json!(count);
                }
            },
        ),
        plant("a page past the end is the last one", &["pages.end", "pages.past-the-end"]).call(
            |call, _| {
                if is_devices(call) && is_past_the_end(call) {
                    call.query = "size=10".to_owned();
                }
            },
        ),
        plant(
            "total counts a device too few",
            &["pages.fields", "pages.end", "pages.past-the-end"],
        )
        .answer(|call, given, _| {
            let is_of_rules = call.query.is_empty() || call.query.starts_with("current=");
            if is_devices(call) && is_of_rules && given.code() == 200 {
                let data = given.data();
                data["total"] = json!(data["total"].as_i64().map(|total| total - 1));
            }
        }),
        plant("a page past the end is refused", &["pages.past-the-end"]).call(|call, _| {
            if call.query == "current=1000000" {
                call.refuse(-1, "There is no such page");
            }
        }),
        plant("pages overlap", &["pages.each-once"]).answer(|call, given, _| {
            if is_devices(call) && call.query == "size=1&current=2" {
                for device in given.list("records") {
                    device["deviceCode"] = json!("E1");
                }
            }
        }),
    ]
}

/// Whether a page is behind the few records of these servers.
fn is_past_the_end(call: &Call) -> bool {
    let current = call.query.strip_prefix("current=");
    let current = current.and_then(|rest| rest.split('&').next()?.parse::<u64>().ok());
    current.is_some_and(|current| current > 2)
}

fn is_devices(call: &Call) -> bool {
    call.path == DEVICES_PATH
}
