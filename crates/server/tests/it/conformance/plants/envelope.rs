use http::HeaderValue;
use kiosque_testkit::ORDERS_PATH;
use serde_json::json;

use super::{Plant, plant};

pub(super) fn plants() -> Vec<Plant> {
    let mut plants = messages();
    plants.extend(refusals());
    plants.extend(headers());
    plants
}

fn messages() -> Vec<Plant> {
    vec![
        plant("an envelope has a field version", &["envelope.no-other-fields"])
            .answer(|_, given, _| given.json["version"] = json!(1)),
        plant("a success says OK", &["envelope.success-message"]).answer(|_, given, _| {
            if given.json["msg"] == "success" {
                given.json["msg"] = json!("OK");
            }
        }),
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
            .answer(|_, given, _| given.json["enMsg"] = json!(null)),
    ]
}

fn refusals() -> Vec<Plant> {
    vec![
        plant(
            "data of a refusal is a number",
            &["envelope.fields", "envelope.refusal-data", "envelope.refusal-message"],
        )
        .answer(|_, given, _| {
            if given.code() == -4 {
                given.json["data"] = json!(0);
            }
        }),
        plant(
            "a refusal has no enMsg",
            &["envelope.english-message", "envelope.fields", "envelope.no-other-fields"],
        )
        .answer(|_, given, _| {
            if given.code() == -4 {
                given.json.as_object_mut().unwrap().remove("enMsg");
            }
        }),
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
        .answer(|call, given, _| {
            if call.path == ORDERS_PATH && call.body == "{}" {
                given.status = 400;
            }
        }),
        plant("data of a refused token is null", &["envelope.refusal-message"]).answer(
            |_, given, _| {
                if given.code() == -4 {
                    *given.data() = json!(null);
                }
            },
        ),
    ]
}

fn headers() -> Vec<Plant> {
    vec![
        plant("the content type has no charset", &["envelope.content-type"]).answer(
            |_, given, _| {
                let json = HeaderValue::from_static("application/json");
                given.headers.insert("content-type", json);
            },
        ),
        plant("answers may be cached", &["envelope.no-store"]).answer(|_, given, _| {
            given.headers.remove("cache-control");
        }),
        plant("a refusal may be cached", &["envelope.no-store"]).answer(|_, given, _| {
            if given.code() == -4 {
                given.headers.remove("cache-control");
            }
        }),
        plant("an unknown path has no request id", &["envelope.request-id"]).answer(
            |_, given, _| {
                if given.status == 404 {
                    given.headers.remove("x-request-id");
                }
            },
        ),
        plant("all refusals have one request id", &["envelope.request-id"]).answer(
            |_, given, _| {
                if given.code() == -4 {
                    given.headers.insert("x-request-id", HeaderValue::from_static("1"));
                }
            },
        ),
        plant("there is no request id", &["envelope.request-id"]).answer(|_, given, _| {
            given.headers.remove("x-request-id");
        }),
        plant("all request ids are equal", &["envelope.request-id"]).answer(|_, given, _| {
            given.headers.insert("x-request-id", HeaderValue::from_static("1"));
        }),
    ]
}
