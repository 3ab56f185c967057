//! The envelope: its fields, codes, messages, languages and headers.

use std::sync::LazyLock;

use kiosque_locale::{Locale, Message};
use serde_json::Value;

use crate::answer::{Answer, Expected, Type, has_fields, met};
use crate::ask::Ask;
use crate::facts::{Facts, UNKNOWN};
use crate::paths::{ONLINE, ORDERS};
use crate::rule::Mark::{Contract, Kiosque};
use crate::rule::{Rule, rule};

pub(super) static RULES: LazyLock<Vec<Rule>> = LazyLock::new(|| {
    vec![
        rule("envelope.fields", "ENV-1", Contract)
            .text("Every answer is an object with code, msg, enMsg and data.")
            .ask(|facts| Some(facts.list_devices()))
            .ask(|_| Some(unknown_token()))
            .expect(|_, answer| fields(answer))
            .ask(|_| Some(Ask::post("unknown")))
            .expect(|_, answer| if_envelope(answer, fields)),
        rule("envelope.no-other-fields", "ENV-1", Kiosque)
            .text("Every answer is an object with exactly code, msg, enMsg and data.")
            .ask(|facts| Some(facts.list_devices()))
            .ask(|_| Some(unknown_token()))
            .ask(|_| Some(Ask::post("unknown")))
            .expect(|_, answer| four_fields(answer)),
        rule("envelope.refused-with-200", "ENV-2", Contract)
            .text("A refused request is answered with HTTP 200 and another code.")
            .ask(|facts| Some(facts.call(ORDERS, "{}")))
            .expect(|_, answer| answer.refusal()),
        rule("envelope.success-message", "ENV-3", Contract)
            .text("The message of a success is success in English.")
            .ask(|facts| Some(facts.list_devices()))
            .expect(|_, answer| says(answer, "msg", Message::Success.text(Locale::En))),
        rule("envelope.locale", "ENV-4", Contract)
            .text("The header X-Locale chooses the language of msg.")
            .ask(|_| Some(unknown_token().locale("zh-CN")))
            .expect(|_, answer| {
                let english = Message::TokenInvalid.text(Locale::En);
                let is_other = answer.json["msg"].as_str().is_some_and(|msg| msg != english);
                met!(is_other, "msg in Chinese")
            })
            .ask(|_| Some(unknown_token()))
            .expect(|_, answer| says(answer, "msg", Message::TokenInvalid.text(Locale::En))),
        rule("envelope.chinese-texts", "ENV-3", Kiosque)
            .text("The Chinese messages are exactly these.")
            .ask(|_| Some(unknown_token().locale("zh-CN")))
            .expect(|_, answer| says(answer, "msg", Message::TokenInvalid.text(Locale::ZhCn)))
            .ask(|facts| Some(facts.call(ONLINE, "").locale("zh-CN")))
            .expect(|_, answer| says(answer, "msg", Message::Success.text(Locale::ZhCn))),
        rule("envelope.weighted-locale", "ENV-5", Kiosque)
            .text("X-Locale is a list with weights, as Accept-Language is.")
            .ask(|facts| Some(facts.call(ONLINE, "").locale("fr, en;q=0.3, zh-TW;q=0.9")))
            .expect(|_, answer| says(answer, "msg", Message::Success.text(Locale::ZhCn))),
        rule("envelope.english-message", "ENV-6", Kiosque)
            .text("enMsg is null on success, and the English message on every failure.")
            .ask(|facts| Some(facts.call(ONLINE, "").locale("zh-CN")))
            .expect(|_, answer| {
                met!(answer.json["enMsg"].is_null() && answer.success().is_ok(), "enMsg null")
            })
            .ask(|_| Some(unknown_token().locale("zh-CN")))
            .expect(|_, answer| says(answer, "enMsg", Message::TokenInvalid.text(Locale::En))),
        rule("envelope.refusal-data", "ENV-7", Contract)
            .text("data of a business or authentication error is null or a string.")
            .ask(|_| Some(unknown_token()))
            .expect(|_, answer| null_or_text(answer, -4))
            .ask(|facts| Some(facts.list_orders(UNKNOWN)))
            .expect(|_, answer| null_or_text(answer, -1)),
        rule("envelope.refusal-message", "ENV-7", Kiosque)
            .text("data of a refusal is the text of msg again.")
            .ask(|_| Some(unknown_token()))
            .expect(|_, answer| {
                answer.outcome(200, -4)?;
                met!(answer.json["data"] == answer.json["msg"], "data equal to msg")
            }),
        rule("envelope.content-type", "ENV-8", Contract)
            .text("Every envelope has the content type application/json; charset=UTF-8.")
            .ask(|facts| Some(facts.list_devices()))
            .ask(|_| Some(unknown_token()))
            .expect(|_, answer| is_json(answer))
            .ask(|_| Some(Ask::post("unknown")))
            .expect(|_, answer| if_envelope(answer, is_json)),
        rule("envelope.no-store", "ENV-9", Kiosque)
            .text("Every envelope is sent with Cache-Control: no-store.")
            .ask(|facts| Some(facts.call(ONLINE, "")))
            .ask(|_| Some(unknown_token()))
            .ask(|_| Some(Ask::post("unknown")))
            .expect(|_, answer| no_store(answer)),
        rule("envelope.request-id", "ENV-10", Kiosque)
            .text(
                "Every envelope has a header x-request-id, which differs from request to \
                 request.",
            )
            .ask(|facts| Some(facts.call(ONLINE, "")))
            .expect(|_, answer| {
                met!(answer.header("x-request-id").is_some(), "a header x-request-id")
            })
            .ask(|facts| Some(facts.call(ONLINE, "")))
            .ask(|_| Some(unknown_token()))
            .ask(|_| Some(unknown_token()))
            .ask(|_| Some(Ask::post("unknown")))
            .expect(other_id),
    ]
});

/// Returns a call that every server refuses with -4 (AUTH-16).
fn unknown_token() -> Ask {
    Ask::list_devices(UNKNOWN)
}

/// Expects the fields of an envelope, with the types of the contract.
fn fields(answer: &Answer) -> Expected {
    let types = [("code", Type::Integer), ("msg", Type::Text), ("enMsg", Type::TextOrNull)];
    has_fields(&answer.json, &types)?;
    let is_met =
        answer.json.get("data").is_some_and(|data| !data.is_number() && !data.is_boolean());
    met!(is_met, "data as an object, an array, a string or null")
}

/// Expects something of an answer to an unknown path, unless it is HTML.
fn if_envelope(answer: &Answer, expect: fn(&Answer) -> Expected) -> Expected {
    if answer.json.is_object() { expect(answer) } else { Ok(()) }
}

fn null_or_text(answer: &Answer, code: i64) -> Expected {
    answer.outcome(200, code)?;
    let is_met = answer.json.get("data").is_some_and(|data| data.is_null() || data.is_string());
    met!(is_met, "data null or a string")
}

fn four_fields(answer: &Answer) -> Expected {
    let object = answer.json.as_object();
    let names = ["code", "msg", "enMsg", "data"];
    let is_met = object.is_some_and(|object| {
        object.len() == names.len() && names.iter().all(|name| object.contains_key(*name))
    });
    met!(is_met, "an object with exactly {}", names.join(", "))
}

fn says(answer: &Answer, field: &str, text: &str) -> Expected {
    met!(answer.json.get(field) == Some(&Value::from(text)), "{field} {text:?}")
}

fn no_store(answer: &Answer) -> Expected {
    let is_met = answer.header("cache-control") == Some("no-store");
    met!(is_met, "the header Cache-Control: no-store")
}

/// Expects another request id than that of the previous answer.
fn other_id(facts: &Facts, answer: &Answer) -> Expected {
    let before = facts.before.as_ref().and_then(|before| before.header("x-request-id"));
    let own = answer.header("x-request-id");
    met!(own.is_some() && own != before, "another x-request-id than before")
}

fn is_json(answer: &Answer) -> Expected {
    let expected = "application/json; charset=UTF-8";
    // White space and quotation marks are not part of the value (RFC 9110).
    let given = answer.header("content-type").unwrap_or_default();
    let given = given.replace([' ', '\t', '"'], "");
    let is_met = given.eq_ignore_ascii_case(&expected.replace(' ', ""));
    met!(is_met, "the header Content-Type: {expected}")
}
