//! Splits a file or a stream into lines without ever holding more of one than is allowed.

use std::io::{self, BufRead};

/// The longest line of an order file, in bytes.
pub const LINE_MAX_BYTES: usize = 1 << 20;
/// How much of a line that is too long is kept, to show.
const SHOWN_BYTES: usize = 1_024;

/// A line of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawLine {
    /// From 1.
    pub number: u64,
    /// Its bytes without the line end; only the first of them when it is too long.
    pub text: Vec<u8>,
    /// Whether all of it is there.
    pub size: LineSize,
}

impl RawLine {
    /// All of it.
    ///
    /// # Errors
    /// It is too long to be anything.
    pub(super) fn whole(&self) -> Result<&[u8], String> {
        match self.size {
            LineSize::Whole => Ok(&self.text),
            LineSize::TooLong(bytes) => {
                Err(format!("the line has {bytes} bytes, more than {LINE_MAX_BYTES}"))
            }
        }
    }
}

/// Whether a line is there whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineSize {
    /// All of it.
    Whole,
    /// It had this many bytes, more than [`LINE_MAX_BYTES`].
    TooLong(usize),
}

/// Cuts what comes in pieces into lines, and leaves out blank ones.
#[derive(Debug, Default)]
pub struct Cutter {
    number: u64,
    text: Vec<u8>,
    size: usize,
}

impl Cutter {
    /// Takes the beginning of a piece in, up to the end of a line or of the piece: how many bytes
    /// that was, and the line, if one ended that is not blank.
    pub fn take(&mut self, piece: &[u8]) -> (usize, Option<RawLine>) {
        let end = memchr::memchr(b'\n', piece);
        let part = &piece[..end.unwrap_or(piece.len())];
        self.size = self.size.saturating_add(part.len());
        if self.size <= LINE_MAX_BYTES {
            self.text.extend_from_slice(part);
        } else {
            self.text.extend_from_slice(&part[..part.len().min(SHOWN_BYTES)]);
            self.text.truncate(SHOWN_BYTES);
        }
        let taken = part.len() + usize::from(end.is_some());
        (taken, end.and_then(|_| self.line()))
    }

    /// The last line, which needs no end.
    pub fn finish(&mut self) -> Option<RawLine> {
        if self.size > 0 { self.line() } else { None }
    }

    fn line(&mut self) -> Option<RawLine> {
        self.number += 1;
        let mut text = std::mem::take(&mut self.text);
        let size = std::mem::take(&mut self.size);
        if self.number == 1 && text.starts_with(b"\xef\xbb\xbf") {
            text.drain(..3);
        }
        if text.last() == Some(&b'\r') {
            text.pop();
        }
        if text.iter().all(u8::is_ascii_whitespace) {
            return None;
        }
        let size = if size > LINE_MAX_BYTES { LineSize::TooLong(size) } else { LineSize::Whole };
        Some(RawLine { number: self.number, text, size })
    }
}

/// The lines of a file that are not blank.
#[derive(Debug)]
pub struct RawLines<R> {
    input: R,
    cutter: Cutter,
}

impl<R: BufRead> RawLines<R> {
    /// The lines of `input`.
    pub fn new(input: R) -> RawLines<R> {
        RawLines { input, cutter: Cutter::default() }
    }

    fn read_line(&mut self) -> io::Result<Option<RawLine>> {
        loop {
            let piece = self.input.fill_buf()?;
            if piece.is_empty() {
                return Ok(self.cutter.finish());
            }
            let (taken, line) = self.cutter.take(piece);
            self.input.consume(taken);
            if line.is_some() {
                return Ok(line);
            }
        }
    }
}

impl<R: BufRead> Iterator for RawLines<R> {
    type Item = io::Result<RawLine>;

    fn next(&mut self) -> Option<io::Result<RawLine>> {
        self.read_line().transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &[u8]) -> Vec<RawLine> {
        // A tiny buffer, so that every line crosses its edges.
        RawLines::new(io::BufReader::with_capacity(3, text)).map(|line| line.expect("io")).collect()
    }

    #[test]
    fn numbers_count_blank_lines_and_the_last_line_needs_no_end() {
        let found = lines(b"\xef\xbb\xbfone\r\n\n  \ntwo\n\xff");
        let found: Vec<_> = found.iter().map(|l| (l.number, l.text.as_slice())).collect();
        assert_eq!(found, [(1, &b"one"[..]), (4, b"two"), (5, b"\xff")]);
        assert!(lines(b"").is_empty());
    }

    #[test]
    fn a_line_of_ten_megabytes_is_shown_in_part_and_the_next_one_is_whole() {
        let mut text = vec![b'x'; 10 << 20];
        text.extend_from_slice(b"\nnext\n");
        let found: Vec<RawLine> =
            RawLines::new(text.as_slice()).map(|line| line.expect("io")).collect();
        assert_eq!(found[0].size, LineSize::TooLong(10 << 20));
        assert_eq!(found[0].text.len(), SHOWN_BYTES);
        assert_eq!((found[1].number, found[1].text.as_slice()), (2, &b"next"[..]));
    }
}
