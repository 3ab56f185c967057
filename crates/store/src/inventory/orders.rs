//! Stored orders for the operator, ledger by ledger, in the order of their arrival.
use std::fmt::{self, Display};
use std::sync::Arc;

use kiosque_contract::OrderRecord;
use kiosque_contract::inventory::OrderItem;
use kiosque_model::order::{OrderStates, PayStatus, ShipmentStatus};
use kiosque_model::{DeviceCode, DeviceNo, GroupId, GroupNo, OrderId, UnixMs};

use super::{Listed, Listing};
use crate::db::{Deadline, INTEGRITY_OF_LISTS, Read};
use crate::error::Error;
use crate::orders::Span;
use crate::record::dictionaries::Dictionaries;
use crate::record::sale_figures;
use crate::record::stored::{StoredOrder, order_columns};
use crate::sql::{Row, row, statements};
use crate::views::Inventory;
use crate::{accounts, dictionaries};

row! {
    struct LedgerRow {
        group_no: GroupNo,
        group_id: String,
        device_code: String,
        device_no: DeviceNo,
        first_seq: i64,
        archived_seq: i64,
        last_seq: i64,
    }
}

macro_rules! ledgers {
    () => {
        "select l.group_no, g.group_id, l.device_code, l.device_no, l.first_seq, l.archived_seq,
            l.last_seq
        from ledger l join groups g on g.group_no = l.group_no"
    };
}

statements! {
    /// Ledgers with orders, from a key on and up to a group.
    LEDGERS(group_no, device_code, last_group, count) -> LedgerRow = concat!(ledgers!(), "
        where (l.group_no, l.device_code) >= ($group_no, $device_code)
            and l.group_no <= $last_group and l.last_seq >= l.first_seq
        order by l.group_no, l.device_code limit $count");
    /// Ledgers of one device with orders, from one group up to another.
    LEDGERS_OF_DEVICE(device_code, first_group, last_group, count) -> LedgerRow = concat!(
        ledgers!(), "
        where l.device_code = $device_code and l.group_no >= $first_group
            and l.group_no <= $last_group and l.last_seq >= l.first_seq
        order by l.group_no limit $count");
    ORDERS(group_no, device_no, seq, count) -> (i64, StoredOrder<'_>) = concat!(
        "select o.seq as position, ", order_columns!(), "
        from orders o where o.group_no = $group_no and o.device_no = $device_no and o.seq > $seq
        order by o.seq limit $count");
    ORDER(group_no, order_id) -> StoredOrder<'_> = concat!(
        "select ", order_columns!(), "
        from orders o where o.group_no = $group_no and o.order_id = $order_id");
}

/// Ledgers that one statement reads.
const LEDGERS_PER_STATEMENT: i64 = 100;
/// The number of orders that one part of a filtered list searches; the next part continues after
/// them.
pub(super) const SEARCHED_MAX: usize = 100_000;
/// The minimum number of orders that one statement of a filtered list reads.
const FILTERED_TOGETHER: usize = 1_000;
/// The number of orders that take as long to search as a statement: many devices have few orders.
const STATEMENT_COST: usize = 50;

/// Selects orders.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OrdersOf {
    /// Only in this group.
    pub group: Option<GroupId>,
    /// Only of this device.
    pub device: Option<DeviceCode>,
    /// Only those that match the filter.
    pub filter: OrderFilter,
}

/// Selects orders by their states and their time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OrderFilter {
    /// The states of their payments; all if it is empty.
    pub payment: Vec<PayStatus>,
    /// The states of their shipments; all if it is empty.
    pub shipment: Vec<ShipmentStatus>,
    /// The time at which they count: the payment of a sale, and the start of any other trade.
    pub counted: Option<Span>,
}

impl OrderFilter {
    pub(super) fn has_states(&self, OrderStates { payment, shipment }: OrderStates) -> bool {
        (self.payment.is_empty() || self.payment.contains(&payment))
            && (self.shipment.is_empty() || self.shipment.contains(&shipment))
    }

    /// Returns whether it matches an order. The columns are read only if the filter needs them.
    pub(super) fn includes(&self, order: &StoredOrder<'_>) -> Result<bool, Error> {
        let counted_at = order.sale_at_ms.unwrap_or(order.trade_start_ms);
        if self.counted.is_some_and(|span| !(span.start..span.end).contains(&counted_at)) {
            return Ok(false);
        }
        if self.payment.is_empty() && self.shipment.is_empty() {
            return Ok(true);
        }
        let states = sale_figures::states(order.sale);
        let unreadable = || Error::Data(format!("order {}: unknown states", order.order_id));
        Ok(self.has_states(states.ok_or_else(unreadable)?))
    }
}

/// The key of an order: its ledger, and its number in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderKey {
    /// The group.
    pub group: i64,
    /// The code of the device.
    pub device_code: String,
    /// The sequence number.
    pub seq: i64,
}

/// A stored order, with its times to the millisecond.
#[derive(Clone, Debug, PartialEq)]
pub struct ExportedOrder {
    /// The order as integrators see it.
    pub item: OrderItem,
    /// The start of the trade.
    pub trade_start: UnixMs,
    /// The end of the payment, of an order that is a sale.
    pub paid_at: Option<UnixMs>,
}

/// A stored order that is damaged, with its group and its device.
#[derive(Debug)]
pub struct DamagedOrder {
    group_id: String,
    device_code: String,
    seq: i64,
    /// The error that a request for it would return.
    pub error: Error,
}

impl Display for DamagedOrder {
    /// Identifies the order by its id, or by its sequence number if the columns cannot be read.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let DamagedOrder { group_id, device_code, seq, error } = self;
        write!(f, "group {group_id}, device {device_code}, ")?;
        match error {
            Error::UnreadableOrder(order) => write!(f, "order {}: ", order.order_id)?,
            _ => write!(f, "the order with sequence number {seq}: ")?,
        }
        f.write_str(&error.reason())
    }
}

impl Inventory<'_> {
    /// Returns a part of the orders, by group and device in the order of their arrival. An order
    /// that arrives meanwhile may be missing; a damaged one is replaced by its description.
    ///
    /// # Errors
    /// The store failed.
    pub async fn orders(
        self,
        of: OrdersOf,
        listing: Listing<OrderKey>,
    ) -> Result<Listed<Result<ExportedOrder, DamagedOrder>, OrderKey>, Error> {
        let list = async move |read: &Read<'_>, dictionaries: &Arc<Dictionaries>| {
            list(read, dictionaries, &of, &listing).await
        };
        dictionaries::read_records(self.0, list).await
    }

    /// Returns the damage of the tables with the groups and devices whose orders
    /// [`Inventory::orders`] lists: a damaged page can hide some of them without an error. Empty
    /// for PostgreSQL, which reports damage by itself.
    ///
    /// # Errors
    /// The store failed.
    pub async fn damage_of_lists(self) -> Result<Vec<String>, Error> {
        let check = async |read: &Read<'_>| read.integrity(&INTEGRITY_OF_LISTS);
        self.0.db.read(Deadline::None, check).await
    }

    /// Returns orders as integrators see them in a list, each by its group and id. Nonexistent
    /// orders are left out.
    ///
    /// # Errors
    /// The store failed.
    pub async fn orders_by_id(
        self,
        ids: Vec<(GroupNo, OrderId)>,
    ) -> Result<Vec<OrderRecord>, Error> {
        let find = async move |read: &Read<'_>, dictionaries: &Arc<Dictionaries>| {
            let mut orders = Vec::with_capacity(ids.len());
            for (group, id) in &ids {
                let key = [(*group).into(), id.as_str().into()];
                read.each(&ORDER, &key, |row| {
                    orders.push(record(&row.read()?, dictionaries)?);
                    Ok(())
                })
                .await?;
            }
            Ok(orders)
        };
        dictionaries::read_records(self.0, find).await
    }
}

/// Returns an order as in the answer of a list.
pub(super) fn record(
    order: &StoredOrder<'_>,
    dictionaries: &Dictionaries,
) -> Result<OrderRecord, Error> {
    let mut json = Vec::new();
    order.put_list_record(dictionaries, &mut json)?;
    serde_json::from_slice(&json)
        .map_err(|error| Error::Data(format!("the stored text of an order: {error}")))
}

async fn list(
    read: &Read<'_>,
    dictionaries: &Dictionaries,
    of: &OrdersOf,
    listing: &Listing<OrderKey>,
) -> Result<Listed<Result<ExportedOrder, DamagedOrder>, OrderKey>, Error> {
    let cut = |orders| {
        listing.cut(orders, |(key, _): &(OrderKey, _)| key.clone()).map(|(_, order)| order)
    };
    let mut orders = Vec::new();
    let mut after = listing.after.clone();
    let mut searched = 0;
    loop {
        let ledgers = ledgers(read, of, after.as_ref()).await?;
        for ledger in &ledgers {
            let from = after.take().filter(|key| ledger.is_of(key)).map_or(0, |key| key.seq);
            let mut seq = from.max(ledger.first_seq - 1);
            loop {
                let left = usize::try_from(listing.count()).unwrap_or(usize::MAX) - orders.len();
                // Only some of the orders match a filter.
                let least = if of.filter == OrderFilter::default() { 0 } else { FILTERED_TOGETHER };
                let count = left.max(least);
                let mut last = seq;
                let mut rows = 0;
                let (group, device) = (ledger.group_no.into(), ledger.device_no.into());
                let params = [group, device, seq.into(), count.into()];
                let visit = |row: &Row<'_>| {
                    let before = last;
                    (last, rows) = (row.read::<i64>()?, rows + 1);
                    orders.extend(ledger.missing(before, last - 1));
                    orders.extend(ledger.order(row, &of.filter, dictionaries)?);
                    Ok(())
                };
                read.each(&ORDERS, &params, visit).await?;
                let is_end = rows < count;
                if is_end {
                    orders.extend(ledger.missing(last, ledger.last_seq));
                    last = last.max(ledger.last_seq);
                }
                if orders.len() > listing.limit {
                    return Ok(cut(orders));
                }
                (seq, searched) = (last, searched + rows.max(STATEMENT_COST));
                if searched >= SEARCHED_MAX {
                    let part = cut(orders);
                    return Ok(Listed { next: Some(ledger.key(seq)), ..part });
                }
                if is_end {
                    break;
                }
            }
        }
        match ledgers.last() {
            // The last ledger is read again, after its last order.
            Some(last) if ledgers.len() > 1 => after = Some(last.key(i64::MAX)),
            _ => return Ok(cut(orders)),
        }
    }
}

async fn ledgers(
    read: &Read<'_>,
    of: &OrdersOf,
    from: Option<&OrderKey>,
) -> Result<Vec<LedgerRow>, Error> {
    let (mut first, mut device) = from.map_or((0, ""), |key| (key.group, &key.device_code));
    let mut last = i64::MAX;
    if let Some(id) = &of.group {
        let Some(GroupNo(only)) = accounts::group_number(read, id).await? else {
            return Ok(Vec::new());
        };
        if first < only {
            (first, device) = (only, "");
        }
        last = only;
    }
    let count = LEDGERS_PER_STATEMENT.into();
    match &of.device {
        Some(code) => {
            let params = [code.as_str().into(), first.into(), last.into(), count];
            read.all(&LEDGERS_OF_DEVICE, &params).await
        }
        None => read.all(&LEDGERS, &[first.into(), device.into(), last.into(), count]).await,
    }
}

/// An order, or what is known about a damaged one.
type Exported = Result<ExportedOrder, DamagedOrder>;

impl LedgerRow {
    fn key(&self, seq: i64) -> OrderKey {
        OrderKey { group: self.group_no.0, device_code: self.device_code.clone(), seq }
    }

    fn is_of(&self, key: &OrderKey) -> bool {
        self.group_no.0 == key.group && self.device_code == key.device_code
    }

    /// Returns what is known about orders after one and up to another that are in a ledger but were
    /// not found; `None` if there are none. A damaged page can hide orders without an error.
    fn missing(&self, after: i64, last: i64) -> Option<(OrderKey, Exported)> {
        let error = match last.checked_sub(after)? {
            ..=0 => return None,
            1 => Error::Data("it is missing".to_owned()),
            _ => Error::Data(format!("it is missing, and so are all others up to {last}")),
        };
        let (group_id, device_code) = (self.group_id.clone(), self.device_code.clone());
        let order = DamagedOrder { group_id, device_code, seq: after + 1, error };
        Some((self.key(last), Err(order)))
    }

    /// Reads an order and its key, if it matches the filter.
    fn order(
        &self,
        row: &Row<'_>,
        filter: &OrderFilter,
        dictionaries: &Dictionaries,
    ) -> Result<Option<(OrderKey, Exported)>, Error> {
        let read = row.read().and_then(|(position, order): (i64, StoredOrder<'_>)| {
            let included = filter.includes(&order)?;
            let order = || Ok((self.key(position), Ok(self.exported(&order, dictionaries)?)));
            included.then(order).transpose()
        });
        let error = match read {
            Err(error) if error.is_damage() => error,
            other => return other,
        };
        let seq: i64 = row.read()?;
        let (group_id, device_code) = (self.group_id.clone(), self.device_code.clone());
        Ok(Some((self.key(seq), Err(DamagedOrder { group_id, device_code, seq, error }))))
    }

    fn exported(
        &self,
        order: &StoredOrder<'_>,
        dictionaries: &Dictionaries,
    ) -> Result<ExportedOrder, Error> {
        let record = record(order, dictionaries)?;
        let archived = order.seq <= self.archived_seq;
        Ok(ExportedOrder {
            item: OrderItem { group_id: self.group_id.clone(), archived, record },
            trade_start: order.trade_start_ms,
            paid_at: order.sale_at_ms,
        })
    }
}
