//! Origins of orders. An arrival is an import, or the orders that a key streams to a node within
//! some minutes. A new order has the number of its arrival, which updates do not change. So the
//! source of an order takes a number in its row, and a source one row every few minutes.

use kiosque_model::{GroupId, HistoryId, KeyName, OrderId, UnixMs};

use crate::accounts::group_number;
use crate::db::{Deadline, Read, Write};
use crate::error::Error;
use crate::metadata;
use crate::sql::{row, statements};
use crate::views::Intake;

row! {
    struct ArrivalRow {
        at_ms: UnixMs,
        key_name: Option<String>,
        node: Option<String>,
    }
}

statements! {
    BEGIN(arrival_no, at_ms, key_name, node) = "insert into arrivals
            (arrival_no, at_ms, key_name, node)
        values ($arrival_no, $at_ms, $key_name, $node)";
    OF_ORDER(group_no, order_id) -> Option<i64> = "select arrival_no from orders
        where group_no = $group_no and order_id = $order_id";
    ARRIVAL(arrival_no) -> ArrivalRow = "select at_ms, key_name, node from arrivals
        where arrival_no = $arrival_no";
    OLDEST() -> UnixMs = "select at_ms from arrivals order by arrival_no limit 1";
    /// Deletes old arrivals, up to the first one that is not old.
    PURGE(before_ms, most) = "delete from arrivals where arrival_no in (
        select arrival_no from arrivals
        where arrival_no < coalesce((select arrival_no from arrivals where at_ms >= $before_ms
            order by arrival_no limit 1), 9223372036854775807)
        order by arrival_no limit $most)";
}

/// The time for which the orders that a key streams to a node are one arrival, in milliseconds.
pub const ARRIVAL_MAX_MS: i64 = 10 * 60_000;

/// The number of an arrival, with the history in which an arrival of streams began. In another one
/// its start may be lost, and its number may be another arrival's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArrivalNo {
    number: i64,
    history: Option<HistoryId>,
}

impl ArrivalNo {
    /// Returns the arrival that an import is. An import fails together with its database server.
    pub fn of_import(number: i64) -> ArrivalNo {
        ArrivalNo { number, history: None }
    }

    /// Returns the number, unless it may be another arrival's in this history.
    pub(crate) fn in_history(self, history: HistoryId) -> Option<i64> {
        self.history.is_none_or(|begun_in| begun_in == history).then_some(self.number)
    }
}

/// A source of orders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OrderSource {
    /// An import with this number.
    Import(i64),
    /// Streams with a key.
    Stream {
        /// The name of the key.
        key_name: String,
        /// The host name of the node, if known.
        node: Option<String>,
    },
}

/// The arrival of an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The time when orders with the same arrival began to come in.
    pub since: UnixMs,
    /// Their source.
    pub source: OrderSource,
}

impl Intake<'_> {
    /// Stores the start of an arrival of orders that a key streams to a node. Orders with this
    /// arrival are received as [`crate::BatchPart::arrival`].
    ///
    /// # Errors
    /// The store failed.
    pub async fn begin_arrival(
        self,
        key: KeyName,
        node: Option<String>,
        now: UnixMs,
    ) -> Result<ArrivalNo, Error> {
        let opening = self.0.opening;
        let begin = async move |write: &Write<'_>| {
            let number = metadata::take(write, metadata::ARRIVALS, 1).await?;
            let (key, node) = (key.as_str(), node.as_deref());
            let params = [number.into(), now.into(), key.into(), node.into()];
            write.execute(&BEGIN, &params).await?;
            Ok(ArrivalNo { number, history: Some(opening.history(write)) })
        };
        self.0.db.write(Deadline::OfRequest, begin).await
    }

    /// Returns when the oldest arrival began.
    ///
    /// # Errors
    /// The store failed.
    pub async fn oldest_arrival(self) -> Result<Option<UnixMs>, Error> {
        self.0.db.one(&OLDEST, &[]).await
    }

    /// Deletes the arrivals that began before `before`, the oldest first: their orders remain,
    /// without a source. Returns their number.
    ///
    /// # Errors
    /// The store failed; arrivals purged so far stay purged.
    pub async fn purge_arrivals(self, before: UnixMs) -> Result<u64, Error> {
        self.0.db.purge(&PURGE, before).await
    }

    /// Returns the arrival of a group's order by id; `None` if unknown.
    ///
    /// # Errors
    /// The store failed.
    pub async fn arrival_of(
        self,
        group: GroupId,
        order: OrderId,
    ) -> Result<Option<Arrival>, Error> {
        let find = async move |read: &Read<'_>| {
            let Some(group) = group_number(read, &group).await? else { return Ok(None) };
            let order = [group.into(), order.as_str().into()];
            let number: Option<Option<i64>> = read.one(&OF_ORDER, &order).await?;
            let Some(number) = number.flatten() else { return Ok(None) };
            let row: Option<ArrivalRow> = read.one(&ARRIVAL, &[number.into()]).await?;
            Ok(row.map(|ArrivalRow { at_ms: since, key_name, node }| {
                let source = match key_name {
                    Some(key_name) => OrderSource::Stream { key_name, node },
                    None => OrderSource::Import(number),
                };
                Arrival { since, source }
            }))
        };
        self.0.db.read(Deadline::OfRequest, find).await
    }
}
