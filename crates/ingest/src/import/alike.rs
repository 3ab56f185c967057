//! Files whose first lines are all rejected for the same reason: they are of another kind, or their
//! mapping is wrong. Importing the rest would only repeat the message.

use super::{Chunk, ImportError};

/// Number of lines, or orders of a report, that are compared.
pub(super) const OPENING_LINES: usize = 1_000;

/// Checks the first lines of a file.
///
/// # Errors
/// There are [`OPENING_LINES`] of them, and all are rejected for the same reason.
pub(super) fn check_opening(chunk: &Chunk) -> Result<(), ImportError> {
    let [first, others @ ..] = chunk.rejected.as_slice() else { return Ok(()) };
    if !chunk.orders.is_empty() || chunk.rejected.len() < OPENING_LINES {
        return Ok(());
    }
    let kind = kind(&first.reason);
    match others.iter().all(|other| self::kind(&other.reason) == kind) {
        true => Err(ImportError::Alike(first.message())),
        false => Ok(()),
    }
}

/// Returns a reason without numbers and quotations, which differ between lines.
fn kind(reason: &str) -> String {
    let mut kind = String::with_capacity(reason.len());
    let (mut is_quoted, mut is_escaped) = (false, false);
    for c in reason.chars() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' if is_quoted => is_escaped = true,
            '"' => is_quoted = !is_quoted,
            _ if is_quoted || c.is_ascii_digit() => {}
            _ => kind.push(c),
        }
    }
    kind
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_quotations_make_no_difference() {
        let one = r#"line 2: column Time: "2024-03-01 10:15:50.520" is not a time; give "x""#;
        let same = r#"line 973: column Time: "noon \"12\"" is not a time; give "yyyy""#;
        assert_eq!(kind(one), kind(same));
        assert_ne!(kind(one), kind("line 2: column Total: \"x\" is not a time; give \"x\""));
    }
}
