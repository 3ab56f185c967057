//! Servers that differ from this one where the contract leaves a choice. They are plants that break
//! no rule of the contract.

use http::{HeaderValue, Method};
use kiosque_testkit::{
    AISLE_PATH, BEST_PATH, BY_DEVICE_PATH, DETAIL_PATH, DEVICES_PATH, LOGOUT_PATH, ONLINE_PATH,
    ORDERS_PATH, PROFILE_PATH, SUMMARY_PATH, SWITCH_PATH, TOKEN_PATH, TREND_PATH,
};
use serde_json::{Value, json};

use super::plant::Change::{
    Add, Header, InQuery, NoHeader, Query, Refuse, Replace, Set, Status, Violate,
};
use super::plant::{ALWAYS, Plant, at, plant};

/// The functions whose paths the contract does not give.
const OTHER_PATHS: [&str; 6] =
    [ONLINE_PATH, BEST_PATH, BY_DEVICE_PATH, TREND_PATH, AISLE_PATH, PROFILE_PATH];

/// Returns the choices. They can be combined in this order.
pub(super) fn all() -> Vec<Plant> {
    let mut others = dashboards();
    others.extend(requests());
    others.extend(sessions());
    others.extend(pages());
    others.extend(refusals());
    others.extend(answers());
    others
}

fn dashboards() -> Vec<Plant> {
    vec![
        plant("dashboard functions have other paths").call(|call, _| {
            if OTHER_PATHS.contains(&call.path.as_str()) {
                call.path = "third-center-web/openapi/v1/elsewhere".to_owned();
            }
        }),
        plant("the range of a summary has other names").call(|call, _| {
            if call.path == SUMMARY_PATH || call.path == TREND_PATH || call.path == BEST_PATH {
                call.change_body(|body| {
                    for name in ["startTimestamp", "endTimestamp", "groupId", "deviceCodes"] {
                        body.as_object_mut().unwrap().remove(name);
                    }
                });
            }
        }),
        plant("the sales trend has another range and another shape").on(
            at(TREND_PATH).code(200),
            Set("data", json!({"labels": ["2026-02-01", "2026-02-02"], "amounts": [0, 2.5]})),
        ),
    ]
}

fn requests() -> Vec<Plant> {
    vec![
        plant("an absent body is a violation").answer(|call, given, _| {
            if call.method == Method::POST && call.body.is_empty() && given.code() == 500 {
                given.json["code"] = json!(-1);
                *given.data() = json!(["body must not be blank"]);
            }
        }),
        plant("a body that cannot be read is a system error").on(ALWAYS.code(500), Status(500)),
        plant("unknown fields are refused")
            .on(at(DEVICES_PATH).part("\"size\":"), Violate("size is unknown"))
            .on(at(DEVICES_PATH).part("\"colour\":"), Violate("colour is unknown")),
        plant("a violation has code 400").answer(|_, given, _| {
            if given.code() == -1 && given.data().is_array() {
                given.json["code"] = json!(400);
            }
        }),
        plant("a switch without a group names no group").call(|call, _| {
            if call.path == SWITCH_PATH && call.body == "{}" && !call.token().is_empty() {
                call.body = json!({"groupId": "no-such-group"}).to_string();
            }
        }),
        plant("a detail without a number is an unknown one")
            .on(at(DETAIL_PATH).body("{}"), Refuse(-1, "Which order?")),
    ]
}

fn sessions() -> Vec<Plant> {
    vec![
        plant("tokens have another form")
            .call(|call, _| {
                call.map_tokens(|token| match token.strip_prefix("a/+=:") {
                    Some(token) => token.chars().rev().collect(),
                    None => "unknown".to_owned(),
                });
            })
            .answer(|_, given, _| {
                if let Some(Value::String(token)) = given.data().get_mut("accessToken") {
                    *token = format!("a/+=:{}", token.chars().rev().collect::<String>());
                }
            }),
        plant("a session has a refreshToken, and groups have more fields").answer(
            |call, given, _| {
                if [TOKEN_PATH, SWITCH_PATH].contains(&call.path.as_str()) && given.code() == 200 {
                    given.data()["refreshToken"] = json!("r");
                    for group in given.list("switchableGroups") {
                        let name = group.as_object_mut().unwrap().remove("groupName");
                        group["name"] = name.unwrap();
                        group["logo"] = json!(null);
                    }
                    given.data()["switchableGroups"].as_array_mut().unwrap().reverse();
                }
            },
        ),
        plant("sessions last a week").on(ALWAYS, Add("data.expiresIn", 7 * 86_400_000)),
        plant("a missing token is an invalid one")
            .on(ALWAYS, Replace("code", json!(-3), json!(-4))),
        plant("business calls without a token have code -3").answer(|call, given, _| {
            if given.code() == -4 && call.token().is_empty() && call.path != LOGOUT_PATH {
                given.json["code"] = json!(-3);
            }
        }),
    ]
}

fn pages() -> Vec<Plant> {
    vec![
        plant("the largest page has 50 records")
            .on(ALWAYS.query("size=1000"), Violate("size must be at most 50")),
        plant("a large page is shortened").on(ALWAYS.query("size=1000"), Query("size=1")),
        plant("the devices of a group are on other pages after a switch").answer(
            |call, given, memory| {
                let group = memory.group_of(call.token());
                let is_selected = group == Some("west") && call.body == "{}";
                if call.path != DEVICES_PATH || given.code() != 200 {
                    return;
                }
                if is_selected || call.has("groupId", "west") {
                    given.data()["total"] = json!(1_001);
                }
                if is_selected {
                    for device in given.list("records") {
                        device["deviceCode"] = json!("W2");
                    }
                }
            },
        ),
        plant("page 0 is page 1").on(ALWAYS, InQuery("current=0", "current=1")),
        plant("total grows from page to page, and pages have more fields").answer(
            |_, given, memory| {
                if given.data().get("records").is_some() {
                    let total = given.data()["total"].as_u64().unwrap();
                    given.data()["total"] = json!(total + memory.calls as u64);
                    given.data()["pages"] = json!(3);
                    given.data()["orders"] = json!([]);
                }
            },
        ),
        plant("devices and orders have other fields").answer(|call, given, _| {
            if call.path == DEVICES_PATH && given.code() == 200 {
                for device in given.list("records") {
                    *device = json!({"deviceCode": device["deviceCode"], "vendor": {"id": 7}});
                }
            }
            if [ORDERS_PATH, DETAIL_PATH].contains(&call.path.as_str()) && given.code() == 200 {
                given.orders().iter_mut().for_each(with_other_fields);
            }
        }),
    ]
}

/// Removes the fields of an order that are not the contract's, and adds another.
fn with_other_fields(order: &mut Value) {
    let fields = order.as_object_mut().unwrap();
    for name in ["tradeNoIn", "refundAmount", "payStatus", "shipmentStatus", "payChannelName"] {
        fields.remove(name);
    }
    if fields.contains_key("detailList") {
        // The number of a detail is tradeNoOut alone.
        fields.remove("tradeNo");
    } else {
        fields.remove("deviceCode");
    }
    fields.insert("channel".to_owned(), json!("web"));
    order["payEndTime"] = json!(null);
    order["cardNumber"] = json!("4111 1111 1111 1111");
}

fn refusals() -> Vec<Plant> {
    vec![
        plant("an unknown group of a filter does not exist").answer(|call, given, _| {
            if call.path == DEVICES_PATH && given.code() == -1 && given.data().is_string() {
                let text = json!("Group does not exist or has been deactivated");
                (given.json["msg"], given.json["data"]) = (text.clone(), text);
            }
        }),
        plant("an unknown order has another message")
            .on(at(DETAIL_PATH).code(-1), Set("msg", json!("No such order"))),
        plant("a page past the end is refused").call(|call, _| {
            let current = call.query.strip_prefix("current=").and_then(|it| it.split('&').next());
            if current.and_then(|it| it.parse().ok()).is_some_and(|it: u64| it > 3) {
                call.refuse(-1, "There is no such page");
            }
        }),
        plant("enMsg is always null").on(ALWAYS, Set("enMsg", Value::Null)),
        plant("enMsg of a success is a text").on(ALWAYS.code(200), Set("enMsg", json!("success"))),
        plant("data of a refusal is null").answer(|_, given, _| {
            if given.code() != 200 && given.data().is_string() {
                *given.data() = json!(null);
            }
        }),
    ]
}

fn answers() -> Vec<Plant> {
    vec![
        plant("an envelope has more fields").answer(|_, given, _| {
            given.json["traceId"] = json!("7f");
            given.json["success"] = json!(given.code() == 200);
        }),
        plant("answers have other headers")
            .on(ALWAYS, NoHeader("cache-control"))
            .on(ALWAYS, NoHeader("x-request-id"))
            .on(ALWAYS, NoHeader("kiosque-hint"))
            .on(ALWAYS, NoHeader("kiosque-ignored"))
            .on(ALWAYS, Header("server", "other"))
            .on(ALWAYS, Header("content-type", "application/json;charset=utf-8")),
        plant("data of an unknown path is a text")
            .on(ALWAYS.code(0), Set("data", json!("Not Found"))),
        plant("an unknown path is answered with HTML").answer(|_, given, _| {
            if given.status == 404 {
                given.json = json!("<html><body>404 Not Found</body></html>");
                given.headers.insert("content-type", HeaderValue::from_static("text/html"));
            }
        }),
    ]
}
