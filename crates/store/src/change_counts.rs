//! The numbers of entries that an apply creates, changes and leaves unchanged.

use std::fmt;

/// The numbers of entries of one kind that were created, changed and left unchanged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChangeCounts {
    /// Created.
    pub created: usize,
    /// Changed.
    pub changed: usize,
    /// Left unchanged.
    pub unchanged: usize,
}

impl fmt::Display for ChangeCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} created, {} changed, {} unchanged",
            self.created, self.changed, self.unchanged
        )
    }
}

/// The effect of applying one entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EntryChange {
    Created,
    Changed,
    Unchanged,
}

impl EntryChange {
    /// Compares a stored row, if there is one, with the row after the apply.
    pub(crate) fn between<T: PartialEq>(old: Option<&T>, new: &T) -> EntryChange {
        match old {
            None => EntryChange::Created,
            Some(old) if old == new => EntryChange::Unchanged,
            Some(_) => EntryChange::Changed,
        }
    }
}

impl ChangeCounts {
    pub(crate) fn count(&mut self, change: EntryChange) {
        match change {
            EntryChange::Created => self.created += 1,
            EntryChange::Changed => self.changed += 1,
            EntryChange::Unchanged => self.unchanged += 1,
        }
    }
}
