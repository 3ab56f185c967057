//! Requests: the order of checks, bodies, violations.

use std::sync::LazyLock;

use serde_json::{Value, json};

use super::pages::same_page;
use crate::answer::{Answer, Expected, met};
use crate::ask::Ask;
use crate::facts::{Facts, UNKNOWN};
use crate::paths::{DEVICES, LOGIN, ORDERS, SUMMARY};
use crate::rule::Mark::{Contract, Kiosque};
use crate::rule::{Rule, rule};

/// A body with a field that no call has.
const MISSPELT: &str = "{\"deviceNmae\":\"x\"}";

pub(super) static RULES: LazyLock<Vec<Rule>> = LazyLock::new(|| {
    vec![
        rule("requests.token-first", "REQ-1", Kiosque)
            .text("Without a live session a caller learns nothing about its body.")
            .ask(|_| Some(Ask::post(DEVICES).token(UNKNOWN).body("no JSON")))
            .expect(|_, answer| answer.outcome(200, -4)),
        rule("requests.escapes", "REQ-2", Contract)
            .text("A body is JSON with its escapes and white space.")
            .ask(|facts| {
                let escaped = |unit| format!("\\u{unit:04x}");
                let group: String = facts.group().encode_utf16().map(escaped).collect();
                let body = format!(" \r\n\t{{ \"groupId\" : \"{group}\" }} ");
                Some(facts.call(DEVICES, &body))
            })
            .expect(|_, answer| answer.success().map(drop)),
        rule("requests.empty-body", "REQ-3", Contract)
            .text("An empty body and null are no substitute for {}.")
            .ask(|facts| Some(facts.call(DEVICES, "")))
            .ask(|facts| Some(facts.call(DEVICES, "null")))
            .expect(|_, answer| answer.refusal_or_failure()),
        rule("requests.unreadable", "REQ-4", Contract)
            .text("A body that is not an object of JSON is refused.")
            .ask(|facts| Some(facts.call(DEVICES, "{\"groupId\":")))
            .ask(|facts| Some(facts.call(DEVICES, "[]")))
            .expect(|_, answer| answer.refusal_or_failure()),
        rule("requests.diagnostic", "REQ-4", Kiosque)
            .text(
                "A body that cannot be read is answered with HTTP 200, code 500 and a \
                 diagnostic.",
            )
            .ask(|facts| Some(facts.call(DEVICES, "")))
            .ask(|facts| Some(facts.call(DEVICES, "null")))
            .ask(|facts| Some(facts.call(DEVICES, "{\"groupId\":")))
            .ask(|facts| Some(facts.call(DEVICES, "[]")))
            .expect(|_, answer| unreadable(answer)),
        rule("requests.repeated-field", "REQ-4", Kiosque)
            .text("A field name that occurs twice is not readable.")
            .ask(|facts| Some(facts.call(DEVICES, "{\"groupId\":null,\"groupId\":null}")))
            .expect(|_, answer| unreadable(answer)),
        rule("requests.violations", "ENV-7", Contract)
            .text("data of a validation error is an array of strings.")
            .ask(|_| Some(Ask::post(LOGIN).body("{}")))
            .ask(|facts| Some(facts.call(ORDERS, "{}")))
            .expect(|_, answer| answer.violations())
            .ask(|facts| Some(facts.list_devices().query("current=0")))
            // A server may treat 0 as the default.
            .expect(|_, answer| answer.success().map(drop).or_else(|_| answer.violations())),
        rule("requests.all-violations", "REQ-7", Kiosque)
            .text("data lists all violations at once, in the order of the fields.")
            .ask(|facts| Some(facts.call(DEVICES, "{\"isOnline\":2}").query("size=0&current=x")))
            .expect(|_, answer| answer.violates(&["current", "size", "isOnline"])),
        rule("requests.violation-texts", "REQ-8", Kiosque)
            .text("A violation is a string that begins with the name of the field.")
            .ask(|_| Some(Ask::post(LOGIN).json(&json!({"username": 7, "password": "x"}))))
            .expect(|_, answer| says(answer, "username must be a string"))
            .ask(|_| Some(Ask::post(LOGIN).json(&json!({"username": "x", "password": ""}))))
            .expect(|_, answer| says(answer, "password must not be blank")),
        rule("requests.null-is-absent", "REQ-9", Kiosque)
            .text("An optional field that is null or empty counts as absent.")
            .ask(|facts| {
                let body = json!({"groupId": "", "deviceCodes": [], "startTimestamp": null});
                Some(facts.call_with(SUMMARY, &body))
            })
            .expect(|_, answer| answer.success().map(drop))
            .ask(|facts| Some(facts.list_devices()))
            .expect(|_, answer| answer.records().map(drop))
            .ask(|facts| Some(facts.call_with(DEVICES, &device_filters(&Value::Null))))
            .ask(|facts| Some(facts.call_with(DEVICES, &device_filters(&json!("")))))
            .expect(same_page),
        rule("requests.unknown-fields", "REQ-10", Kiosque)
            .text("Unknown fields and unknown keys of a query string are ignored.")
            .ask(|facts| Some(facts.list_devices()))
            .expect(|_, answer| answer.records().map(drop))
            .ask(|facts| {
                // `current` and `size` are keys of the query string (PAGE-1).
                let fields = json!({"colour": "red", "current": 2, "size": 1});
                let query = "current=1&page=9&currents=7&Size=1&=4&";
                Some(facts.call_with(DEVICES, &fields).query(query))
            })
            .ask(|facts| {
                Some(facts.call(DEVICES, "{\"colour\":1e999,\"other\":[{\"groupId\":\"x\"}]}"))
            })
            .expect(same_page)
            // Orders that arrive meanwhile are not in the span.
            .ask(|facts| Some(facts.call_with(ORDERS, &span_of_orders(facts)?)))
            .expect(|_, answer| answer.records().map(drop))
            .ask(|facts| {
                let mut fields = span_of_orders(facts)?;
                fields["groupId"] = json!("x");
                fields["orderId"] = json!(7);
                fields["current"] = json!(2);
                fields["size"] = json!(1);
                Some(facts.call_with(ORDERS, &fields).query("deviceCode=x&page=2"))
            })
            .expect(same_page),
        rule("requests.integers", "REQ-11", Kiosque)
            .text("Integers have neither a fraction nor an exponent, and are no strings.")
            .ask(|facts| {
                Some(
                    facts.call(SUMMARY, &format!("{{\"startTimestamp\":{}.0}}", facts.days_ago(1))),
                )
            })
            .expect(|_, answer| answer.violates(&["startTimestamp"]))
            .ask(|facts| {
                Some(facts.call_with(SUMMARY, &json!({"endTimestamp": facts.now_ms.to_string()})))
            })
            .ask(|facts| Some(facts.call(SUMMARY, "{\"endTimestamp\":1e999}")))
            .expect(|_, answer| answer.violates(&["endTimestamp"])),
        rule("requests.ignored-header", "REQ-14", Kiosque)
            .text(
                "The header kiosque-ignored lists fields and query keys that the call does \
                 not know.",
            )
            .ask(|facts| Some(facts.call(DEVICES, "{\"colour\":\"red\"}").query("page=9")))
            .expect(|_, answer| {
                let named = answer.header("kiosque-ignored").unwrap_or_default();
                let is_met = ["colour", "page"].iter().all(|name| named.contains(name));
                met!(is_met, "the header kiosque-ignored with colour and page")
            }),
        rule("requests.ignored-needs-session", "REQ-14", Kiosque)
            .text("Without a live session no field is named as unknown.")
            .changes_session()
            .ask(|_| Some(Ask::list_devices(UNKNOWN).body(MISSPELT)))
            .expect(|_, answer| nothing_named(answer))
            .ask(|facts| Some(facts.log_in()))
            .expect(|_, answer| answer.success().map(drop))
            .ask(|facts| Some(Ask::list_devices(&facts.earlier_token).body(MISSPELT)))
            .expect(|_, answer| nothing_named(answer)),
        rule("requests.seconds", "REQ-15", Kiosque)
            .text("A time of ten digits looks like seconds and is a violation.")
            .ask(|facts| {
                Some(facts.call_in(SUMMARY, facts.days_ago(1) / 1000, facts.now_ms / 1000))
            })
            .expect(|_, answer| answer.violates(&["startTimestamp", "endTimestamp"])),
        rule("requests.deep-json", "LIM-2", Kiosque)
            .text("A body that nests too deep is answered with code 500 and a diagnostic.")
            .ask(|facts| {
                Some(facts.call(ORDERS, &format!("{{\"x\":{}{}}}", "[".repeat(40), "]".repeat(40))))
            })
            .expect(|_, answer| unreadable(answer)),
    ]
});

/// Returns all filters of List devices with this value.
fn device_filters(value: &Value) -> Value {
    json!({"groupId": value, "deviceCode": value, "deviceName": value, "isOnline": value})
}

/// Returns the fields of a list of the orders until the check began.
fn span_of_orders(facts: &Facts) -> Option<Value> {
    let device = facts.device.as_ref()?;
    Some(json!({"deviceCode": device, "includeHistory": true, "endTimestamp": facts.now_ms}))
}

/// Expects a refused token, and no field to be named.
fn nothing_named(answer: &Answer) -> Expected {
    answer.outcome(200, -4)?;
    met!(answer.header("kiosque-ignored").is_none(), "no header kiosque-ignored")
}

/// Expects one violation, with this text.
fn says(answer: &Answer, text: &str) -> Expected {
    answer.outcome(200, -1)?;
    met!(*answer.data() == json!([text]), "data [{text:?}]")
}

fn unreadable(answer: &Answer) -> Expected {
    answer.outcome(200, 500)?;
    met!(answer.data().is_string(), "a diagnostic in data")
}
