//! Texts of a server and of a command line in messages.

use kiosque_model::controls_terminal;

/// Replaces the characters of a text that control a terminal: printed, they could move its cursor,
/// or begin lines that look like the program's.
pub(crate) fn printable(text: &str) -> String {
    text.replace(controls_terminal, " ")
}
