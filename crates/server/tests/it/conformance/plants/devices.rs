use kiosque_testkit::DEVICES_PATH;
use serde_json::{Value, json};

use super::{Plant, plant};

pub(super) fn plants() -> Vec<Plant> {
    vec![
        plant("the first page of devices is empty", &["devices.code", "scope.switched"]).answer(
            |call, given, _| {
                let is_first = call.query.is_empty() && call.body == "{}";
                if call.path == DEVICES_PATH && is_first && given.code() == 200 {
                    given.data()["records"] = json!([]);
                }
            },
        ),
        plant("a device has no address", &["devices.fields"]).answer(|call, given, _| {
            if call.path == DEVICES_PATH {
                for device in given.list("records") {
                    device.as_object_mut().unwrap().remove("address");
                }
            }
        }),
        plant("devices are sorted by another field", &["devices.order"])
            .call(|call, _| call.body = exchanged(&call.body))
            .answer(|_, given, _| {
                let text = exchanged(&given.json.to_string());
                given.json = serde_json::from_str::<Value>(&text).unwrap();
            }),
        plant("a deviceCode filter is ignored", &["devices.filters"]).call(|call, _| {
            if call.path == DEVICES_PATH && call.body.contains("deviceCode") {
                call.body = "{}".to_owned();
            }
        }),
    ]
}

/// Exchanges the codes of two devices.
fn exchanged(text: &str) -> String {
    let text = text.replace("\"E1\"", "\"-\"").replace("\"E2\"", "\"E1\"");
    text.replace("\"-\"", "\"E2\"")
}
