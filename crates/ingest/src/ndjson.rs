//! Splits a file or a stream into lines, holding at most [`LINE_MAX_BYTES`] of each.

use std::io::{self, BufRead};

/// The longest line of an order file, in bytes.
pub const LINE_MAX_BYTES: usize = 1 << 20;
/// The length of the reported beginning of a line over the limit, in bytes.
const EXCERPT_BYTES: usize = 1_024;

/// A line of a file or a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawLine {
    /// Its number, from 1.
    pub number: u64,
    /// Its bytes without the line end; only an excerpt if it is too long.
    pub text: Vec<u8>,
    /// Its length in bytes, if that is more than [`LINE_MAX_BYTES`].
    pub too_long: Option<usize>,
}

impl RawLine {
    /// Returns the whole line.
    ///
    /// # Errors
    /// The line is longer than [`LINE_MAX_BYTES`].
    pub(super) fn whole(&self) -> Result<&[u8], String> {
        match self.too_long {
            None => Ok(&self.text),
            Some(bytes) => Err(format!("the line has {bytes} bytes, more than {LINE_MAX_BYTES}")),
        }
    }
}

/// The beginning of a line that has not ended: all of it, up to [`LINE_MAX_BYTES`].
#[derive(Debug, Default)]
pub(crate) struct Excerpt {
    text: Vec<u8>,
    /// How many bytes of the line have arrived.
    bytes: usize,
}

impl Excerpt {
    pub(crate) fn add(&mut self, part: &[u8]) {
        self.bytes = self.bytes.saturating_add(part.len());
        if self.bytes <= LINE_MAX_BYTES {
            self.text.extend_from_slice(part);
        } else {
            self.text.extend_from_slice(&part[..part.len().min(EXCERPT_BYTES)]);
            self.text.truncate(EXCERPT_BYTES);
        }
    }

    /// Returns the line, now that it has ended.
    pub(crate) fn line(self, number: u64) -> RawLine {
        let too_long = Some(self.bytes).filter(|bytes| *bytes > LINE_MAX_BYTES);
        RawLine { number, text: self.text, too_long }
    }
}

/// Splits bytes that arrive in buffers into lines, and skips blank ones.
#[derive(Debug, Default)]
pub struct LineSplitter {
    /// The number of the last line.
    number: u64,
    begun: Excerpt,
}

impl LineSplitter {
    /// Consumes a buffer up to the end of its first line, or all of it. Returns the number of bytes
    /// consumed, and the line if it is complete and not blank.
    pub fn push(&mut self, buffer: &[u8]) -> (usize, Option<RawLine>) {
        let end = memchr::memchr(b'\n', buffer);
        let part = &buffer[..end.unwrap_or(buffer.len())];
        self.begun.add(part);
        let consumed = part.len() + usize::from(end.is_some());
        (consumed, end.and_then(|_| self.line()))
    }

    /// Returns the last line if it has no line end.
    pub fn finish(&mut self) -> Option<RawLine> {
        if self.begun.bytes > 0 { self.line() } else { None }
    }

    fn line(&mut self) -> Option<RawLine> {
        self.number += 1;
        let mut line = std::mem::take(&mut self.begun).line(self.number);
        if line.number == 1 && line.text.starts_with(b"\xef\xbb\xbf") {
            line.text.drain(..3);
        }
        if line.text.last() == Some(&b'\r') {
            line.text.pop();
        }
        let is_blank = line.too_long.is_none() && line.text.iter().all(u8::is_ascii_whitespace);
        (!is_blank).then_some(line)
    }
}

/// An iterator over the lines of a file that are not blank.
#[derive(Debug)]
pub struct RawLines<R> {
    input: R,
    splitter: LineSplitter,
    /// The number of the last line, once it was returned, if it has no line end.
    cut_line: Option<u64>,
}

impl<R: BufRead> RawLines<R> {
    /// Returns an iterator over the lines of `input`.
    pub fn new(input: R) -> RawLines<R> {
        RawLines { input, splitter: LineSplitter::default(), cut_line: None }
    }

    /// Returns the number of the last line, once it was returned, if it has no line end.
    pub(crate) fn cut_line(&self) -> Option<u64> {
        self.cut_line
    }

    fn read_line(&mut self) -> io::Result<Option<RawLine>> {
        loop {
            let buffer = self.input.fill_buf()?;
            if buffer.is_empty() {
                let last = self.splitter.finish();
                self.cut_line = self.cut_line.or(last.as_ref().map(|line| line.number));
                return Ok(last);
            }
            let (consumed, line) = self.splitter.push(buffer);
            self.input.consume(consumed);
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
        // A tiny buffer, so that every line crosses its boundaries.
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
    fn a_last_line_without_an_end_is_noted() {
        for (text, cut_line) in [
            ("", None),
            ("a\nb\n", None),
            ("a\nb\r\n", None),
            ("a\nb", Some(2)),
            ("a\n\n\nb\r", Some(4)),
            ("a\nb\n \t", None),
        ] {
            let mut lines = RawLines::new(text.as_bytes());
            assert!(lines.by_ref().all(|line| line.is_ok()));
            assert_eq!(lines.cut_line(), cut_line, "{text:?}");
        }
    }

    #[test]
    fn of_a_line_over_the_limit_an_excerpt_is_reported() {
        let mut text = vec![b'x'; 10 << 20];
        text.extend_from_slice(b"\nnext\n");
        let found: Vec<RawLine> =
            RawLines::new(text.as_slice()).map(|line| line.expect("io")).collect();
        assert_eq!(found[0].too_long, Some(10 << 20));
        assert_eq!(found[0].text.len(), EXCERPT_BYTES);
        assert_eq!((found[1].number, found[1].text.as_slice()), (2, &b"next"[..]));
        // Its excerpt may be blank, the line is not.
        let text = " ".repeat(LINE_MAX_BYTES) + "{}\n";
        let found: Vec<RawLine> = lines(text.as_bytes());
        assert_eq!(found[0].too_long, Some(LINE_MAX_BYTES + 2));
    }
}
