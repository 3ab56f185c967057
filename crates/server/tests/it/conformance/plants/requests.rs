use kiosque_testkit::{DEVICES_PATH, ORDERS_PATH, SUMMARY_PATH, TOKEN_PATH};
use serde_json::{Value, json};

use super::Change::{
    Body, Header, InBody, InQuery, NoHeader, Refuse, Replace, Set, Status, Succeed, Violate,
};
use super::{ALWAYS, Plant, at, empty_page, plant};

pub(super) fn plants() -> Vec<Plant> {
    let mut plants = bodies();
    plants.extend(violations());
    plants.extend(fields());
    plants
}

fn bodies() -> Vec<Plant> {
    vec![
        plant("the body is read before the token is checked").call(|call, memory| {
            let is_live = memory.of(call.token()).is_some();
            if call.path == DEVICES_PATH && !is_live && call.json().is_null() {
                call.refuse(500, "system error");
            }
        }),
        plant("escapes are not read").on(ALWAYS, InBody("\\u", "\\\\u")),
        plant("an empty body is {}").on(at(DEVICES_PATH).body(""), Body("{}")),
        plant("null is {}").on(ALWAYS.body("null"), Body("{}")),
        plant("an empty body has code -1")
            .on(at(DEVICES_PATH).body(""), Replace("code", json!(500), json!(-1))),
        plant("an array is {}").on(ALWAYS.body("[]"), Body("{}")),
        plant("a body that cannot be read is answered with HTTP 400")
            .on(ALWAYS.code(500), Status(400)),
        plant("the last of two equal fields counts").call(|call, _| {
            if call.body.matches("groupId").count() == 2 {
                call.change_body(|_| ());
            }
        }),
        plant("deep JSON is read").on(at(ORDERS_PATH).part("[[["), Body("{}")),
    ]
}

fn fields() -> Vec<Plant> {
    vec![
        plant("an empty list selects nothing")
            .on(ALWAYS.part("\"deviceCodes\":[]"), Refuse(-1, "The request is not valid")),
        plant("a null filter is a violation").on(
            at(DEVICES_PATH).part("\"deviceName\":null"),
            Violate("deviceName must be a string"),
        ),
        plant("an empty filter selects nothing")
            .on(at(DEVICES_PATH).part("\"deviceName\":\"\""), Succeed(empty_page())),
        plant("the case of query keys makes no difference").on(ALWAYS, InQuery("Size", "size")),
        plant("List orders has a groupId filter")
            .on(at(ORDERS_PATH).part("groupId"), Succeed(empty_page())),
        plant("an unknown number beyond all is not readable")
            .on(ALWAYS.part("\"colour\":1e999"), Refuse(500, "system error")),
        plant("names are listed without a session")
            .on(ALWAYS.part("deviceNmae").code(-4), Header("kiosque-ignored", "deviceNmae")),
        plant("an unknown field is a violation")
            .on(ALWAYS.part("\"colour\":\"red\""), Set("code", json!(-1))),
        plant("1.0 is an integer").on(ALWAYS, InBody(".0}", "}")),
        plant("a text of digits is an integer").call(|call, _| {
            let end = call.json()["endTimestamp"].as_str().and_then(|it| it.parse::<i64>().ok());
            if let Some(end) = end {
                call.change_body(|body| body["endTimestamp"] = json!(end));
            }
        }),
        plant("an integer beyond 64 bits is absent").on(ALWAYS, InBody("1e999", "null")),
        plant("unknown names are not listed").on(ALWAYS, NoHeader("kiosque-ignored")),
        plant("seconds are milliseconds").call(|call, _| {
            let is_seconds =
                |value: &Value| value.as_i64().is_some_and(|it| it / 1_000_000_000 == 1);
            let body = call.json();
            if call.path == SUMMARY_PATH && is_seconds(&body["startTimestamp"]) {
                call.succeed(json!({}));
            }
        }),
    ]
}

fn violations() -> Vec<Plant> {
    vec![
        plant("only the first violation is listed").answer(|_, given, _| {
            if let Some(list) = given.data().as_array_mut().filter(|list| list.len() == 3) {
                list.truncate(1);
            }
        }),
        plant("a missing field is not blank but required").answer(|_, given, _| {
            let violations = given.data().as_array_mut().into_iter().flatten();
            for text in violations.filter(|text| text.is_string()) {
                let other = text.as_str().unwrap().replace("must not be blank", "is required");
                *text = json!(other);
            }
        }),
        plant("the first violation is a text").answer(|_, given, _| {
            if given.code() == -1
                && let Some(list) = given.data().as_array()
            {
                *given.data() = list[0].clone();
            }
        }),
        plant("a login without a name is refused with HTTP 400")
            .on(at(TOKEN_PATH).body("{}"), Status(400)),
        plant("a missing name is a wrong one").call(|call, _| {
            if call.path == TOKEN_PATH && call.json().get("username").is_none() {
                call.refuse(-2, "User name or password is wrong.");
            }
        }),
    ]
}
