//! The rows of a report as bytes: where each begins, what its cells are, and that none of them
//! takes more memory than a row may.

use std::fmt;
use std::io::{self, BufRead, BufReader, Chain, Cursor, Read};

use csv_core::{ReadRecordResult, Reader, ReaderBuilder};

use super::mapping::Shape;

/// The longest row, in bytes as it stands in the file.
pub const ROW_MAX_BYTES: usize = 1 << 20;

const BOM: &[u8] = b"\xef\xbb\xbf";

/// One row, its cells unquoted.
#[derive(Debug, Default)]
pub(super) struct Row {
    /// The line that it begins on; the file's first line is 1.
    pub(super) line: u64,
    /// The line that it ends on; another one when a quoted cell has line breaks.
    pub(super) last_line: u64,
    /// Its number among the rows below the header, from 1; blank lines have none.
    pub(super) number: u64,
    /// What is wrong with it as CSV.
    pub(super) flaw: Option<Flaw>,
    bytes: Box<[u8]>,
    ends: Box<[u32]>,
}

/// What is wrong with a row before its cells are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flaw {
    /// Over [`ROW_MAX_BYTES`]: its cells were not kept.
    TooLong,
    /// A quoted cell that the file's end closed.
    OpenQuote,
    /// A quoted cell that goes on behind its closing quote.
    BehindQuote,
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Flaw::TooLong => write!(f, "is longer than {ROW_MAX_BYTES} bytes"),
            Flaw::OpenQuote => f.write_str("has a quoted cell that is never closed"),
            Flaw::BehindQuote => f.write_str("has a quoted cell that goes on behind its quote"),
        }
    }
}

impl Row {
    /// How many cells it has.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// What it takes in memory, about.
    pub(super) fn weight(&self) -> usize {
        size_of::<Row>() + self.bytes.len() + self.ends.len() * size_of::<u32>()
    }

    /// The bytes of a cell; none past the last.
    pub(super) fn cell(&self, index: usize) -> Option<&[u8]> {
        let end = *self.ends.get(index)?;
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        self.bytes.get(start as usize..end as usize)
    }

    /// The text of a cell of a row that was checked; a cell that is none reads as empty.
    pub(super) fn text(&self, index: usize) -> &str {
        self.cell(index).and_then(|cell| std::str::from_utf8(cell).ok()).unwrap_or_default()
    }

    /// All cells, first to last.
    pub(super) fn cells(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len()).map_while(|index| self.cell(index))
    }

    fn is_blank(&self) -> bool {
        self.len() <= 1 && self.flaw.is_none() && self.bytes.trim_ascii().is_empty()
    }
}

/// Reads rows one at a time in bounded memory.
pub(super) struct Rows<R> {
    input: BufReader<Chain<Cursor<Vec<u8>>, R>>,
    parser: Reader,
    lines: LineCount,
    quotes: Quotes,
    number: u64,
    bytes: Vec<u8>,
    ends: Vec<usize>,
    row_max: usize,
}

impl<R> Rows<R> {
    /// The line that is read next.
    pub(super) fn line(&self) -> u64 {
        self.lines.line
    }

    /// The number of the row that was read last.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// From here on rows are numbered from 1 again: the header was read.
    pub(super) fn restart_numbers(&mut self) {
        self.number = 0;
    }
}

impl<R: Read> Rows<R> {
    /// Stands before the header: a byte order mark and the lines above the header are behind it.
    ///
    /// # Errors
    /// The input cannot be read.
    pub(super) fn open(input: R, shape: &Shape) -> io::Result<Rows<R>> {
        let mut parser = ReaderBuilder::new();
        parser.delimiter(shape.delimiter);
        match shape.quote {
            Some(quote) => parser.quote(quote),
            None => parser.quoting(false),
        };
        let mut rows = Rows {
            input: BufReader::with_capacity(64 << 10, past_byte_order_mark(input)?),
            parser: parser.build(),
            lines: LineCount { line: 1, after_cr: false, line_began: true },
            quotes: Quotes::new(shape.delimiter, shape.quote),
            number: 0,
            bytes: vec![0; 1 << 10],
            ends: vec![0; 64],
            row_max: ROW_MAX_BYTES,
        };
        for _ in 0..shape.lines_above_header {
            rows.pass_line()?;
        }
        Ok(rows)
    }

    /// The next row that is not blank; `None` at the end of the input.
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
                return Ok(Some(row));
            }
        }
    }

    fn read_row(&mut self) -> io::Result<Option<Row>> {
        let line = self.lines.line;
        let (mut taken, mut bytes, mut ends) = (0, 0, 0);
        loop {
            let input = filled(&mut self.input)?;
            // What a row that is too long still yields is written over the same place, unread.
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
        // A row is far shorter than 4 GiB, so that every end is kept.
        let ends = self.ends[..ends].iter().filter_map(|end| u32::try_from(*end).ok()).collect();
        Row {
            line,
            last_line: self.lines.behind(),
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

/// The input without the UTF-8 byte order mark that spreadsheets write before everything.
fn past_byte_order_mark<R: Read>(mut input: R) -> io::Result<Chain<Cursor<Vec<u8>>, R>> {
    let mut head = Vec::with_capacity(BOM.len());
    input.by_ref().take(BOM.len() as u64).read_to_end(&mut head)?;
    if head == BOM {
        head.clear();
    }
    Ok(Cursor::new(head).chain(input))
}

/// What is buffered, filled when it was empty; empty at the end of the input.
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

/// Counts lines whatever ends them: LF, CR LF or CR.
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

    /// The line that the byte before stands on, its line end included.
    fn behind(&self) -> u64 {
        self.line - u64::from(self.line_began)
    }
}

/// Watches quotes as the parser sees them. The parser takes everything, and a quote left open
/// would quietly make one cell of all rows up to the next quote.
struct Quotes {
    delimiter: u8,
    quote: Option<u8>,
    at: At,
    went_on: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum At {
    CellStart,
    Bare,
    Quoted,
    Closing,
}

impl Quotes {
    fn new(delimiter: u8, quote: Option<u8>) -> Quotes {
        Quotes { delimiter, quote, at: At::CellStart, went_on: false }
    }

    fn pass(&mut self, bytes: &[u8]) {
        let Some(quote) = self.quote else { return };
        for byte in bytes {
            let ends_cell = *byte == self.delimiter || matches!(byte, b'\r' | b'\n');
            self.at = match self.at {
                At::CellStart | At::Closing if *byte == quote => At::Quoted,
                At::Quoted if *byte == quote => At::Closing,
                At::Quoted => At::Quoted,
                _ if ends_cell => At::CellStart,
                before => {
                    self.went_on |= before == At::Closing;
                    At::Bare
                }
            };
        }
    }

    fn end_row(&mut self) -> Option<Flaw> {
        let at = std::mem::replace(&mut self.at, At::CellStart);
        match (at, std::mem::take(&mut self.went_on)) {
            (At::Quoted, _) => Some(Flaw::OpenQuote),
            (_, true) => Some(Flaw::BehindQuote),
            (_, false) => None,
        }
    }
}
