//! Stores batches of orders, each in one transaction. New orders take the next sequence numbers of
//! their (group, device). An order whose id is stored already is an update, or changes nothing.
//!
//! For each group of a batch: lock it, read the stored state of its orders, apply order by order,
//! and write the changes. A batch costs a handful of statements on PostgreSQL, which takes many
//! rows at once.

mod group_writer;
mod order_row;
mod order_state;

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::future::try_join_all;
use kiosque_model::{GroupNo, UnixMs, Zone};

use crate::cooperative::yield_if_due;
use crate::db::{Deadline, Write};
use crate::orders::record::Incoming;
use crate::sql::Sql;
use crate::{Error, Store, owners};

pub use crate::owners::Owners;
use crate::owners::Ownership;
use group_writer::GroupWriter;

/// Every statement of this module's parts.
pub(crate) fn all() -> impl Iterator<Item = &'static Sql> {
    [group_writer::ALL, order_row::ALL].into_iter().flatten().copied()
}

/// The outcome of an order of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OrderOutcome {
    /// It is new, and stored.
    Accepted,
    /// It replaced the stored order.
    Updated,
    /// It equals the stored order.
    Unchanged,
    /// It is not stored, for this reason.
    Rejected(String),
}

impl Store {
    /// Stores a batch in its order, durably. A rejected order does not affect the others. The
    /// caller bounds the size of a batch, since other writers wait for it. Returns one outcome per
    /// order.
    ///
    /// # Errors
    /// The store failed; then no order of the batch was stored.
    pub async fn receive<B: AsRef<[Incoming]> + Send + Sync + ?Sized + 'static>(
        &self,
        batch: Arc<B>,
        owners: Arc<tokio::sync::Mutex<Owners>>,
        now: UnixMs,
    ) -> Result<Vec<OrderOutcome>, Error> {
        let zone = self.zone.clone();
        self.db
            .write(Deadline::OfRequest, async move |write| {
                let mut owners = owners.lock().await;
                let writer = BatchWriter { write, now, zone: &zone };
                writer.write((*batch).as_ref(), &mut owners).await
            })
            .await
    }
}

/// Orders of one group, each with its index in the batch and the owners of its device.
type GroupOrders<'a> = Vec<(usize, &'a Incoming, Ownership)>;

/// The transaction of a batch, and the context that its groups share.
struct BatchWriter<'a> {
    write: &'a Write<'a>,
    now: UnixMs,
    zone: &'a Zone,
}

impl BatchWriter<'_> {
    async fn write(
        &self,
        batch: &[Incoming],
        owners: &mut Owners,
    ) -> Result<Vec<OrderOutcome>, Error> {
        let mut outcomes = vec![OrderOutcome::Accepted; batch.len()];
        let by_group = loop {
            owners.refresh(self.write).await?;
            owners.load(self.write, batch.iter().map(|order| order.device_code.as_str())).await?;
            let by_group = assign_groups(batch, owners, &mut outcomes);
            let groups: Vec<GroupNo> = by_group.keys().copied().collect();
            owners::lock_groups(self.write, &groups).await?;
            // A device may have moved before the groups were locked, but not any more.
            if owners.are_current(self.write).await? {
                break by_group;
            }
        };
        // The statements of all groups are pipelined.
        let loads = by_group.iter().map(|(group, orders)| GroupWriter::load(self, *group, orders));
        let mut writers = try_join_all(loads).await?;
        for (writer, orders) in writers.iter_mut().zip(by_group.values()) {
            for (index, order, ownership) in orders {
                yield_if_due();
                let outcome = writer.apply(order, ownership).await?;
                if let Some(slot) = outcomes.get_mut(*index) {
                    *slot = outcome;
                }
            }
        }
        try_join_all(writers.iter().map(GroupWriter::write)).await?;
        Ok(outcomes)
    }
}

/// Assigns each order to the group that owned its device at the start of the trade. Rejects orders
/// without an owner.
fn assign_groups<'a>(
    batch: &'a [Incoming],
    owners: &Owners,
    outcomes: &mut [OrderOutcome],
) -> BTreeMap<GroupNo, GroupOrders<'a>> {
    let mut by_group: BTreeMap<GroupNo, GroupOrders<'a>> = BTreeMap::new();
    for ((index, order), outcome) in batch.iter().enumerate().zip(outcomes) {
        yield_if_due();
        let Some(ownership) = owners.get(order.device_code.as_str()) else {
            *outcome = reject("deviceCode", &format!("no device {} is known", order.device_code));
            continue;
        };
        match ownership.owner_at(order.trade_start) {
            Some(group) => {
                by_group.entry(group).or_default().push((index, order, ownership.clone()));
            }
            None => *outcome = reject("deviceCode", "the device has no owner"),
        }
    }
    by_group
}

fn reject(field: &str, reason: &str) -> OrderOutcome {
    OrderOutcome::Rejected(format!("{field}: {reason}"))
}
