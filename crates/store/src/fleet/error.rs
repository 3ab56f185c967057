//! The errors of a fleet.

use std::fmt;

use kiosque_model::fleet::{EntryId, EntryKind};

/// An error in a fleet. Its text begins with its entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FleetError {
    /// A new entry has none of these fields, but requires one of them.
    Required {
        /// The entry.
        entry: EntryId,
        /// The names of the fields in a fleet file.
        fields: &'static [&'static str],
    },
    /// Any other error.
    Other(String),
}

impl FleetError {
    /// Returns the error of a new entry that has none of these fields.
    pub(super) fn required(
        kind: EntryKind,
        id: &str,
        fields: &'static [&'static str],
    ) -> FleetError {
        FleetError::Required { entry: EntryId::new(kind, id), fields }
    }
}

impl fmt::Display for FleetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FleetError::Required { entry, fields } => {
                let (fields, kind) = (fields.join(" or "), entry.kind.name());
                write!(f, "{entry}: {fields}: required for a new {kind}")
            }
            FleetError::Other(text) => f.write_str(text),
        }
    }
}

impl From<String> for FleetError {
    fn from(text: String) -> FleetError {
        FleetError::Other(text)
    }
}

/// Returns errors as text, one per line.
pub(super) fn lines(errors: &[FleetError]) -> String {
    let errors: Vec<String> = errors.iter().map(FleetError::to_string).collect();
    errors.join("\n")
}
