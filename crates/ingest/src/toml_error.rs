//! Errors of TOML files, with their positions.

use std::fmt::Display;

/// Returns an error of a file with its line and column. The line itself, which the error shows by
/// default, may contain a secret.
pub fn toml_error(text: &str, error: &toml::de::Error) -> String {
    at_position(text, error.span().unwrap_or_default().start, error.message())
}

/// Returns an error with the line and column of a byte of the text.
pub(crate) fn at_position(text: &str, byte: usize, error: impl Display) -> String {
    let before = text.get(..byte).unwrap_or_default();
    let (lines, line) = before
        .rsplit_once('\n')
        .map_or((0, before), |(above, line)| (above.matches('\n').count() + 1, line));
    format!("line {}, column {}: {error}", lines + 1, line.chars().count() + 1)
}
