//! What could not be taken in: which line, why, and what stood there with card and phone numbers
//! masked.

use kiosque_model::mask::masked;
use kiosque_store::Incoming;
use serde_json::{Map, Value};

use super::ndjson::RawLine;

/// The fields that never leave unmasked.
pub(super) const MASKED_FIELDS: [&str; 2] = ["cardNumber", "phone"];
/// Digits in a row that may be a card or a phone number, in text that cannot be read.
const DIGITS_SUSPECT: usize = 7;
/// Digits in groups that may be a card number. A date and an hour beside it are ten.
const GROUPED_SUSPECT: usize = 12;

/// A line, or the rows of one order, that was not taken in.
#[derive(Clone, Debug, PartialEq)]
pub struct Rejected {
    /// The line where it begins, from 1.
    pub line: u64,
    /// Its order, if that much could be read.
    pub order_id: Option<String>,
    /// Why, beginning with the field.
    pub reason: String,
    /// What stood there.
    pub content: Content,
}

/// What stood there, masked.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// JSON that could be read.
    Order(Value),
    /// Text that could not.
    Text(String),
    /// The rows of a CSV report.
    Rows(Vec<Map<String, Value>>),
}

impl Rejected {
    /// A line of NDJSON that does not say an order.
    #[must_use]
    pub fn line(raw: &RawLine, reason: String) -> Rejected {
        let (order_id, content) = match serde_json::from_slice::<Value>(&raw.text) {
            Ok(mut value @ Value::Object(_)) => {
                mask_fields(&mut value);
                let id = value.get("orderId").and_then(Value::as_str).map(str::to_owned);
                (id, Content::Order(value))
            }
            _ => (None, Content::Text(masked_text(&String::from_utf8_lossy(&raw.text)))),
        };
        Rejected { line: raw.number, order_id, reason, content }
    }

    /// An order that a report's mapping made and that is not valid.
    #[must_use]
    pub fn mapped(line: u64, mut order: Value, reason: String) -> Rejected {
        mask_fields(&mut order);
        let order_id = order.get("orderId").and_then(Value::as_str).map(str::to_owned);
        Rejected { line, order_id, reason, content: Content::Order(order) }
    }

    /// An order that the store did not take; its record is masked already.
    #[must_use]
    pub fn order(line: u64, incoming: &Incoming, reason: String) -> Rejected {
        let mut json = Vec::new();
        // An order that was just rendered is well-formed.
        let _ = incoming.put_list_record(&mut json);
        let unread = |_| Content::Text(String::from_utf8_lossy(&json).into_owned());
        let content = serde_json::from_slice(&json).map_or_else(unread, Content::Order);
        let order_id = Some(incoming.order_id.as_str().to_owned());
        Rejected { line, order_id, reason, content }
    }

    /// Returns the message for people: the line or lines, and the reason.
    #[must_use]
    pub fn told(&self) -> String {
        match self.content {
            // Rows name their lines themselves: there may be several.
            Content::Rows(_) => self.reason.clone(),
            _ => format!("line {}: {}", self.line, self.reason),
        }
    }

    /// The line of a rejected file: what was wrong, and the order to mend and import again.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut object = Map::new();
        object.insert("line".to_owned(), self.line.into());
        object.insert("orderId".to_owned(), self.order_id.clone().into());
        object.insert("reason".to_owned(), self.reason.clone().into());
        match &self.content {
            Content::Order(order) => object.insert("order".to_owned(), order.clone()),
            Content::Text(text) => object.insert("text".to_owned(), text.clone().into()),
            Content::Rows(rows) => {
                object.insert("rows".to_owned(), rows.iter().cloned().map(Value::Object).collect())
            }
        };
        Value::Object(object)
    }
}

/// Masks the fields that need it, however deep they stand and whatever they came as.
fn mask_fields(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                let secret = MASKED_FIELDS.contains(&name.as_str());
                if secret { mask_all(field) } else { mask_fields(field) }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(mask_fields),
        _ => {}
    }
}

fn mask_all(value: &mut Value) {
    match value {
        Value::String(text) => *text = masked(text),
        Value::Number(number) => *value = masked(&number.to_string()).into(),
        Value::Array(items) => items.iter_mut().for_each(mask_all),
        Value::Object(fields) => fields.values_mut().for_each(mask_all),
        Value::Null | Value::Bool(_) => {}
    }
}

/// Masks what follows a field's name, and every long run of digits, in text that is no JSON.
fn masked_text(text: &str) -> String {
    let mut text = text.to_owned();
    for field in MASKED_FIELDS {
        let mut from = 0;
        while let Some(at) = text[from..].find(field).map(|at| from + at + field.len()) {
            let length = text[at..].find([',', '}']).unwrap_or(text.len() - at);
            let hidden = masked(&text[at..at + length]);
            text.replace_range(at..at + length, &hidden);
            from = at;
        }
    }
    mask_long_digits(&text)
}

/// Masks what may be a card or a phone number: many digits in a row, or in groups of which more
/// than any time of day and its date have.
fn mask_long_digits(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let (before, from) = rest.split_at(start);
        let (groups, after) = from.split_at(groups_end(from.as_bytes()));
        out.push_str(before);
        let digits = groups.bytes().filter(u8::is_ascii_digit).count();
        let mut in_a_row = groups.split([' ', '-']);
        if digits >= GROUPED_SUSPECT || in_a_row.any(|group| group.len() >= DIGITS_SUSPECT) {
            out.push_str(&masked(groups));
        } else {
            out.push_str(groups);
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Where the digits at the beginning end, single spaces and dashes between them included.
fn groups_end(text: &[u8]) -> usize {
    let mut end = 0;
    for (at, byte) in text.iter().enumerate() {
        match byte {
            b'0'..=b'9' => end = at + 1,
            b' ' | b'-' if end == at => {}
            _ => break,
        }
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ndjson::LineSize;

    fn rejected(text: &str) -> String {
        let raw = RawLine { number: 7, text: text.as_bytes().to_vec(), size: LineSize::Whole };
        Rejected::line(&raw, "why".to_owned()).to_json().to_string()
    }

    #[test]
    fn a_number_that_is_no_amount_is_shown_as_it_stood() {
        for number in ["12.5", "99999999999.99933", "1e-7"] {
            let said = rejected(&format!(r#"{{"orderId":{number}}}"#));
            assert!(said.contains(&format!(r#""order":{{"orderId":{number}}}"#)), "{said}");
        }
    }

    #[test]
    fn numbers_are_masked_whatever_they_came_in() {
        assert_eq!(
            rejected(r#"{"orderId":"o","cardNumber":"4111111111111234","phone":33612345678}"#),
            concat!(
                r#"{"line":7,"orderId":"o","reason":"why","order":{"orderId":"o","#,
                r#""cardNumber":"************1234","phone":"*******5678"}}"#
            )
        );
        let nested =
            rejected(r#"{"cardNumber":["4111111111111234"],"x":{"phone":{"y":336123456}}}"#);
        let kept = r#"{"cardNumber":["************1234"],"x":{"phone":{"y":"*****3456"}}}"#;
        assert!(nested.contains(kept), "{nested}");
        for secret in [
            "seen at 2026-01-02 03:04:05: 4111-1111-1111-9876",
            r#"{"cardNumber":"4111111111119876","x"#,
            r#"{"phone" : +33 6 12 34 59 87 6, nonsense"#,
            "4111111111119876",
            r#"cardNumber 4111-1111-1111-9876"#,
        ] {
            let said = rejected(secret);
            assert!(!said.contains("4111"), "{said}");
            assert!(!said.contains("12 34 59"), "{said}");
        }
        let harmless = "2026-01-02 03:04:05, 12345 of 678 - 9012";
        assert!(rejected(harmless).contains(harmless));
    }
}
