//! The errors of a fleet.

use std::fmt;

use kiosque_model::fleet::EntryId;

/// An error in a fleet. Its text begins with its entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FleetFault {
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

impl fmt::Display for FleetFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FleetFault::Required { entry, fields } => {
                let (fields, kind) = (fields.join(" or "), entry.kind.name());
                write!(f, "{entry}: {fields}: required for a new {kind}")
            }
            FleetFault::Other(text) => f.write_str(text),
        }
    }
}

impl From<String> for FleetFault {
    fn from(text: String) -> FleetFault {
        FleetFault::Other(text)
    }
}

/// Returns errors as text, one per line.
pub(super) fn lines(faults: &[FleetFault]) -> String {
    let faults: Vec<String> = faults.iter().map(FleetFault::to_string).collect();
    faults.join("\n")
}
