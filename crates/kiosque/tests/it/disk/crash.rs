//! Files as a power loss leaves them, rebuilt from a log of their changes.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use kiosque_testkit::Rng;

/// Bytes that a disk writes whole or not at all.
const SECTOR_BYTES: usize = 512;
/// The bytes of a record of the log before its name.
const HEAD_BYTES: usize = 16;

/// A record of the log.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record<'l> {
    pub(super) kind: u8,
    name: &'l str,
    number: u64,
    data: &'l [u8],
    /// Where it ends in the log.
    pub(super) end: u64,
}

/// Reads a log to its end.
pub(super) fn records(log: &[u8]) -> Vec<Record<'_>> {
    let (mut records, mut at) = (Vec::new(), 0);
    while at < log.len() {
        let head = &log[at..at + HEAD_BYTES];
        let name = at + HEAD_BYTES;
        let data = name + usize::from(u16::from_ne_bytes(head[2..4].try_into().unwrap()));
        at = data + u32::from_ne_bytes(head[4..8].try_into().unwrap()) as usize;
        records.push(Record {
            kind: head[0],
            name: std::str::from_utf8(&log[name..data]).unwrap(),
            number: u64::from_ne_bytes(head[8..].try_into().unwrap()),
            data: &log[data..at],
            end: at as u64,
        });
    }
    records
}

/// What is kept of changes that were not synced.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kept {
    None,
    All,
    /// The first ones.
    First,
    /// Any of them.
    Some,
    /// Any of them, in any order.
    Reordered,
    /// Any of their sectors.
    Torn,
}

impl Kept {
    pub(super) const ALL: [Kept; 6] =
        [Kept::None, Kept::All, Kept::First, Kept::Some, Kept::Reordered, Kept::Torn];
}

/// A change of a file's content.
#[derive(Clone, Copy, Debug)]
enum Change<'l> {
    Write { at: usize, data: &'l [u8] },
    Resize(usize),
}

/// A change of a directory.
#[derive(Clone, Copy, Debug)]
enum Move<'l> {
    Create { name: &'l str, file: usize },
    Remove { name: &'l str },
    Rename { from: &'l str, to: &'l str },
}

type Names = BTreeMap<String, usize>;

/// A file by its number: what is surely on the disk, and the changes that may be, each with the
/// number of its record.
#[derive(Debug, Default)]
struct Content<'l> {
    durable: Vec<u8>,
    pending: Vec<(usize, Change<'l>)>,
}

/// A disk that has the changes up to a record of the log.
///
/// A sync of a file makes its earlier changes durable, and its creation with all earlier changes of
/// directories, as journals do; a sync of a directory those alone. Other removals and renames may
/// be lost, the later ones first.
#[derive(Debug, Default)]
pub(super) struct Disk<'l> {
    files: Vec<Content<'l>>,
    names: Names,
    durable_names: Names,
    moves: Vec<(usize, Move<'l>)>,
    /// The syncs that have begun: the file, or none for a directory, and the record.
    syncs: BTreeMap<u64, (Option<usize>, usize)>,
    records: usize,
    ignores_syncs_from: Option<u64>,
}

impl<'l> Disk<'l> {
    /// Returns a disk on which syncs have no effect from a position of the log on.
    pub(super) fn ignoring_syncs_from(at: u64) -> Disk<'l> {
        Disk { ignores_syncs_from: Some(at), ..Disk::default() }
    }

    /// Applies the next record. A sync that failed loses changes that no later one brings back.
    pub(super) fn apply(&mut self, record: &Record<'l>, rng: &mut Rng) {
        self.records += 1;
        let (now, Record { name, number, data, .. }) = (self.records, *record);
        let at = usize::try_from(number).unwrap();
        match record.kind {
            b'C' => {
                let file = self.files.len();
                self.files.push(Content::default());
                self.make(now, Move::Create { name, file });
            }
            b'U' => self.make(now, Move::Remove { name }),
            b'R' => {
                let to = std::str::from_utf8(data).unwrap();
                self.make(now, Move::Rename { from: name, to });
            }
            b'W' => self.change(now, name, Change::Write { at, data }),
            b'T' => self.change(now, name, Change::Resize(at)),
            b'S' => {
                self.syncs.insert(number, (self.names.get(name).copied(), now));
            }
            b'E' => {
                let (file, begun) = self.syncs.remove(&number).unwrap();
                if self.ignores_syncs_from.is_none_or(|from| record.end < from) {
                    self.sync(file, begun);
                }
            }
            b'F' => {
                if let (Some(file), begun) = self.syncs.remove(&number).unwrap() {
                    let pending = &mut self.files[file].pending;
                    pending.retain(|(at, _)| *at > begun || rng.one_in(2));
                }
            }
            kind => panic!("a record of kind {kind}"),
        }
    }

    fn make(&mut self, now: usize, change: Move<'l>) {
        change.make(&mut self.names);
        self.moves.push((now, change));
    }

    fn change(&mut self, now: usize, name: &str, change: Change<'l>) {
        let file = *self.names.get(name).unwrap_or_else(|| panic!("{name} was not created"));
        self.files[file].pending.push((now, change));
    }

    fn sync(&mut self, file: Option<usize>, begun: usize) {
        let earlier = |(at, _): &&(usize, Move<'l>)| *at < begun;
        let durable = match file {
            None => self.moves.iter().filter(earlier).count(),
            Some(file) => {
                let Content { durable, pending } = &mut self.files[file];
                for (_, change) in pending.extract_if(.., |(at, _)| *at < begun) {
                    change.make(durable, None);
                }
                let of_file = |(_, change): &(usize, Move<'l>)| match change {
                    Move::Create { file: created, .. } => *created == file,
                    Move::Rename { to, .. } => self.names.get(*to) == Some(&file),
                    Move::Remove { .. } => false,
                };
                self.moves.iter().rposition(of_file).map_or(0, |last| last + 1)
            }
        };
        for (_, change) in self.moves.drain(..durable) {
            change.make(&mut self.durable_names);
        }
    }

    /// Returns the number of changes that were not synced.
    pub(super) fn pending(&self) -> usize {
        self.files.iter().map(|file| file.pending.len()).sum::<usize>() + self.moves.len()
    }

    /// Writes the files as a power loss now would leave them.
    pub(super) fn lose_power(&self, kept: Kept, rng: &mut Rng, into: &Path) {
        let moves = match kept {
            Kept::None => 0,
            Kept::All => self.moves.len(),
            _ => rng.below(self.moves.len() + 1),
        };
        let mut names = self.durable_names.clone();
        self.moves[..moves].iter().for_each(|(_, change)| change.make(&mut names));
        for (name, file) in names {
            let Content { durable, pending } = &self.files[file];
            let mut content = durable.clone();
            let mut changes: Vec<Change<'_>> = pending.iter().map(|(_, change)| *change).collect();
            match kept {
                Kept::None => changes.clear(),
                Kept::All => {}
                Kept::First => changes.truncate(rng.below(changes.len() + 1)),
                Kept::Some => changes.retain(|_| rng.one_in(2)),
                Kept::Reordered => changes = rng.subset(&changes),
                Kept::Torn => {}
            }
            for change in changes {
                let torn = matches!(kept, Kept::Torn).then_some(&mut *rng);
                change.make(&mut content, torn);
            }
            write(&into.join(name.trim_start_matches('/')), &content);
        }
        // The index of the log is never synced: it may have anything.
        if into.join("kiosque.db-wal").exists() && rng.one_in(2) {
            let index: Vec<u8> = (0..32_768).map(|_| rng.below(256).to_le_bytes()[0]).collect();
            write(&into.join("kiosque.db-shm"), &index);
        }
    }

    /// Asserts that a directory has the files that the log says: nothing was left unrecorded.
    pub(super) fn assert_matches(&self, directory: &Path) {
        for (name, file) in &self.names {
            let Content { durable, pending } = &self.files[*file];
            let mut content = durable.clone();
            pending.iter().for_each(|(_, change)| change.make(&mut content, None));
            let found = fs::read(directory.join(name.trim_start_matches('/'))).unwrap();
            assert!(found == content, "{name} has {} bytes, not {}", found.len(), content.len());
        }
    }
}

impl Change<'_> {
    /// Changes a content; with a generator, any of the sectors.
    fn make(self, content: &mut Vec<u8>, mut torn: Option<&mut Rng>) {
        let Change::Write { at, data } = self else {
            let Change::Resize(length) = self else { return };
            return content.resize(length, 0);
        };
        let mut from = 0;
        while from < data.len() {
            let sector = (SECTOR_BYTES - (at + from) % SECTOR_BYTES).min(data.len() - from);
            let length = if torn.is_some() { sector } else { data.len() };
            if torn.as_mut().is_none_or(|rng| rng.one_in(2)) {
                let end = at + from + length;
                if content.len() < end {
                    content.resize(end, 0);
                }
                content[at + from..end].copy_from_slice(&data[from..from + length]);
            }
            from += length;
        }
    }
}

impl Move<'_> {
    fn make(self, names: &mut Names) {
        match self {
            Move::Create { name, file } => {
                names.insert(name.to_owned(), file);
            }
            Move::Remove { name } => {
                names.remove(name);
            }
            Move::Rename { from, to } => {
                if let Some(file) = names.remove(from) {
                    names.insert(to.to_owned(), file);
                }
            }
        }
    }
}

fn write(path: &Path, content: &[u8]) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}
