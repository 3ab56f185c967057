use kiosque_testkit::{
    DETAIL_PATH, DEVICES_PATH, LOGOUT_PATH, ORDERS_PATH, SUMMARY_PATH, SWITCH_PATH, TOKEN_PATH,
};
use serde_json::json;

use super::Change::{Append, Body, InBody, Set};
use super::{Call, Memory, Plant, at, plant};

pub(super) fn plants() -> Vec<Plant> {
    vec![
        plant("a login of any account ends all sessions").call(|call, memory| {
            if call.path != TOKEN_PATH && is_before_a_login_of_another(call, memory) {
                call.set_token("ended");
            }
        }),
        plant("a log out of any account ends all sessions").call(|call, memory| {
            let account = memory.of(call.token()).map(|issued| issued.account.as_str());
            let ended = memory.logged_out.iter().any(|(name, issued)| {
                Some(name.as_str()) != account && memory.is_older(call.token(), *issued)
            });
            if ended && call.path != LOGOUT_PATH {
                call.set_token("ended");
            }
        }),
        plant("a group of another account has another message")
            .on(at(SWITCH_PATH).part("\"north\""), Set("msg", json!("The group is not yours"))),
        plant("any group can be selected").on(at(SWITCH_PATH), InBody("north", "east")),
        plant("List devices has devices of other accounts").on(
            at(DEVICES_PATH).query("size=1000").body("{}"),
            Append("data.records", json!({"deviceCode": "N1", "groupId": "east"})),
        ),
        plant("a summary of a group of another account is answered")
            .on(at(SUMMARY_PATH).part("\"groupId\":\"north\""), Body("{}")),
        plant("devices of a group of another account are listed")
            .on(at(DEVICES_PATH).by_account("walker").part("\"groupId\":\"north\""), Body("{}")),
        plant("orders of a device of another account are listed")
            .on(at(ORDERS_PATH).by_account("walker"), InBody("\"N1\"", "\"E1\"")),
        plant("an order of another account is found")
            .on(at(DETAIL_PATH), InBody("\"n1\"", "\"t1\"")),
    ]
}

/// Whether another account has logged in since a token was issued.
fn is_before_a_login_of_another(call: &Call, memory: &Memory) -> bool {
    let Some(own) = memory.of(call.token()) else { return false };
    memory
        .issued_since(call.token())
        .any(|issued| issued.account != own.account && issued.by == TOKEN_PATH)
}
