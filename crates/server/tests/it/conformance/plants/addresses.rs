use http::Method;
use kiosque_testkit::{DEVICES_PATH, ONLINE_PATH};
use serde_json::{Value, json};

use super::Change::{Body, InPath, Refuse, Set, Status, Succeed};
use super::{ALWAYS, Plant, at, plant};

pub(super) fn plants() -> Vec<Plant> {
    vec![
        plant("the method is ignored").call(|call, _| call.method = Method::POST),
        plant("an unknown path has a text in data")
            .on(ALWAYS.code(0), Set("data", json!("unknown"))),
        plant("an unknown path is answered with HTTP 200").on(ALWAYS, Status(200)),
        plant("the prefix may occur twice").on(ALWAYS, InPath("v8/", "")),
        plant("two slashes are one")
            .call(|call, _| call.path = call.path.trim_start_matches('/').to_owned()),
        plant("dots in a path are resolved")
            .on(ALWAYS, InPath("x/../", ""))
            .on(ALWAYS, InPath("./", "")),
        plant("a path may have parameters").on(ALWAYS, InPath(";x=1", "")),
        plant("escapes in a path are undone").on(ALWAYS, InPath("%6b", "k")),
        plant("a trailing slash makes no difference")
            .call(|call, _| call.path = call.path.trim_end_matches('/').to_owned()),
        plant("the case of a path makes no difference")
            .on(ALWAYS, InPath("kioskdevice", "kioskDevice")),
        plant("health checks are answered").on(at("livez"), Succeed(Value::Null)),
        plant("metrics are answered").on(at("metrics"), Succeed(Value::Null)),
        plant("a body needs a content type").call(|call, _| {
            if !call.headers.contains_key("content-type") {
                call.refuse(500, "system error");
            }
        }),
        plant("only application/json is read").call(|call, _| {
            if call.headers.get_all("content-type").iter().any(|one| one != "application/json") {
                call.refuse(500, "system error");
            }
        }),
        plant("a form is read").on(at(DEVICES_PATH).body("x=1"), Body("{}")),
        plant("the body of Online devices is read")
            .on(at(ONLINE_PATH).body("no JSON"), Refuse(500, "system error")),
    ]
}
