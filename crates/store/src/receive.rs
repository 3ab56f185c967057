//! How orders come in: a batch at a time, all in one transaction. New orders take the next sequence
//! numbers of their (group, device); the same order again is an update, or nothing at all.
//!
//! Group by group: lock it, read all that is known of what comes in, decide order by order, write
//! all that became of it. So a batch costs a handful of statements on an engine that takes many
//! rows at once.

mod group_writer;
mod order_state;

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::future::try_join_all;
use kiosque_model::{GroupNo, UnixMs, Zone};

use crate::cooperative::yield_if_due;
use crate::db::{Length, Write};
use crate::record::{Incoming, RecordShape};
use crate::{Error, Store, owners};

pub use crate::owners::Owners;
use crate::owners::Ownership;
pub(crate) use group_writer::ALL;
use group_writer::GroupWriter;

/// What a derived internal trade number begins with. Nobody's own numbers do.
const DERIVED: &str = "oid:";

/// The internal trade number of an order that came without one.
#[must_use]
pub fn derived_trade_no_in(order_id: &str) -> String {
    format!("{DERIVED}{order_id}")
}

/// The order whose derived internal trade number this is.
pub(crate) fn order_id_of(trade_no_in: &str) -> Option<&str> {
    trade_no_in.strip_prefix(DERIVED)
}

/// What became of an order that came in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// New.
    Accepted,
    /// Changed.
    Updated,
    /// As it was.
    Unchanged,
    /// Not kept, and why.
    Rejected(String),
}

impl Store {
    /// Takes a batch in, in its order, durably. What is rejected leaves the rest
    /// alone. The caller chooses batches that take no longer than others may wait.
    ///
    /// # Errors
    /// The store failed; then nothing of the batch was taken in.
    pub async fn receive<B: AsRef<[Incoming]> + Send + Sync + ?Sized + 'static>(
        &self,
        batch: Arc<B>,
        owners: Arc<tokio::sync::Mutex<Owners>>,
        now: UnixMs,
    ) -> Result<Vec<Outcome>, Error> {
        let (zone, shape) = (self.zone.clone(), Arc::clone(&self.shape));
        self.db
            .write(Length::Short, async move |write| {
                let mut owners = owners.lock().await;
                let intake = Intake { write, now, zone: &zone, shape: &*shape };
                intake.take((*batch).as_ref(), &mut owners).await
            })
            .await
    }
}

/// Orders of one group, by their places in the batch, each with its device's owners.
type OfGroup<'a> = Vec<(usize, &'a Incoming, Ownership)>;

/// What a batch is taken in with.
struct Intake<'a> {
    write: &'a Write<'a>,
    now: UnixMs,
    zone: &'a Zone,
    shape: &'a dyn RecordShape,
}

impl Intake<'_> {
    async fn take(&self, batch: &[Incoming], owners: &mut Owners) -> Result<Vec<Outcome>, Error> {
        let mut outcomes = vec![Outcome::Accepted; batch.len()];
        let by_group = loop {
            owners.refresh(self.write).await?;
            owners.learn(self.write, batch.iter().map(|order| order.device_code.as_str())).await?;
            let by_group = addressed(batch, owners, &mut outcomes);
            let groups: Vec<GroupNo> = by_group.keys().copied().collect();
            owners::lock_groups(self.write, &groups).await?;
            // A device may have moved before the groups were locked; it cannot from now on.
            if owners.are_fresh(self.write).await? {
                break by_group;
            }
        };
        // What can be asked, or written, of all groups goes on its way together.
        let opening =
            by_group.iter().map(|(group, orders)| GroupWriter::open(self, *group, orders));
        let mut desks = try_join_all(opening).await?;
        for (desk, orders) in desks.iter_mut().zip(by_group.values()) {
            for (place, order, owned) in orders {
                yield_if_due();
                let outcome = desk.take(order, owned).await?;
                if let Some(told) = outcomes.get_mut(*place) {
                    *told = outcome;
                }
            }
        }
        try_join_all(desks.iter().map(GroupWriter::close)).await?;
        Ok(outcomes)
    }
}

/// Whose each order is; what is nobody's is rejected here.
fn addressed<'a>(
    batch: &'a [Incoming],
    owners: &Owners,
    outcomes: &mut [Outcome],
) -> BTreeMap<GroupNo, OfGroup<'a>> {
    let mut by_group: BTreeMap<GroupNo, OfGroup<'a>> = BTreeMap::new();
    for ((place, order), outcome) in batch.iter().enumerate().zip(outcomes) {
        yield_if_due();
        let Some(owned) = owners.known(order.device_code.as_str()) else {
            *outcome = reject("deviceCode", &format!("no device {} is known", order.device_code));
            continue;
        };
        match owned.owner_at(order.trade_start) {
            Some(group) => by_group.entry(group).or_default().push((place, order, owned.clone())),
            None => *outcome = reject("deviceCode", "the device has no owner"),
        }
    }
    by_group
}

fn reject(field: &str, reason: &str) -> Outcome {
    Outcome::Rejected(format!("{field}: {reason}"))
}
