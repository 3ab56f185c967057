//! The header of a database file, and of the log next to it: the data that both belong to, and
//! whether the file is a backup. SQLite itself does not tie a log to a file.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::ops::ControlFlow;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Mutex;

use kiosque_locks::lock_ignoring_poison;

use crate::file_system::if_found;

/// The size of the header of a database file.
const HEADER_BYTES: usize = 100;
/// The text that a database file begins with.
const MAGIC: &[u8; 16] = b"SQLite format 3\0";
/// The position of the versions that a program needs to write and to read the file: 2 for a file
/// with a write-ahead log, otherwise 1.
const VERSIONS_AT: u64 = 18;
/// Both versions of a backup: no server uses a file without a write-ahead log.
const BACKUP_VERSIONS: [u8; 2] = [1, 1];
/// The size of the header of a log, and of each of its frames.
const LOG_HEADER_BYTES: usize = 32;
const FRAME_HEADER_BYTES: usize = 24;
/// The text that a log begins with, without its last bit: whether checksums are big-endian.
const LOG_MAGIC: u32 = 0x377f_0682;

/// The fields of the header of a database file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    versions: [u8; 2],
    /// The `application_id`, which each database gets when it is created or first opened.
    identity: u32,
    /// Increases with the transactions that change the first page, except for consecutive ones of
    /// one connection.
    changes: u32,
    page_bytes: u32,
    /// The number of pages, including all that were copied from the log; 0 if unknown.
    pages: u32,
}

impl Header {
    /// Reads the header of a file; `None` if the file is not a database.
    pub(crate) fn of(file: &File) -> io::Result<Option<Header>> {
        let mut bytes = [0; HEADER_BYTES];
        let is_filled = is_filled(file.read_exact_at(&mut bytes, 0))?;
        Ok(if is_filled { Header::read(&bytes) } else { None })
    }

    fn read(page: &[u8]) -> Option<Header> {
        let versions = page.get(18..20)?.try_into().ok()?;
        let (identity, changes) = (number_at(page, 68)?, number_at(page, 24)?);
        // The largest size does not fit, and is written as 1.
        let page_bytes = match u16::from_be_bytes(page.get(16..18)?.try_into().ok()?) {
            1 => 1 << 16,
            bytes => bytes.into(),
        };
        let pages = if number_at(page, 92)? == changes { number_at(page, 28)? } else { 0 };
        let header = Header { versions, identity, changes, page_bytes, pages };
        page.starts_with(MAGIC).then_some(header)
    }

    /// Returns whether the file was written by a backup, and has not been opened since.
    pub(crate) fn is_backup(self) -> bool {
        self.versions == BACKUP_VERSIONS
    }

    /// Returns whether both files have the same data, at any time.
    pub(crate) fn is_of_same_data(self, other: Header) -> bool {
        self.identity == other.identity
    }

    /// Returns whether a log whose first version of the first page has the header `logged` can
    /// belong to the file.
    fn can_precede(self, logged: Header) -> bool {
        self.is_of_same_data(logged) && logged.changes <= self.changes.saturating_add(1)
    }
}

/// Marks a complete database file that nothing has open as a backup.
pub(crate) fn mark_as_backup(file: &File) -> io::Result<()> {
    file.write_all_at(&BACKUP_VERSIONS, VERSIONS_AT)
}

/// Returns why a log does not belong to a database file, if that can be seen: the file is a backup,
/// or has other data, or is older than the log. Most logs begin with a version of the first page;
/// those without one are not refused.
pub(crate) fn foreign_log(database: &File, log: &Path) -> io::Result<Option<&'static str>> {
    let Some(log) = if_found(File::open(log))? else { return Ok(None) };
    if log.metadata()?.len() == 0 {
        return Ok(None);
    }
    // The log is read first. A server may copy it to the file and restart it meanwhile: then the
    // file is newer than the log that was read.
    let mut logged = None;
    each_frame(log, |number, _, page| {
        if number != 1 {
            return ControlFlow::Continue(());
        }
        logged = Header::read(page);
        ControlFlow::Break(())
    })?;
    let Some(header) = Header::of(database)? else {
        return Ok(Some("is not a database"));
    };
    Ok(match logged {
        _ if header.is_backup() => Some("is a backup"),
        Some(logged) if !header.can_precede(logged) => Some("is other or older data"),
        _ => None,
    })
}

/// Returns whether the end of a database file is missing: the file is too short for the number of
/// pages in its header, and the log does not have them. A checkpoint that was interrupted by a
/// crash has copied the first page before the last ones, which are then in the log.
pub(crate) fn is_cut_off(database: &File, log: &Path) -> io::Result<bool> {
    let Some(header) = Header::of(database)? else { return Ok(false) };
    let present = || {
        let bytes = database.metadata()?.len();
        Ok::<_, io::Error>(bytes.checked_div(header.page_bytes.into()).unwrap_or_default())
    };
    let end = present()?;
    let missing = u64::from(header.pages).saturating_sub(end);
    if missing == 0 {
        return Ok(false);
    }
    let (mut found, mut uncommitted) = (HashSet::new(), Vec::new());
    if let Some(log) = if_found(File::open(log))? {
        each_frame(log, |number, pages, _| {
            uncommitted.push(number);
            if pages > 0 {
                let is_missing =
                    |number: &u32| (end + 1..=end + missing).contains(&(*number).into());
                found.extend(uncommitted.drain(..).filter(is_missing));
            }
            ControlFlow::Continue(())
        })?;
    }
    // Another process may have copied the log meanwhile, and restarted it.
    Ok(found.len() as u64 != missing && present()? < u64::from(header.pages))
}

/// Visits the frames of a log: the number of the page, the pages of the database after the commit
/// that the frame ends, or 0, and the page. Frames that a crash left incomplete end the log.
fn each_frame(
    log: File,
    mut visit: impl FnMut(u32, u32, &[u8]) -> ControlFlow<()>,
) -> io::Result<()> {
    let mut log = BufReader::with_capacity(1 << 16, log);
    let mut header = [0; LOG_HEADER_BYTES];
    if !is_filled(log.read_exact(&mut header))? {
        return Ok(());
    }
    let Some(mut sums) = Checksums::of(&header) else { return Ok(()) };
    let number = |at| number_at(&header, at).unwrap_or(0);
    // Larger pages do not exist.
    let page_bytes = number(8).min(1 << 16) as usize;
    let mut frame = vec![0; FRAME_HEADER_BYTES + page_bytes];
    while is_filled(log.read_exact(&mut frame))? {
        let (head, page) = frame.split_at(FRAME_HEADER_BYTES);
        sums.add(head.get(..8).unwrap_or_default());
        sums.add(page);
        let is_whole = head.get(8..16) == header.get(16..24)
            && (number_at(head, 16), number_at(head, 20)) == (Some(sums.first), Some(sums.second));
        let (Some(number), Some(pages)) = (number_at(head, 0), number_at(head, 4)) else { break };
        if !is_whole || visit(number, pages, page).is_break() {
            break;
        }
    }
    Ok(())
}

/// Reads a file to its end.
pub(super) fn read_all(file: &File) -> io::Result<()> {
    let mut buffer = vec![0; 1 << 16];
    let mut at = 0;
    loop {
        match file.read_at(&mut buffer, at)? {
            0 => return Ok(()),
            read => at += read as u64,
        }
    }
}

/// Returns whether a read has filled its buffer; `false` at the end of the file.
fn is_filled(read: io::Result<()>) -> io::Result<bool> {
    match read {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

/// The checksums of a log up to a position.
struct Checksums {
    is_big_endian: bool,
    first: u32,
    second: u32,
}

impl Checksums {
    /// Returns the checksums after the header of a log, if it is one.
    fn of(header: &[u8]) -> Option<Checksums> {
        let magic = number_at(header, 0)?;
        let is_big_endian = magic & 1 == 1;
        let mut sums = Checksums { is_big_endian, first: 0, second: 0 };
        sums.add(header.get(..24)?);
        let stored = (number_at(header, 24)?, number_at(header, 28)?);
        (magic & !1 == LOG_MAGIC && stored == (sums.first, sums.second)).then_some(sums)
    }

    fn add(&mut self, bytes: &[u8]) {
        let (pairs, _) = bytes.as_chunks::<8>();
        for [a, b, c, d, e, f, g, h] in pairs.iter().copied() {
            let number = match self.is_big_endian {
                true => u32::from_be_bytes,
                false => u32::from_le_bytes,
            };
            let (one, two) = (number([a, b, c, d]), number([e, f, g, h]));
            self.first = self.first.wrapping_add(one).wrapping_add(self.second);
            self.second = self.second.wrapping_add(two).wrapping_add(self.first);
        }
    }
}

/// Returns the big-endian number at a position.
fn number_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// The content of an open database file, as far as its header and its size show it. The descriptor
/// is closed after SQLite's descriptors, because that releases the locks of the process.
#[derive(Debug)]
pub(super) struct Content {
    file: File,
    opened: Header,
    /// The change counter and the size of the file at the last reading.
    latest: Mutex<(u32, u64)>,
}

impl Content {
    /// Reads the content of an open database; `None` if the file is not a database.
    pub(super) fn of(file: File) -> io::Result<Option<Content>> {
        let Some(opened) = Header::of(&file)? else { return Ok(None) };
        let latest = Mutex::new((opened.changes, file.metadata()?.len()));
        Ok(Some(Content { file, opened, latest }))
    }

    /// Returns what happened to the file, if something other than SQLite wrote to it: the databases
    /// of this program do not become shorter, and their counters do not decrease.
    pub(super) fn overwritten(&self) -> Option<&'static str> {
        let found = self.compare()?;
        // A read that overlapped a write of SQLite is repeated.
        self.compare().map(|_| found)
    }

    /// Returns the error of the device if it cannot read the whole file.
    pub(super) fn unreadable(&self) -> Option<io::Error> {
        read_all(&self.file).err()
    }

    fn compare(&self) -> Option<&'static str> {
        let mut latest = lock_ignoring_poison(&self.latest);
        let (changes, bytes) = *latest;
        // A file that cannot be read now is not overwritten.
        let header = Header::of(&self.file).ok()?;
        let size = self.file.metadata().ok()?.len();
        let Some(header) = header else { return Some("it is no longer a database") };
        if header.is_backup() && !self.opened.is_backup() {
            return Some("it is a backup now");
        }
        if size < bytes {
            return Some("it has become shorter");
        }
        if header.identity != self.opened.identity || header.changes < changes {
            return Some("it has other or older data now");
        }
        *latest = (header.changes, size);
        None
    }
}
