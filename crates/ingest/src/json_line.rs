//! Reading one JSON object from a line of text, with errors that specify the field.

use serde::Deserialize;

use crate::masking::MASKED_FIELDS;
use crate::unknown_keys::without_positions;

/// Reads an object from a line, and passes the path of each key that is not a field to `ignored`.
///
/// # Errors
/// The reason, beginning with the field.
pub(crate) fn read<'t, T: Deserialize<'t>>(
    text: &'t [u8],
    mut ignored: impl FnMut(String),
) -> Result<T, String> {
    let text = object_text(text)?;
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let read = serde_ignored::deserialize(&mut deserializer, |path| {
        ignored(without_positions(&path));
    });
    let read = read.and_then(|read| deserializer.end().map(|()| read));
    read.map_err(|_| describe_error::<T>(text))
}

/// Returns the text of a line that may be an object; see [`kiosque_contract::Object`].
///
/// # Errors
/// It is not UTF-8, or does not begin like an object.
fn object_text(text: &[u8]) -> Result<&str, String> {
    let text = std::str::from_utf8(text)
        .map_err(|error| format!("invalid UTF-8 at byte {}", error.valid_up_to() + 1))?;
    match text.trim_start().starts_with('{') {
        true => Ok(text),
        false => Err("not a JSON object".to_owned()),
    }
}

/// Parses a text that does not deserialize again, and returns the reason, beginning with the field.
fn describe_error<'t, T: Deserialize<'t>>(text: &'t str) -> String {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let error = match serde_path_to_error::deserialize::<_, T>(&mut deserializer) {
        Ok(_) => {
            let end = deserializer.end().err();
            return end.map_or_else(|| "not JSON".to_owned(), |error| format!("not JSON: {error}"));
        }
        Err(error) => error,
    };
    let field = error.path().to_string();
    let error = error.into_inner();
    if error.is_data() && MASKED_FIELDS.contains(&field.as_str()) {
        // The parser's message would quote the value.
        return format!("{field}: is not a string");
    }
    if error.is_syntax() || error.is_eof() {
        return format!("not JSON: {error}");
    }
    let message = error.to_string();
    let message = message.rsplit_once(" at line ").map_or(message.as_str(), |(text, _)| text);
    let message = with_plain_types(message);
    let message = match message.contains("floating point") {
        true => format!("{message} (amounts are whole minor units)"),
        false => message,
    };
    if field == "." { message } else { format!("{field}: {message}") }
}

/// Returns a message of the parser without the names of Rust types.
pub(crate) fn with_plain_types(message: &str) -> String {
    message.replace(", expected i64", ", expected a whole number")
}
