use kiosque_testkit::{DEVICES_PATH, ONLINE_PATH, ORDERS_PATH, SUMMARY_PATH};
use serde_json::json;

use super::Change::{Add, Append, Body, InBody, Set, Succeed};
use super::{Plant, at, empty_page, plant};

pub(super) fn plants() -> Vec<Plant> {
    vec![
        plant("List devices does not follow a switch")
            .on(at(DEVICES_PATH).in_group("west").body("{}"), Body(r#"{"groupId":"east"}"#)),
        plant("List devices lists a third group after a switch").on(
            at(DEVICES_PATH).in_group("west").body("{}"),
            Set("data.records.*.deviceCode", json!("S1")),
        ),
        plant("Online devices lists other groups")
            .on(at(ONLINE_PATH), Add("data.totalCount", 1))
            .on(at(ONLINE_PATH), Add("data.offlineCount", 1))
            .on(at(ONLINE_PATH), Append("data.list", json!({"deviceCode": "W1", "isOnline": 0}))),
        plant("a groupId filter selects the group").call(|call, memory| {
            if let Some((token, group)) = &memory.filtered
                && call.path == DEVICES_PATH
                && call.body == "{}"
                && call.token() == token
            {
                call.body = json!({"groupId": group}).to_string();
            }
        }),
        plant("List devices ignores groupId")
            .on(at(DEVICES_PATH).part("\"groupId\":\"west\""), Body("{}")),
        plant("List devices of an unknown group is empty")
            .on(at(DEVICES_PATH).part("\"groupId\":\"no-such"), Succeed(empty_page())),
        plant("an unknown group of a filter does not exist").on(
            at(DEVICES_PATH).part("\"groupId\":\"no-such").code(-1),
            Set("msg", json!("Group does not exist or has been deactivated")),
        ),
        plant("orders of a device of another group are listed")
            .on(at(ORDERS_PATH), InBody("\"deviceCode\":\"W1\"", "\"deviceCode\":\"E1\"")),
        plant("an unknown device has no orders")
            .on(at(ORDERS_PATH).part("no-such"), Succeed(empty_page())),
        plant("a summary ignores unknown devices")
            .on(at(SUMMARY_PATH).part("\"deviceCodes\":[\"no-such"), Body("{}")),
        plant("a device of another group has its own message").on(
            at(ORDERS_PATH).part("\"deviceCode\":\"W1\""),
            Set("msg", json!("The device belongs to another group")),
        ),
    ]
}
