//! Errors of TOML files, with their positions.

use kiosque_model::at_position;

/// Returns an error of a file with its line and column. The line itself, which the error shows by
/// default, may contain a secret.
pub fn toml_error(text: &str, error: &toml::de::Error) -> String {
    at_position(text, error.span().unwrap_or_default().start, error.message())
}
