//! Reads up to a million lines, and checks them on one thread per core.

use std::io::{self, BufRead};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, sync_channel};

use kiosque_locks::lock_ignoring_poison;
use kiosque_store::{Incoming, ProductNames, yield_if_due};

use super::alike::OPENING_LINES;
use super::{Chunk, ImportError, LINES_TOGETHER, Strictness};
use crate::given_order::{self, DateRules};
use crate::ndjson::{LINE_MAX_BYTES, RawLine, RawLines};
use crate::rejected::Rejected;
use crate::storage_order::CheckedOrder;
use crate::unknown_keys::UnknownKeys;

/// Lines that a thread checks at a time, or fewer if they have more than [`LINE_MAX_BYTES`]; orders
/// of a report between two reports of the progress.
pub(super) const BLOCK: usize = 512;
/// The bytes of lines after which a chunk ends, so that long lines do not take more memory than a
/// million ordinary ones.
const CHUNK_BYTES: usize = 1 << 30;

type Block = Vec<RawLine>;

/// How the lines of a file are checked.
pub(super) struct LineChecks<'a> {
    pub(super) dates: DateRules<'a>,
    pub(super) names: &'a ProductNames,
    pub(super) strictness: Strictness,
}

impl LineChecks<'_> {
    /// Returns a chunk without lines.
    pub(super) fn chunk(&self) -> Chunk {
        let unknown_keys = match self.strictness {
            Strictness::Lenient => UnknownKeys::default(),
            Strictness::Strict => UnknownKeys::Rejected,
        };
        Chunk { unknown_keys, ..Chunk::default() }
    }

    /// Reads and checks the first lines of a file.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(super) fn opening(&self, lines: &mut RawLines<impl BufRead>) -> Result<Chunk, ImportError> {
        let mut chunk = self.chunk();
        let block = lines.by_ref().take(OPENING_LINES).collect::<Result<Block, _>>()?;
        check_block(block, &self.dates, self.names, &mut chunk);
        Ok(chunk)
    }

    /// Reads and checks the next lines of the file, after its opening lines. The chunk remains
    /// empty at the end of the file.
    pub(super) fn read(
        &self,
        lines: &mut RawLines<impl BufRead>,
        mut all: Chunk,
        progress: &mut dyn FnMut(u64) -> Result<(), ImportError>,
    ) -> Result<Chunk, ImportError> {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let (sender, receiver) = sync_channel::<Block>(threads * 2);
        let receiver = Mutex::new(receiver);
        let lines_max = LINES_TOGETHER - all.lines();
        let (sent, chunks) = std::thread::scope(|scope| {
            let workers: Vec<_> =
                (0..threads).map(|_| scope.spawn(|| self.check_blocks(&receiver))).collect();
            let next = lines.by_ref().take(lines_max);
            let sent = send_blocks(next, CHUNK_BYTES, |block| sender.send(block).is_ok(), progress);
            drop(sender);
            let chunks: Vec<_> = workers.into_iter().map(|worker| worker.join()).collect();
            (sent, chunks)
        });
        for chunk in chunks {
            let mut chunk = chunk.map_err(|_| ImportError::Worker)?;
            all.orders.append(&mut chunk.orders);
            all.rejected.append(&mut chunk.rejected);
            all.unknown_keys.append(chunk.unknown_keys);
        }
        sent.map(|()| all)
    }

    fn check_blocks(&self, receiver: &Mutex<Receiver<Block>>) -> Chunk {
        let mut chunk = self.chunk();
        loop {
            let block = lock_ignoring_poison(receiver).recv();
            let Ok(block) = block else { return chunk };
            check_block(block, &self.dates, self.names, &mut chunk);
        }
    }
}

/// Sends lines in blocks, until they have `bytes`. Before a block is sent, the number of its last
/// line is reported.
fn send_blocks(
    lines: impl Iterator<Item = io::Result<RawLine>>,
    bytes: usize,
    mut send: impl FnMut(Block) -> bool,
    progress: &mut dyn FnMut(u64) -> Result<(), ImportError>,
) -> Result<(), ImportError> {
    let mut send = |block: Block| {
        let Some(last) = block.last() else { return Ok(()) };
        progress(last.number)?;
        if send(block) { Ok(()) } else { Err(ImportError::Worker) }
    };
    let mut block = Vec::with_capacity(BLOCK);
    let (mut of_block, mut sent) = (0, 0);
    for line in lines {
        let line = line?;
        of_block += line.text.len();
        block.push(line);
        if block.len() == BLOCK || of_block >= LINE_MAX_BYTES {
            send(std::mem::replace(&mut block, Vec::with_capacity(BLOCK)))?;
            sent += std::mem::take(&mut of_block);
            if sent >= bytes {
                break;
            }
        }
    }
    send(block)
}

/// Checks lines, and adds each to the orders or the rejected lines of a chunk.
pub(crate) fn check_block(
    block: Vec<RawLine>,
    dates: &DateRules<'_>,
    names: &ProductNames,
    chunk: &mut Chunk,
) {
    for raw in block {
        yield_if_due();
        match check(&raw, dates, names, &mut chunk.unknown_keys) {
            Ok(order) => chunk.orders.push(order),
            Err(reason) => chunk.rejected.push(Rejected::line(&raw, &reason)),
        }
    }
}

fn check(
    raw: &RawLine,
    dates: &DateRules<'_>,
    names: &ProductNames,
    unknown_keys: &mut UnknownKeys,
) -> Result<CheckedOrder, String> {
    let order = given_order::parse(raw.whole()?, dates, unknown_keys)?;
    let incoming = Incoming::of(order, dates.zone, names).map_err(|error| error.to_string())?;
    Ok(CheckedOrder { line: raw.number, incoming })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The last line of each block is reported, also of the last one, which may not be full: the
    /// stored orders of a part of a file are counted from its first report on.
    #[test]
    fn every_block_is_reported() {
        for (lines, reports) in [
            (0, &[][..]),
            (1, &[1]),
            (BLOCK, &[BLOCK]),
            (2 * BLOCK + 3, &[BLOCK, 2 * BLOCK, 2 * BLOCK + 3]),
        ] {
            let text = "{}\n".repeat(lines);
            let (mut sent, mut reported) = (0, Vec::new());
            let send = |block: Block| {
                sent += block.len();
                true
            };
            let mut progress = |line: u64| {
                reported.push(usize::try_from(line).unwrap());
                Ok(())
            };
            send_blocks(RawLines::new(text.as_bytes()), usize::MAX, send, &mut progress).unwrap();
            assert_eq!((sent, reported.as_slice()), (lines, reports));
        }
    }

    /// Long lines are sent in smaller blocks, and a chunk ends with the block that has its bytes:
    /// the rest of the file remains for the next one.
    #[test]
    fn long_lines_end_a_block_and_a_chunk() {
        let long = format!("{{}}{}\n", " ".repeat(LINE_MAX_BYTES / 2));
        let text = long.repeat(7);
        let mut lines = RawLines::new(text.as_bytes());
        let mut chunks = Vec::new();
        for _ in 0..3 {
            let mut blocks = Vec::new();
            let send = |block: Block| {
                blocks.push(block.len());
                true
            };
            send_blocks(lines.by_ref(), 2 * LINE_MAX_BYTES, send, &mut |_| Ok(())).unwrap();
            chunks.push(blocks);
        }
        assert_eq!(chunks, [vec![2, 2], vec![2, 1], vec![]]);
    }
}
