use http::Method;
use kiosque_testkit::{DEVICES_PATH, ONLINE_PATH};
use serde_json::json;

use super::{Plant, plant};

pub(super) fn plants() -> Vec<Plant> {
    vec![
        plant("the method is ignored", &["http.post-only"]).call(|call, _| {
            call.method = Method::POST;
        }),
        plant("an unknown path has its name in data", &["http.not-found-envelope"]).answer(
            |call, given, _| {
                if given.code() == 0 {
                    *given.data() = json!(call.path);
                }
            },
        ),
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
        .answer(|_, given, _| given.status = 200),
        plant("the prefix may occur twice", &["http.unknown-path"]).call(|call, _| {
            call.path = call.path.trim_start_matches("v8/").to_owned();
        }),
        plant("two slashes are one", &["http.exact-path"]).call(|call, _| {
            call.path = call.path.trim_start_matches('/').to_owned();
        }),
        plant("dots in a path are resolved", &["http.exact-path"]).call(|call, _| {
            call.path = call.path.replace("x/../", "").replace("./", "");
        }),
        plant("a path may have parameters", &["http.exact-path"]).call(|call, _| {
            call.path = call.path.replace(";x=1", "");
        }),
        plant("escapes in a path are undone", &["http.exact-path"]).call(|call, _| {
            call.path = call.path.replace("%6b", "k");
        }),
        plant("a trailing slash makes no difference", &["http.exact-path"]).call(|call, _| {
            call.path = call.path.trim_end_matches('/').to_owned();
        }),
        plant("the case of a path makes no difference", &["http.exact-path"]).call(|call, _| {
            if call.path.eq_ignore_ascii_case(DEVICES_PATH) {
                call.path = DEVICES_PATH.to_owned();
            }
        }),
        plant("health checks are answered", &["http.no-other-path"]).call(|call, _| {
            if call.path == "livez" {
                call.succeed(json!(null));
            }
        }),
        plant("metrics are answered", &["http.no-other-path"]).call(|call, _| {
            if call.path == "metrics" {
                call.succeed(json!(null));
            }
        }),
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
        plant("a form is read", &["http.any-content-type"]).call(|call, _| {
            if call.path == DEVICES_PATH && call.body == "x=1" {
                call.body = "{}".to_owned();
            }
        }),
        plant("the body of Online devices is read", &["http.ignored-body"]).call(|call, _| {
            if call.path == ONLINE_PATH && !call.body.is_empty() && call.json().is_null() {
                call.refuse(500, "system error");
            }
        }),
    ]
}
