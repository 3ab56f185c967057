//! Texts of a mapping, as its TOML file gives them.

use serde::de::Error;
use serde::{Deserialize, Deserializer};

/// A text, or a whole number, which is the text of its digits.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a string or a whole number")]
pub(super) enum Text {
    Text(String),
    Number(i64),
}

impl From<Text> for String {
    fn from(text: Text) -> String {
        match text {
            Text::Text(text) => text,
            Text::Number(number) => number.to_string(),
        }
    }
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a string or a list of strings")]
enum OneOrMany {
    One(Text),
    Many(Vec<Text>),
}

/// Reads a list of texts that is not empty, or a single text.
pub(super) fn texts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let texts = match OneOrMany::deserialize(deserializer)? {
        OneOrMany::One(text) => vec![text],
        OneOrMany::Many(list) => list,
    };
    if texts.is_empty() {
        return Err(D::Error::custom("expected a string or a list of strings, got an empty list"));
    }
    Ok(texts.into_iter().map(String::from).collect())
}

/// Reads a text or a whole number.
pub(super) fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Text::deserialize(deserializer).map(|text| Some(text.into()))
}
