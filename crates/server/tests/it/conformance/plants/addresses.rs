use http::Method;
use kiosque_testkit::{DEVICES_PATH, ONLINE_PATH};
use serde_json::{Value, json};

use super::Change::{Body, InPath, Refuse, Set, Status, Succeed};
use super::{ALWAYS, Plant, at, plant};

pub(super) fn plants() -> Vec<Plant> {
    vec![
        plant("the method is ignored", &["http.post-only"])
            .call(|call, _| call.method = Method::POST),
        plant("an unknown path has a text in data", &["http.not-found-envelope"])
            .on(ALWAYS.code(0), Set("data", json!("unknown"))),
        plant(
            "an unknown path is answered with HTTP 200",
            &[
                "http.exact-path",
                "http.no-other-path",
                "http.not-found-envelope",
                "http.post-only",
                "http.unknown-path",
            ],
        )
        .on(ALWAYS, Status(200)),
        plant("the prefix may occur twice", &["http.unknown-path"]).on(ALWAYS, InPath("v8/", "")),
        plant("two slashes are one", &["http.exact-path"])
            .call(|call, _| call.path = call.path.trim_start_matches('/').to_owned()),
        plant("dots in a path are resolved", &["http.exact-path"])
            .on(ALWAYS, InPath("x/../", ""))
            .on(ALWAYS, InPath("./", "")),
        plant("a path may have parameters", &["http.exact-path"]).on(ALWAYS, InPath(";x=1", "")),
        plant("escapes in a path are undone", &["http.exact-path"]).on(ALWAYS, InPath("%6b", "k")),
        plant("a trailing slash makes no difference", &["http.exact-path"])
            .call(|call, _| call.path = call.path.trim_end_matches('/').to_owned()),
        plant("the case of a path makes no difference", &["http.exact-path"])
            .on(ALWAYS, InPath("kioskdevice", "kioskDevice")),
        plant("health checks are answered", &["http.no-other-path"])
            .on(at("livez"), Succeed(Value::Null)),
        plant("metrics are answered", &["http.no-other-path"])
            .on(at("metrics"), Succeed(Value::Null)),
        plant("a body needs a content type", &["http.any-content-type"]).call(|call, _| {
            if !call.headers.contains_key("content-type") {
                call.refuse(500, "system error");
            }
        }),
        plant("only application/json is read", &["http.any-content-type"]).call(|call, _| {
            if call.headers.get_all("content-type").iter().any(|one| one != "application/json") {
                call.refuse(500, "system error");
            }
        }),
        plant("a form is read", &["http.any-content-type"])
            .on(at(DEVICES_PATH).body("x=1"), Body("{}")),
        plant("the body of Online devices is read", &["http.ignored-body"])
            .on(at(ONLINE_PATH).body("no JSON"), Refuse(500, "system error")),
    ]
}
