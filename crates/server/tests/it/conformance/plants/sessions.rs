use kiosque_testkit::{DEVICES_PATH, LOGOUT_PATH, ONLINE_PATH, SWITCH_PATH, TOKEN_PATH};
use serde_json::{Value, json};

use super::Change::{Append, NoHeader, Refuse, Remove, Replace, Reverse, Set, Succeed, Token};
use super::{ALWAYS, Call, Memory, Plant, at, plant};

pub(super) fn plants() -> Vec<Plant> {
    let mut plants = logins();
    plants.extend(tokens());
    plants.extend(switches());
    plants
}

fn logins() -> Vec<Plant> {
    vec![
        plant("a login with a token is refused").call(|call, _| {
            if call.path == TOKEN_PATH && !call.token().is_empty() {
                call.refuse(-4, "Token is incorrect or invalid,please login again");
            }
        }),
        plant("a login has no other fields").on(at(TOKEN_PATH).part("\"x\":"), Refuse(500, "x")),
        plant("a group of a login has no id")
            .on(at(TOKEN_PATH), Append("data.switchableGroups", json!({"groupName": "North"}))),
        plant("a token has a point")
            .call(|call, _| call.map_tokens(|token| token.replace('.', "")))
            .answer(|_, given, _| {
                if let Some(Value::String(token)) = given.data().get_mut("accessToken") {
                    token.push('.');
                }
            }),
        plant("groups are listed backwards").on(ALWAYS, Reverse("data.switchableGroups")),
        plant("expiresIn is a duration")
            .on(at(TOKEN_PATH).code(200), Set("data.expiresIn", json!(7_200))),
        plant("a wrong password has code -1").on(ALWAYS, Replace("code", json!(-2), json!(-1))),
        plant("an unknown name has a message of its own").answer(|call, given, memory| {
            let is_known = call.json()["username"].as_str().and_then(|it| memory.latest(it));
            if given.code() == -2 && is_known.is_none() {
                given.json["msg"] = json!("There is no such user.");
            }
        }),
        plant("a login leaves the earlier session")
            .call(|call, memory| revive(call, memory, TOKEN_PATH)),
        plant("a login answers with the group that was selected before").answer(
            |call, given, memory| {
                if call.path == TOKEN_PATH && given.code() == 200 {
                    let token = given.data()["accessToken"].as_str().unwrap().to_owned();
                    if let Some(earlier) = memory.predecessor(&token) {
                        given.data()["groupId"] = json!(earlier.group);
                    }
                }
            },
        ),
        // The session of scope.group-filter is that of the login after scope.switched.
        plant("a login keeps the group").call(|call, memory| {
            if call.path == DEVICES_PATH
                && call.body == "{}"
                && memory.of(call.token()).is_some_and(|issued| issued.by == TOKEN_PATH)
                && let Some(earlier) = memory.predecessor(call.token())
            {
                call.body = json!({"groupId": earlier.group}).to_string();
            }
        }),
        plant("a refused login ends the session").call(|call, memory| {
            if memory.was_refused_since(call.token()) {
                call.set_token("ended");
            }
        }),
    ]
}

fn tokens() -> Vec<Plant> {
    vec![
        plant("a log out without a token is a success")
            .on(at(LOGOUT_PATH).without_token(), Succeed(Value::Null)),
        plant("a missing token is a wrong one")
            .on(at(SWITCH_PATH).without_token(), Token("missing"))
            .on(at(LOGOUT_PATH).without_token(), Token("missing")),
        plant("business calls without a token have code -3")
            .on(at(DEVICES_PATH).without_token().code(-4), Set("code", json!(-3)))
            .on(at(ONLINE_PATH).without_token().code(-4), Set("code", json!(-3))),
        plant("the first character of a token is not compared").call(|call, memory| {
            let own = memory.last().map(|issued| issued.token.clone()).unwrap_or_default();
            if call.token().len() == own.len() && call.token().get(1..) == own.get(1..) {
                call.map_tokens(|_| own.clone());
            }
        }),
        plant("Bearer is ignored")
            .call(|call, _| call.map_tokens(|token| token.replace("Bearer ", ""))),
        plant("the first of two tokens counts").call(|call, _| {
            if call.tokens().len() == 2 {
                let first = call.token().to_owned();
                call.set_token(&first);
            }
        }),
        plant("there are no hints").on(ALWAYS, NoHeader("kiosque-hint")),
    ]
}

fn switches() -> Vec<Plant> {
    vec![
        plant("a switch leaves the old token")
            .call(|call, memory| revive(call, memory, SWITCH_PATH)),
        plant("a switch to the selected group leaves the old token").call(|call, memory| {
            let groups = [memory.of(call.token()), memory.successor(call.token())];
            if let [Some(earlier), Some(later)] = groups
                && earlier.group == later.group
            {
                revive(call, memory, SWITCH_PATH);
            }
        }),
        plant("a switch answers without its end").on(at(SWITCH_PATH), Remove("data.expiresIn")),
        plant("a switch without a group is refused by a text")
            .on(at(SWITCH_PATH).body("{}"), Refuse(-1, "Which group?")),
        plant("a switch to the selected group is refused").call(|call, memory| {
            let selected = memory.of(call.token()).map(|issued| issued.group.clone());
            if call.path == SWITCH_PATH && selected.is_some_and(|it| call.has("groupId", it)) {
                call.refuse(-1, "The group is selected already");
            }
        }),
        plant("an unknown group has another message")
            .on(at(SWITCH_PATH).part("no-such"), Set("msg", json!("No such group"))),
        plant("a log out leaves the session")
            .on(at(LOGOUT_PATH).by_account(""), Succeed(Value::Null)),
        plant("a log out has the token in data")
            .on(at(LOGOUT_PATH).code(200), Set("data", json!({"ended": true}))),
    ]
}

/// Replaces a token that a call of this path has replaced by the one that is valid now.
fn revive(call: &mut Call, memory: &Memory, by: &str) {
    let Some(successor) = memory.successor(call.token()) else { return };
    if successor.by == by
        && let Some(latest) = memory.latest(&successor.account)
    {
        call.set_token(&latest.token.clone());
    }
}
