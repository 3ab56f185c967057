//! Reads the rows of a CSV file: their line numbers and cells, in bounded memory.

use std::fmt;
use std::io::{self, BufRead, BufReader, Read};

use csv_core::{ReadRecordResult, Reader, ReaderBuilder};

use super::mapping::FileFormat;

/// The maximum length of a row, in bytes of the file.
pub const ROW_MAX_BYTES: usize = 1 << 20;

/// A row, its cells unquoted.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Row {
    /// The line where it begins, from 1.
    pub(super) line: u64,
    /// The line where it ends; a later one if a quoted cell has line breaks.
    pub(super) last_line: u64,
    /// Its number among the rows below the header, from 1, without blank lines.
    pub(super) number: u64,
    /// The first violation of CSV syntax.
    pub(super) flaw: Option<Flaw>,
    bytes: Box<[u8]>,
    ends: Box<[u32]>,
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
    parser: Reader,
    position: Position,
    number: u64,
    /// The line of the last row, once it was returned, if it has no line end.
    cut_line: Option<u64>,
    /// The cells of the current row, which fit unless it is too long, and their ends.
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl<R> Rows<R> {
    /// Returns the line to be read next.
    pub(super) fn line(&self) -> u64 {
        self.position.line
    }

    /// Returns the number of the row that was read last.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Returns the line of the last row, once it was returned, if it has no line end.
    pub(super) fn cut_line(&self) -> Option<u64> {
        self.cut_line
    }

    /// Numbers rows from 1 again, after the header.
    pub(super) fn restart_numbers(&mut self) {
        self.number = 0;
    }
}

impl<R: Read> Rows<R> {
    /// Returns a reader positioned at the header, after the lines above it.
    ///
    /// # Errors
    /// The input cannot be read.
    pub(super) fn open(input: R, format: &FileFormat) -> io::Result<Rows<R>> {
        let mut parser = ReaderBuilder::new();
        parser.delimiter(format.delimiter);
        match format.quote {
            Some(quote) => parser.quote(quote),
            None => parser.quoting(false),
        };
        let mut rows = Rows {
            input: BufReader::with_capacity(64 << 10, input),
            parser: parser.build(),
            position: Position::start(format),
            number: 0,
            cut_line: None,
            bytes: vec![0; ROW_MAX_BYTES + 1],
            ends: vec![0; ROW_MAX_BYTES + 1],
        };
        for _ in 0..format.lines_above_header {
            rows.pass_line()?;
        }
        Ok(rows)
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
                self.cut_line = (!self.position.is_line_start()).then_some(row.line);
                return Ok(Some(row));
            }
        }
        Ok(None)
    }

    fn read_row(&mut self) -> io::Result<Option<Row>> {
        self.position.begin_row();
        let mut bytes = 0;
        let mut ends = 0;
        loop {
            let input = self.input.fill_buf()?;
            let (result, read, written, ended) =
                self.parser.read_record(input, &mut self.bytes[bytes..], &mut self.ends[ends..]);
            self.position.pass(&input[..read]);
            self.input.consume(read);
            bytes += written;
            ends += ended;
            match result {
                ReadRecordResult::InputEmpty => {}
                // If a row is too long, its beginning is overwritten.
                ReadRecordResult::OutputFull | ReadRecordResult::OutputEndsFull => {
                    bytes = 0;
                    ends = 0;
                }
                ReadRecordResult::End => return Ok(None),
                ReadRecordResult::Record if self.position.row_bytes > ROW_MAX_BYTES => {
                    return Ok(Some(self.row(Some(Flaw::TooLong), 0, 0)));
                }
                ReadRecordResult::Record => {
                    return Ok(Some(self.row(self.position.flaw(), bytes, ends)));
                }
            }
        }
    }

    fn row(&self, flaw: Option<Flaw>, bytes: usize, ends: usize) -> Row {
        // A row is far shorter than 4 GiB, so every end fits.
        let ends = self.ends[..ends].iter().filter_map(|end| u32::try_from(*end).ok()).collect();
        Row {
            line: self.position.row_line,
            last_line: self.position.last_line(),
            number: 0,
            flaw,
            bytes: self.bytes[..bytes].into(),
            ends,
        }
    }

    fn pass_line(&mut self) -> io::Result<()> {
        let line = self.position.line;
        while self.position.line == line {
            let input = self.input.fill_buf()?;
            if input.is_empty() {
                break;
            }
            let end = input.iter().position(|byte| matches!(byte, b'\r' | b'\n'));
            let read = end.map_or(input.len(), |end| end + 1);
            self.position.pass(&input[..read]);
            self.input.consume(read);
        }
        Ok(())
    }
}

/// The position in a file: the line, which ends with LF, CR LF or CR, and the place in the row
/// according to the parser. The parser accepts everything: an unclosed quote would silently make
/// one cell of all rows up to the next quote.
struct Position {
    delimiter: u8,
    quote: Option<u8>,
    line: u64,
    last_byte: u8,
    /// The line where the row begins.
    row_line: u64,
    /// The bytes of the row so far.
    row_bytes: usize,
    place: Place,
    has_text_after_quote: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum Place {
    RowStart,
    CellStart,
    Bare,
    Quoted,
    Closing,
}

impl Position {
    fn start(format: &FileFormat) -> Position {
        Position {
            delimiter: format.delimiter,
            quote: format.quote,
            line: 1,
            last_byte: b'\n',
            row_line: 1,
            row_bytes: 0,
            place: Place::RowStart,
            has_text_after_quote: false,
        }
    }

    fn begin_row(&mut self) {
        self.place = Place::RowStart;
        self.row_bytes = 0;
        self.has_text_after_quote = false;
    }

    fn pass(&mut self, bytes: &[u8]) {
        for byte in bytes {
            let is_line_end = matches!(byte, b'\r' | b'\n');
            if self.place == Place::RowStart && !is_line_end {
                self.row_line = self.line;
                self.place = Place::CellStart;
            }
            self.row_bytes += usize::from(self.place != Place::RowStart);
            let is_quote = self.quote == Some(*byte);
            self.place = match self.place {
                Place::RowStart => Place::RowStart,
                Place::CellStart | Place::Closing if is_quote => Place::Quoted,
                Place::Quoted if is_quote => Place::Closing,
                Place::Quoted => Place::Quoted,
                _ if is_line_end || *byte == self.delimiter => Place::CellStart,
                before => {
                    self.has_text_after_quote |= before == Place::Closing;
                    Place::Bare
                }
            };
            let is_second = *byte == b'\n' && self.last_byte == b'\r';
            self.line += u64::from(is_line_end && !is_second);
            self.last_byte = *byte;
        }
    }

    fn is_line_start(&self) -> bool {
        matches!(self.last_byte, b'\r' | b'\n')
    }

    /// Returns the line of the last byte, counting a line end as part of its line.
    fn last_line(&self) -> u64 {
        self.line - u64::from(self.is_line_start())
    }

    fn flaw(&self) -> Option<Flaw> {
        match self.place {
            Place::Quoted => Some(Flaw::OpenQuote),
            _ if self.has_text_after_quote => Some(Flaw::AfterQuote),
            _ => None,
        }
    }
}
