//! Addresses and HTTP.

use http::Method;

use super::rule;
use crate::answer::met;
use crate::ask::Ask;
use crate::paths::{DEVICES, ONLINE};
use crate::rule::Rule;

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
        "An unknown path is answered with HTTP 404, and with code 0 unless the body is HTML.",
        |_| Some(Ask::post("third-center-web/openapi/v1/unknown").body("{}")),
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
        "Paths are compared byte by byte: a trailing slash or another case is unknown.",
        |facts| Some(facts.call(&format!("{DEVICES}/"), "{}")),
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
        "A body that can be read is accepted with any content type and with none.",
        |facts| Some(Ask::post(DEVICES).without_headers().token(&facts.token).body("{}")),
        |_, answer| answer.success().map(drop),
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
