//! Addresses and HTTP.

use std::sync::LazyLock;

use http::Method;

use crate::answer::met;
use crate::ask::Ask;
use crate::facts::Facts;
use crate::paths::{DEVICES, ONLINE};
use crate::rule::Mark::{Contract, Kiosque};
use crate::rule::{Rule, rule};

/// The content type of the forms of HTML.
const FORM: &str = "application/x-www-form-urlencoded";

pub(super) static RULES: LazyLock<Vec<Rule>> = LazyLock::new(|| {
    vec![
        rule("http.post-only", "ADDR-2", Contract)
            .text("A method other than POST is answered like an unknown path.")
            .ask(|facts| Some(facts.call(DEVICES, "").method(Method::GET)))
            .ask(|facts| Some(facts.list_devices().method(Method::PUT)))
            .expect(|_, answer| answer.not_found()),
        rule("http.unknown-path", "ADDR-3", Contract)
            .text(
                "An unknown path, with /v8 twice for example, is answered with HTTP 404, \
                 and with code 0 unless the body is HTML.",
            )
            .ask(|_| Some(Ask::post("third-center-web/openapi/v1/unknown").body("{}")))
            // The prefix is there already.
            .ask(|facts| Some(facts.call(&format!("v8/{DEVICES}"), "{}")))
            .expect(|_, answer| answer.not_found()),
        rule("http.not-found-envelope", "ADDR-3", Kiosque)
            .text("The answer to an unknown path is an envelope with code 0 and data null.")
            .ask(|_| Some(Ask::post("third-center-web/openapi/v1/unknown").body("{}")))
            .expect(|_, answer| {
                answer.outcome(404, 0)?;
                met!(answer.json.get("data").is_some_and(serde_json::Value::is_null), "data null")
            }),
        rule("http.exact-path", "ADDR-3", Kiosque)
            .text("Paths are compared byte by byte: any other spelling of a path is unknown.")
            .ask(|facts| Some(facts.call(&format!("{DEVICES}/"), "{}")))
            .ask(|facts| Some(facts.call(&format!("/{DEVICES}"), "{}")))
            .ask(|facts| Some(facts.call(&format!("./{DEVICES}"), "{}")))
            .ask(|facts| Some(facts.call(&format!("x/../{DEVICES}"), "{}")))
            .ask(|facts| Some(facts.call(&format!("{DEVICES};x=1"), "{}")))
            .ask(|facts| Some(facts.call(&DEVICES.replace("kiosk", "%6biosk"), "{}")))
            .ask(|facts| Some(facts.call(&DEVICES.replace("kioskDevice", "kioskdevice"), "{}")))
            .expect(|_, answer| answer.outcome(404, 0)),
        rule("http.no-other-path", "ADDR-4", Kiosque)
            .text("Health checks and metrics are unknown paths at this address.")
            .ask(|_| Some(Ask::post("livez")))
            .ask(|_| Some(Ask::post("metrics")))
            .expect(|_, answer| answer.outcome(404, 0)),
        rule("http.any-content-type", "REQ-5", Kiosque)
            .text("A body of JSON is read whatever its content type, and a form is not.")
            .ask(|facts| Some(of_types(facts, &[], "{}")))
            .ask(|facts| Some(of_types(facts, &["text/plain"], "{}")))
            .ask(|facts| Some(of_types(facts, &["application/json; charset=utf-16"], "{}")))
            .ask(|facts| Some(of_types(facts, &["application/json", "application/xml"], "{}")))
            .ask(|facts| Some(of_types(facts, &["nonsense;;;"], "{}")))
            .ask(|facts| Some(of_types(facts, &[""], "{}")))
            .ask(|facts| Some(of_types(facts, &[FORM], "{}")))
            .expect(|_, answer| answer.success().map(drop))
            .ask(|facts| Some(of_types(facts, &[FORM], "x=1")))
            .expect(|_, answer| answer.outcome(200, 500)),
        rule("http.ignored-body", "REQ-6", Kiosque)
            .text("Online devices takes no body; one that is sent is ignored.")
            .ask(|facts| Some(facts.call(ONLINE, "no JSON")))
            .expect(|_, answer| answer.success().map(drop)),
    ]
});

/// Returns a call of List devices with these content types.
fn of_types(facts: &Facts, types: &[&str], body: &str) -> Ask {
    let ask = Ask::post(DEVICES).without_headers().token(&facts.token).body(body);
    types.iter().fold(ask, |ask, one| ask.header("content-type", one))
}
