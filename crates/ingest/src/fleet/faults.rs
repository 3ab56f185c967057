//! The errors of a fleet file itself, and those against the stored data.

use std::fmt::{self, Display};
use std::sync::Arc;

use kiosque_model::UnixMs;
use kiosque_model::fleet::{EntryId, EntryKind, Fleet};
use kiosque_store::{Error, FleetFault, Store};

/// The errors of a fleet file, and the entries that could be read.
#[derive(Clone, Debug, PartialEq)]
pub struct FleetFaults {
    /// The errors of the file itself.
    pub(super) faults: Vec<FileFault>,
    pub(super) readable: Fleet,
}

impl FleetFaults {
    /// Returns the errors of the file itself.
    #[must_use]
    pub fn of_file(self) -> Vec<String> {
        self.faults.into_iter().map(|fault| fault.text).collect()
    }

    /// Returns these errors, and the errors of the readable entries against the stored data, such
    /// as unknown groups.
    ///
    /// # Errors
    /// The store failed.
    pub async fn with_stored(self, store: &Store, now: UnixMs) -> Result<Vec<String>, Error> {
        let FleetFaults { faults, readable } = self;
        let of_entries = store.fleet().faults(Arc::new(readable), now).await?;
        let is_new = |fault: &FleetFault| !faults.iter().any(|known| known.explains(fault));
        let further: Vec<String> =
            of_entries.iter().filter(|fault| is_new(fault)).map(FleetFault::to_string).collect();
        Ok(faults.into_iter().map(|fault| fault.text).chain(further).collect())
    }
}

/// An error of a fleet file.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FileFault {
    text: String,
    subject: Subject,
}

/// The part of a file that has an error.
#[derive(Clone, Debug, PartialEq)]
enum Subject {
    /// A field of an entry.
    Field(EntryId, String),
    /// The second entry with an id.
    Duplicate(EntryId),
    /// Any other part.
    Other,
}

impl FileFault {
    /// Returns an error of a field.
    pub(super) fn of_field(place: &Place, field: &str, fault: impl Display) -> FileFault {
        FileFault::at(place, field, field, fault)
    }

    /// Returns an error inside a field, at a path such as `groups[1]`.
    pub(super) fn at(place: &Place, field: &str, path: &str, fault: impl Display) -> FileFault {
        let subject = match place {
            Place::Entry(entry) => Subject::Field(entry.clone(), field.to_owned()),
            Place::Other(_) => Subject::Other,
        };
        FileFault { text: format!("{place}: {path}: {fault}"), subject }
    }

    /// Returns the error of an entry that the file has twice.
    pub(super) fn duplicate(place: Place) -> FileFault {
        let text = format!("{place}: duplicate entry");
        let subject = match place {
            Place::Entry(entry) => Subject::Duplicate(entry),
            Place::Other(_) => Subject::Other,
        };
        FileFault { text, subject }
    }

    /// Returns whether an error of the entries follows from this one: an invalid field is not
    /// missing, and the second entry with an id is not a new one.
    fn explains(&self, fault: &FleetFault) -> bool {
        match (fault, &self.subject) {
            (FleetFault::Required { entry, fields }, Subject::Field(of, field)) => {
                entry == of && fields.contains(&field.as_str())
            }
            (FleetFault::Required { entry, .. }, Subject::Duplicate(of)) => entry == of,
            (FleetFault::Required { .. }, Subject::Other) | (FleetFault::Other(_), _) => false,
        }
    }
}

/// An error without a field.
impl From<String> for FileFault {
    fn from(text: String) -> FileFault {
        FileFault { text, subject: Subject::Other }
    }
}

/// A place in a fleet file, as in messages.
#[derive(Clone, Debug)]
pub(super) enum Place {
    /// An entry.
    Entry(EntryId),
    /// An aisle of a device, a group of an account, or an entry without an id.
    Other(String),
}

impl Place {
    /// Returns the place of an entry.
    pub(super) fn entry(kind: EntryKind, id: impl Display) -> Place {
        Place::Entry(EntryId::new(kind, id.to_string()))
    }

    /// Returns a place inside this one.
    pub(super) fn inside(&self, part: impl Display) -> Place {
        Place::Other(format!("{self}: {part}"))
    }
}

impl Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Entry(entry) => entry.fmt(f),
            Place::Other(text) => f.write_str(text),
        }
    }
}
