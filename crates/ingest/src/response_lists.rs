//! Bounds of the lists in responses to streams.

/// The maximum number of rejected and of failed lines in a response; further ones are only counted.
pub(super) const LINES_LISTED_MAX: usize = 1_000;
/// The longest reason reported in full, in characters: a reason may quote the line.
pub(super) const REASON_CHARS_MAX: usize = 500;
