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
        plant("an envelope has a field version").on(ALWAYS, Set("version", json!(1))),
        plant("a success says OK").on(ALWAYS, Replace("msg", json!("success"), json!("OK"))),
        plant("X-Locale is ignored").call(|call, _| {
            call.headers.remove("x-locale");
        }),
        plant("a Chinese message has another text").answer(|_, given, _| {
            if given.code() == -4 && given.json["msg"] != given.json["enMsg"] {
                given.json["msg"] = json!("令牌无效");
            }
        }),
        plant("weights of X-Locale are ignored").call(|call, _| {
            let locales = call.headers.get("x-locale").map(|value| value.to_str().unwrap());
            if locales.is_some_and(|locales| locales.contains("en;")) {
                call.headers.insert("x-locale", HeaderValue::from_static("en"));
            }
        }),
        plant("enMsg is in the language of msg")
            .answer(|_, given, _| given.json["enMsg"] = given.json["msg"].clone()),
        plant("enMsg is null in a refusal").on(ALWAYS, Set("enMsg", Value::Null)),
    ]
}

fn refusals() -> Vec<Plant> {
    vec![
        plant("data of a refusal is a number").on(ALWAYS.code(-4), Set("data", json!(0))),
        plant("a refusal has no enMsg").on(ALWAYS.code(-4), Remove("enMsg")),
        plant("data of a refusal is an object").answer(|_, given, _| {
            if given.code() == -1 && given.data().is_string() {
                *given.data() = json!({"reason": "scope"});
            }
        }),
        plant("List orders without a device is refused with HTTP 400")
            .on(at(ORDERS_PATH).body("{}"), Status(400)),
        plant("data of a refused token is null").on(ALWAYS.code(-4), Set("data", Value::Null)),
    ]
}

fn headers() -> Vec<Plant> {
    vec![
        plant("the content type has no charset")
            .on(ALWAYS, Header("content-type", "application/json")),
        plant("answers may be cached").on(ALWAYS, NoHeader("cache-control")),
        plant("a refusal may be cached").on(ALWAYS.code(-4), NoHeader("cache-control")),
        plant("an unknown path has no request id").on(ALWAYS.code(0), NoHeader("x-request-id")),
        plant("all refusals have one request id").on(ALWAYS.code(-4), Header("x-request-id", "1")),
        plant("there is no request id").on(ALWAYS, NoHeader("x-request-id")),
        plant("all request ids are equal").on(ALWAYS, Header("x-request-id", "1")),
    ]
}
