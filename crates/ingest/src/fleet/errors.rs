//! The errors of a fleet file itself, and those against the stored data.

use std::collections::HashMap;
use std::fmt::{self, Display};
use std::sync::Arc;

use kiosque_model::UnixMs;
use kiosque_model::fleet::{EntryId, EntryKind, Fleet};
use kiosque_store::{Error, FleetError, Store};

/// The errors of a fleet file, and the entries that could be read.
#[derive(Clone, Debug, PartialEq)]
pub struct FleetErrors {
    /// The errors of the file itself.
    pub(super) errors: Vec<FileError>,
    pub(super) readable: Fleet,
}

impl FleetErrors {
    /// Returns the errors of the file itself.
    pub fn of_file(self) -> Vec<String> {
        self.errors.into_iter().map(|error| error.text).collect()
    }

    /// Returns these errors, and the errors of the readable entries against the stored data, such
    /// as unknown groups.
    ///
    /// # Errors
    /// The store failed.
    pub async fn with_stored(self, store: &Store, now: UnixMs) -> Result<Vec<String>, Error> {
        let FleetErrors { errors, readable } = self;
        let of_entries = store.fleet().errors(Arc::new(readable), now).await?;
        let mut of_entry = HashMap::<&EntryId, Vec<&FileError>>::new();
        for error in &errors {
            let Some(entry) = &error.entry else { continue };
            of_entry.entry(entry).or_default().push(error);
        }
        let is_new = |error: &FleetError| {
            let FleetError::Required { entry, fields } = error else { return true };
            !of_entry.get(entry).is_some_and(|known| known.iter().any(|it| it.explains(fields)))
        };
        let further: Vec<String> =
            of_entries.iter().filter(|error| is_new(error)).map(FleetError::to_string).collect();
        Ok(errors.into_iter().map(|error| error.text).chain(further).collect())
    }
}

/// An error of a fleet file.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FileError {
    text: String,
    /// The entry that is invalid; `None` for any other part of the file.
    entry: Option<EntryId>,
    /// The field of the entry that is invalid; `None` for the second entry with an id.
    field: Option<String>,
}

impl FileError {
    /// Returns an error of a field.
    pub(super) fn of_field(place: &Place, field: &str, error: impl Display) -> FileError {
        FileError::at(place, field, field, error)
    }

    /// Returns an error inside a field, at a path such as `groups[1]`.
    pub(super) fn at(place: &Place, field: &str, path: &str, error: impl Display) -> FileError {
        let text = format!("{place}: {path}: {error}");
        FileError { text, entry: place.entry_id(), field: Some(field.to_owned()) }
    }

    /// Returns the error of an entry that the file has twice.
    pub(super) fn duplicate(place: &Place) -> FileError {
        let text = format!("{place}: duplicate entry");
        FileError { text, entry: place.entry_id(), field: None }
    }

    /// Returns whether it follows from this error of an entry that the entry lacks fields: an
    /// invalid field is not missing, and the second entry with an id is not a new one.
    fn explains(&self, missing: &[&str]) -> bool {
        self.field.as_ref().is_none_or(|field| missing.contains(&field.as_str()))
    }
}

/// An error without a field.
impl From<String> for FileError {
    fn from(text: String) -> FileError {
        FileError { text, entry: None, field: None }
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

    fn entry_id(&self) -> Option<EntryId> {
        match self {
            Place::Entry(entry) => Some(entry.clone()),
            Place::Other(_) => None,
        }
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
