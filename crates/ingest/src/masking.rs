//! Masks card and phone numbers, in JSON and in texts.

use kiosque_model::mask::masked;
use serde_json::Value;

/// The fields that are always masked.
pub(crate) const MASKED_FIELDS: [&str; 2] = ["cardNumber", "phone"];
/// Adjacent digits that may be a card or a phone number, in text that is not JSON and in keys.
pub(crate) const DIGITS_SUSPECT: usize = 7;
/// Adjacent digits of a reason that may be a card or a phone number: reasons also contain numbers
/// of bytes.
const REASON_DIGITS_SUSPECT: usize = 9;
/// [`kiosque_model::money::MINOR_MAX`], which occurs in reasons.
const AMOUNT_MAX: &str = "1000000000000";
/// The text after an amount of an order that is refused.
pub(crate) const NO_AMOUNT: &str = " is not between 0 and 1000000000000";
/// The text after an amount of a line that is refused.
pub(crate) const NO_LINE_AMOUNT: &str = " is beyond 1000000000000 minor units";
/// Digits in groups that may be a card or a phone number. A date with an hour has ten.
const GROUPED_SUSPECT: usize = 11;

/// Masks [`MASKED_FIELDS`] at any depth and of any type.
pub(crate) fn mask_fields(value: &mut Value) {
    mask(value, false);
}

/// Masks the fields in a value, or all of the value if it is that of such a field.
fn mask(value: &mut Value, is_secret: bool) {
    match value {
        Value::Object(fields) => fields.iter_mut().for_each(|(name, field)| {
            mask(field, is_secret || MASKED_FIELDS.contains(&name.as_str()));
        }),
        Value::Array(items) => items.iter_mut().for_each(|item| mask(item, is_secret)),
        Value::String(text) if is_secret => *text = masked(text),
        Value::Number(number) if is_secret => *value = masked(&number.to_string()).into(),
        _ => {}
    }
}

/// Masks the text after a field's name, and every long run of digits, in text that is not JSON.
pub(crate) fn masked_text(text: &str) -> String {
    let text = MASKED_FIELDS.iter().fold(text.to_owned(), |text, field| {
        let mut out = String::with_capacity(text.len());
        let mut rest = text.as_str();
        while let Some((before, from)) = rest.split_once(field) {
            let (value, after) = from.split_at(from.find([',', '}']).unwrap_or(from.len()));
            out.extend([before, field, &masked(value)]);
            rest = after;
        }
        out + rest
    });
    with_masked_digits(&text, DIGITS_SUSPECT)
}

/// Returns a reason in which what may be a card or a phone number is masked.
pub(crate) fn masked_reason(text: &str) -> String {
    with_masked_digits(text, REASON_DIGITS_SUSPECT)
}

/// Returns a text with the digits masked that may be a card or a phone number: that many adjacent
/// ones, or groups with more digits than a date with an hour. Amounts are kept.
pub(crate) fn with_masked_digits(text: &str, adjacent: usize) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let (before, from) = rest.split_at(start);
        let (groups, after) = from.split_at(groups_end(from.as_bytes()));
        out.push_str(before);
        let digits = groups.bytes().filter(u8::is_ascii_digit).count();
        let mut runs = groups.split([' ', '-']);
        let is_suspect = digits >= GROUPED_SUSPECT || runs.any(|run| run.len() >= adjacent);
        match is_suspect && !is_amount(groups, after) {
            true => out.push_str(&masked(groups)),
            false => out.push_str(groups),
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Returns whether a number is the largest amount, or is followed by the text that refuses an
/// amount. A number with more digits than the largest amount may be a card number.
fn is_amount(number: &str, after: &str) -> bool {
    let is_refused = || [NO_AMOUNT, NO_LINE_AMOUNT].iter().any(|text| after.starts_with(text));
    number == AMOUNT_MAX || number.len() <= AMOUNT_MAX.len() && is_refused()
}

/// Returns the end of the digits at the beginning, including single spaces and dashes between them.
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

    #[test]
    fn the_largest_amount_is_the_models() {
        assert_eq!(AMOUNT_MAX, kiosque_model::money::MINOR_MAX.to_string());
        assert!([NO_AMOUNT, NO_LINE_AMOUNT].iter().all(|text| text.contains(AMOUNT_MAX)));
    }
}
