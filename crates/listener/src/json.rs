//! Reads the body of a request: a JSON object of bounded depth without duplicate fields. Other
//! bodies are errors with a position.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// A JSON value, reduced to the types that requests use.
#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    /// `null`.
    Null,
    /// `true` or `false`.
    Flag(bool),
    /// A whole number.
    Int(i64),
    /// A number that is not whole, or too large.
    Number,
    /// A string.
    Text(String),
    /// An array that contains only strings.
    Texts(Vec<String>),
    /// Any other array.
    List,
    /// An object; only the outermost one has its fields.
    Object(Fields),
}

impl Json {
    /// Returns whether the value counts as absent, as null and the empty string do (REQ-9).
    pub fn is_left_out(&self) -> bool {
        matches!(self, Json::Null) || matches!(self, Json::Text(text) if text.is_empty())
    }
}

/// The fields of a body, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fields(pub Vec<(String, Json)>);

impl Fields {
    /// Removes a field and returns its value; [`Json::Null`] without one.
    #[must_use]
    pub fn take(&mut self, field: &str) -> Json {
        let found = self.0.iter_mut().find(|(name, _)| name == field);
        found.map_or(Json::Null, |(_, value)| std::mem::replace(value, Json::Null))
    }
}

/// Reads a body.
///
/// # Errors
/// A diagnostic for the caller, with the position.
pub fn parse_object(body: &[u8], max_depth: usize) -> Result<Fields, String> {
    if body.is_empty() {
        return Err("the body is empty; send a JSON object such as {}".to_owned());
    }
    if body.starts_with(b"\xef\xbb\xbf") {
        return Err("the body begins with a byte order mark; send it without".to_owned());
    }
    let text = std::str::from_utf8(body)
        .map_err(|error| format!("the body is not valid UTF-8 at byte {}", error.valid_up_to()))?;
    let parsed = match parse(text, max_depth) {
        Err(error) if error.starts_with(OUT_OF_RANGE) => parse(&within_range(text), max_depth),
        parsed => parsed,
    };
    match parsed? {
        Json::Object(fields) => Ok(fields),
        Json::Null => Err("the body is null; send a JSON object such as {}".to_owned()),
        _ => Err("the body is not a JSON object; send one such as {}".to_owned()),
    }
}

fn parse(text: &str, max_depth: usize) -> Result<Json, String> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = Level { depth: 0, max_depth }.deserialize(&mut deserializer);
    let value = value.and_then(|value| deserializer.end().map(|()| value));
    value.map_err(|error| error.to_string())
}

/// The error of serde_json for a number such as `1e999`, which is valid JSON but not an `f64`.
const OUT_OF_RANGE: &str = "number out of range";

/// Replaces each number beyond the range of `f64` by `0.000…` of the same length: like these, it is
/// not an integer, and errors after it keep their position.
fn within_range(text: &str) -> String {
    let mut replaced = String::with_capacity(text.len());
    let mut rest = text;
    let is_in_number = |c: char| c.is_ascii_digit() || "+-.eE".contains(c);
    while let Some(first) = rest.chars().next() {
        let is_number = first == '-' || first.is_ascii_digit();
        let length = match first {
            '"' => string_length(rest),
            _ if is_number => rest.find(|c| !is_in_number(c)).unwrap_or(rest.len()),
            _ => first.len_utf8(),
        };
        let Some((token, after)) = rest.split_at_checked(length) else { break };
        if is_number && is_out_of_range(token) {
            replaced.push_str("0.");
            replaced.extend(std::iter::repeat_n('0', length.saturating_sub(2)));
        } else {
            replaced.push_str(token);
        }
        rest = after;
    }
    replaced
}

/// Returns the length of the string at the beginning of a text, including its quotation marks.
fn string_length(text: &str) -> usize {
    let mut is_escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

fn is_out_of_range(number: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(number).is_ok()
        && number.parse::<f64>().is_ok_and(f64::is_infinite)
}

/// One level of nesting. The fields of the outermost object are stored, and the strings of each
/// that is a list of strings; nothing of deeper levels.
#[derive(Clone, Copy)]
struct Level {
    depth: usize,
    max_depth: usize,
}

impl Level {
    fn deeper<E: Error>(self) -> Result<Level, E> {
        let Level { depth, max_depth } = self;
        match depth < max_depth {
            true => Ok(Level { depth: depth + 1, max_depth }),
            false => Err(E::custom(format_args!("nested deeper than {max_depth} levels"))),
        }
    }
}

impl<'de> DeserializeSeed<'de> for Level {
    type Value = Json;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Json, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Level {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E: Error>(self, flag: bool) -> Result<Json, E> {
        Ok(Json::Flag(flag))
    }

    fn visit_i64<E: Error>(self, int: i64) -> Result<Json, E> {
        Ok(Json::Int(int))
    }

    fn visit_u64<E: Error>(self, int: u64) -> Result<Json, E> {
        Ok(i64::try_from(int).map_or(Json::Number, Json::Int))
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Json, E> {
        Ok(Json::Number)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Json, E> {
        Ok(Json::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Json, A::Error> {
        let mut texts = (self.depth == 1).then(Vec::new);
        let deeper = self.deeper()?;
        while let Some(item) = items.next_element_seed(deeper)? {
            match (&mut texts, item) {
                (Some(texts), Json::Text(text)) => texts.push(text),
                _ => texts = None,
            }
        }
        Ok(texts.map_or(Json::List, Json::Texts))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Json, A::Error> {
        let deeper = self.deeper()?;
        let mut fields = Fields::default();
        let mut names = std::collections::HashSet::new();
        while let Some(name) = entries.next_key::<String>()? {
            if !names.insert(name.clone()) {
                return Err(A::Error::custom(format_args!("duplicate field {name:?}")));
            }
            let value = entries.next_value_seed(deeper)?;
            if self.depth == 0 {
                fields.0.push((name, value));
            }
        }
        Ok(Json::Object(fields))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// REQ-10, REQ-11: a number beyond `f64` is a number that is not an integer.
    #[test]
    fn a_number_of_any_size_is_a_number() {
        let digits = "7".repeat(400);
        for number in ["1e999", "-1e999", "1E+400", "123.5e309", &digits] {
            let body =
                format!(r#"{{"a":{number},"b":["\\\"1e999",{number}],"c":"é1e999","d":1e308}}"#);
            let fields = parse_object(body.as_bytes(), 32).expect(number).0;
            let text = Json::Text("é1e999".to_owned());
            let want = [("a", Json::Number), ("b", Json::List), ("c", text), ("d", Json::Number)];
            assert_eq!(fields, want.map(|(name, value)| (name.to_owned(), value)), "{number}");
        }
        for (body, want) in [
            ("{\"a\":1e999,\"b\":01e999}", "invalid number at line 1 column 17"),
            ("{\"a\":1e999,\"b\":x}", "expected value at line 1 column 16"),
            ("{\"a\":1e999,\"a\":1}", "duplicate field \"a\" at line 1 column 14"),
        ] {
            assert_eq!(parse_object(body.as_bytes(), 32).expect_err(body), want);
        }
    }

    proptest! {
        #[test]
        fn no_bytes_panic(body in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse_object(&body, 32);
            let _ = within_range(&String::from_utf8_lossy(&body));
        }
    }
}
