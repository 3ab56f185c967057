//! The first bytes of a report, which are examined before its rows are read.

use std::io::{self, Cursor, Read};

use super::mapping::{FileFormat, REASON_COLUMN};
use super::row::Rows;
use crate::file_kind;

/// The bytes that are examined. A longer header of rejected rows is not recognized.
const HEAD_BYTES: u64 = 64 << 10;
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A report whose first bytes have been read ahead.
pub(super) struct WithHead<R> {
    head: Cursor<Vec<u8>>,
    /// The error that ended reading ahead.
    error: Option<io::Error>,
    rest: R,
}

impl<R: Read> WithHead<R> {
    /// Reads the first bytes, and skips the UTF-8 byte order mark that spreadsheets write.
    pub(super) fn read(mut rest: R) -> WithHead<R> {
        let mut head = Vec::new();
        let error = rest.by_ref().take(HEAD_BYTES).read_to_end(&mut head).err();
        if head.starts_with(BYTE_ORDER_MARK) {
            head.drain(..BYTE_ORDER_MARK.len());
        }
        WithHead { head: Cursor::new(head), error, rest }
    }

    /// Returns the first bytes.
    pub(super) fn head(&self) -> &[u8] {
        self.head.get_ref()
    }

    /// Returns why the bytes are not a CSV report, if they are a file of a known other kind.
    pub(super) fn other_kind(&self) -> Option<String> {
        let head = self.head();
        if let Some(kind) = file_kind::binary(head) {
            return Some(format!("the report {kind}"));
        }
        file_kind::is_json_object(head).then(|| {
            "the report is a file of JSON objects; import it without a mapping (--map)".to_owned()
        })
    }

    /// Returns whether the report is a file of rejected rows.
    pub(super) fn is_rejected_file(&self, format: &FileFormat) -> bool {
        let Ok(mut rows) = Rows::open(self.head(), &format.of_rejected_rows()) else {
            return false;
        };
        let Ok(Some(header)) = rows.next_row() else { return false };
        header.len().checked_sub(1).is_some_and(|last| header.text(last) == REASON_COLUMN)
    }
}

impl<R: Read> Read for WithHead<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.head.read(buffer)? {
            0 => match self.error.take() {
                Some(error) => Err(error),
                None => self.rest.read(buffer),
            },
            read => Ok(read),
        }
    }
}
