//! The keys of orders and heartbeats that are not fields.

use std::collections::BTreeSet;

use kiosque_model::{ids, shortened};

use super::masking::{DIGITS_SUSPECT, with_masked_digits};

/// The maximum number of ignored keys in a response.
const LISTED_MAX: usize = 100;

/// How unknown keys are handled, and those that were ignored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnknownKeys {
    /// They are ignored; each is listed once, without the positions of lines.
    Ignored(BTreeSet<String>),
    /// An order with an unknown key is rejected.
    Rejected,
}

impl Default for UnknownKeys {
    fn default() -> Self {
        UnknownKeys::Ignored(BTreeSet::new())
    }
}

impl UnknownKeys {
    /// Adds the unknown keys of one order.
    ///
    /// # Errors
    /// The errors of the order, if unknown keys reject it and there are any.
    pub(crate) fn add(&mut self, keys: Vec<String>) -> Result<(), String> {
        match self {
            UnknownKeys::Ignored(known) => known.extend(keys),
            UnknownKeys::Rejected if keys.is_empty() => {}
            UnknownKeys::Rejected => {
                let distinct: BTreeSet<String> = keys.into_iter().collect();
                let errors = distinct.iter().map(|key| format!("{}: unknown key", printable(key)));
                return Err(errors.collect::<Vec<_>>().join("; "));
            }
        }
        Ok(())
    }

    /// Adds the keys that were ignored in other orders.
    pub(crate) fn append(&mut self, others: UnknownKeys) {
        if let (UnknownKeys::Ignored(all), UnknownKeys::Ignored(mut more)) = (self, others) {
            all.append(&mut more);
        }
    }

    /// Returns the keys that were ignored.
    pub fn into_ignored(self) -> BTreeSet<String> {
        match self {
            UnknownKeys::Ignored(keys) => keys,
            UnknownKeys::Rejected => BTreeSet::new(),
        }
    }
}

/// Returns the path of a key without line positions. A card or phone number in a key is masked,
/// since keys occur in the log and in responses.
pub(crate) fn without_positions(path: &serde_ignored::Path<'_>) -> String {
    let path = path.to_string();
    let parts = path.split('.').filter(|part| *part != "?" && part.parse::<usize>().is_err());
    with_masked_digits(&parts.collect::<Vec<_>>().join("."), DIGITS_SUSPECT)
}

/// Returns keys as a response and the log show them.
pub(crate) fn shown(keys: BTreeSet<String>) -> Vec<String> {
    keys.into_iter()
        .map(|key| shortened(&printable(&key), ids::ID_CHARS_MAX).into_owned())
        .collect()
}

/// Adds keys to the sorted list of a response, each once.
pub(crate) fn add_to_list(listed: &mut Vec<String>, keys: Vec<String>) {
    for key in keys {
        if listed.len() == LISTED_MAX {
            return;
        }
        if let Err(position) = listed.binary_search(&key) {
            listed.insert(position, key);
        }
    }
}

/// Returns a text with control characters, and others that a terminal does not show, escaped as in
/// Rust.
pub(crate) fn printable(text: &str) -> String {
    let mut printable = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' | '\'' => printable.push(c),
            _ => printable.extend(c.escape_debug()),
        }
    }
    printable
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listed_keys_are_escaped_and_bounded() {
        let keys: BTreeSet<String> = (0..150).map(|number| format!("k{number:03}")).collect();
        let mut listed = Vec::new();
        add_to_list(&mut listed, shown(["\u{7f}\u{202e}\"é\"".to_owned()].into()));
        add_to_list(&mut listed, shown(["x".repeat(70)].into()));
        add_to_list(&mut listed, shown(["x".repeat(70)].into()));
        assert_eq!(listed, ["\\u{7f}\\u{202e}\"é\"".to_owned(), "x".repeat(64) + "…"]);
        add_to_list(&mut listed, shown(keys));
        assert_eq!(listed.len(), LISTED_MAX);
    }
}
