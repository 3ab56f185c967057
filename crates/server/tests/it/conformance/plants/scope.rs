use kiosque_testkit::{DEVICES_PATH, ONLINE_PATH, ORDERS_PATH, SUMMARY_PATH};
use serde_json::json;

use super::{Plant, plant};

pub(super) fn plants() -> Vec<Plant> {
    let mut plants = groups();
    plants.extend(devices());
    plants
}

fn groups() -> Vec<Plant> {
    vec![
        plant("List devices does not follow a switch", &["scope.switched"]).call(|call, memory| {
            let group = memory.of(call.token()).map(|issued| issued.group.as_str());
            if call.path == DEVICES_PATH && group == Some("west") && call.body == "{}" {
                call.body = json!({"groupId": "east"}).to_string();
            }
        }),
        plant("List devices lists a third group after a switch", &["scope.switched"]).answer(
            |call, given, memory| {
                let group = memory.of(call.token()).map(|issued| issued.group.as_str());
                let is_page = group == Some("west") && call.body == "{}" && given.code() == 200;
                if call.path == DEVICES_PATH && is_page {
                    for device in given.list("records") {
                        device["deviceCode"] = json!("S1");
                    }
                }
            },
        ),
        plant("Online devices lists other groups", &["scope.online-devices"]).answer(
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
        plant("a groupId filter selects the group", &["scope.group-filter"]).call(
            |call, memory| {
                if let Some((token, group)) = &memory.filtered
                    && call.path == DEVICES_PATH
                    && call.body == "{}"
                    && call.token() == token
                {
                    call.body = json!({"groupId": group}).to_string();
                }
            },
        ),
        plant("List devices ignores groupId", &["scope.group-filter"]).call(|call, _| {
            if call.path == DEVICES_PATH && call.has("groupId", "west") {
                call.body = "{}".to_owned();
            }
        }),
        plant(
            "List devices of an unknown group is empty",
            &["scope.filters", "scope.foreign-group"],
        )
        .call(|call, _| {
            let group = call.json()["groupId"].as_str().map(|id| id.starts_with("no-such"));
            if call.path == DEVICES_PATH && group == Some(true) {
                call.succeed(json!({"total": 0, "current": 1, "size": 10, "records": []}));
            }
        }),
        plant("an unknown group of a filter does not exist", &["scope.filters"]).answer(
            |call, given, _| {
                let is_unknown = call.body.contains("\"groupId\":\"no-such");
                if call.path == DEVICES_PATH && is_unknown && given.code() == -1 {
                    given.json["msg"] = json!("Group does not exist or has been deactivated");
                }
            },
        ),
    ]
}

fn devices() -> Vec<Plant> {
    vec![
        plant(
            "orders of a device of another group are listed",
            &["orders.selected-group", "scope.foreign-device", "scope.selected-group"],
        )
        .call(|call, _| {
            if call.path == ORDERS_PATH && call.has("deviceCode", "W1") {
                call.body = call.body.replace("W1", "E1");
            }
        }),
        plant(
            "an unknown device has no orders",
            &["envelope.refusal-data", "scope.foreign-device", "scope.unknown-device"],
        )
        .call(|call, _| {
            if call.path == ORDERS_PATH && call.body.contains("no-such") {
                call.succeed(json!({"total": 0, "current": 1, "size": 10, "records": []}));
            }
        }),
        plant("a summary ignores unknown devices", &["scope.filters"]).call(|call, _| {
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
