//! Positions in the changes of a group's orders.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::ids::GroupNo;

/// A history: changes of a group that belong to the same data. Restoring earlier data starts a new
/// history. 0 is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HistoryId(pub i64);

/// A position in the changes of a group, after the change with this number. Callers store it as
/// opaque text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChangeCursor {
    /// The group.
    pub group: GroupNo,
    /// The number of the change; 0 before the first one.
    pub change_no: i64,
    /// The group's last change number in the snapshot that the position is from. An order that had
    /// changed up to this number does not count as already read for that reason.
    pub last_change_no: i64,
    /// The history of the change with the last change number.
    pub history: HistoryId,
}

/// The length of an encoded position in bytes, before base64url.
const BYTES: usize = 32;

impl ChangeCursor {
    /// Returns the position as a text.
    pub fn write(self) -> String {
        let numbers = [self.group.0, self.change_no, self.last_change_no, self.history.0];
        let bytes: [[u8; 8]; BYTES / 8] = numbers.map(i64::to_be_bytes);
        URL_SAFE_NO_PAD.encode(bytes.as_flattened())
    }

    /// Parses a position; `None` for a text that [`ChangeCursor::write`] never returned.
    pub fn read(text: &str) -> Option<ChangeCursor> {
        let bytes: [u8; BYTES] = URL_SAFE_NO_PAD.decode(text).ok()?.try_into().ok()?;
        let (numbers, _) = bytes.as_chunks::<8>();
        let mut numbers = numbers.iter().copied().map(i64::from_be_bytes);
        let group = GroupNo(numbers.next()?);
        let change_no = numbers.next()?;
        let last_change_no = numbers.next()?;
        let history = HistoryId(numbers.next()?);
        let is_position = (0..=last_change_no).contains(&change_no);
        is_position.then_some(ChangeCursor { group, change_no, last_change_no, history })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn cursors_are_read_back(group: i64, numbers: [u32; 2], history: i64) {
            let change_no = i64::from(numbers[0]);
            let last_change_no = change_no + i64::from(numbers[1]);
            let history = HistoryId(history);
            let cursor = ChangeCursor { group: GroupNo(group), change_no, last_change_no, history };
            prop_assert_eq!(ChangeCursor::read(&cursor.write()), Some(cursor));
        }

        #[test]
        fn other_texts_are_no_cursors(text in "[A-Za-z0-9_-]{0,60}|[A-Za-z0-9_-]{43}|.{0,50}") {
            let read = ChangeCursor::read(&text);
            prop_assert!(read.is_none_or(|cursor| cursor.write() == text), "{:?}", read);
        }
    }

    #[test]
    fn a_change_number_is_neither_negative_nor_after_the_last() {
        for (change_no, last_change_no) in [(-1, 0), (-1, -1), (1, 0)] {
            let (group, history) = (GroupNo(1), HistoryId(1));
            let cursor = ChangeCursor { group, change_no, last_change_no, history };
            assert_eq!(ChangeCursor::read(&cursor.write()), None);
        }
    }
}
