use http::HeaderValue;
use kiosque_testkit::ORDERS_PATH;
use serde_json::{Value, json};

use super::Change::{Header, NoHeader, Remove, Replace, Set, Status};
use super::{ALWAYS, Plant, at, plant};

pub(super) fn plants() -> Vec<Plant> {
    let mut plants = messages();
    plants.extend(refusals());
    plants.extend(headers());
    plants
}

fn messages() -> Vec<Plant> {
    vec![
        plant("an envelope has a field version", &["envelope.no-other-fields"])
            .on(ALWAYS, Set("version", json!(1))),
        plant("a success says OK", &["envelope.success-message"])
            .on(ALWAYS, Replace("msg", json!("success"), json!("OK"))),
        plant(
            "X-Locale is ignored",
            &["envelope.chinese-texts", "envelope.locale", "envelope.weighted-locale"],
        )
        .call(|call, _| {
            call.headers.remove("x-locale");
        }),
        plant("a Chinese message has another text", &["envelope.chinese-texts"]).answer(
            |_, given, _| {
                if given.code() == -4 && given.json["msg"] != given.json["enMsg"] {
                    given.json["msg"] = json!("令牌无效");
                }
            },
        ),
        plant("weights of X-Locale are ignored", &["envelope.weighted-locale"]).call(|call, _| {
            let locales = call.headers.get("x-locale").map(|value| value.to_str().unwrap());
            if locales.is_some_and(|locales| locales.contains("en;")) {
                call.headers.insert("x-locale", HeaderValue::from_static("en"));
            }
        }),
        plant("enMsg is in the language of msg", &["envelope.english-message"])
            .answer(|_, given, _| given.json["enMsg"] = given.json["msg"].clone()),
        plant("enMsg is null in a refusal", &["envelope.english-message"])
            .on(ALWAYS, Set("enMsg", Value::Null)),
    ]
}

fn refusals() -> Vec<Plant> {
    vec![
        plant(
            "data of a refusal is a number",
            &["envelope.fields", "envelope.refusal-data", "envelope.refusal-message"],
        )
        .on(ALWAYS.code(-4), Set("data", json!(0))),
        plant(
            "a refusal has no enMsg",
            &["envelope.english-message", "envelope.fields", "envelope.no-other-fields"],
        )
        .on(ALWAYS.code(-4), Remove("enMsg")),
        plant(
            "data of a refusal is an object",
            &["devices.outside-scope", "envelope.refusal-data"],
        )
        .answer(|_, given, _| {
            if given.code() == -1 && given.data().is_string() {
                *given.data() = json!({"reason": "scope"});
            }
        }),
        plant(
            "List orders without a device is refused with HTTP 400",
            &["envelope.refused-with-200", "orders.device-required", "requests.violations"],
        )
        .on(at(ORDERS_PATH).body("{}"), Status(400)),
        plant("data of a refused token is null", &["envelope.refusal-message"])
            .on(ALWAYS.code(-4), Set("data", Value::Null)),
    ]
}

fn headers() -> Vec<Plant> {
    vec![
        plant("the content type has no charset", &["envelope.content-type"])
            .on(ALWAYS, Header("content-type", "application/json")),
        plant("answers may be cached", &["envelope.no-store"])
            .on(ALWAYS, NoHeader("cache-control")),
        plant("a refusal may be cached", &["envelope.no-store"])
            .on(ALWAYS.code(-4), NoHeader("cache-control")),
        plant("an unknown path has no request id", &["envelope.request-id"])
            .on(ALWAYS.code(0), NoHeader("x-request-id")),
        plant("all refusals have one request id", &["envelope.request-id"])
            .on(ALWAYS.code(-4), Header("x-request-id", "1")),
        plant("there is no request id", &["envelope.request-id"])
            .on(ALWAYS, NoHeader("x-request-id")),
        plant("all request ids are equal", &["envelope.request-id"])
            .on(ALWAYS, Header("x-request-id", "1")),
    ]
}
