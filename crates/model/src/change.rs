//! Positions in the changes of a group's orders.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::ids::GroupNo;

/// A position in the changes of a group: after the change with this number. Callers store it as an
/// opaque text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChangeCursor {
    /// The group.
    pub group: GroupNo,
    /// The number of the change; 0 before the first one.
    pub change_no: i64,
}

impl ChangeCursor {
    /// Returns the position as a text.
    #[must_use]
    pub fn write(self) -> String {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&self.group.0.to_be_bytes());
        bytes[8..].copy_from_slice(&self.change_no.to_be_bytes());
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// Reads a position; `None` for a text that [`ChangeCursor::write`] does not return.
    #[must_use]
    pub fn read(text: &str) -> Option<ChangeCursor> {
        let bytes: [u8; 16] = URL_SAFE_NO_PAD.decode(text).ok()?.try_into().ok()?;
        let (group, change_no) = bytes.split_first_chunk::<8>()?;
        let change_no = i64::from_be_bytes(change_no.try_into().ok()?);
        let group = GroupNo(i64::from_be_bytes(*group));
        (change_no >= 0).then_some(ChangeCursor { group, change_no })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn cursors_are_read_back(group: i64, change_no in 0..=i64::MAX) {
            let cursor = ChangeCursor { group: GroupNo(group), change_no };
            prop_assert_eq!(ChangeCursor::read(&cursor.write()), Some(cursor));
        }

        #[test]
        fn other_texts_are_no_cursors(text in "[A-Za-z0-9_-]{0,30}|.{0,30}") {
            let read = ChangeCursor::read(&text);
            prop_assert!(read.is_none_or(|cursor| cursor.write() == text), "{:?}", read);
        }
    }

    #[test]
    fn no_change_has_a_negative_number() {
        let before_all = ChangeCursor { group: GroupNo(1), change_no: -1 };
        assert_eq!(ChangeCursor::read(&before_all.write()), None);
    }
}
