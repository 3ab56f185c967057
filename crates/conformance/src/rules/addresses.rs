//! Addresses and HTTP.

use http::Method;

use super::rule;
use crate::answer::met;
use crate::ask::Ask;
use crate::facts::Facts;
use crate::paths::{DEVICES, ONLINE};
use crate::rule::Rule;

/// The content type of the forms of HTML.
const FORM: &str = "application/x-www-form-urlencoded";

pub(super) const RULES: &[Rule] = &[
    rule!(
        "http.post-only",
        "ADDR-2",
        Contract,
        "A method other than POST is answered like an unknown path.",
        |facts| Some(facts.call(DEVICES, "").method(Method::GET)),
        |_, answer| answer.not_found(),
        |facts| Some(facts.list_devices().method(Method::PUT)),
        |_, answer| answer.not_found(),
    ),
    rule!(
        "http.unknown-path",
        "ADDR-3",
        Contract,
        "An unknown path, with /v8 twice for example, is answered with HTTP 404, and with code 0 \
         unless the body is HTML.",
        |_| Some(Ask::post("third-center-web/openapi/v1/unknown").body("{}")),
        |_, answer| answer.not_found(),
        // The prefix is there already.
        |facts| Some(facts.call(&format!("v8/{DEVICES}"), "{}")),
        |_, answer| answer.not_found(),
    ),
    rule!(
        "http.not-found-envelope",
        "ADDR-3",
        Kiosque,
        "The answer to an unknown path is an envelope with code 0 and data null.",
        |_| Some(Ask::post("third-center-web/openapi/v1/unknown").body("{}")),
        |_, answer| {
            answer.outcome(404, 0)?;
            met!(answer.json.get("data").is_some_and(serde_json::Value::is_null), || {
                "data null".to_owned()
            })
        },
    ),
    rule!(
        "http.exact-path",
        "ADDR-3",
        Kiosque,
        "Paths are compared byte by byte: any other spelling of a path is unknown.",
        |facts| Some(facts.call(&format!("{DEVICES}/"), "{}")),
        |_, answer| answer.outcome(404, 0),
        |facts| Some(facts.call(&format!("/{DEVICES}"), "{}")),
        |_, answer| answer.outcome(404, 0),
        |facts| Some(facts.call(&format!("./{DEVICES}"), "{}")),
        |_, answer| answer.outcome(404, 0),
        |facts| Some(facts.call(&format!("x/../{DEVICES}"), "{}")),
        |_, answer| answer.outcome(404, 0),
        |facts| Some(facts.call(&format!("{DEVICES};x=1"), "{}")),
        |_, answer| answer.outcome(404, 0),
        |facts| Some(facts.call(&DEVICES.replace("kiosk", "%6biosk"), "{}")),
        |_, answer| answer.outcome(404, 0),
        |facts| Some(facts.call(&DEVICES.replace("kioskDevice", "kioskdevice"), "{}")),
        |_, answer| answer.outcome(404, 0),
    ),
    rule!(
        "http.no-other-path",
        "ADDR-4",
        Kiosque,
        "Health checks and metrics are unknown paths at this address.",
        |_| Some(Ask::post("livez")),
        |_, answer| answer.outcome(404, 0),
        |_| Some(Ask::post("metrics")),
        |_, answer| answer.outcome(404, 0),
    ),
    rule!(
        "http.any-content-type",
        "REQ-5",
        Kiosque,
        "A body of JSON is read whatever its content type, and a form is not.",
        |facts| Some(of_types(facts, &[], "{}")),
        |_, answer| answer.success().map(drop),
        |facts| Some(of_types(facts, &["text/plain"], "{}")),
        |_, answer| answer.success().map(drop),
        |facts| Some(of_types(facts, &["application/json; charset=utf-16"], "{}")),
        |_, answer| answer.success().map(drop),
        |facts| Some(of_types(facts, &["application/json", "application/xml"], "{}")),
        |_, answer| answer.success().map(drop),
        |facts| Some(of_types(facts, &["nonsense;;;"], "{}")),
        |_, answer| answer.success().map(drop),
        |facts| Some(of_types(facts, &[""], "{}")),
        |_, answer| answer.success().map(drop),
        |facts| Some(of_types(facts, &[FORM], "{}")),
        |_, answer| answer.success().map(drop),
        |facts| Some(of_types(facts, &[FORM], "x=1")),
        |_, answer| answer.outcome(200, 500),
    ),
    rule!(
        "http.ignored-body",
        "REQ-6",
        Kiosque,
        "Online devices takes no body; one that is sent is ignored.",
        |facts| Some(facts.call(ONLINE, "no JSON")),
        |_, answer| answer.success().map(drop),
    ),
];

/// Returns a call of List devices with these content types.
fn of_types(facts: &Facts, types: &[&str], body: &str) -> Ask {
    let ask = Ask::post(DEVICES).without_headers().token(&facts.token).body(body);
    types.iter().fold(ask, |ask, one| ask.header("content-type", one))
}
