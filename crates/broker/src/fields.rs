//! The bodies of the calls that the broker answers itself.

use kiosque_model::refusal::Fault;
use kiosque_model::{Refusal, Violation};
use serde_json::{Map, Value};

/// Reads the required texts of a body, in this order.
///
/// # Errors
/// The body is no JSON object, or fields are missing, blank or no text; all of them (REQ-7).
pub(crate) fn texts<const N: usize>(
    body: &[u8],
    names: [&'static str; N],
) -> Result<[String; N], Refusal> {
    let mut fields = match serde_json::from_slice(body) {
        _ if body.trim_ascii().is_empty() => Map::new(),
        Ok(Value::Object(fields)) => fields,
        Ok(_) => return Err(Refusal::Unreadable("the body is not a JSON object".to_owned())),
        Err(error) => return Err(Refusal::Unreadable(error.to_string())),
    };
    let mut violations = Vec::new();
    let texts = names.map(|field| match fields.remove(field) {
        Some(Value::String(text)) if !text.trim().is_empty() => text,
        other => {
            let is_blank = matches!(other, None | Some(Value::Null | Value::String(_)));
            let fault = if is_blank { Fault::Blank } else { Fault::NotText };
            violations.push(Violation { field, fault });
            String::new()
        }
    });
    if violations.is_empty() { Ok(texts) } else { Err(Refusal::Invalid(violations)) }
}

/// Returns a filter of devices that names this group, unless it names one already; `None` if the
/// body is none.
pub(crate) fn with_group(body: &[u8], group: &str) -> Option<Vec<u8>> {
    let mut filter: Map<String, Value> = match body.trim_ascii() {
        b"" => Map::new(),
        text => serde_json::from_slice(text).ok()?,
    };
    let named = filter.get("groupId");
    if matches!(named, None | Some(Value::Null)) || named.is_some_and(|text| text == "") {
        filter.insert("groupId".to_owned(), Value::from(group));
    }
    serde_json::to_vec(&filter).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// REQ-4, REQ-7: one answer names all violations.
    #[test]
    fn all_faults_of_a_body_are_found() {
        let read = |body: &str| texts(body.as_bytes(), ["username", "password"]);
        let invalid = |faults: [(&'static str, Fault); 2]| {
            let violations = faults.map(|(field, fault)| Violation { field, fault });
            Err(Refusal::Invalid(violations.into()))
        };
        let both = invalid([("username", Fault::Blank), ("password", Fault::Blank)]);
        assert_eq!(read(""), both);
        assert_eq!(read(r#"{"username":null,"password":" "}"#), both);
        let other = invalid([("username", Fault::NotText), ("password", Fault::Blank)]);
        assert_eq!(read(r#"{"username":7}"#), other);
        assert_eq!(
            read(r#"{"password":"b","username":"a","more":1}"#),
            Ok(["a", "b"].map(str::to_owned))
        );
        for unreadable in ["[]", "{", "x"] {
            assert!(matches!(read(unreadable), Err(Refusal::Unreadable(_))), "{unreadable}");
        }
    }

    /// DEV-4: a filter that names a group is not changed.
    #[test]
    fn a_filter_gets_the_group_of_its_worker() {
        let filter = |body: &str| {
            let filter = with_group(body.as_bytes(), "north")?;
            Some(String::from_utf8(filter).expect("JSON"))
        };
        assert_eq!(filter("").as_deref(), Some(r#"{"groupId":"north"}"#));
        let named = r#"{"deviceName":"a","groupId":"south"}"#;
        assert_eq!(filter(named).as_deref(), Some(named));
        assert_eq!(filter(r#"{"groupId":""}"#).as_deref(), Some(r#"{"groupId":"north"}"#));
        assert_eq!(filter("[]"), None);
    }
}
