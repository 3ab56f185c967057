//! Reads the rows of a CSV file: their line numbers and cells, in bounded memory.

use std::fmt;
use std::io::{self, BufRead, BufReader, Chain, Cursor, Read};

use csv_core::{ReadRecordResult, Reader, ReaderBuilder};

use super::mapping::FileFormat;

/// The longest row, in bytes of the file.
pub const ROW_MAX_BYTES: usize = 1 << 20;

const BOM: &[u8] = b"\xef\xbb\xbf";

/// A row, its cells unquoted.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Row {
    /// The line that it begins on, from 1.
    pub(super) line: u64,
    /// The line that it ends on, which differs if a quoted cell has line breaks.
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
    input: BufReader<Chain<Cursor<Vec<u8>>, R>>,
    parser: Reader,
    lines: LineCount,
    quotes: Quotes,
    number: u64,
    /// The line of the last row, once it was returned without a line end.
    cut_line: Option<u64>,
    bytes: Vec<u8>,
    ends: Vec<usize>,
    row_max: usize,
}

impl<R> Rows<R> {
    /// Returns the line that is read next.
    pub(super) fn line(&self) -> u64 {
        self.lines.line
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
    /// Returns a reader positioned at the header, after a byte order mark and the lines above it.
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
            input: BufReader::with_capacity(64 << 10, past_byte_order_mark(input)?),
            parser: parser.build(),
            lines: LineCount { line: 1, after_cr: false, line_began: true },
            quotes: Quotes::new(format.delimiter, format.quote),
            number: 0,
            cut_line: None,
            bytes: vec![0; 1 << 10],
            ends: vec![0; 64],
            row_max: ROW_MAX_BYTES,
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
        loop {
            self.pass_line_ends()?;
            let Some(mut row) = self.read_row()? else { return Ok(None) };
            if !row.is_blank() {
                self.number += 1;
                row.number = self.number;
                self.cut_line = (!self.lines.line_began).then_some(row.line);
                return Ok(Some(row));
            }
        }
    }

    fn read_row(&mut self) -> io::Result<Option<Row>> {
        let line = self.lines.line;
        let (mut taken, mut bytes, mut ends) = (0, 0, 0);
        loop {
            let input = filled(&mut self.input)?;
            // The output of a row that is too long is overwritten, unread.
            let too_long = taken > self.row_max;
            if too_long {
                (bytes, ends) = (0, 0);
            }
            let (result, read, written, ended) =
                self.parser.read_record(input, &mut self.bytes[bytes..], &mut self.ends[ends..]);
            self.lines.pass(&input[..read]);
            self.quotes.pass(&input[..read]);
            self.input.consume(read);
            taken += read;
            bytes += written;
            ends += ended;
            match result {
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::OutputFull if too_long => {}
                ReadRecordResult::OutputEndsFull if too_long => {}
                ReadRecordResult::OutputFull => self.bytes.resize(self.bytes.len() * 2, 0),
                ReadRecordResult::OutputEndsFull => self.ends.resize(self.ends.len() * 2, 0),
                ReadRecordResult::End => return Ok(None),
                ReadRecordResult::Record => {
                    let too_long = taken > self.row_max;
                    let kept = if too_long { (0, 0) } else { (bytes, ends) };
                    let flaw = self.quotes.end_row();
                    let flaw = if too_long { Some(Flaw::TooLong) } else { flaw };
                    return Ok(Some(self.row(line, flaw, kept)));
                }
            }
        }
    }

    fn row(&self, line: u64, flaw: Option<Flaw>, (bytes, ends): (usize, usize)) -> Row {
        // A row is far shorter than 4 GiB, so that every end fits.
        let ends = self.ends[..ends].iter().filter_map(|end| u32::try_from(*end).ok()).collect();
        Row {
            line,
            last_line: self.lines.last_line(),
            number: 0,
            flaw,
            bytes: self.bytes[..bytes].into(),
            ends,
        }
    }

    fn pass_line(&mut self) -> io::Result<()> {
        let from = self.lines.line;
        loop {
            let input = filled(&mut self.input)?;
            if input.is_empty() {
                return Ok(());
            }
            let end = input.iter().position(|byte| matches!(byte, b'\r' | b'\n'));
            let read = end.map_or(input.len(), |end| end + 1);
            self.lines.pass(&input[..read]);
            self.input.consume(read);
            if self.lines.line > from {
                return self.pass_line_feed();
            }
        }
    }

    fn pass_line_feed(&mut self) -> io::Result<()> {
        let input = filled(&mut self.input)?;
        if self.lines.after_cr && input.first() == Some(&b'\n') {
            self.lines.pass(b"\n");
            self.input.consume(1);
        }
        Ok(())
    }

    fn pass_line_ends(&mut self) -> io::Result<()> {
        loop {
            let input = filled(&mut self.input)?;
            let blank = input.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
            if blank == 0 {
                return Ok(());
            }
            self.lines.pass(&input[..blank]);
            self.input.consume(blank);
        }
    }
}

/// Skips the UTF-8 byte order mark that spreadsheets write.
fn past_byte_order_mark<R: Read>(mut input: R) -> io::Result<Chain<Cursor<Vec<u8>>, R>> {
    let mut head = Vec::with_capacity(BOM.len());
    input.by_ref().take(BOM.len() as u64).read_to_end(&mut head)?;
    if head == BOM {
        head.clear();
    }
    Ok(Cursor::new(head).chain(input))
}

/// Returns the buffered input, filling an empty buffer; empty at the end of the input.
fn filled<R: Read>(input: &mut BufReader<R>) -> io::Result<&[u8]> {
    while input.buffer().is_empty() {
        match input.fill_buf() {
            Ok(_) => break,
            Err(fault) if fault.kind() == io::ErrorKind::Interrupted => {}
            Err(fault) => return Err(fault),
        }
    }
    Ok(input.buffer())
}

/// Counts lines that end with LF, CR LF or CR.
struct LineCount {
    line: u64,
    after_cr: bool,
    line_began: bool,
}

impl LineCount {
    fn pass(&mut self, bytes: &[u8]) {
        for byte in bytes {
            let ends_line = *byte == b'\r' || (*byte == b'\n' && !self.after_cr);
            self.line += u64::from(ends_line);
            self.line_began = matches!(byte, b'\r' | b'\n');
            self.after_cr = *byte == b'\r';
        }
    }

    /// Returns the line of the last byte, counting a line end as part of its line.
    fn last_line(&self) -> u64 {
        self.line - u64::from(self.line_began)
    }
}

/// Tracks quotes as the parser does. The parser accepts everything: a quote left open would
/// silently make one cell of all rows up to the next quote.
struct Quotes {
    delimiter: u8,
    quote: Option<u8>,
    state: QuoteState,
    went_on: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum QuoteState {
    CellStart,
    Bare,
    Quoted,
    Closing,
}

impl Quotes {
    fn new(delimiter: u8, quote: Option<u8>) -> Quotes {
        Quotes { delimiter, quote, state: QuoteState::CellStart, went_on: false }
    }

    fn pass(&mut self, bytes: &[u8]) {
        let Some(quote) = self.quote else { return };
        for byte in bytes {
            let ends_cell = *byte == self.delimiter || matches!(byte, b'\r' | b'\n');
            self.state = match self.state {
                QuoteState::CellStart | QuoteState::Closing if *byte == quote => QuoteState::Quoted,
                QuoteState::Quoted if *byte == quote => QuoteState::Closing,
                QuoteState::Quoted => QuoteState::Quoted,
                _ if ends_cell => QuoteState::CellStart,
                before => {
                    self.went_on |= before == QuoteState::Closing;
                    QuoteState::Bare
                }
            };
        }
    }

    fn end_row(&mut self) -> Option<Flaw> {
        let state = std::mem::replace(&mut self.state, QuoteState::CellStart);
        match (state, std::mem::take(&mut self.went_on)) {
            (QuoteState::Quoted, _) => Some(Flaw::OpenQuote),
            (_, true) => Some(Flaw::AfterQuote),
            (_, false) => None,
        }
    }
}
