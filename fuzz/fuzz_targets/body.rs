//! A body that is accepted is a JSON object within the limits, each field as another parser reads
//! it; one that is refused has a reason.
#![no_main]

use kiosque_contract::{DashboardFilter, DeviceFilter, LoginRequest, OrderFilter, Request};
use kiosque_locale::Locale;
use kiosque_model::Refusal;
use kiosque_server::fuzzing::{Fields, IgnoredKeys, Json, Violations, parse_object, read};
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
            requests(&fields);
        }
        Err(said) => {
            assert!(!said.is_empty());
            let twice = said.contains("duplicate field");
            let takable = |value: Value| value.is_object() && depth(&value) <= DEPTH_MAX;
            assert!(twice || !other.is_ok_and(takable), "refused for nothing: {said}");
        }
    }
});

/// The nesting depth of objects and arrays; a body without nested ones has depth 1.
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
            (Json::List | Json::Texts(_), Value::Array(_)) => true,
            (Json::Object(_), Value::Object(_)) => true,
            _ => false,
        };
        assert!(is_same, "{name:?}: {value:?} is {:?}", other[name]);
    }
}

/// Every request that the service reads.
fn requests(fields: &Fields) {
    request::<LoginRequest>(fields, |login| {
        assert!(!login.username.trim().is_empty() && !login.password.trim().is_empty());
    });
    request::<DeviceFilter>(fields, |filter| {
        assert!(filter.device_code.is_none_or(|code| !code.is_empty()));
        assert!(filter.is_online.is_none_or(|online| online.0 == 0 || online.0 == 1));
    });
    request::<OrderFilter>(fields, |filter| assert!(!filter.device_code.trim().is_empty()));
    request::<DashboardFilter>(fields, |_| {});
}

fn request<T: Request>(fields: &Fields, check: impl FnOnce(T)) {
    let mut violations = Violations::default();
    let request: T = read(fields.clone(), &mut violations, &mut IgnoredKeys::default())
        .expect("a request's type can be read");
    let is_clean = violations.is_empty();
    match violations.finish(Some(request)) {
        Ok(request) => {
            assert!(is_clean);
            check(request);
        }
        Err(Refusal::Invalid(violations)) => {
            assert!(!violations.is_empty());
            for (violation, locale) in violations
                .iter()
                .flat_map(|one| Locale::ALL.iter().map(move |locale| (one, *locale)))
            {
                let message = kiosque_locale::violation(violation, locale);
                assert!(message.starts_with(violation.field), "{message}");
            }
        }
        Err(other) => panic!("a request is refused as invalid, not as {other:?}"),
    }
}
