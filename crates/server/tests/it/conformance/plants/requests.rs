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
        plant("the body is read before the token is checked", &["requests.token-first"]).call(
            |call, memory| {
                let is_live = memory.of(call.token()).is_some();
                if call.path == DEVICES_PATH && !is_live && call.json().is_null() {
                    call.refuse(500, "system error");
                }
            },
        ),
        plant("escapes are not read", &["requests.escapes"]).on(ALWAYS, InBody("\\u", "\\\\u")),
        plant("an empty body is {}", &["requests.diagnostic", "requests.empty-body"])
            .on(at(DEVICES_PATH).body(""), Body("{}")),
        plant("null is {}", &["requests.diagnostic", "requests.empty-body"])
            .on(ALWAYS.body("null"), Body("{}")),
        plant("an empty body has code -1", &["requests.diagnostic"])
            .on(at(DEVICES_PATH).body(""), Replace("code", json!(500), json!(-1))),
        plant("an array is {}", &["requests.diagnostic", "requests.unreadable"])
            .on(ALWAYS.body("[]"), Body("{}")),
        plant(
            "a body that cannot be read is answered with HTTP 400",
            &[
                "http.any-content-type",
                "requests.deep-json",
                "requests.diagnostic",
                "requests.empty-body",
                "requests.repeated-field",
                "requests.unreadable",
            ],
        )
        .on(ALWAYS.code(500), Status(400)),
        plant("the last of two equal fields counts", &["requests.repeated-field"]).call(
            |call, _| {
                if call.body.matches("groupId").count() == 2 {
                    call.change_body(|_| ());
                }
            },
        ),
        plant("deep JSON is read", &["requests.deep-json"])
            .on(at(ORDERS_PATH).part("[[["), Body("{}")),
    ]
}

fn fields() -> Vec<Plant> {
    vec![
        plant("an empty list selects nothing", &["requests.null-is-absent"])
            .on(ALWAYS.part("\"deviceCodes\":[]"), Refuse(-1, "The request is not valid")),
        plant("a null filter is a violation", &["requests.null-is-absent"]).on(
            at(DEVICES_PATH).part("\"deviceName\":null"),
            Violate("deviceName must be a string"),
        ),
        plant("an empty filter selects nothing", &["requests.null-is-absent"])
            .on(at(DEVICES_PATH).part("\"deviceName\":\"\""), Succeed(empty_page())),
        plant("the case of query keys makes no difference", &["requests.unknown-fields"])
            .on(ALWAYS, InQuery("Size", "size")),
        plant("an unknown number beyond all is not readable", &["requests.unknown-fields"])
            .on(ALWAYS.part("\"colour\":1e999"), Refuse(500, "system error")),
        plant("names are listed without a session", &["requests.ignored-needs-session"])
            .on(ALWAYS.part("deviceNmae").code(-4), Header("kiosque-ignored", "deviceNmae")),
        plant("an unknown field is a violation", &["requests.unknown-fields"])
            .on(ALWAYS.part("\"colour\":\"red\""), Set("code", json!(-1))),
        plant("1.0 is an integer", &["requests.integers"]).on(ALWAYS, InBody(".0}", "}")),
        plant("a text of digits is an integer", &["requests.integers"]).call(|call, _| {
            let end = call.json()["endTimestamp"].as_str().and_then(|it| it.parse::<i64>().ok());
            if let Some(end) = end {
                call.change_body(|body| body["endTimestamp"] = json!(end));
            }
        }),
        plant("an integer beyond 64 bits is absent", &["requests.integers"])
            .on(ALWAYS, InBody("1e999", "null")),
        plant("unknown names are not listed", &["requests.ignored-header"])
            .on(ALWAYS, NoHeader("kiosque-ignored")),
        plant("seconds are milliseconds", &["requests.seconds"]).call(|call, _| {
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
        plant("only the first violation is listed", &["requests.all-violations"]).answer(
            |_, given, _| {
                if let Some(list) = given.data().as_array_mut().filter(|list| list.len() == 3) {
                    list.truncate(1);
                }
            },
        ),
        plant("a missing field is not blank but required", &["requests.violation-texts"]).answer(
            |_, given, _| {
                let violations = given.data().as_array_mut().into_iter().flatten();
                for text in violations.filter(|text| text.is_string()) {
                    let other = text.as_str().unwrap().replace("must not be blank", "is required");
                    *text = json!(other);
                }
            },
        ),
        plant(
            "the first violation is a text",
            &[
                "dashboard.longest-range",
                "orders.span",
                "pages.given-once",
                "pages.largest",
                "pages.positive",
                "requests.all-violations",
                "requests.integers",
                "requests.seconds",
                "requests.violation-texts",
                "requests.violations",
                "sessions.switch-fields",
            ],
        )
        .answer(|_, given, _| {
            if given.code() == -1
                && let Some(list) = given.data().as_array()
            {
                *given.data() = list[0].clone();
            }
        }),
        plant(
            "a login without a name is refused with HTTP 400",
            &["requests.violations", "sessions.required-fields"],
        )
        .on(at(TOKEN_PATH).body("{}"), Status(400)),
        plant("a missing name is a wrong one", &["requests.violations"]).call(|call, _| {
            if call.path == TOKEN_PATH && call.json().get("username").is_none() {
                call.refuse(-2, "User name or password is wrong.");
            }
        }),
    ]
}
