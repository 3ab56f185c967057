//! Imports an order file: reads, checks and numbers its orders by trade start, and stores them in
//! short transactions, so that a server on the same data continues. Invalid lines are reported and
//! set aside; the rest is stored.

mod ndjson_chunk;
mod report;
mod write;

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;

use kiosque_model::ActedBy;
use kiosque_model::audit::Act;
use kiosque_model::fleet::Fleet;
use kiosque_model::order::Order;
use kiosque_store::{ApplyError, Error, Incoming, ProductNames, Store};

use super::rejected::Rejected;
use kiosque_clock::Clock;

pub(super) use ndjson_chunk::check_block;
pub use report::import_report;
pub(super) use write::{BATCH_START, InTurn, PAUSE, group_of, in_turn, next_size};

/// How many lines are numbered together, by trade start; a longer file is numbered in parts.
pub const LINES_TOGETHER: usize = 1_000_000;

/// Why an import ended early. What was stored until then stays, and a repetition does the rest.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The file cannot be read.
    #[error("the file cannot be read: {0}")]
    Input(#[from] io::Error),
    /// The rejected file, or the progress, cannot be written.
    #[error("{0}")]
    Output(String),
    /// The devices or products that the report brought could not be made.
    #[error("{0}")]
    Fleet(#[from] ApplyError),
    /// The report's header does not fit its mapping.
    #[error("{0}")]
    Mapping(String),
    /// The store failed.
    #[error("{0}")]
    Store(#[from] Error),
    /// A thread that checks lines ended early.
    #[error("a thread that checks lines ended early")]
    Gone,
}

/// What an import did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// Orders that are new.
    pub accepted: u64,
    /// Orders that changed.
    pub updated: u64,
    /// Orders that were there already.
    pub unchanged: u64,
    /// Lines, or rows of one order, that were not taken in.
    pub rejected: u64,
    /// Keys that mean nothing here, each once.
    pub unknown_keys: BTreeSet<String>,
    /// Rows that the mapping leaves out, by what left them out.
    pub left_out: Vec<(String, u64)>,
}

impl Imported {
    /// Returns the entry of the audit trail.
    #[must_use]
    pub fn act(&self) -> Act {
        let Imported { accepted, updated, unchanged, rejected, .. } = *self;
        Act::OrdersImported { accepted, updated, unchanged, rejected }
    }
}

/// How far an import is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Lines read so far.
    Read(u64),
    /// Orders stored so far, and how many are to be stored with them.
    Stored(u64, u64),
}

/// Receives the progress and the rejected lines of an import.
pub trait Watch {
    /// Something was not taken in. In the order of lines, within each million of them.
    ///
    /// # Errors
    /// A rejected line cannot be written; the import ends.
    fn rejected(&mut self, rejected: &Rejected) -> io::Result<()>;
    /// How far it is.
    fn progress(&mut self, progress: Progress);
}

/// An order that may be stored.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) line: u64,
    pub(super) incoming: Incoming,
}

/// Lines read and checked, to be numbered together.
#[derive(Debug, Default)]
pub(super) struct Chunk {
    pub(super) prepared: Vec<Prepared>,
    pub(super) rejected: Vec<Rejected>,
    pub(super) unknown_keys: BTreeSet<String>,
}

/// An import under way.
pub struct Import<'a> {
    store: &'a Store,
    clock: &'a Clock,
    watch: &'a mut dyn Watch,
    names: Arc<ProductNames>,
    done: Imported,
}

/// Imports NDJSON.
///
/// # Errors
/// The file cannot be read, or the store failed.
pub async fn import_ndjson(
    store: &Store,
    clock: &Clock,
    input: impl io::BufRead,
    watch: &mut dyn Watch,
) -> Result<Imported, ImportError> {
    let mut import = Import::start(store, clock, watch).await?;
    let mut lines = super::ndjson::RawLines::new(input);
    loop {
        let zone = store.zone();
        let chunk = ndjson_chunk::read(&mut lines, zone, &import.names, &mut |read| {
            import.watch.progress(Progress::Read(read));
        })?;
        let Some(chunk) = chunk else { break };
        import.store_chunk(chunk).await?;
    }
    Ok(import.done)
}

/// Imports orders that are at hand already; their place in the list stands for their line.
///
/// # Errors
/// The store failed.
pub async fn import_orders(
    store: &Store,
    clock: &Clock,
    orders: Vec<Order>,
    watch: &mut dyn Watch,
) -> Result<Imported, ImportError> {
    let mut import = Import::start(store, clock, watch).await?;
    let mut chunk = Chunk::default();
    for (line, order) in (1..).zip(orders) {
        let incoming = Incoming::of(order, store.zone(), &import.names)?;
        chunk.prepared.push(Prepared { line, incoming });
    }
    import.store_chunk(chunk).await?;
    Ok(import.done)
}

impl<'a> Import<'a> {
    async fn start(
        store: &'a Store,
        clock: &'a Clock,
        watch: &'a mut dyn Watch,
    ) -> Result<Import<'a>, ImportError> {
        let names = Arc::new(store.product_names().await?);
        Ok(Import { store, clock, watch, names, done: Imported::default() })
    }

    async fn make(&mut self, fleet: Fleet) -> Result<(), ImportError> {
        let by = ActedBy::command(self.clock.now());
        self.store.apply(fleet, Default::default(), by).await?;
        self.names = Arc::new(self.store.product_names().await?);
        Ok(())
    }

    async fn store_chunk(&mut self, mut chunk: Chunk) -> Result<(), ImportError> {
        self.done.unknown_keys.append(&mut chunk.unknown_keys);
        let mut rejected = chunk.rejected;
        let stored = write::store(self, chunk.prepared, &mut rejected).await;
        rejected.sort_by_key(|one| one.line);
        for one in &rejected {
            self.done.rejected += 1;
            self.watch.rejected(one).map_err(|error| {
                ImportError::Output(format!("what was rejected cannot be written down: {error}"))
            })?;
        }
        stored
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::collections::HashMap;

    use kiosque_model::{GroupNo, Zone};

    use super::*;
    use crate::ndjson::{LineSize, RawLine};

    /// Devices and the numbers of their groups.
    pub(crate) fn groups() -> HashMap<String, GroupNo> {
        let groups = [("a1", 1), ("a2", 1), ("b1", 2), ("c1", 3)];
        groups.map(|(device, group)| (device.to_owned(), GroupNo(group))).into()
    }

    /// Orders from `ID@DEVICE`, each started a second before the one before it.
    pub(crate) fn prepared(orders: &[&str]) -> Vec<Prepared> {
        let lines = orders.iter().zip(1..).map(|(order, number)| {
            let (id, device) = order.split_once('@').expect("ID@DEVICE");
            let text = format!(
                r#"{{"orderId":"{id}","deviceCode":"{device}","currency":"USD","totalAmount":1,
                "tradeStartTime":"2026-03-01 10:00:{:02}"}}"#,
                59 - number
            );
            RawLine { number, text: text.replace('\n', " ").into(), size: LineSize::Whole }
        });
        let (zone, names, mut chunk) = (Zone::utc(), HashMap::new(), Chunk::default());
        check_block(lines.collect(), &zone, &names, &mut chunk);
        assert!(chunk.rejected.is_empty(), "{:?}", chunk.rejected);
        chunk.prepared
    }

    /// The order among devices is free; each device's own are by trade start, and what comes again
    /// comes last.
    #[test]
    fn orders_lie_by_group_and_begin_with_any_of_them() {
        let orders =
            ["1@c1", "2@a1", "3@b1", "4@a2", "3@b1", "5@a1", "6@x", "2@a1", "7@c1", "8@b1"];
        for (begins_with, stored) in [
            (None, "6 5 2 4 8 3 7 1 3 2"),
            (Some(1), "5 2 4 8 3 7 1 6 3 2"),
            (Some(2), "8 3 7 1 6 5 2 4 3 2"),
            (Some(3), "7 1 6 5 2 4 8 3 3 2"),
            (Some(4), "6 5 2 4 8 3 7 1 3 2"),
        ] {
            let mut turn = in_turn(prepared(&orders), &groups());
            if let Some(group) = begins_with {
                turn.begin_with(GroupNo(group), &groups());
            }
            let orders = turn.into_orders();
            let ids: Vec<_> = orders.iter().map(|one| one.incoming.order_id.as_str()).collect();
            assert_eq!(ids.join(" "), stored, "beginning with {begins_with:?}");
        }
    }
}
