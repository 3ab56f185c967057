use kiosque_testkit::DEVICES_PATH;
use serde_json::{Value, json};

use super::Change::{Body, InBody, Remove, Set};
use super::{ALWAYS, Plant, at, empty_page, plant};

pub(super) fn plants() -> Vec<Plant> {
    vec![
        plant("the first page of devices is empty")
            .on(at(DEVICES_PATH).query("").body("{}"), Set("data.records", json!([]))),
        plant("a device has no address").on(at(DEVICES_PATH), Remove("data.records.*.address")),
        plant("devices are sorted by another field")
            .call(|call, _| call.body = exchanged(&call.body))
            .answer(|_, given, _| {
                let text = exchanged(&given.json.to_string());
                given.json = serde_json::from_str::<Value>(&text).unwrap();
            }),
        plant("a deviceCode filter is ignored").on(at(DEVICES_PATH).part("deviceCode"), Body("{}")),
        plant("a device outside the scope yields an empty page").call(|call, _| {
            let code = call.json()["deviceCode"].as_str().map(str::to_owned);
            let is_other = code.is_some_and(|code| !code.is_empty() && code != "E1");
            if call.path == DEVICES_PATH && is_other {
                call.succeed(empty_page());
            }
        }),
        plant("the filter for a device of another group is ignored")
            .on(at(DEVICES_PATH).part("\"deviceCode\":\"W1\""), Body("{}")),
        plant("a code ends at a NUL").on(ALWAYS, InBody("\\u0000", "")),
        plant("the beginning of a code is enough").on(ALWAYS, InBody("\"E\"", "\"E1\"")),
    ]
}

/// Exchanges the codes of two devices.
fn exchanged(text: &str) -> String {
    let text = text.replace("\"E1\"", "\"-\"").replace("\"E2\"", "\"E1\"");
    text.replace("\"-\"", "\"E2\"")
}
