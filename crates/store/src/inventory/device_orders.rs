//! The orders of a device, the last one to arrive first, and orders by their numbers.

mod newest_first;

use std::sync::Arc;

use kiosque_contract::inventory::OrderItem;
use kiosque_model::{DeviceCode, DeviceNo, GroupId, GroupNo, UnixMs};

use super::orders::{OrderFilter, OrdersOf, record};
use crate::accounts::group_numbers;
use crate::db::{Deadline, Read};
use crate::dictionaries;
use crate::error::Error;
use crate::orders::Span;
use crate::record::dictionaries::Dictionaries;
use crate::record::order_id_of;
use crate::record::stored::{StoredOrder, order_columns};
use crate::sql::{Sql, Value, has_no_nul, numbers, row, statements};
use crate::views::Inventory;
pub use newest_first::OrderPlace;

row! {
    struct LedgerRow { group_no: GroupNo, group_id: String, archived_seq: i64, last_seq: i64 }
    /// An order with the id of its group.
    struct ListedOrder<'r> { group_id: &'r str, archived: bool, order: StoredOrder<'r> }
}

/// Lists the columns of [`ListedOrder`] of the table `orders o`. The ledger is in the group of the
/// order: Citus would refuse the statement if it was in the group of a bulk row.
macro_rules! listed_order_columns {
    () => {
        concat!(
            "(select g.group_id from groups g where g.group_no = o.group_no) as group_id,
            coalesce(o.seq <= (
                select l.archived_seq from devices d cross join ledger l
                where d.device_no = o.device_no and l.group_no = o.group_no
                    and l.device_code = d.device_code
            ), false) as archived, ",
            order_columns!()
        )
    };
}
use listed_order_columns;

statements! {
    [newest_first]
    DEVICE(device_code) -> DeviceNo = "select device_no from devices
        where device_code = $device_code";
    /// The ledgers of a device: of its owners over time, the last one first, and then of groups
    /// that keep orders of a period that was replaced.
    LEDGERS(device_code) -> LedgerRow = "select l.group_no, g.group_id, l.archived_seq, l.last_seq
        from ledger l join groups g on g.group_no = l.group_no
        left join device_owners o
            on o.group_no = l.group_no and o.device_code = l.device_code
        where l.device_code = $device_code
        group by l.group_no, g.group_id, l.archived_seq, l.last_seq
        order by coalesce(max(o.since_ms), -1) desc, l.group_no";
    LATEST(group_no, device_no, before_seq, start_ms, end_ms, count) -> StoredOrder<'_> = concat!(
        "select ", order_columns!(), "
        from orders o
        where o.group_no = $group_no and o.device_no = $device_no and o.seq < $before_seq
            and coalesce(o.sale_at_ms, o.trade_start_ms) >= $start_ms
            and coalesce(o.sale_at_ms, o.trade_start_ms) < $end_ms
        order by o.seq desc limit $count");
    // The plus keeps SQLite from reading the sales of the whole group by their index.
    SALE_TIMES(group_no, device_no, after_seq, start_ms) -> UnixMs = "select sale_at_ms
        from orders
        where group_no = $group_no and device_no = $device_no and seq > $after_seq
            and + sale_at_ms >= $start_ms";
    TRADE_START(group_no, device_no, seq) -> UnixMs = "select trade_start_ms from orders
        where group_no = $group_no and device_no = $device_no and seq = $seq";
    BY_ORDER_ID(number) -> ListedOrder<'_> = concat!(
        "select ", listed_order_columns!(), "
        from {rows r: group_no bigint} cross join orders o
        where o.group_no = r.group_no and o.order_id = $number");
    /// All devices have positive numbers; zero selects the orders of all.
    BY_TRADE_NO(number, only_device, count) -> ListedOrder<'_> = concat!(
        "select ", listed_order_columns!(), "
        from {rows r: group_no bigint} cross join orders f cross join orders o
        where f.group_no = r.group_no and f.trade_no = $number
            and (f.device_no = $only_device or $only_device = 0)
            and o.group_no = f.group_no and o.device_no = f.device_no and o.seq = f.seq
        order by f.trade_start_ms desc limit $count");
    BY_TRADE_NO_IN(number) -> ListedOrder<'_> = concat!(
        "select ", listed_order_columns!(), "
        from {rows r: group_no bigint} cross join orders o
        where o.group_no = r.group_no and o.trade_no_in = $number");
}

/// Orders that one statement reads.
const CHUNK: usize = 250;
/// Maximum number of the latest orders of a device whose times are read.
const TIMES_MAX: i64 = 2_000;

/// Selects orders of a device.
#[derive(Clone, Debug)]
pub struct DeviceOrders {
    /// The device.
    pub device: DeviceCode,
    /// Only in this group.
    pub group: Option<GroupId>,
    /// Only those that match the filter.
    pub filter: OrderFilter,
    /// Only those paid by a card whose number ends like this.
    pub card_end: Option<String>,
    /// Only orders after this one in the list; `None` starts with the last one that arrived.
    pub after: Option<OrderPosition>,
    /// The largest number of orders.
    pub limit: usize,
    /// The maximum number of records in the span that one part reads; the next part continues after
    /// them. To find an early span, a part passes over all later orders of the device.
    pub read_max: usize,
}

/// Selects orders by a number, which is an order id, a trade number or an internal one.
#[derive(Clone, Debug, Default)]
pub struct NumberedOrders {
    /// The number.
    pub number: String,
    /// Only these orders.
    pub of: OrdersOf,
    /// Only those paid by a card whose number ends like this.
    pub card_end: Option<String>,
    /// The largest number of orders.
    pub limit: usize,
    /// The maximum number of records with a trade number from which a filter or a card selects.
    pub read_max: usize,
}

/// The position of an order in the list of its device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderPosition {
    /// The number of its group.
    pub group: GroupNo,
    /// Its sequence number.
    pub seq: i64,
}

/// A part of the orders of a device.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FoundOrders {
    /// The orders: the current owner's first, and each owner's by arrival, the last one first.
    pub orders: Vec<OrderItem>,
    /// `after` of the next part; `None` in the last one.
    pub next: Option<OrderPosition>,
    /// Whether the part ended because the search had read the maximum number of orders, or found
    /// more orders with a number than it returns.
    pub is_cut: bool,
}

/// The times of the latest sales of a device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SaleTimes {
    /// The times, in any order.
    pub times: Vec<UnixMs>,
    /// The number of orders that were read, if earlier ones may also be in the span.
    pub of_latest: Option<i64>,
}

impl Inventory<'_> {
    /// Returns a part of the orders of a device; `None` if there is no such device.
    ///
    /// # Errors
    /// The store failed.
    pub async fn latest_orders(self, of: DeviceOrders) -> Result<Option<FoundOrders>, Error> {
        let list = async move |read: &Read<'_>, dictionaries: &Arc<Dictionaries>| {
            latest(read, dictionaries, &of).await
        };
        dictionaries::read_records(self.0, list).await
    }

    /// Returns the times of the sales of a device from a time on. At most 2,000 orders of each
    /// owner are read.
    ///
    /// # Errors
    /// The store failed.
    pub async fn sale_times(self, device: DeviceCode, from: UnixMs) -> Result<SaleTimes, Error> {
        let list = async move |read: &Read<'_>| {
            let Some((number, ledgers)) = ledgers(read, &device).await? else {
                return Ok(SaleTimes::default());
            };
            let mut found = SaleTimes::default();
            for ledger in ledgers {
                let group = ledger.group_no.into();
                let after = (ledger.last_seq - TIMES_MAX).max(0);
                let params = [group, number.into(), after.into(), from.into()];
                found.times.extend(read.all::<UnixMs>(&SALE_TIMES, &params).await?);
                let [group, number, after, _] = params;
                let before = [group, number, after];
                let earlier: Option<UnixMs> = read.one(&TRADE_START, &before).await?;
                if earlier.is_some_and(|earlier| earlier >= from) {
                    found.of_latest = Some(TIMES_MAX);
                }
            }
            Ok(found)
        };
        self.0.db.read(Deadline::OfRequest, list).await
    }

    /// Returns whether there is a device with this code.
    ///
    /// # Errors
    /// The store failed.
    pub async fn has_device(self, code: &DeviceCode) -> Result<bool, Error> {
        let code = code.clone();
        let find = async move |read: &Read<'_>| device_number(read, &code).await;
        Ok(self.0.db.read(Deadline::OfRequest, find).await?.is_some())
    }

    /// Returns orders with a number, all of them in one part; `None` if there is no such device.
    ///
    /// # Errors
    /// The store failed.
    pub async fn orders_by_number(self, by: NumberedOrders) -> Result<Option<FoundOrders>, Error> {
        let find = async move |read: &Read<'_>, dictionaries: &Arc<Dictionaries>| {
            by_number(read, dictionaries, &by).await
        };
        dictionaries::read_records(self.0, find).await
    }
}

/// Returns the number of a device, and its ledgers, the current owner's first.
async fn ledgers(
    read: &Read<'_>,
    device: &DeviceCode,
) -> Result<Option<(DeviceNo, Vec<LedgerRow>)>, Error> {
    let Some(number) = device_number(read, device).await? else { return Ok(None) };
    let ledgers = read.all(&LEDGERS, &[device.as_str().into()]).await?;
    Ok(Some((number, ledgers)))
}

/// Returns the number of a device, if there is one with this code.
async fn device_number(read: &Read<'_>, device: &DeviceCode) -> Result<Option<DeviceNo>, Error> {
    read.one(&DEVICE, &[device.as_str().into()]).await
}

async fn latest(
    read: &Read<'_>,
    dictionaries: &Dictionaries,
    of: &DeviceOrders,
) -> Result<Option<FoundOrders>, Error> {
    let Some((device, ledgers)) = ledgers(read, &of.device).await? else { return Ok(None) };
    let whole = Span { start: UnixMs(i64::MIN), end: UnixMs(i64::MAX) };
    let Span { start, end } = of.filter.counted.unwrap_or(whole);
    let is_before = |ledger: &&LedgerRow| of.after.is_some_and(|key| key.group != ledger.group_no);
    let is_of_group =
        |ledger: &&LedgerRow| of.group.as_ref().is_none_or(|id| id.as_str() == ledger.group_id);
    let mut found = FoundOrders::default();
    let mut left = of.read_max;
    for ledger in ledgers.iter().skip_while(is_before).filter(is_of_group) {
        let after = of.after.filter(|key| key.group == ledger.group_no);
        let mut before = after.map_or(i64::MAX, |key| key.seq);
        loop {
            if left == 0 {
                found.next = Some(ledger.position(before));
                found.is_cut = true;
                return Ok(Some(found));
            }
            let count = CHUNK.min(left);
            let mut rows = 0;
            let (group, device) = (ledger.group_no.into(), device.into());
            let params = [group, device, before.into(), start.into(), end.into(), count.into()];
            read.each(&LATEST, &params, |row| {
                let order: StoredOrder<'_> = row.read()?;
                rows += 1;
                if found.next.is_none() && of.filter.includes(&order)? {
                    let item = OrderItem {
                        group_id: ledger.group_id.clone(),
                        archived: order.seq <= ledger.archived_seq,
                        record: record(&order, dictionaries)?,
                    };
                    match has_card(&item, of.card_end.as_deref()) {
                        true if found.orders.len() == of.limit => {
                            found.next = Some(ledger.position(before));
                        }
                        true => found.orders.push(item),
                        false => {}
                    }
                }
                before = order.seq;
                Ok(())
            })
            .await?;
            if found.next.is_some() {
                return Ok(Some(found));
            }
            left -= rows;
            if rows < count {
                break;
            }
        }
    }
    Ok(Some(found))
}

async fn by_number(
    read: &Read<'_>,
    dictionaries: &Dictionaries,
    by: &NumberedOrders,
) -> Result<Option<FoundOrders>, Error> {
    let NumberedOrders { number, of: OrdersOf { group, device, filter }, .. } = by;
    let (number, card_end) = (number.as_str(), by.card_end.as_deref());
    let device = match device {
        None => None,
        Some(code) => match device_number(read, code).await? {
            None => return Ok(None),
            found => found,
        },
    };
    if !has_no_nul(number) {
        return Ok(Some(FoundOrders::default()));
    }
    let groups = numbers(group_numbers(read, group.as_ref()).await?);
    let derived = order_id_of(number).unwrap_or(number);
    let is_filtered = *filter != OrderFilter::default() || card_end.is_some();
    let most = if is_filtered { by.read_max } else { by.limit };
    // One more, to see whether there are further ones.
    let count = most.saturating_add(1);
    let only_device = device.map_or(0, |device| device.0);
    let searches: [(&Sql, Vec<Value<'_>>); 3] = [
        (&BY_ORDER_ID, vec![derived.into()]),
        (&BY_TRADE_NO_IN, vec![number.into()]),
        (&BY_TRADE_NO, vec![number.into(), only_device.into(), count.into()]),
    ];
    let mut orders: Vec<OrderItem> = Vec::new();
    // The rows of the last search, which is the one with a limit.
    let mut rows = 0;
    for (sql, params) in searches {
        rows = 0;
        read.each_of(sql, &groups, &params, |row| {
            rows += 1;
            let found: ListedOrder<'_> = row.read()?;
            let is_of_device = device.is_none_or(|device| device == found.order.device_no);
            if orders.len() > by.limit || !is_of_device || !filter.includes(&found.order)? {
                return Ok(());
            }
            let order = found.item(dictionaries)?;
            if has_card(&order, card_end) && !orders.contains(&order) {
                orders.push(order);
            }
            Ok(())
        })
        .await?;
    }
    let is_cut = rows > most || orders.len() > by.limit;
    orders.truncate(by.limit);
    Ok(Some(FoundOrders { orders, next: None, is_cut }))
}

/// Returns whether an order was paid by a card whose number ends like this, or by any.
fn has_card(order: &OrderItem, card_end: Option<&str>) -> bool {
    let card = order.record.head.card_number.as_deref().unwrap_or_default();
    card_end.is_none_or(|end| card.ends_with(end))
}

impl ListedOrder<'_> {
    fn item(&self, dictionaries: &Dictionaries) -> Result<OrderItem, Error> {
        let (group_id, archived) = (self.group_id.to_owned(), self.archived);
        Ok(OrderItem { group_id, archived, record: record(&self.order, dictionaries)? })
    }
}

impl LedgerRow {
    fn position(&self, seq: i64) -> OrderPosition {
        OrderPosition { group: self.group_no, seq }
    }
}
