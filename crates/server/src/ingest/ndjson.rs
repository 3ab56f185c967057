//! Splits a stream into lines without ever holding more of one than is allowed.

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

/// Whether a line is there whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineSize {
    /// All of it.
    Whole,
    /// It had this many bytes, more than [`LINE_MAX_BYTES`].
    TooLong(usize),
}

/// The lines of a stream that are not blank.
#[derive(Debug)]
pub struct RawLines<R> {
    input: R,
    number: u64,
}

impl<R: BufRead> RawLines<R> {
    /// The lines of `input`.
    pub fn new(input: R) -> RawLines<R> {
        RawLines { input, number: 0 }
    }

    fn read_line(&mut self) -> io::Result<Option<RawLine>> {
        let mut text = Vec::new();
        let mut size = 0_usize;
        loop {
            let chunk = self.input.fill_buf()?;
            if chunk.is_empty() {
                break;
            }
            let end = chunk.iter().position(|byte| *byte == b'\n');
            let part = &chunk[..end.unwrap_or(chunk.len())];
            size = size.saturating_add(part.len());
            if size <= LINE_MAX_BYTES {
                text.extend_from_slice(part);
            } else {
                text.extend_from_slice(&part[..part.len().min(SHOWN_BYTES)]);
                text.truncate(SHOWN_BYTES);
            }
            let taken = part.len() + usize::from(end.is_some());
            self.input.consume(taken);
            if end.is_some() {
                return Ok(Some(self.line(text, size)));
            }
        }
        Ok((size > 0).then(|| self.line(text, size)))
    }

    fn line(&mut self, mut text: Vec<u8>, size: usize) -> RawLine {
        self.number += 1;
        if self.number == 1 && text.starts_with(b"\xef\xbb\xbf") {
            text.drain(..3);
        }
        if text.last() == Some(&b'\r') {
            text.pop();
        }
        let size = if size > LINE_MAX_BYTES { LineSize::TooLong(size) } else { LineSize::Whole };
        RawLine { number: self.number, text, size }
    }
}

impl<R: BufRead> Iterator for RawLines<R> {
    type Item = io::Result<RawLine>;

    fn next(&mut self) -> Option<io::Result<RawLine>> {
        loop {
            match self.read_line() {
                Ok(Some(line)) if line.text.iter().all(u8::is_ascii_whitespace) => {}
                other => return other.transpose(),
            }
        }
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
