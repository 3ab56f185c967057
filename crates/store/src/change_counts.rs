//! The numbers of entries that an apply creates, changes and leaves unchanged.

use kiosque_contract::ChangeCounts;

/// A row of a group or a product that an apply creates or changes.
pub(crate) struct Changed<T> {
    /// `None` for a new one.
    pub(crate) old: Option<T>,
    pub(crate) new: T,
}

/// Counts an entry that `new` creates, or by which it replaces `old`. Returns whether the entry is
/// new or differs.
pub(crate) fn count_entry<T: PartialEq>(
    counts: &mut ChangeCounts,
    old: Option<&T>,
    new: &T,
) -> bool {
    match old {
        None => counts.created += 1,
        Some(old) if old != new => counts.changed += 1,
        Some(_) => counts.unchanged += 1,
    }
    old != Some(new)
}
