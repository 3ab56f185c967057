//! Rejected lines and orders: the line, the reason and the content with card and phone numbers
//! masked.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use kiosque_contract::RejectedOrder;
use kiosque_model::{Zone, ids, shortened};
use kiosque_store::Incoming;
use serde_json::{Value, json};

use super::export::line_of_record;
use super::masking::{mask_fields, masked_reason, masked_text};
use super::ndjson::RawLine;
use super::response_lists::REASON_CHARS_MAX;

/// A line, or the rows of one order, that was rejected.
#[derive(Clone, Debug, PartialEq)]
pub struct Rejected {
    /// Its first line, from 1.
    pub line: u64,
    /// Its order id, if it could be read.
    pub order_id: Option<String>,
    /// The reason, beginning with the field.
    pub reason: Reason,
    /// The content, masked.
    pub content: Content,
}

/// A reason, in which digits that may be a card or a phone number are masked: a reason may quote
/// any field, and a line may have any value in the wrong field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason(String);

impl Reason {
    /// Returns the reason with this text.
    pub fn new(text: &str) -> Reason {
        Reason(masked_reason(text))
    }

    /// Returns the text for a response, truncated if it is long.
    pub(super) fn reported(&self) -> String {
        shortened(&self.0, REASON_CHARS_MAX).into_owned()
    }
}

impl Deref for Reason {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The content of a rejected line, masked.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// A JSON object.
    Order(Value),
    /// Text that is not a JSON object.
    Text(String),
    /// The rows of a CSV report, as they are written.
    Rows {
        /// The header of a file of them, with its line end.
        header: Arc<[u8]>,
        /// The rows, each with its line end.
        lines: Vec<u8>,
    },
}

impl Rejected {
    /// Returns a rejected line of NDJSON.
    pub fn line(raw: &RawLine, reason: &str) -> Rejected {
        let text = || Content::Text(masked_text(&String::from_utf8_lossy(&raw.text)));
        let (order_id, content) = match serde_json::from_slice::<Value>(&raw.text) {
            Ok(mut value @ Value::Object(_)) => {
                mask_fields(&mut value);
                let id = value.get("orderId").and_then(Value::as_str).map(str::to_owned);
                // An object has only the last value of a key.
                let is_repeated = reason.contains("duplicate field");
                (id, if is_repeated { text() } else { Content::Order(value) })
            }
            _ => (None, text()),
        };
        Rejected { line: raw.number, order_id, reason: Reason::new(reason), content }
    }

    /// Returns an order that the store rejected, whose record is already masked, as it would be
    /// exported: its times have offsets and milliseconds.
    pub fn order(line: u64, incoming: &Incoming, zone: &Zone, reason: &str) -> Rejected {
        let mut json = Vec::new();
        incoming.put_list_record(&mut json);
        let paid_at = incoming.sale.as_ref().map(|sale| sale.at);
        let record = serde_json::from_slice(&json).ok();
        let order = record.and_then(|record| {
            let order = line_of_record(record, incoming.trade_start, paid_at, zone).ok()?;
            serde_json::to_value(order).ok()
        });
        let as_text = || Content::Text(String::from_utf8_lossy(&json).into_owned());
        let content = order.map_or_else(as_text, Content::Order);
        let order_id = Some(incoming.order_id.as_str().to_owned());
        Rejected { line, order_id, reason: Reason::new(reason), content }
    }

    /// Returns a message with the line or lines, and the reason.
    pub fn message(&self) -> String {
        match self.content {
            // The reason of rows includes their lines, of which there may be several.
            Content::Rows { .. } => self.reason.to_string(),
            _ => format!("line {}: {}", self.line, self.reason),
        }
    }

    /// Returns the first line of a file of such entries; `None` for lines of NDJSON.
    pub fn file_header(&self) -> Option<Vec<u8>> {
        match &self.content {
            Content::Rows { header, .. } => Some(header.to_vec()),
            Content::Order(_) | Content::Text(_) => None,
        }
    }

    /// Returns the lines of the rejected file, to correct and import again: rows of a report, or a
    /// line of NDJSON.
    pub fn file_lines(&self) -> Vec<u8> {
        match &self.content {
            Content::Rows { lines, .. } => lines.clone(),
            _ => format!("{}\n", self.to_json()).into_bytes(),
        }
    }

    /// Returns the line as reported, without its content, which the sender has. Long texts are
    /// truncated.
    pub fn reported(&self) -> RejectedOrder {
        RejectedOrder {
            line: self.line,
            order_id: self
                .order_id
                .as_ref()
                .map(|id| shortened(id, ids::ID_CHARS_MAX).into_owned()),
            reason: self.reason.reported(),
        }
    }

    fn to_json(&self) -> Value {
        let reason = &*self.reason;
        let mut object = json!({"line": self.line, "orderId": self.order_id, "reason": reason});
        match &self.content {
            Content::Order(order) => object["order"] = order.clone(),
            Content::Text(text) => object["text"] = text.clone().into(),
            Content::Rows { .. } => {}
        }
        object
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rejected(text: &str) -> String {
        let raw = RawLine { number: 7, text: text.as_bytes().to_vec(), too_long: None };
        Rejected::line(&raw, "why").to_json().to_string()
    }

    /// A card or a phone number in any field is masked in the reason that quotes it; times, amounts
    /// and ids of usual lengths are not.
    #[test]
    fn a_reason_has_no_card_and_no_phone_number() {
        for (reason, want) in [
            (
                "totalAmount: invalid type: string \"5500005555555559\", expected a whole number",
                "totalAmount: invalid type: string \"************5559\", expected a whole number",
            ),
            ("currency: \"0049 151 2345678\"", "currency: \"**** *** ***5678\""),
            ("a: \"138-0013-8000\"", "a: \"***-****-8000\""),
            ("13800138000: unknown key", "*******8000: unknown key"),
            (
                "line 12: \"2026-01-02 03:04:05\" has 16777216 bytes, 12 of 345",
                "line 12: \"2026-01-02 03:04:05\" has 16777216 bytes, 12 of 345",
            ),
            ("400000000000 is beyond 1000000000000", "********0000 is beyond 1000000000000"),
            (
                "totalAmount: 1000000000001 is not between 0 and 1000000000000",
                "totalAmount: 1000000000001 is not between 0 and 1000000000000",
            ),
            (
                "salePrice: -1000000000001 is beyond 1000000000000 minor units",
                "salePrice: -1000000000001 is beyond 1000000000000 minor units",
            ),
            (
                "totalAmount: 5500005555555559 is not between 0 and 1000000000000",
                "totalAmount: ************5559 is not between 0 and 1000000000000",
            ),
        ] {
            assert_eq!(&*Reason::new(reason), want);
        }
    }

    /// An object would have one of the values, and could be imported unchanged.
    #[test]
    fn a_line_with_a_key_given_twice_is_kept_as_text() {
        let text = br#"{"orderId":"o","totalAmount":1,"totalAmount":2}"#;
        let raw = RawLine { number: 7, text: text.to_vec(), too_long: None };
        let rejected = Rejected::line(&raw, "duplicate field `totalAmount`");
        let want = String::from_utf8_lossy(text).into_owned();
        assert_eq!(rejected.order_id.as_deref(), Some("o"));
        assert_eq!(rejected.content, Content::Text(want));
    }

    #[test]
    fn a_number_that_is_not_an_amount_is_reported_unchanged() {
        for number in ["12.5", "99999999999.99933", "1e-7"] {
            let text = rejected(&format!(r#"{{"orderId":{number}}}"#));
            assert!(text.contains(&format!(r#""order":{{"orderId":{number}}}"#)), "{text}");
        }
    }

    #[test]
    fn numbers_are_masked_in_any_form() {
        assert_eq!(
            rejected(r#"{"orderId":"o","cardNumber":"4111111111111234","phone":33612345678}"#),
            concat!(
                r#"{"line":7,"orderId":"o","reason":"why","order":{"orderId":"o","#,
                r#""cardNumber":"************1234","phone":"*******5678"}}"#
            )
        );
        let nested =
            rejected(r#"{"cardNumber":["4111111111111234"],"x":{"phone":{"y":336123456}}}"#);
        let masked = r#"{"cardNumber":["************1234"],"x":{"phone":{"y":"*****3456"}}}"#;
        assert!(nested.contains(masked), "{nested}");
        for secret in [
            "seen at 2026-01-02 03:04:05: 4111-1111-1111-9876",
            r#"{"cardNumber":"4111111111119876","x"#,
            r#"{"phone" : +33 6 12 34 59 87 6, nonsense"#,
            "4111111111119876",
            r#"cardNumber 4111-1111-1111-9876"#,
        ] {
            let text = rejected(secret);
            assert!(!text.contains("4111"), "{text}");
            assert!(!text.contains("12 34 59"), "{text}");
        }
        let harmless = "2026-01-02 03:04:05, 12345 of 678 - 9012";
        assert!(rejected(harmless).contains(harmless));
    }
}
