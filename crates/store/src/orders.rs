//! Order pages and details. A page costs the same at any depth: the ledger gives the total and
//! turns the page into a range of sequence numbers.

pub(crate) mod blocks;
pub(crate) mod changes;
mod following;
mod in_span;

use std::sync::Arc;

use kiosque_model::{Claim, DeviceCode, GroupNo, HistoryId, PageRequest, Refusal, UnixMs};

use crate::cache::Key;
use crate::db::Bound;
use crate::error::{Error, Refused};
use crate::json_records::JsonRecords;
use crate::record::dictionaries::Dictionaries;
use crate::record::order_id_of;
use crate::record::stored::{StoredOrder, order_columns};
use crate::scoped::{HintedGroup, scoped};
use crate::sql::{Row, Sql, has_no_nul, row, statements};
use crate::views::Orders;

row! {
    /// What determines the orders on a page: in the same state, a page has the same orders.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    struct PageState {
        last_change_no: i64,
        history: HistoryId,
        /// The orders in scope have higher sequence numbers than this.
        before_first_seq: i64,
        last_seq: i64,
    }
}

statements! {
    [blocks, changes, following, in_span]
    /// The state of the page, the same in all rows, with each of its orders; the state alone if the
    /// page has no orders, or if the caller knows the current orders of this state: the engines do
    /// not search an index for null. The page excludes the newest `skip` orders, and those from the
    /// `end`-th on.
    PAGE(
        group_no, device_code, now_ms, with_history, skip, end, known_change_no, known_history,
        known_archived_seq
    ) -> (PageState, Option<StoredOrder<'_>>) = concat!(
        "select l.last_change_no, l.history,
            case when $with_history then l.first_seq - 1 else l.archived_seq end
                as before_first_seq,
            l.last_seq, ", order_columns!(), "
        from ledger l
        left join orders o on o.group_no = $group_no
            and o.device_no = case when l.last_change_no = $known_change_no
                    and l.history = $known_history and l.archived_seq = $known_archived_seq
                then null else l.device_no end
            and o.seq <= l.last_seq - $skip
            and o.seq > case when $with_history and l.last_seq - $end < l.first_seq
                then l.first_seq - 1
                when not $with_history and l.last_seq - $end < l.archived_seq
                then l.archived_seq else l.last_seq - $end end
        where l.group_no = $group_no and l.device_code = $device_code
            and (l.since_ms <= $now_ms or l.last_seq >= l.first_seq)
        order by o.seq");
    /// The order with a trade number that started last. The index contains every column of the
    /// ordering; otherwise SQLite would read all orders of the group.
    BY_TRADE_NO(group_no, trade_no) -> StoredOrder<'_> = concat!(
        "select ", order_columns!(), "
        from orders o
        where o.group_no = $group_no and o.trade_no = $trade_no
        order by o.trade_start_ms desc, o.device_no desc, o.seq desc limit 1");
    BY_TRADE_NO_IN(group_no, trade_no_in) -> StoredOrder<'_> = concat!(
        "select ", order_columns!(), "
        from orders o
        where o.group_no = $group_no and o.trade_no_in = $trade_no_in");
    BY_ORDER_ID(group_no, order_id) -> StoredOrder<'_> = concat!(
        "select ", order_columns!(), "
        from orders o
        where o.group_no = $group_no and o.order_id = $order_id and o.trade_no_in is null");
}

/// The maximum size of a page that is cached.
const CACHED_SIZE_MAX: i64 = 20;
/// Above every sequence number. Larger offsets are clamped to this one, so that sums do not
/// overflow.
const MAX_OFFSET: i64 = i64::MAX / 4;

/// Whether archived orders are also listed.
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

impl Orders<'_> {
    /// Returns a page of a device's orders: a key range, and a total that follows from the ledger.
    ///
    /// # Errors
    /// `TokenInvalid`, `GroupClosed`, `OutOfScope`, or the store failed.
    pub async fn page(self, claim: Claim, request: OrderQuery) -> Result<OrderPage, Refused> {
        if let Some(span) = request.span {
            return self.order_page_in_span(claim, request, span).await;
        }
        let (skip, size) = request.skip_and_size();
        let page = |group: HintedGroup, device: &DeviceCode| {
            let cached = request.cache_key(group.number());
            let cached: Option<Arc<CachedPage>> = cached.and_then(|key| self.0.cache.get(&key));
            let known = cached.as_ref().map_or(PageState::NONE, |page| page.state);
            let params = [
                group.into(),
                device.as_str().into(),
                claim.now.into(),
                (request.history == History::Included).into(),
                skip.into(),
                (skip + size).into(),
                known.last_change_no.into(),
                known.history.into(),
                known.before_first_seq.into(),
            ];
            let dictionaries = Arc::clone(&self.0.dictionaries);
            let add = move |rows: &mut PageRows, row: &Row<'_>| rows.add(row, &dictionaries);
            Bound::new(&PAGE, params).fold(PageRows { cached, ..PageRows::default() }, add)
        };
        let device = request.device.as_ref();
        let (scope, rows) =
            scoped(self.0, &claim, None, |group| device.map(|device| page(group, device))).await?;
        let PageRows { cached, state, orders, records } = rows.unwrap_or_default();
        let state = state.ok_or(Refusal::OutOfScope)?;
        let total = state.last_seq - state.before_first_seq;
        if let Some(cached) = cached.filter(|cached| cached.state == state) {
            return Ok(OrderPage { total, oldest_first: Arc::clone(&cached.records) });
        }
        if orders.len() != state.orders_on_page((skip, size)) {
            let count = orders.len();
            let why = format!("{device:?}: {count} orders on a page, of {state:?}");
            return Err(Error::Data(why).into());
        }
        let Some(key) = request.cache_key(scope.group()) else {
            return Ok(OrderPage { total, oldest_first: Arc::new(records) });
        };
        let (records, size) = records.shrunk();
        let (size, records) = (size + size_of_val(orders.as_slice()), Arc::new(records));
        let page = CachedPage { state, orders, records: Arc::clone(&records) };
        self.0.cache.insert(key, size, Arc::new(page));
        Ok(OrderPage { total, oldest_first: records })
    }

    /// Returns the order with a trade number, as the JSON of an order detail.
    ///
    /// # Errors
    /// `TokenInvalid`, `GroupClosed`, `OrderUnknown`, or the store failed.
    pub async fn detail(self, claim: Claim, numbers: TradeNumbers) -> Result<Vec<u8>, Refused> {
        let TradeNumbers { out, inner } = &numbers;
        let by_number = match (out.as_deref(), inner.as_deref()) {
            (_, Some(inner)) => match order_id_of(inner) {
                Some(order_id) => Some((&BY_ORDER_ID, order_id)),
                None => Some((&BY_TRADE_NO_IN, inner)),
            },
            (Some(out), None) => Some((&BY_TRADE_NO, out)),
            (None, None) => None,
        };
        let is_storable = [out, inner].into_iter().flatten().all(|number| has_no_nul(number));
        let by_number = by_number.filter(|_| is_storable);
        let detail = |group: HintedGroup, statement: &'static Sql, number: &str| {
            let (out, dictionaries) = (out.clone(), Arc::clone(&self.0.dictionaries));
            let add = move |detail: &mut Option<Vec<u8>>, row: &Row<'_>| {
                let order: StoredOrder<'_> = row.read()?;
                if out.as_deref().is_none_or(|out| order.trade_no == Some(out)) {
                    order.put_detail(&dictionaries, detail.get_or_insert_default())?;
                }
                Ok(())
            };
            Bound::new(statement, [group.into(), number.into()]).fold(None, add)
        };
        let about = |group| by_number.map(|(statement, number)| detail(group, statement, number));
        let (_, detail) = scoped(self.0, &claim, None, about).await?;
        Ok(detail.flatten().ok_or(Refusal::OrderUnknown)?)
    }
}

impl OrderQuery {
    /// Returns the key by which the page is cached, if it is: a first page of current orders with a
    /// usual size, which callers request repeatedly, unlike the others.
    fn cache_key(&self, group: GroupNo) -> Option<Key> {
        let OrderQuery { device, history, span: _, page } = self;
        let is_first = *history == History::Left && page.current() == 1;
        let device = device.clone().filter(|_| is_first && page.size() <= CACHED_SIZE_MAX)?;
        Some(Key::FirstOrders(group, device, page.size()))
    }

    /// Returns the number of newest orders before the page, and the maximum number on it.
    fn skip_and_size(&self) -> (i64, i64) {
        (self.page.skip().min(MAX_OFFSET), self.page.size().min(MAX_OFFSET))
    }
}

/// A page of orders as the JSON of list records.
#[derive(Debug)]
pub struct OrderPage {
    /// The number of orders in scope, on all pages.
    pub total: i64,
    /// Oldest first. Only in that direction are consecutively stored rows read without a search for
    /// each.
    oldest_first: Arc<JsonRecords>,
}

impl OrderPage {
    /// Returns the records of the page, the latest arrival first (ORD-3).
    pub fn newest_first(&self) -> impl Iterator<Item = &[u8]> {
        self.oldest_first.iter().rev()
    }
}

/// The sequence number and the change number of an order.
type OrderVersion = (i64, i64);

/// A first page of orders, and the state at which it was read.
#[derive(Debug)]
struct CachedPage {
    state: PageState,
    orders: Vec<OrderVersion>,
    records: Arc<JsonRecords>,
}

impl CachedPage {
    /// Returns the record of an order that has not changed since: in a history, no two versions of
    /// an order have the same change number.
    fn record(&self, state: &PageState, order: OrderVersion) -> Option<&[u8]> {
        let at = self.orders.binary_search(&order).ok()?;
        self.records.get(at).filter(|_| self.state.history == state.history)
    }
}

#[derive(Default)]
struct PageRows {
    /// The page whose state the statement knew.
    cached: Option<Arc<CachedPage>>,
    state: Option<PageState>,
    orders: Vec<OrderVersion>,
    records: JsonRecords,
}

impl PageRows {
    fn add(&mut self, row: &Row<'_>, dictionaries: &Dictionaries) -> Result<(), Error> {
        let (state, order): (_, Option<StoredOrder<'_>>) = row.read()?;
        self.state = Some(state);
        if let Some(order) = order {
            let version = (order.seq, order.change_no);
            let cached = self.cached.as_ref().and_then(|page| page.record(&state, version));
            self.orders.push(version);
            self.records.push_with(|json| match cached {
                Some(record) => {
                    json.extend_from_slice(record);
                    Ok(())
                }
                None => order.put_list_record(dictionaries, json),
            })?;
        }
        Ok(())
    }
}

impl PageState {
    /// The state of no page.
    const NONE: PageState = PageState {
        last_change_no: -1,
        history: HistoryId(-1),
        before_first_seq: -1,
        last_seq: -1,
    };

    /// Returns the number of orders on a page.
    fn orders_on_page(&self, (skip, size): (i64, i64)) -> usize {
        let newest = self.last_seq - skip;
        usize::try_from(newest - (newest - size).max(self.before_first_seq)).unwrap_or(0)
    }
}
