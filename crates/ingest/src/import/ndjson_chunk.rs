//! Reads up to a million lines, and checks them on one thread per core.

use std::collections::BTreeSet;
use std::io::BufRead;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, sync_channel};

use kiosque_locks::lock_ignoring_poison;
use kiosque_store::{Incoming, ProductNames, yield_if_due};

use super::{Chunk, ImportError, LINES_TOGETHER};
use crate::given_order::{self, DateRules};
use crate::ndjson::{RawLine, RawLines};
use crate::rejected::Rejected;
use crate::storage_order::CheckedOrder;

/// Lines that a thread checks at a time.
const BLOCK: usize = 512;

type Block = Vec<RawLine>;

/// Reads and checks the next lines of the file; `None` at its end.
pub(super) fn read(
    lines: &mut RawLines<impl BufRead>,
    dates: &DateRules<'_>,
    names: &ProductNames,
    progress: &mut dyn FnMut(u64),
) -> Result<Option<Chunk>, ImportError> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let (sender, receiver) = sync_channel::<Block>(threads * 2);
    let receiver = Mutex::new(receiver);
    let (sent, chunks) = std::thread::scope(|scope| {
        let workers: Vec<_> =
            (0..threads).map(|_| scope.spawn(|| check_blocks(&receiver, dates, names))).collect();
        let sent = send_blocks(lines, |block| sender.send(block).is_ok(), progress);
        drop(sender);
        let chunks: Vec<_> = workers.into_iter().map(|worker| worker.join()).collect();
        (sent, chunks)
    });
    let mut all = Chunk::default();
    for chunk in chunks {
        let mut chunk = chunk.map_err(|_| ImportError::Worker)?;
        all.orders.append(&mut chunk.orders);
        all.rejected.append(&mut chunk.rejected);
        all.unknown_keys.append(&mut chunk.unknown_keys);
    }
    Ok((sent? > 0).then_some(all))
}

/// Sends lines in blocks, and returns their number.
fn send_blocks(
    lines: &mut RawLines<impl BufRead>,
    mut send: impl FnMut(Block) -> bool,
    progress: &mut dyn FnMut(u64),
) -> Result<usize, ImportError> {
    let mut sent = 0;
    let mut block = Vec::with_capacity(BLOCK);
    for line in lines.by_ref().take(LINES_TOGETHER) {
        let line = line?;
        sent += 1;
        let number = line.number;
        block.push(line);
        if block.len() == BLOCK {
            progress(number);
            if !send(std::mem::replace(&mut block, Vec::with_capacity(BLOCK))) {
                return Err(ImportError::Worker);
            }
        }
    }
    if !block.is_empty() && !send(block) {
        return Err(ImportError::Worker);
    }
    Ok(sent)
}

fn check_blocks(
    receiver: &Mutex<Receiver<Block>>,
    dates: &DateRules<'_>,
    names: &ProductNames,
) -> Chunk {
    let mut chunk = Chunk::default();
    loop {
        let block = lock_ignoring_poison(receiver).recv();
        let Ok(block) = block else { return chunk };
        check_block(block, dates, names, &mut chunk);
    }
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
            Err(reason) => chunk.rejected.push(Rejected::line(&raw, reason)),
        }
    }
}

fn check(
    raw: &RawLine,
    dates: &DateRules<'_>,
    names: &ProductNames,
    unknown_keys: &mut BTreeSet<String>,
) -> Result<CheckedOrder, String> {
    let order = given_order::parse(raw.whole()?, dates, unknown_keys)?;
    let incoming = Incoming::of(order, dates.zone, names).map_err(|error| error.to_string())?;
    Ok(CheckedOrder { line: raw.number, incoming })
}
