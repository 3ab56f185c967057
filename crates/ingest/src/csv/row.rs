//! Reads the rows of a CSV file: their line numbers and cells, in bounded memory.
//!
//! Files are written with the `csv` crate, but not read with it, because it accepts invalid CSV
//! without an error: a cell whose quote is not closed contains the rows up to the next quote, and
//! text after a closing quote is added to the cell. It also does not limit the length of a record,
//! and its line numbers only count LF.

use std::fmt;
use std::io::{self, BufRead, BufReader, Read};

use super::mapping::FileFormat;

/// The maximum length of a row, in bytes of the file.
pub const ROW_MAX_BYTES: usize = 1 << 20;

/// A row, its cells unquoted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// The line where it begins, from 1.
    pub line: u64,
    /// The line where it ends; a later one if a quoted cell has line breaks.
    pub(super) last_line: u64,
    /// Its number among the rows below the header, from 1, without blank lines.
    pub(super) number: u64,
    /// The first violation of CSV syntax.
    pub(super) flaw: Option<Flaw>,
    pub(super) bytes: Box<[u8]>,
    pub(super) ends: Box<[u32]>,
}

/// A violation of CSV syntax or of the limit of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flaw {
    /// The row exceeds [`ROW_MAX_BYTES`]; its cells were dropped.
    TooLong,
    /// A quoted cell ends only with the file.
    OpenQuote,
    /// A quoted cell has text after its closing quote.
    AfterQuote,
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Flaw::TooLong => write!(f, "is longer than {ROW_MAX_BYTES} bytes"),
            Flaw::OpenQuote => f.write_str("has a quoted cell that is never closed"),
            Flaw::AfterQuote => f.write_str("has a quoted cell with text after its closing quote"),
        }
    }
}

impl Row {
    /// Returns the number of cells.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns its approximate size in memory.
    pub(super) fn weight(&self) -> usize {
        size_of::<Row>() + self.bytes.len() + self.ends.len() * size_of::<u32>()
    }

    /// Returns the bytes of a cell; `None` past the last.
    pub(super) fn cell(&self, index: usize) -> Option<&[u8]> {
        let end = *self.ends.get(index)?;
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        self.bytes.get(start as usize..end as usize)
    }

    /// Returns the text of a cell; an absent one, or one that is not UTF-8, is empty.
    pub(super) fn text(&self, index: usize) -> &str {
        self.cell(index).and_then(|cell| std::str::from_utf8(cell).ok()).unwrap_or_default()
    }

    /// Returns all cells.
    pub(super) fn cells(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len()).map_while(|index| self.cell(index))
    }

    fn is_blank(&self) -> bool {
        self.len() <= 1 && self.flaw.is_none() && self.bytes.trim_ascii().is_empty()
    }
}

/// A reader of rows, one at a time, in bounded memory.
pub(super) struct Rows<R> {
    input: BufReader<R>,
    parser: RowParser,
    /// The number of the row that was read last.
    pub(super) number: u64,
    /// The line of the last row, once it was returned, if it has no line end.
    pub(super) cut_line: Option<u64>,
}

impl<R: Read> Rows<R> {
    /// Returns a reader positioned at the header, after the lines above it.
    ///
    /// # Errors
    /// The input cannot be read.
    pub(super) fn open(input: R, format: &FileFormat) -> io::Result<Rows<R>> {
        let mut parser = RowParser::new(format);
        let mut input = BufReader::with_capacity(64 << 10, input);
        let mut above = input.by_ref().bytes();
        while parser.line <= format.lines_above_header
            && let Some(byte) = above.next()
        {
            parser.count_line(byte?);
        }
        Ok(Rows { input, parser, number: 0, cut_line: None })
    }

    /// Returns the line to be read next.
    pub(super) fn line(&self) -> u64 {
        self.parser.line
    }

    /// Returns the next row that is not blank; `None` at the end of the input.
    ///
    /// # Errors
    /// The input cannot be read.
    pub(super) fn next_row(&mut self) -> io::Result<Option<Row>> {
        while let Some(mut row) = self.read_row()? {
            if !row.is_blank() {
                self.number += 1;
                row.number = self.number;
                self.cut_line = (!self.parser.is_line_start()).then_some(row.line);
                return Ok(Some(row));
            }
        }
        Ok(None)
    }

    fn read_row(&mut self) -> io::Result<Option<Row>> {
        self.parser.begin_row();
        loop {
            let input = self.input.fill_buf()?;
            let end = input.iter().position(|byte| self.parser.ends_row(*byte));
            let read = end.map_or(input.len(), |end| end + 1);
            let is_end = input.is_empty();
            self.input.consume(read);
            if end.is_some() || is_end {
                return Ok(self.parser.row());
            }
        }
    }
}

/// The state of reading a row. A line ends with LF, CR LF or CR. Violations of the syntax are
/// recorded: an unclosed quote would silently make one cell of all rows up to the next quote.
struct RowParser {
    delimiter: u8,
    quote: Option<u8>,
    /// The line of the next byte.
    line: u64,
    last_byte: u8,
    /// The line where the row begins.
    row_line: u64,
    /// The bytes of the row so far, in the file.
    row_bytes: usize,
    place: Place,
    has_text_after_quote: bool,
    /// The cells of the row, unless it is too long, and their ends.
    cells: Vec<u8>,
    ends: Vec<u32>,
}

#[derive(Clone, Copy, PartialEq)]
enum Place {
    RowStart,
    CellStart,
    Bare,
    Quoted,
    Closing,
}

impl RowParser {
    fn new(format: &FileFormat) -> RowParser {
        RowParser {
            delimiter: format.delimiter,
            quote: format.quote,
            line: 1,
            last_byte: b'\n',
            row_line: 1,
            row_bytes: 0,
            place: Place::RowStart,
            has_text_after_quote: false,
            cells: Vec::new(),
            ends: Vec::new(),
        }
    }

    fn begin_row(&mut self) {
        self.place = Place::RowStart;
        self.row_bytes = 0;
        self.has_text_after_quote = false;
        self.cells.clear();
        self.ends.clear();
    }

    /// Adds a byte. Returns whether the row ends with it.
    fn ends_row(&mut self, byte: u8) -> bool {
        let line = self.line;
        self.count_line(byte);
        let is_line_end = matches!(byte, b'\r' | b'\n');
        if self.place == Place::RowStart {
            if is_line_end {
                return false;
            }
            self.row_line = line;
            self.place = Place::CellStart;
        }
        self.row_bytes += 1;
        let is_quote = self.quote == Some(byte);
        match self.place {
            Place::CellStart if is_quote => self.place = Place::Quoted,
            Place::Quoted if is_quote => self.place = Place::Closing,
            Place::Quoted => self.push(byte),
            Place::Closing if is_quote => {
                self.push(byte);
                self.place = Place::Quoted;
            }
            _ if is_line_end => return true,
            _ if byte == self.delimiter => {
                self.end_cell();
                self.place = Place::CellStart;
            }
            before => {
                self.has_text_after_quote |= before == Place::Closing;
                self.push(byte);
                self.place = Place::Bare;
            }
        }
        false
    }

    fn count_line(&mut self, byte: u8) {
        let is_second = byte == b'\n' && self.last_byte == b'\r';
        self.line += u64::from(matches!(byte, b'\r' | b'\n') && !is_second);
        self.last_byte = byte;
    }

    fn push(&mut self, byte: u8) {
        if !self.is_too_long() {
            self.cells.push(byte);
        }
    }

    fn end_cell(&mut self) {
        if !self.is_too_long() {
            // The cells of a row are far shorter than 4 GiB, so every end fits.
            self.ends.push(u32::try_from(self.cells.len()).unwrap_or(u32::MAX));
        }
    }

    fn is_too_long(&self) -> bool {
        self.row_bytes > ROW_MAX_BYTES
    }

    fn is_line_start(&self) -> bool {
        matches!(self.last_byte, b'\r' | b'\n')
    }

    /// Returns the row that has ended; `None` if none has begun.
    fn row(&mut self) -> Option<Row> {
        if self.place == Place::RowStart {
            return None;
        }
        self.end_cell();
        let flaw = match self.place {
            _ if self.is_too_long() => Some(Flaw::TooLong),
            Place::Quoted => Some(Flaw::OpenQuote),
            _ if self.has_text_after_quote => Some(Flaw::AfterQuote),
            _ => None,
        };
        if self.is_too_long() {
            self.cells.clear();
            self.ends.clear();
        }
        Some(Row {
            line: self.row_line,
            // A line end belongs to its line.
            last_line: self.line - u64::from(self.is_line_start()),
            number: 0,
            flaw,
            bytes: self.cells.as_slice().into(),
            ends: self.ends.as_slice().into(),
        })
    }
}
