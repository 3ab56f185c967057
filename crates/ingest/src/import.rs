//! Imports an order file: reads and checks its orders, sorts them by trade start, and stores them
//! in short transactions, so that a server on the same data can keep working. Invalid lines are
//! reported and skipped; the other orders are stored.

mod alike;
mod missing_entries;
mod ndjson_chunk;
mod preview;
mod report;
mod write;

use std::collections::BTreeMap;
use std::io;
use std::ops::ControlFlow;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use kiosque_contract::{AuditDetails, ImportedGroup};
use kiosque_model::GroupNo;
use kiosque_model::audit::{AuditEvent, CommandRun};
use kiosque_model::intake::OrderCounts;
use kiosque_model::order::Order;
use kiosque_store::{Act, ApplyError, Error, Incoming, ProductNames, Store};

use super::csv::RowsOfOrders;
use super::file_kind;
use super::given_order::DateRules;
use super::rejected::Rejected;
use super::storage_order::CheckedOrder;
use super::unknown_keys::{UnknownKeys, add_to_list, shown};
use kiosque_clock::Clock;

use alike::check_opening;
use missing_entries::MissingEntries;
use ndjson_chunk::LineChecks;
pub(super) use ndjson_chunk::check_block;
use preview::FileOrders;
pub use preview::{Preview, Total};
pub use report::import_report;
pub(super) use write::PAUSE;

/// The rules by which an import accepts orders.
#[derive(Clone, Copy, Debug)]
pub struct ImportRules {
    /// The maximum time by which a date of an order may be in the future.
    pub lead_max: Duration,
    /// Whether doubtful lines and files are accepted.
    pub strictness: Strictness,
}

/// How an import treats unknown keys, a last line without a line end, and empty files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strictness {
    /// They are imported and noted.
    Lenient,
    /// An order with an unknown key is rejected, and so is an order on a last line without a line
    /// end. An empty file is an error.
    Strict,
}

/// Number of lines that are sorted together. A longer file is sorted in parts.
pub const LINES_TOGETHER: usize = 1_000_000;

/// Why an import ended early. The orders stored so far remain; importing the file again stores the
/// others.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The file cannot be read.
    #[error("the file cannot be read: {0}")]
    Input(#[from] io::Error),
    /// The rejected file, or the progress, cannot be written.
    #[error("{0}")]
    Output(String),
    /// The file is of another kind, has no orders, or does not fit its mapping or the stored data.
    #[error("{0}")]
    Refused(String),
    /// The devices or products of the report could not be created.
    #[error("{0}")]
    Fleet(#[from] ApplyError),
    /// The store failed.
    #[error("{0}")]
    Store(#[from] Error),
    /// A thread that checks lines ended prematurely.
    #[error("a thread that checks lines ended prematurely")]
    Worker,
    /// The observer ended the import.
    #[error("the import was interrupted")]
    Interrupted,
}

/// The result of an import.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Imported {
    /// The orders, by outcome.
    pub counts: OrderCounts,
    /// Lines of the file that are not blank, or rows of the report.
    pub lines: u64,
    /// The last line, if it has no line end and the import is not strict.
    pub cut_line: Option<u64>,
    /// Unknown keys, which are ignored; each once, as a stream lists them.
    pub unknown_keys: Vec<String>,
    /// Rows that the mapping skips, by the rule that skips them.
    pub left_out: Vec<(String, u64)>,
    /// The orders that were stored, by the group that owns them; sorted by its id.
    pub groups: Vec<ImportedGroup>,
    /// Further results of a dry run; `None` if the orders are stored.
    pub preview: Option<Preview>,
}

impl Imported {
    /// Returns the entry of the audit trail.
    pub fn act(&self) -> Act {
        let OrderCounts { accepted, updated, unchanged, rejected } = self.counts;
        let details = AuditDetails {
            accepted: Some(accepted),
            updated: Some(updated),
            unchanged: Some(unchanged),
            rejected: Some(rejected),
            groups: self.groups.clone(),
            ..AuditDetails::default()
        };
        Act::new(AuditEvent::OrdersImported, details)
    }
}

/// The progress of an import.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Lines read so far.
    Read(u64),
    /// Numbers of orders in this part of the file.
    Stored {
        /// Orders that are stored, new or not.
        stored: u64,
        /// Orders that are stored or rejected.
        done: u64,
        /// All orders.
        total: u64,
    },
}

/// Receives the progress and the rejected lines of an import.
pub trait ImportObserver {
    /// Receives a line that was not stored. Lines are in order within each [`LINES_TOGETHER`].
    ///
    /// # Errors
    /// A rejected line cannot be written; the import ends.
    fn rejected(&mut self, rejected: &Rejected) -> io::Result<()>;
    /// Receives the progress, between two transactions. `Break` ends the import with
    /// [`ImportError::Interrupted`].
    fn progress(&mut self, progress: Progress) -> ControlFlow<()>;
}

/// Checked lines that are sorted together.
#[derive(Debug, Default)]
pub(super) struct Chunk {
    pub(super) orders: Vec<CheckedOrder>,
    pub(super) rejected: Vec<Rejected>,
    pub(super) unknown_keys: UnknownKeys,
}

impl Chunk {
    /// Returns the number of lines.
    fn lines(&self) -> usize {
        self.orders.len() + self.rejected.len()
    }
}

/// An import in progress.
pub struct Import<'a> {
    store: &'a Store,
    clock: &'a Clock,
    observer: &'a mut dyn ImportObserver,
    names: Arc<ProductNames>,
    missing: MissingEntries,
    /// The rows of the orders of a report; `None` for an order file.
    rows: Option<RowsOfOrders>,
    /// The origin of the orders, and of the devices and products that are created.
    run: CommandRun,
    done: Imported,
    /// The orders that were stored, by the group that owns them.
    by_group: BTreeMap<Option<GroupNo>, OrderCounts>,
    /// The orders of the file, in a dry run.
    file_orders: Option<FileOrders>,
}

/// Passes the progress to the observer, which may end the import.
fn notify(observer: &mut dyn ImportObserver, progress: Progress) -> Result<(), ImportError> {
    match observer.progress(progress) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(ImportError::Interrupted),
    }
}

/// Imports NDJSON. `run` is the origin of the orders.
///
/// # Errors
/// The file is of another kind, or cannot be read, or the store failed.
pub async fn import_ndjson(
    store: &Store,
    clock: &Clock,
    rules: ImportRules,
    mut input: impl io::BufRead,
    run: &CommandRun,
    observer: &mut dyn ImportObserver,
) -> Result<Imported, ImportError> {
    if let Some(kind) = other_kind(input.fill_buf()?) {
        return Err(ImportError::Refused(kind));
    }
    let mut import = Import::start(store, clock, run, observer).await?;
    let mut lines = super::ndjson::RawLines::new(input);
    let mut is_opening = true;
    loop {
        let dates = DateRules { zone: store.zone(), now: clock.now(), lead_max: rules.lead_max };
        let checks = LineChecks { dates, names: &import.names, strictness: rules.strictness };
        let opening = if is_opening { checks.opening(&mut lines)? } else { checks.chunk() };
        is_opening = false;
        check_opening(store, &import.missing, &opening).await?;
        let mut chunk = checks
            .read(&mut lines, opening, &mut |read| notify(import.observer, Progress::Read(read)))?;
        if chunk.lines() == 0 {
            break;
        }
        import.done.lines += u64::try_from(chunk.lines()).unwrap_or(u64::MAX);
        import.note_cut_line(lines.cut_line(), rules.strictness, &mut chunk);
        import.store_chunk(chunk).await?;
    }
    import.finish(rules.strictness).await
}

fn other_kind(head: &[u8]) -> Option<String> {
    if let Some(kind) = file_kind::binary(head) {
        return Some(format!("the file {kind}"));
    }
    let advice = "the file looks like a CSV report; give its mapping with --map MAPPING.toml";
    file_kind::is_csv(head).then(|| advice.to_owned())
}

/// Imports orders from memory. Their line numbers are their positions in the list.
///
/// # Errors
/// The store failed.
pub async fn import_orders(
    store: &Store,
    clock: &Clock,
    orders: Vec<Order>,
    observer: &mut dyn ImportObserver,
) -> Result<Imported, ImportError> {
    let mut import = Import::start(store, clock, &CommandRun::default(), observer).await?;
    let mut chunk = Chunk::default();
    for (line, order) in (1..).zip(orders) {
        let incoming = Incoming::of(order, store.zone(), &import.names)?;
        chunk.orders.push(CheckedOrder { line, incoming });
    }
    import.store_chunk(chunk).await?;
    import.finish(Strictness::Lenient).await
}

impl<'a> Import<'a> {
    async fn start(
        store: &'a Store,
        clock: &'a Clock,
        run: &CommandRun,
        observer: &'a mut dyn ImportObserver,
    ) -> Result<Import<'a>, ImportError> {
        Ok(Import {
            store,
            clock,
            observer,
            names: Arc::new(store.fleet().snapshot().await?.product_names),
            missing: MissingEntries::default(),
            rows: None,
            run: run.clone(),
            done: Imported::default(),
            by_group: BTreeMap::new(),
            file_orders: store.engine().is_dry_run().then(FileOrders::default),
        })
    }

    /// Returns the result, with the ids of the groups.
    async fn finish(mut self, strictness: Strictness) -> Result<Imported, ImportError> {
        if strictness == Strictness::Strict && self.done.lines == 0 {
            return Err(ImportError::Refused("the file has no orders".to_owned()));
        }
        if !self.by_group.is_empty() {
            let mut ids = self.store.inventory().group_ids().await?;
            for (group, counts) in self.by_group {
                self.done.counts.add(counts);
                let Some(group) = group else { continue };
                let group_id = ids.remove(&group).unwrap_or_default();
                let OrderCounts { accepted, updated, unchanged, .. } = counts;
                self.done.groups.push(ImportedGroup { group_id, accepted, updated, unchanged });
            }
            self.done.groups.sort_unstable_by(|one, other| one.group_id.cmp(&other.group_id));
        }
        if let Some(orders) = self.file_orders {
            self.done.preview = Some(orders.preview(self.store, &self.missing).await?);
        }
        Ok(self.done)
    }

    /// Notes a last line without a line end. A strict import rejects its order instead: the file
    /// may be cut off within a number.
    fn note_cut_line(&mut self, cut: Option<u64>, strictness: Strictness, chunk: &mut Chunk) {
        let Some(cut) = cut else { return };
        if strictness == Strictness::Lenient {
            self.done.cut_line = Some(cut);
            return;
        }
        let line = self.rows.as_ref().map_or(Some(cut), |rows| rows.first_line_of(cut));
        let at = chunk.orders.iter().rposition(|order| Some(order.line) == line);
        if let Some(at) = at {
            let CheckedOrder { line, incoming } = chunk.orders.remove(at);
            let reason = "the last line has no line end; the file may be cut off";
            chunk.rejected.push(self.rejected(line, &incoming, reason));
        }
    }

    async fn store_chunk(&mut self, chunk: Chunk) -> Result<(), ImportError> {
        add_to_list(&mut self.done.unknown_keys, shown(chunk.unknown_keys.into_ignored()));
        let mut rejected = chunk.rejected;
        // Boxed, so that its code is generated in this crate, which is optimized for speed, not in
        // the program, which is optimized for size.
        let storing: Pin<Box<dyn Future<Output = _> + '_>> =
            Box::pin(write::store(self, chunk.orders, &mut rejected));
        let stored = storing.await;
        rejected.sort_by_key(|one| one.line);
        for one in &rejected {
            self.done.counts.rejected += 1;
            self.observer.rejected(one).map_err(|error| {
                ImportError::Output(format!(
                    "the rejected line {} cannot be written: {error}; \
                     specify another file with --rejected FILE",
                    one.line
                ))
            })?;
        }
        stored
    }
}
