//! Examples of requests and answers, for documents. The example of a type is next to it.

use serde::Serialize;
use serde_json::Value;

/// 2026-03-01 00:00:00 UTC.
pub(crate) const MARCH_MS: i64 = 1_772_323_200_000;
/// A day, in milliseconds.
pub(crate) const DAY_MS: i64 = 86_400_000;

/// A request or an answer, or a part of one, that has an example.
pub trait Example: Sized {
    /// Returns the example.
    fn example() -> Self;
}

impl Example for () {
    fn example() {}
}

impl<T: Example> Example for Option<T> {
    fn example() -> Option<T> {
        Some(T::example())
    }
}

impl<T: Example> Example for Vec<T> {
    fn example() -> Vec<T> {
        vec![T::example()]
    }
}

/// Returns the example of a type as JSON. The types of the contract can always be serialized.
pub(crate) fn json<T: Example + Serialize>() -> Value {
    serde_json::to_value(T::example()).unwrap_or_default()
}
