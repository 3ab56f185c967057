//! The bodies of calls that the broker answers itself, or sends with changed fields.

use kiosque_listener::json::{self, Json};
use kiosque_model::refusal::ViolationKind;
use kiosque_model::{Refusal, Violation};
use serde_json::{Map, Value};

/// Reads the required texts of a body, in this order.
///
/// # Errors
/// The body cannot be read (REQ-4), or fields are missing, blank or not text; all of them (REQ-7).
pub(crate) fn texts<const N: usize>(
    body: &[u8],
    max_depth: usize,
    names: [&'static str; N],
) -> Result<[String; N], Refusal> {
    let mut fields = json::parse_object(body, max_depth).map_err(Refusal::Unreadable)?;
    let mut violations = Vec::new();
    let texts = names.map(|field| match fields.take(field) {
        Json::Text(text) if !text.trim().is_empty() => text,
        other => {
            let is_blank = matches!(other, Json::Null | Json::Text(_));
            let kind = if is_blank { ViolationKind::Blank } else { ViolationKind::NotText };
            violations.push(Violation { field, kind });
            String::new()
        }
    });
    if violations.is_empty() { Ok(texts) } else { Err(Refusal::Invalid(violations)) }
}

/// Returns the fields of a body that is sent with changed ones; `None` if the server would not read
/// it, and must refuse it unchanged.
pub(crate) fn to_change(body: &[u8], max_depth: usize) -> Option<Map<String, Value>> {
    json::parse_object(body, max_depth).ok()?;
    serde_json::from_slice(body).ok()
}

/// Returns a filter of devices with this group, unless it already has one; `None` if the body is
/// not a filter.
pub(crate) fn with_group(body: &[u8], max_depth: usize, group: &str) -> Option<Vec<u8>> {
    let mut filter = to_change(body, max_depth)?;
    let named = filter.get("groupId");
    if matches!(named, None | Some(Value::Null)) || named.is_some_and(|text| text == "") {
        filter.insert("groupId".to_owned(), Value::from(group));
    }
    serde_json::to_vec(&filter).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// REQ-3, REQ-4, REQ-7: one answer lists all violations; a body that the server does not read
    /// is not read here.
    #[test]
    fn all_errors_of_a_body_are_found() {
        let read = |body: &str| texts(body.as_bytes(), 32, ["username", "password"]);
        let invalid = |errors: [(&'static str, ViolationKind); 2]| {
            let violations = errors.map(|(field, kind)| Violation { field, kind });
            Err(Refusal::Invalid(violations.into()))
        };
        let both =
            invalid([("username", ViolationKind::Blank), ("password", ViolationKind::Blank)]);
        assert_eq!(read("{}"), both);
        assert_eq!(read(r#"{"username":null,"password":" "}"#), both);
        let other =
            invalid([("username", ViolationKind::NotText), ("password", ViolationKind::Blank)]);
        assert_eq!(read(r#"{"username":7}"#), other);
        assert_eq!(
            read(r#"{"password":"b","username":"a","more":1}"#),
            Ok(["a", "b"].map(str::to_owned))
        );
        let twice = r#"{"username":"a","password":"b","username":"a"}"#;
        for unreadable in ["", "null", "[]", "{", "x", twice] {
            assert!(matches!(read(unreadable), Err(Refusal::Unreadable(_))), "{unreadable}");
        }
    }

    /// DEV-4, REQ-4: a filter with a group is not changed, and one that the server refuses is sent
    /// unchanged.
    #[test]
    fn a_filter_gets_the_group_of_its_worker() {
        let filter = |body: &str| {
            let filter = with_group(body.as_bytes(), 32, "north")?;
            Some(String::from_utf8(filter).expect("JSON"))
        };
        assert_eq!(filter("{}").as_deref(), Some(r#"{"groupId":"north"}"#));
        let named = r#"{"deviceName":"a","groupId":"south"}"#;
        assert_eq!(filter(named).as_deref(), Some(named));
        assert_eq!(filter(r#"{"groupId":""}"#).as_deref(), Some(r#"{"groupId":"north"}"#));
        for refused in ["", "[]", r#"{"deviceName":"a","deviceName":"b"}"#] {
            assert_eq!(filter(refused), None, "{refused}");
        }
    }
}
