//! Reads up to a million lines, checking them on as many threads as the machine has cores.

use std::collections::BTreeSet;
use std::io::BufRead;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, sync_channel};

use kiosque_locks::lock_ignoring_poison;
use kiosque_model::Zone;
use kiosque_store::{Incoming, ProductNames, yield_if_due};

use super::{Chunk, ImportError, LINES_TOGETHER, Prepared};
use crate::given_order;
use crate::ndjson::{RawLine, RawLines};
use crate::rejected::Rejected;

/// Lines that a thread takes at a time.
const BLOCK: usize = 512;

type Block = Vec<RawLine>;

/// The next lines of the file, checked; `None` at its end.
pub(super) fn read(
    lines: &mut RawLines<impl BufRead>,
    zone: &Zone,
    names: &ProductNames,
    progress: &mut dyn FnMut(u64),
) -> Result<Option<Chunk>, ImportError> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let (give, take) = sync_channel::<Block>(threads * 2);
    let take = Mutex::new(take);
    let (fed, chunks) = std::thread::scope(|scope| {
        let workers: Vec<_> =
            (0..threads).map(|_| scope.spawn(|| check_blocks(&take, zone, names))).collect();
        let fed = feed(lines, |block| give.send(block).is_ok(), progress);
        drop(give);
        let chunks: Vec<_> = workers.into_iter().map(|worker| worker.join()).collect();
        (fed, chunks)
    });
    let mut all = Chunk::default();
    for chunk in chunks {
        let mut chunk = chunk.map_err(|_| ImportError::Gone)?;
        all.prepared.append(&mut chunk.prepared);
        all.rejected.append(&mut chunk.rejected);
        all.unknown_keys.append(&mut chunk.unknown_keys);
    }
    let some = fed? > 0;
    Ok(some.then_some(all))
}

/// Hands lines out in blocks, and says how many there were.
fn feed(
    lines: &mut RawLines<impl BufRead>,
    mut give: impl FnMut(Block) -> bool,
    progress: &mut dyn FnMut(u64),
) -> Result<usize, ImportError> {
    let mut fed = 0;
    let mut block = Vec::with_capacity(BLOCK);
    for line in lines.by_ref().take(LINES_TOGETHER) {
        let line = line?;
        fed += 1;
        let number = line.number;
        block.push(line);
        if block.len() == BLOCK {
            progress(number);
            if !give(std::mem::replace(&mut block, Vec::with_capacity(BLOCK))) {
                return Err(ImportError::Gone);
            }
        }
    }
    if !block.is_empty() && !give(block) {
        return Err(ImportError::Gone);
    }
    Ok(fed)
}

fn check_blocks(take: &Mutex<Receiver<Block>>, zone: &Zone, names: &ProductNames) -> Chunk {
    let mut chunk = Chunk::default();
    loop {
        let block = lock_ignoring_poison(take).recv();
        let Ok(block) = block else { return chunk };
        check_block(block, zone, names, &mut chunk);
    }
}

/// Checks lines, and adds what becomes of each to a chunk.
pub(crate) fn check_block(
    block: Vec<RawLine>,
    zone: &Zone,
    names: &ProductNames,
    chunk: &mut Chunk,
) {
    for raw in block {
        yield_if_due();
        match check(&raw, zone, names, &mut chunk.unknown_keys) {
            Ok(prepared) => chunk.prepared.push(prepared),
            Err(reason) => chunk.rejected.push(Rejected::line(&raw, reason)),
        }
    }
}

fn check(
    raw: &RawLine,
    zone: &Zone,
    names: &ProductNames,
    unknown_keys: &mut BTreeSet<String>,
) -> Result<Prepared, String> {
    let order = given_order::parse(raw.whole()?, zone, unknown_keys)?;
    let incoming = Incoming::of(order, zone, names).map_err(|error| error.to_string())?;
    Ok(Prepared { line: raw.number, incoming })
}
