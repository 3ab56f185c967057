//! A body that is taken is a JSON object within the limits, each field as another reader sees it;
//! one that is refused has a reason.
#![no_main]

use kiosque_model::Refusal;
use kiosque_server::fuzzing::{Fields, Form, Json, parse_object};
use kiosque_server::locale::{self, Locale};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

const DEPTH_MAX: usize = 32;

fuzz_target!(|body: &[u8]| {
    let other = serde_json::from_slice::<Value>(body);
    match parse_object(body, DEPTH_MAX) {
        Ok(fields) => {
            let other = other.expect("another reader takes it, too");
            assert!(depth(&other) <= DEPTH_MAX, "deeper than the limit");
            same(&fields, &other);
            forms(&fields);
        }
        Err(said) => {
            assert!(!said.is_empty());
            let twice = said.contains("stands twice");
            let takable = |value: Value| value.is_object() && depth(&value) <= DEPTH_MAX;
            assert!(twice || !other.is_ok_and(takable), "refused for nothing: {said}");
        }
    }
});

/// How deep objects and arrays nest; a body that holds neither inside has depth 1.
fn depth(value: &Value) -> usize {
    match value {
        Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or(0),
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

fn same(fields: &Fields, other: &Value) {
    let other = other.as_object().expect("an object");
    assert_eq!(fields.0.len(), other.len(), "no field twice, none lost");
    for (name, value) in &fields.0 {
        let is_same = match (value, &other[name]) {
            (Json::Null, Value::Null) => true,
            (Json::Flag(flag), Value::Bool(other)) => flag == other,
            (Json::Int(int), Value::Number(other)) => other.as_i64() == Some(*int),
            (Json::Number, Value::Number(other)) => other.as_i64().is_none(),
            (Json::Text(text), Value::String(other)) => text == other,
            (Json::List, Value::Array(_)) | (Json::Object, Value::Object(_)) => true,
            _ => false,
        };
        assert!(is_same, "{name:?}: {value:?} is {:?}", other[name]);
    }
}

/// Every way of reading a field, on fields that the service knows.
fn forms(fields: &Fields) {
    let mut form = Form::new(fields.clone());
    let user = form.required_text("username");
    let device = form.text("deviceCode");
    let history = form.flag("includeHistory");
    let online = form.zero_or_one("isOnline");
    let (start, end) = form.span("startTimestamp", "endTimestamp");
    let is_clean = form.is_clean();
    assert!(user.as_ref().is_none_or(|text| !text.trim().is_empty()));
    assert!(device.as_ref().is_none_or(|text| !text.is_empty()));
    assert!(online.is_none_or(|online| online == 0 || online == 1));
    assert!(!is_clean || start.zip(end).is_none_or(|(start, end)| start <= end));
    let read = user.map(|user| (user, device, history, online, start, end));
    match form.finish(read) {
        Ok(_) => assert!(is_clean),
        Err(Refusal::Invalid(violations)) => {
            assert!(!violations.is_empty());
            for (violation, locale) in
                violations.iter().flat_map(|one| Locale::ALL.map(|locale| (one, locale)))
            {
                let said = locale::violation(violation, locale);
                assert!(said.starts_with(violation.field), "{said}");
            }
        }
        Err(other) => panic!("a form is refused as invalid, not as {other:?}"),
    }
}
