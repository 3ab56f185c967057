//! Stores checked orders in short transactions with pauses, so that a server on the same data can
//! also write.

use std::sync::Arc;
use std::time::{Duration, Instant};

use kiosque_model::intake::OrderCounts;
use kiosque_model::{ActedBy, GroupNo};
use kiosque_store::{
    ArrivalNo, BatchPart, Incoming, OrderOutcome, Owners, ReceiveOptions, Received,
};

use super::{Import, ImportError, Progress, notify};
use crate::batch_size::{BATCH_START, Throughput, TransactionTime};
use crate::inconsistent_data::log_inconsistent_data;
use crate::rejected::Rejected;
use crate::storage_order::{CheckedOrder, StorageOrder, sort_for_storage};

/// The target duration of a transaction; other writers wait for at most about 20 ms.
const FILE_TIME: TransactionTime =
    TransactionTime { target: Duration::from_millis(14), longest: Duration::from_millis(14) };
/// The target duration on a database server, where only writers of the same groups wait.
const REMOTE_TIME: TransactionTime =
    TransactionTime { target: Duration::from_millis(14), longest: Duration::from_millis(250) };
/// The pause between two transactions. Another writer tries to lock the file every millisecond.
pub(crate) const PAUSE: Duration = Duration::from_millis(2);

/// Stores orders, whose sequence numbers follow trade start on each device. Adds those that the
/// store rejects to `rejected`.
pub(super) async fn store(
    import: &mut Import<'_>,
    orders: Vec<CheckedOrder>,
    rejected: &mut Vec<Rejected>,
) -> Result<(), ImportError> {
    let total = u64::try_from(orders.len()).unwrap_or(u64::MAX);
    let mut groups = import.store.fleet().snapshot().await?.groups_by_device;
    import.missing.check(import.store, import.clock.now(), &mut groups).await?;
    let StorageOrder { sorted, mut by_line } = sort_for_storage(orders, &groups);
    let owners = Arc::default();
    let time = if import.store.engine().is_file() { FILE_TIME } else { REMOTE_TIME };
    let size = BATCH_START;
    let throughput = Throughput::default();
    let (stored, done) = (0, 0);
    let mut writer =
        Writer { import, rejected, owners, size, throughput, time, stored, done, total };
    by_line.extend(writer.store(sorted, Sorting::ForLocality).await?);
    by_line.sort_unstable_by_key(|one| one.line);
    writer.store(by_line, Sorting::ByLine).await.map(|_| ())
}

/// How orders are sorted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sorting {
    ForLocality,
    ByLine,
}

/// An import in progress, between two transactions.
struct Writer<'i, 'a> {
    import: &'i mut Import<'a>,
    rejected: &'i mut Vec<Rejected>,
    owners: Arc<tokio::sync::Mutex<Owners>>,
    /// Orders of the next transaction.
    size: usize,
    throughput: Throughput,
    time: TransactionTime,
    /// Orders that are stored, new or not.
    stored: u64,
    /// Orders that are stored or rejected.
    done: u64,
    total: u64,
}

impl Writer<'_, '_> {
    /// Stores orders. Returns those that depend on earlier lines.
    async fn store(
        &mut self,
        orders: Vec<CheckedOrder>,
        sorting: Sorting,
    ) -> Result<Vec<CheckedOrder>, ImportError> {
        let mut deferred = Vec::new();
        let mut orders = orders.into_iter();
        loop {
            let (lines, batch): (Vec<_>, Vec<_>) =
                orders.by_ref().take(self.size).map(|one| (one.line, one.incoming)).unzip();
            if batch.is_empty() {
                return Ok(deferred);
            }
            let begun = Instant::now();
            let batch = Arc::new(batch);
            let Received { outcomes, groups, .. } = self.receive(&lines, &batch, sorting).await?;
            log_inconsistent_data(&outcomes);
            let done = (batch.len(), begun.elapsed());
            self.size = self.throughput.next_size(self.size, done, self.time);
            let orders = lines.into_iter().zip(&*batch).zip(groups);
            for (((line, incoming), group), outcome) in orders.zip(outcomes) {
                if outcome == OrderOutcome::Deferred {
                    deferred.push(CheckedOrder { line, incoming: incoming.clone() });
                } else {
                    self.stored += u64::from(outcome.is_stored());
                    self.done += 1;
                    self.record(line, incoming, group, outcome)?;
                }
            }
            let Writer { stored, done, total, .. } = *self;
            notify(self.import.observer, Progress::Stored { stored, done, total })?;
            if !self.import.store.engine().is_dry_run() {
                tokio::time::sleep(PAUSE).await;
            }
        }
    }

    async fn receive(
        &mut self,
        lines: &[u64],
        batch: &Arc<Vec<Incoming>>,
        sorting: Sorting,
    ) -> Result<Received, ImportError> {
        let all = usize::MAX;
        let sorted = if sorting == Sorting::ForLocality { all } else { 0 };
        let arrival = self.import.run.import.map(ArrivalNo::of_import);
        let whole = BatchPart { orders: 0..all, sorted, orders_max: all, arrival };
        let now = self.import.clock.now();
        let options = ReceiveOptions { parts: vec![whole], ..ReceiveOptions::at(now) };
        let store = self.import.store;
        let batch = Arc::clone(batch);
        let intake = store.intake();
        let Some(needed) = self.import.missing.of_lines(lines) else {
            return Ok(intake.receive(batch, Arc::clone(&self.owners), options).await?);
        };
        let by = ActedBy::run(self.import.run.clone(), now);
        let of_orders = needed.of_orders.clone();
        let received = intake.receive_creating(batch, needed, options, by).await?;
        self.import.missing.created(&of_orders, &received.outcomes);
        Ok(received)
    }

    /// Counts an order of a group, or adds it to the rejected ones.
    fn record(
        &mut self,
        line: u64,
        incoming: &Incoming,
        group: Option<GroupNo>,
        outcome: OrderOutcome,
    ) -> Result<(), ImportError> {
        let count: fn(&mut OrderCounts) -> &mut u64 = match outcome {
            OrderOutcome::Accepted => |counts| &mut counts.accepted,
            OrderOutcome::Updated => |counts| &mut counts.updated,
            OrderOutcome::Unchanged => |counts| &mut counts.unchanged,
            OrderOutcome::Rejected(reason) | OrderOutcome::Inconsistent(reason) => {
                self.rejected.push(self.import.rejected(line, incoming, &reason));
                return Ok(());
            }
            // An import waits for locks, and decides whole batches.
            OrderOutcome::Deferred | OrderOutcome::GroupLocked | OrderOutcome::NotReached => {
                return Ok(());
            }
        };
        *count(self.import.by_group.entry(group).or_default()) += 1;
        if let (Some(orders), Some(group)) = (&mut self.import.file_orders, group) {
            orders.add(line, incoming, group)?;
        }
        Ok(())
    }
}
