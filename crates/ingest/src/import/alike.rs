//! Files whose first lines are all rejected for the same reason: they are of another kind, or their
//! mapping is wrong, or their devices are missing. Importing the rest would only repeat the
//! message.

use kiosque_model::ids::unknown_device;
use kiosque_store::Store;

use super::missing_entries::MissingEntries;
use super::{Chunk, ImportError};
use crate::rejected::Reason;
use crate::storage_order::CheckedOrder;

/// Number of lines, or orders of a report, that are compared.
pub(super) const OPENING_LINES: usize = 1_000;

/// Checks the first lines of a file. `missing` has the devices that the import creates.
///
/// # Errors
/// There are [`OPENING_LINES`] of them, and all are rejected for the same reason, or will be,
/// because none of their devices exists. Or the store failed.
pub(super) async fn check_opening(
    store: &Store,
    missing: &MissingEntries,
    chunk: &Chunk,
) -> Result<(), ImportError> {
    if chunk.lines() < OPENING_LINES {
        return Ok(());
    }
    let alike = match (chunk.rejected.as_slice(), chunk.orders.as_slice()) {
        ([first, others @ ..], []) => {
            let kind = kind(&first.reason);
            let is_alike = others.iter().all(|other| self::kind(&other.reason) == kind);
            is_alike.then(|| first.message())
        }
        ([], [first, ..]) => {
            let known = store.fleet().snapshot().await?.groups_by_device;
            let is_unknown = |one: &CheckedOrder| {
                known.latest(one.incoming.device_code.as_str()).is_none()
                    && !missing.creates_device_of(one.line)
            };
            let reason = Reason::new(&unknown_device(&first.incoming.device_code));
            chunk.orders.iter().all(is_unknown).then(|| format!("line {}: {reason}", first.line))
        }
        _ => None,
    };
    let Some(message) = alike else { return Ok(()) };
    Err(ImportError::Refused(format!(
        "the first 1,000 lines are rejected for the same reason; nothing was imported: {message}"
    )))
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
