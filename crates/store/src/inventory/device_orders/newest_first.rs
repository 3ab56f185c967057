//! The orders of a group, or of all groups, that match a filter, by the time at which they count,
//! the newest first.
//!
//! Sales are found by the index of sale times, which has their states; other orders, which are few,
//! by the index of their trade starts. Only the records of returned orders are read. The indexes of
//! all groups are merged. They are read in chunks, several indexes at a time.

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::sync::Arc;

use kiosque_contract::inventory::OrderItem;
use kiosque_model::order::PayStatus;
use kiosque_model::sales::sale_at;
use kiosque_model::{DeviceNo, GroupId, GroupNo, UnixMs};

use super::{ListedOrder, listed_order_columns};
use crate::accounts::group_numbers;
use crate::db::{Bound, Read};
use crate::dictionaries;
use crate::error::Error;
use crate::inventory::orders::{OrderFilter, SEARCHED_MAX};
use crate::listing::{Listed, Listing};
use crate::orders::Span;
use crate::record::dictionaries::Dictionaries;
use crate::record::sale_figures;
use crate::record::stored::{StoredOrder, order_columns};
use crate::sql::{Row, Sql, Value, row, statements};
use crate::views::Inventory;

row! {
    struct EntryRow<'r> { at_ms: UnixMs, device_no: DeviceNo, seq: i64, sale: &'r [u8] }
}

/// Selects the entries of an index of times that come before a position, in the order of the index,
/// so that nothing is sorted.
macro_rules! entries {
    ($at:literal, $that:literal) => {
        concat!(
            "select ",
            $at,
            " as at_ms, device_no, seq, sale
            from orders
            where group_no = $group_no and ",
            $that,
            " and ",
            $at,
            " >= $start_ms
                and (",
            $at,
            ", device_no, seq) < ($at_ms, $device_no, $seq)
            order by ",
            $at,
            " desc, device_no desc, seq desc limit $count"
        )
    };
}

statements! {
    SALES(group_no, start_ms, at_ms, device_no, seq, count) -> EntryRow<'_> =
        entries!("sale_at_ms", "sale_at_ms is not null");
    UNSOLD(group_no, start_ms, at_ms, device_no, seq, count) -> EntryRow<'_> =
        entries!("trade_start_ms", "sale_at_ms is null");
    RECORDS() -> ListedOrder<'_> = concat!(
        "select ", listed_order_columns!(), "
        from {rows r: group_no bigint, device_no bigint, seq bigint} cross join orders o
        where o.group_no = r.group_no and o.device_no = r.device_no and o.seq = r.seq");
}

/// The maximum number of entries that one statement reads.
const CHUNK_MAX: usize = 8_192;
/// The number of indexes whose next entries are read together, after the first entries of all of
/// them: those that come first, so that a busy group among many is read in large parts.
const TOGETHER: usize = 16;

/// The position of an order in the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderPlace {
    /// The time at which it counts.
    pub at: UnixMs,
    /// The number of its group.
    pub group: GroupNo,
    /// The number of its device.
    pub device: DeviceNo,
    /// Its sequence number.
    pub seq: i64,
}

impl Inventory<'_> {
    /// Returns a part of the orders of a group, or of all groups, that match a filter, the newest
    /// first. A part may have fewer orders than its limit without being the last one.
    ///
    /// # Errors
    /// The store failed.
    pub async fn orders_newest_first(
        self,
        group: Option<GroupId>,
        filter: OrderFilter,
        listing: Listing<OrderPlace>,
    ) -> Result<Listed<OrderItem, OrderPlace>, Error> {
        let list = async move |read: &Read<'_>, dictionaries: &Arc<Dictionaries>| {
            let groups = group_numbers(read, group.as_ref()).await?;
            let Listed { entries, next } =
                places(read, &groups, &Arc::new(filter), &listing).await?;
            Ok(Listed { entries: orders(read, dictionaries, &entries).await?, next })
        };
        dictionaries::read_records(self.0, list).await
    }
}

/// Returns the positions of the orders of a part.
async fn places(
    read: &Read<'_>,
    groups: &[GroupNo],
    filter: &Arc<OrderFilter>,
    listing: &Listing<OrderPlace>,
) -> Result<Listed<OrderPlace, OrderPlace>, Error> {
    let has_sales = |payment: &PayStatus| sale_at(Some(UnixMs(0)), *payment).is_some();
    let payments = if filter.payment.is_empty() { PayStatus::ALL } else { &filter.payment };
    let sales = Some(&SALES).filter(|_| payments.iter().any(has_sales));
    let unsold = Some(&UNSOLD).filter(|_| !payments.iter().all(has_sales));
    let indexes: Vec<&'static Sql> = sales.into_iter().chain(unsold).collect();
    let index = |group: GroupNo, sql| Index {
        sql,
        start: filter.counted.map_or(UnixMs(i64::MIN), |span| span.start),
        after: first_place(group, filter.counted, listing.after),
        found: VecDeque::new(),
        is_read: false,
    };
    let of_group = |group: &GroupNo| {
        let group = *group;
        indexes.iter().map(move |sql| index(group, sql))
    };
    let mut indexes: Vec<Index> = groups.iter().flat_map(of_group).collect();
    // Most entries of the first chunks are left out if there are many groups.
    let first_chunk = (4 * (listing.limit + 1) / indexes.len().max(1)).clamp(1, listing.limit + 1);
    let mut places = Vec::new();
    let mut searched = 0;
    let mut chunk = first_chunk;
    while places.len() <= listing.limit {
        let unfinished = indexes.iter_mut().filter(|index| !index.is_finished());
        let Some(index) = unfinished.min_by_key(|index| index.next().key()) else { break };
        match index.found.pop_front() {
            Some(place) => places.push(place),
            None if searched < SEARCHED_MAX => {
                let empty = indexes.iter_mut().filter(|index| index.is_empty());
                let mut empty: Vec<&mut Index> = empty.collect();
                if searched > 0 {
                    empty.sort_by_key(|index| index.next().key());
                    empty.truncate(TOGETHER);
                }
                // Each part makes progress, however many indexes there are.
                let most = ((SEARCHED_MAX - searched) / empty.len().max(1)).clamp(1, CHUNK_MAX);
                searched += read_chunks(read, filter, &mut empty, chunk.min(most)).await?;
                chunk = (chunk * 2).min(CHUNK_MAX);
            }
            None => return Ok(Listed { entries: places, next: Some(index.after) }),
        }
    }
    Ok(listing.cut(places, |place| *place))
}

/// Finds orders among the next entries of indexes, and returns the number of entries that it has
/// read.
async fn read_chunks(
    read: &Read<'_>,
    filter: &Arc<OrderFilter>,
    indexes: &mut [&mut Index],
    chunk: usize,
) -> Result<usize, Error> {
    let chunks = indexes.iter().map(|index| {
        let (group, filter) = (index.after.group, Arc::clone(filter));
        index.bind(chunk).fold(Vec::new(), move |entries: &mut Vec<_>, row: &Row<'_>| {
            let EntryRow { at_ms: at, device_no: device, seq, sale } = row.read()?;
            // The record of an order with invalid states is read, which reports that it is damaged.
            let states = sale_figures::states(sale);
            let is_included = states.is_none_or(|states| filter.has_states(states));
            entries.push((OrderPlace { at, group, device, seq }, is_included));
            Ok(())
        })
    });
    let chunks = read.together(chunks.collect::<Vec<_>>()).await?;
    let mut searched = 0;
    for (index, entries) in indexes.iter_mut().zip(chunks) {
        searched += entries.len();
        index.after = entries.last().map_or(index.after, |(place, _)| *place);
        index.is_read = entries.len() < chunk;
        let included = entries.into_iter().filter(|(_, is_included)| *is_included);
        index.found.extend(included.map(|(place, _)| place));
    }
    Ok(searched)
}

/// Returns the position after which the orders of a group are listed.
fn first_place(group: GroupNo, span: Option<Span>, after: Option<OrderPlace>) -> OrderPlace {
    let end = span.map_or(UnixMs(i64::MAX), |span| span.end);
    let before = |at| OrderPlace { at, group, device: DeviceNo(-1), seq: -1 };
    match after.filter(|after| after.at < end) {
        None => before(end),
        Some(after) if group == after.group => after,
        Some(after) if group > after.group => before(after.at),
        // Orders of the same time have not been listed yet.
        Some(after) => OrderPlace { device: DeviceNo(i64::MAX), seq: i64::MAX, ..before(after.at) },
    }
}

/// An index of a group, while it is read.
struct Index {
    sql: &'static Sql,
    start: UnixMs,
    /// Every order up to this position has been found.
    after: OrderPlace,
    /// Orders that are not in the part yet.
    found: VecDeque<OrderPlace>,
    /// Whether there are no more entries.
    is_read: bool,
}

impl Index {
    fn is_finished(&self) -> bool {
        self.is_read && self.found.is_empty()
    }

    /// Returns whether more orders can only be found by reading further.
    fn is_empty(&self) -> bool {
        !self.is_read && self.found.is_empty()
    }

    /// Returns a position before which there are no more orders.
    fn next(&self) -> OrderPlace {
        self.found.front().copied().unwrap_or(self.after)
    }

    /// Binds the statement that reads the next entries.
    fn bind(&self, count: usize) -> Bound {
        let OrderPlace { at, group, device, seq } = self.after;
        let params =
            [group.into(), self.start.into(), at.into(), device.into(), seq.into(), count.into()];
        Bound::new(self.sql, params)
    }
}

/// Returns the orders at the positions.
async fn orders(
    read: &Read<'_>,
    dictionaries: &Dictionaries,
    places: &[OrderPlace],
) -> Result<Vec<OrderItem>, Error> {
    let keys = places.iter().map(|at| [at.group.into(), at.device.into(), at.seq.into()]);
    let keys: Vec<[Value<'_>; 3]> = keys.collect();
    let mut orders = Vec::with_capacity(places.len());
    read.each_of(&RECORDS, &keys, &[], |row| {
        let found: ListedOrder<'_> = row.read()?;
        let StoredOrder { group_no: group, device_no: device, seq, .. } = found.order;
        let at = found.order.sale_at_ms.unwrap_or(found.order.trade_start_ms);
        orders.push((OrderPlace { at, group, device, seq }, found.item(dictionaries)?));
        Ok(())
    })
    .await?;
    orders.sort_by_key(|(place, _)| place.key());
    Ok(orders.into_iter().map(|(_, order)| order).collect())
}

impl OrderPlace {
    fn key(&self) -> Reverse<(UnixMs, GroupNo, DeviceNo, i64)> {
        Reverse((self.at, self.group, self.device, self.seq))
    }
}

#[cfg(test)]
mod tests;
