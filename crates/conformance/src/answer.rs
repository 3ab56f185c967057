//! The answer to a request, and the expectations of rules.

use http::HeaderMap;
use kiosque_locale::{Locale, Message};
use serde_json::Value;

use crate::ask::excerpt;
use crate::secrets::Secrets;

/// Expects a condition: `Ok` if it is met, and otherwise what was expected.
macro_rules! met {
    ($is_met:expr, $($expected:tt)+) => {
        bool::then_some($is_met, ()).ok_or_else(|| format!($($expected)+))
    };
}
pub(crate) use met;

/// The answer to a request.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
    /// The body, as text.
    pub body: String,
    /// The body as JSON; null if it is not JSON.
    pub json: Value,
}

/// The outcome of an expectation: what was expected, if it was not met.
pub(crate) type Expected<T = ()> = Result<T, String>;

impl Answer {
    /// Returns an answer with this body.
    pub fn new(status: u16, headers: HeaderMap, body: &[u8]) -> Answer {
        let body = String::from_utf8_lossy(body).into_owned();
        let json = serde_json::from_str(&body).unwrap_or(Value::Null);
        Answer { status, headers, body, json }
    }

    /// Returns the answer for people, without its secrets.
    pub(crate) fn shown(&self, secrets: &Secrets) -> String {
        format!("HTTP {}: {}", self.status, excerpt(&secrets.starred(&self.body)))
    }

    /// Returns the answer as text, with its headers and its secrets.
    pub(crate) fn text(&self) -> String {
        let mut text = format!("HTTP {}", self.status);
        for (name, value) in &self.headers {
            text.push_str(&format!("\n{name}: {}", String::from_utf8_lossy(value.as_bytes())));
        }
        format!("{text}\n\n{}", self.body)
    }

    /// Returns the token of a login or a switch; an empty text without one.
    pub(crate) fn token(&self) -> &str {
        self.data()["accessToken"].as_str().unwrap_or_default()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    pub(crate) fn code(&self) -> Option<i64> {
        self.json.get("code")?.as_i64()
    }

    pub(crate) fn data(&self) -> &Value {
        &self.json["data"]
    }

    /// Returns `data` of a success.
    pub(crate) fn success(&self) -> Expected<&Value> {
        self.outcome(200, 200).map(|()| self.data())
    }

    /// Expects an HTTP status and a `code`.
    pub(crate) fn outcome(&self, status: u16, code: i64) -> Expected {
        let is_met = self.status == status && self.code() == Some(code);
        met!(is_met, "HTTP {status} with code {code}")
    }

    /// Expects a refusal by its message in English.
    pub(crate) fn refused(&self, message: Message) -> Expected {
        let code = i64::from(message.code().number());
        let text = message.text(Locale::En);
        self.outcome(200, code)?;
        met!(self.json["msg"] == text, "code {code} with msg {text:?}")
    }

    /// Expects one of these codes with HTTP 200.
    pub(crate) fn one_of(&self, codes: [i64; 2]) -> Expected {
        let is_met = self.status == 200 && self.code().is_some_and(|code| codes.contains(&code));
        met!(is_met, "HTTP 200 with code {} or {}", codes[0], codes[1])
    }

    /// Expects any refusal.
    pub(crate) fn refusal(&self) -> Expected {
        let is_met = self.status == 200 && self.code().is_some_and(|code| code != 200);
        met!(is_met, "HTTP 200 with a code other than 200")
    }

    /// Expects a refusal or a system error, which the contract allows for an unreadable body.
    pub(crate) fn refusal_or_failure(&self) -> Expected {
        let expected =
            || "HTTP 200 with a code other than 200, or HTTP 500 with code 500".to_owned();
        self.refusal().or_else(|_| self.outcome(500, 500)).map_err(|_| expected())
    }

    /// Expects a refusal whose `data` is an array of strings, with any `code`: the contract
    /// specifies none for validation errors.
    pub(crate) fn violations(&self) -> Expected {
        self.refusal()?;
        let list = self.data().as_array();
        let is_met = list.is_some_and(|list| !list.is_empty() && list.iter().all(Value::is_string));
        met!(is_met, "an array of strings in data")
    }

    /// Expects HTTP 404; its body may be HTML, and has `code` 0 if it is an envelope.
    pub(crate) fn not_found(&self) -> Expected {
        let is_met = self.status == 404 && self.json.get("code").is_none_or(|code| *code == 0);
        met!(is_met, "HTTP 404, with code 0 unless the body is HTML")
    }

    /// Expects the same bytes as in the previous answer.
    pub(crate) fn same_as(&self, before: Option<&Answer>) -> Expected {
        let before = before.map(|before| before.body.as_str());
        let shown = excerpt(before.unwrap_or_default());
        met!(
            before == Some(self.body.as_str()),
            "the same bytes as in the previous answer: {shown}"
        )
    }

    /// Expects violations of exactly these fields, in this order.
    pub(crate) fn violates(&self, fields: &[&str]) -> Expected {
        let names = |(text, field): (&Value, &&str)| {
            text.as_str().is_some_and(|text| text.starts_with(&format!("{field} ")))
        };
        let list = self.data().as_array().filter(|list| list.len() == fields.len());
        let is_met = self.outcome(200, -1).is_ok()
            && list.is_some_and(|list| list.iter().zip(fields).all(names));
        met!(is_met, "code -1 with a violation of each of {}", fields.join(", "))
    }

    /// Returns the entries of an array in `data`; none if there is no such array.
    pub(crate) fn listed(&self, name: &str) -> Vec<Value> {
        self.data()[name].as_array().cloned().unwrap_or_default()
    }

    /// Returns the records of a page.
    pub(crate) fn records(&self) -> Expected<&Vec<Value>> {
        let records = self.success()?["records"].as_array();
        records.ok_or_else(|| "a page with an array `records`".to_owned())
    }
}

/// The types of the tables of `docs/interface.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    Text,
    TextOrNull,
    Integer,
    IntegerOrNull,
    Number,
    NumberOrNull,
    List,
}

impl Type {
    fn has(self, value: &Value) -> bool {
        match self {
            Type::Text => value.is_string(),
            Type::TextOrNull => value.is_string() || value.is_null(),
            Type::Integer => value.is_i64(),
            Type::IntegerOrNull => value.is_i64() || value.is_null(),
            Type::Number => value.is_number(),
            Type::NumberOrNull => value.is_number() || value.is_null(),
            Type::List => value.is_array(),
        }
    }
}

/// Expects an object with all of these fields.
pub(crate) fn has_fields(object: &Value, fields: &[(&str, Type)]) -> Expected {
    for (name, of_type) in fields {
        let is_met = object.get(name).is_some_and(|value| of_type.has(value));
        met!(is_met, "the field {name} of type {of_type:?} in {}", shown(object))?;
    }
    Ok(())
}

/// Expects each object of a list to have all of these fields, and returns the list.
pub(crate) fn all_have_fields<'v>(
    list: &'v Value,
    fields: &[(&str, Type)],
) -> Expected<&'v [Value]> {
    let list = list.as_array().ok_or_else(|| "an array".to_owned())?;
    list.iter().try_for_each(|object| has_fields(object, fields)).map(|()| list.as_slice())
}

fn shown(object: &Value) -> String {
    excerpt(&object.to_string()).chars().take(120).collect()
}
