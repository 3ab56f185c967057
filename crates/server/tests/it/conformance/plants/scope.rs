use kiosque_testkit::{DEVICES_PATH, ONLINE_PATH, ORDERS_PATH, SUMMARY_PATH};
use serde_json::json;

use super::{Plant, plant};

pub(super) fn plants() -> Vec<Plant> {
    vec![
        plant("Online devices lists other groups", &["scope.selected-group"]).answer(
            |call, given, _| {
                if call.path == ONLINE_PATH && given.code() == 200 {
                    let data = given.data();
                    for count in ["totalCount", "offlineCount"] {
                        data[count] = json!(data[count].as_i64().unwrap() + 1);
                    }
                    let foreign = json!({"deviceCode": "W1", "isOnline": 0});
                    data["list"].as_array_mut().unwrap().push(foreign);
                }
            },
        ),
        plant("List devices ignores groupId", &["scope.group-filter"]).call(|call, _| {
            if call.path == DEVICES_PATH && call.has("groupId", "west") {
                call.body = "{}".to_owned();
            }
        }),
        plant("List devices of an unknown group is empty", &["scope.foreign-group"]).call(
            |call, _| {
                let group = call.json()["groupId"].as_str().map(|id| id.starts_with("no-such"));
                if call.path == DEVICES_PATH && group == Some(true) {
                    call.succeed(json!({"total": 0, "current": 1, "size": 10, "records": []}));
                }
            },
        ),
        plant("a summary ignores unknown devices", &["scope.unknown-device"]).call(|call, _| {
            if call.path == SUMMARY_PATH && call.body.contains("no-such") {
                call.change_body(|body| body["deviceCodes"] = json!(["E1"]));
            }
        }),
        plant("a device of another group has its own message", &["scope.foreign-device"]).answer(
            |call, given, _| {
                if call.path == ORDERS_PATH && call.has("deviceCode", "W1") {
                    given.json["msg"] = json!("The device belongs to another group");
                }
            },
        ),
    ]
}
