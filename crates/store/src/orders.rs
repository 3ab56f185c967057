//! Order pages and details. A page costs the same at any depth: the ledger gives the total and
//! turns the page into a range of sequence numbers.

pub(crate) mod blocks;
pub(crate) mod changes;
mod in_span;
pub(crate) mod record;

use std::sync::Arc;

use kiosque_model::{Claim, DeviceCode, PageRequest, Refusal, Scope, UnixMs};

use crate::db::{Bound, Cost, Step};
use crate::json_records::JsonRecords;
use crate::scoped_query::{HintedGroup, ScopedQuery};
use crate::sql::{Row, Sql, has_no_nul, row, statements};
use crate::{Error, Refused, Store};
use in_span::PageInSpan;
use record::dictionaries::Dictionaries;
use record::order_id_of;
use record::stored::{StoredOrder, order_columns};

row! {
    struct PageRow<'r> {
        /// The orders in scope have higher sequence numbers than this.
        before_first_seq: i64,
        last_seq: i64,
        order: Option<StoredOrder<'r>>,
    }
}

statements! {
    /// The ledger's row with each order of a page; without an order on the page, the ledger's row
    /// alone. The newest `skip` orders are not on the page, nor those from the `end`-th on.
    PAGE(group_no, device_code, now_ms, skip, end) -> PageRow<'_> = concat!(
        "select
            l.archived_seq as before_first_seq, l.last_seq, ", order_columns!("o"), "
        from ledger l left join orders o on o.group_no = $group_no and o.device_no = l.device_no
            and o.seq <= l.last_seq - $skip
            and o.seq > case when l.last_seq - $end > l.archived_seq
                then l.last_seq - $end else l.archived_seq end
        where l.group_no = $group_no and l.device_code = $device_code
            and (l.since_ms <= $now_ms or l.last_seq >= l.first_seq)
        order by o.seq");
    PAGE_WITH_HISTORY(group_no, device_code, now_ms, skip, end) -> PageRow<'_> = concat!(
        "select
            l.first_seq - 1 as before_first_seq, l.last_seq, ", order_columns!("o"), "
        from ledger l left join orders o on o.group_no = $group_no and o.device_no = l.device_no
            and o.seq <= l.last_seq - $skip
            and o.seq > case when l.last_seq - $end >= l.first_seq
                then l.last_seq - $end else l.first_seq - 1 end
        where l.group_no = $group_no and l.device_code = $device_code
            and (l.since_ms <= $now_ms or l.last_seq >= l.first_seq)
        order by o.seq");
    BY_TRADE_NO(group_no, trade_no) -> StoredOrder<'_> = concat!(
        "select ", order_columns!("orders"), "
        from orders
        where group_no = $group_no and trade_no = $trade_no
        order by trade_start_ms desc, change_no desc limit 1");
    BY_TRADE_NO_IN(group_no, trade_no_in) -> StoredOrder<'_> = concat!(
        "select ", order_columns!("orders"), "
        from orders
        where group_no = $group_no and trade_no_in = $trade_no_in");
    BY_ORDER_ID(group_no, order_id) -> StoredOrder<'_> = concat!(
        "select ", order_columns!("orders"), "
        from orders
        where group_no = $group_no and order_id = $order_id and trade_no_in is null");
}

/// Every statement of this module and of those below it.
pub(crate) fn all() -> impl Iterator<Item = &'static Sql> {
    [ALL, blocks::ALL, changes::ALL, in_span::ALL].into_iter().flatten().copied()
}

/// Above every sequence number. Larger offsets are read as this one, so that sums do not overflow.
const MAX_OFFSET: i64 = i64::MAX / 4;

/// Whether archived orders are listed, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum History {
    /// Current orders only.
    Left,
    /// Also archived historical orders.
    Included,
}

/// A half-open span of trade starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The first instant of the span.
    pub start: UnixMs,
    /// The first instant after the span.
    pub end: UnixMs,
}

/// The parameters of an order list.
#[derive(Clone, Debug)]
pub struct OrderQuery {
    /// The device; `None` for a text that cannot be a device code.
    pub device: Option<DeviceCode>,
    /// With or without archived orders.
    pub history: History,
    /// Only trades that started in this span.
    pub span: Option<Span>,
    /// The page of the list.
    pub page: PageRequest,
}

/// The parameters of an order detail. A text that cannot be a trade number matches no order.
#[derive(Clone, Debug)]
pub struct TradeNumbers {
    /// `tradeNoOut`, if given.
    pub out: Option<String>,
    /// `tradeNoIn`, if given.
    pub inner: Option<String>,
}

impl Store {
    /// Returns a page of a device's orders.
    ///
    /// # Errors
    /// `TokenInvalid`, `GroupClosed`, `OutOfScope`, or the store failed.
    pub async fn order_page(
        &self,
        claim: Claim,
        request: OrderQuery,
    ) -> Result<OrderPage, Refused> {
        let (now, dictionaries) = (claim.now, Arc::clone(&self.dictionaries));
        match request.span {
            None => self.query(claim, Page { request, now, dictionaries }).await,
            Some(span) => self.query(claim, PageInSpan { request, span, now, dictionaries }).await,
        }
    }

    /// Returns the order with a trade number, as the JSON of an order detail.
    ///
    /// # Errors
    /// `TokenInvalid`, `GroupClosed`, `OrderUnknown`, or the store failed.
    pub async fn order_detail(
        &self,
        claim: Claim,
        numbers: TradeNumbers,
    ) -> Result<Vec<u8>, Refused> {
        let dictionaries = Arc::clone(&self.dictionaries);
        self.query(claim, Detail { numbers, dictionaries }).await
    }
}

/// A page of orders as the JSON of list records.
#[derive(Debug)]
pub struct OrderPage {
    /// The number of orders in scope, on all pages together.
    pub total: i64,
    /// Oldest first. Rows that are stored one after the other are read without a search for each
    /// in that direction alone.
    oldest_first: JsonRecords,
}

impl OrderPage {
    /// Returns the records of the page, the latest arrival first (ORD-3).
    pub fn newest_first(&self) -> impl Iterator<Item = &[u8]> {
        self.oldest_first.iter().rev()
    }
}

/// A page of a device's orders: a key range, and a total that follows from the ledger.
struct Page {
    request: OrderQuery,
    now: UnixMs,
    dictionaries: Arc<Dictionaries>,
}

#[derive(Default)]
struct PageRows {
    /// The sequence numbers in scope: above the first, up to the second.
    in_scope: Option<(i64, i64)>,
    orders: i64,
    records: JsonRecords,
}

impl ScopedQuery for Page {
    type Rows = PageRows;
    type Step = ();
    type Answer = OrderPage;

    fn cost(&self) -> Cost {
        Cost::of_records(self.request.page.size())
    }

    fn steps(&self, group: HintedGroup) -> Vec<Step<'_, ()>> {
        let Some(device) = &self.request.device else { return Vec::new() };
        let page = match self.request.history {
            History::Left => &PAGE,
            History::Included => &PAGE_WITH_HISTORY,
        };
        let skip = self.request.page.skip().min(MAX_OFFSET);
        let end = skip + self.request.page.size().min(MAX_OFFSET);
        let params =
            [group.into(), device.as_str().into(), self.now.into(), skip.into(), end.into()];
        vec![Bound::new(page, params).step(())]
    }

    fn on_row(&self, rows: &mut PageRows, (): &(), row: &Row<'_>) -> Result<(), Error> {
        let PageRow { before_first_seq, last_seq, order } = row.read()?;
        rows.in_scope = Some((before_first_seq, last_seq));
        if let Some(order) = order {
            rows.orders += 1;
            rows.records.push_with(|json| order.put_list_record(&self.dictionaries, json))?;
        }
        Ok(())
    }

    fn answer(self, rows: PageRows, scope: Scope) -> Result<OrderPage, Refused> {
        let (low, high) = rows.in_scope.ok_or(Refusal::OutOfScope)?;
        let newest = high - self.request.page.skip().min(MAX_OFFSET);
        let oldest = (newest - self.request.page.size().min(MAX_OFFSET)).max(low);
        let expected = (newest - oldest).max(0);
        if rows.orders != expected {
            let (orders, group) = (rows.orders, scope.group().0);
            return Err(Error::Data(format!(
                "group {group}, device {:?}: {orders} orders in ({oldest}, {newest}]",
                self.request.device
            ))
            .into());
        }
        Ok(OrderPage { total: high - low, oldest_first: rows.records })
    }
}

struct Detail {
    numbers: TradeNumbers,
    dictionaries: Arc<Dictionaries>,
}

impl ScopedQuery for Detail {
    type Rows = Option<Vec<u8>>;
    type Step = ();
    type Answer = Vec<u8>;

    fn cost(&self) -> Cost {
        Cost::Inline
    }

    fn steps(&self, group: HintedGroup) -> Vec<Step<'_, ()>> {
        let (out, inner) = (self.numbers.out.as_deref(), self.numbers.inner.as_deref());
        if ![out, inner].into_iter().flatten().all(has_no_nul) {
            return Vec::new();
        }
        let (sql, number) = match (out, inner) {
            (_, Some(inner)) => match order_id_of(inner) {
                Some(order_id) => (&BY_ORDER_ID, order_id),
                None => (&BY_TRADE_NO_IN, inner),
            },
            (Some(out), None) => (&BY_TRADE_NO, out),
            (None, None) => return Vec::new(),
        };
        vec![Bound::new(sql, [group.into(), number.into()]).step(())]
    }

    fn on_row(&self, rows: &mut Self::Rows, (): &(), row: &Row<'_>) -> Result<(), Error> {
        let order: StoredOrder<'_> = row.read()?;
        *rows = None;
        if self.numbers.out.as_deref().is_none_or(|out| order.trade_no == Some(out)) {
            order.put_detail(&self.dictionaries, rows.insert(Vec::new()))?;
        }
        Ok(())
    }

    fn answer(self, rows: Self::Rows, _: Scope) -> Result<Self::Answer, Refused> {
        Ok(rows.ok_or(Refusal::OrderUnknown)?)
    }
}
