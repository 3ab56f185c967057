//! The numbers of entries that an apply creates, changes and leaves unchanged.

use kiosque_contract::ChangeCounts;

/// The effect of applying one entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EntryChange {
    Created,
    Changed,
    Unchanged,
}

impl EntryChange {
    /// Compares a stored row, if any, with the row after the apply.
    pub(crate) fn between<T: PartialEq>(old: Option<&T>, new: &T) -> EntryChange {
        match old {
            None => EntryChange::Created,
            Some(old) if old == new => EntryChange::Unchanged,
            Some(_) => EntryChange::Changed,
        }
    }

    /// Adds an entry with this effect.
    pub(crate) fn count(self, counts: &mut ChangeCounts) {
        match self {
            EntryChange::Created => counts.created += 1,
            EntryChange::Changed => counts.changed += 1,
            EntryChange::Unchanged => counts.unchanged += 1,
        }
    }
}
