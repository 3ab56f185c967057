//! Order pages and details. Pages cost the same at any depth: the ledger gives the total and turns
//! a page into a range of sequence numbers.

pub(crate) mod record;

use kiosque_model::{DeviceCode, GroupNo, PageRequest, PresentedToken, Refusal, Scope, UnixMs};

use crate::db::{Ask, Length};
use crate::json_records::JsonRecords;
use crate::scoped_query::ScopedQuery;
use crate::sql::{Row, Value, has_no_nul, statements};
use crate::{Error, Refused, Store};
use record::order_id_of;
use record::render::StoredOrder;

statements! {
    /// The ledger's row and the orders of a page beside it; without an order on the page, the
    /// ledger's row alone. `$4` orders are skipped, and `$5` is where the page ends.
    PAGE = "select l.archived_seq, l.last_seq, o.shape, o.head, o.lines, o.errors, o.trade_no,
            o.trade_no_in, o.order_id
        from ledger l left join orders o on o.group_no = $1 and o.device_no = l.device_no
            and o.seq <= l.last_seq - $4
            and o.seq > case when l.last_seq - $5 > l.archived_seq
                then l.last_seq - $5 else l.archived_seq end
        where l.group_no = $1 and l.device_code = $2 and l.since_ms <= $3
        order by o.seq";
    PAGE_WITH_HISTORY = "select l.first_seq - 1, l.last_seq, o.shape, o.head, o.lines, o.errors,
            o.trade_no, o.trade_no_in, o.order_id
        from ledger l left join orders o on o.group_no = $1 and o.device_no = l.device_no
            and o.seq <= l.last_seq - $4
            and o.seq > case when l.last_seq - $5 >= l.first_seq
                then l.last_seq - $5 else l.first_seq - 1 end
        where l.group_no = $1 and l.device_code = $2 and l.since_ms <= $3
        order by o.seq";
    COUNT_IN_SPAN = "select (
            select count(*) from orders o
            where o.group_no = $1 and o.device_no = l.device_no
                and o.seq > case when $6 then l.first_seq - 1 else l.archived_seq end
                and o.trade_start_ms >= $4 and o.trade_start_ms < $5
        ) from ledger l
        where l.group_no = $1 and l.device_code = $2 and l.since_ms <= $3";
    PAGE_IN_SPAN = "select shape, head, lines, errors, trade_no, trade_no_in, order_id
        from (
            select o.seq, o.shape, o.head, o.lines, o.errors, o.trade_no, o.trade_no_in, o.order_id
            from ledger l join orders o on o.group_no = $1 and o.device_no = l.device_no
                and o.seq > case when $6 then l.first_seq - 1 else l.archived_seq end
            where l.group_no = $1 and l.device_code = $2 and l.since_ms <= $3
                and o.trade_start_ms >= $4 and o.trade_start_ms < $5
            order by o.seq desc limit $7 offset $8
        ) page order by seq";
    BY_TRADE_NO = "select shape, head, lines, errors, trade_no, trade_no_in, order_id
        from orders
        where group_no = $1 and trade_no = $2
        order by trade_start_ms desc, change_no desc limit 1";
    BY_TRADE_NO_IN = "select shape, head, lines, errors, trade_no, trade_no_in, order_id
        from orders
        where group_no = $1 and trade_no_in = $2";
    BY_ORDER_ID = "select shape, head, lines, errors, trade_no, trade_no_in, order_id
        from orders
        where group_no = $1 and order_id = $2 and trade_no_in is null";
}

/// Further than any sequence number reaches; what is asked for behind it is asked for there.
const FAR: i64 = i64::MAX / 4;

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
    /// The first instant in it.
    pub start: UnixMs,
    /// The first instant after it.
    pub end: UnixMs,
}

/// Which orders to list.
#[derive(Clone, Debug)]
pub struct OrderQuery {
    /// The device; `None` when the text can be no code, and so names none.
    pub device: Option<DeviceCode>,
    /// With or without archived orders.
    pub history: History,
    /// Only trades that started in this span.
    pub span: Option<Span>,
    /// Which page.
    pub page: PageRequest,
}

/// Which order to show; a number that can be no trade number names none.
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
        presented: &PresentedToken,
        now: UnixMs,
        ask: OrderQuery,
    ) -> Result<OrderPage, Refused> {
        match ask.span {
            None => self.ask(presented, now, Page { ask, now }).await,
            Some(span) => self.ask(presented, now, PageInSpan { ask, span, now }).await,
        }
    }

    /// Returns the order with a trade number, as the JSON of an order detail.
    ///
    /// # Errors
    /// `TokenInvalid`, `GroupClosed`, `OrderUnknown`, or the store failed.
    pub async fn order_detail(
        &self,
        presented: &PresentedToken,
        now: UnixMs,
        numbers: TradeNumbers,
    ) -> Result<Vec<u8>, Refused> {
        self.ask(presented, now, Detail { numbers }).await
    }
}

/// A page of orders as the JSON of list records.
#[derive(Debug)]
pub struct OrderPage {
    /// How many orders are in scope, on all pages together.
    pub total: i64,
    /// Oldest first. Rows that are stored one after the other are read without a search for each
    /// in that direction alone.
    oldest_first: JsonRecords,
}

impl OrderPage {
    /// Returns the records of the page, the latest arrival first (`ORD-3`).
    pub fn newest_first(&self) -> impl Iterator<Item = &[u8]> {
        self.oldest_first.iter().rev()
    }
}

/// A page of a device's orders: a key range, and a total that follows from the ledger.
struct Page {
    ask: OrderQuery,
    now: UnixMs,
}

#[derive(Default)]
struct FoundPage {
    /// The sequence numbers in scope: above the first, up to the second.
    in_scope: Option<(i64, i64)>,
    rows: i64,
    records: JsonRecords,
}

impl ScopedQuery for Page {
    type Found = FoundPage;
    type Answer = OrderPage;

    fn length(&self) -> Length {
        Length::Short
    }

    fn asks(&self, group: GroupNo) -> Vec<Ask<'_>> {
        let Some(device) = &self.ask.device else { return Vec::new() };
        let page = match self.ask.history {
            History::Left => &PAGE,
            History::Included => &PAGE_WITH_HISTORY,
        };
        let skip = self.ask.page.skip().min(FAR);
        let params = [
            group.0.into(),
            device.as_str().into(),
            self.now.0.into(),
            skip.into(),
            (skip + self.ask.page.size().min(FAR)).into(),
        ];
        vec![Ask::new(page, params)]
    }

    fn row(&self, found: &mut Self::Found, _: usize, row: &Row<'_>) -> Result<(), Error> {
        if found.in_scope.is_none() {
            found.in_scope = Some((row.int(0)?, row.int(1)?));
        }
        if row.maybe_int(2)?.is_some() {
            found.rows += 1;
            let order = StoredOrder::read(row, 2)?;
            found.records.push_with(|json| order.put_list_record(json))?;
        }
        Ok(())
    }

    fn answer(self, found: Self::Found, scope: Scope) -> Result<Self::Answer, Refused> {
        let (low, high) = found.in_scope.ok_or(Refusal::OutOfScope)?;
        let newest = high - self.ask.page.skip().min(FAR);
        let oldest = (newest - self.ask.page.size().min(FAR)).max(low);
        let expected = (newest - oldest).max(0);
        if found.rows != expected {
            let (rows, group) = (found.rows, scope.group().0);
            return Err(Error::Data(format!(
                "group {group}, device {:?}: {rows} orders in ({oldest}, {newest}]",
                self.ask.device
            ))
            .into());
        }
        Ok(OrderPage { total: high - low, oldest_first: found.records })
    }
}

/// A page of those orders whose trades started in a span; they are counted.
struct PageInSpan {
    ask: OrderQuery,
    span: Span,
    now: UnixMs,
}

impl ScopedQuery for PageInSpan {
    type Found = (Option<i64>, JsonRecords);
    type Answer = OrderPage;

    fn length(&self) -> Length {
        Length::Long
    }

    fn asks(&self, group: GroupNo) -> Vec<Ask<'_>> {
        let Some(device) = &self.ask.device else { return Vec::new() };
        let params: [Value<'_>; 8] = [
            group.0.into(),
            device.as_str().into(),
            self.now.0.into(),
            self.span.start.0.into(),
            self.span.end.0.into(),
            (self.ask.history == History::Included).into(),
            self.ask.page.size().into(),
            self.ask.page.skip().into(),
        ];
        vec![Ask::new(&COUNT_IN_SPAN, &params[..6]), Ask::new(&PAGE_IN_SPAN, params)]
    }

    fn row(&self, found: &mut Self::Found, ask: usize, row: &Row<'_>) -> Result<(), Error> {
        match ask {
            0 => found.0 = Some(row.int(0)?),
            _ => {
                let order = StoredOrder::read(row, 0)?;
                found.1.push_with(|json| order.put_list_record(json))?;
            }
        }
        Ok(())
    }

    fn answer(self, (total, records): Self::Found, _: Scope) -> Result<Self::Answer, Refused> {
        Ok(OrderPage { total: total.ok_or(Refusal::OutOfScope)?, oldest_first: records })
    }
}

struct Detail {
    numbers: TradeNumbers,
}

impl ScopedQuery for Detail {
    type Found = Option<Vec<u8>>;
    type Answer = Vec<u8>;

    fn length(&self) -> Length {
        Length::Short
    }

    fn asks(&self, group: GroupNo) -> Vec<Ask<'_>> {
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
        vec![Ask::new(sql, [group.0.into(), number.into()])]
    }

    fn row(&self, found: &mut Self::Found, _: usize, row: &Row<'_>) -> Result<(), Error> {
        let order = StoredOrder::read(row, 0)?;
        *found = None;
        if self.numbers.out.as_deref().is_none_or(|out| order.trade_no == Some(out)) {
            order.put_detail(found.insert(Vec::new()))?;
        }
        Ok(())
    }

    fn answer(self, found: Self::Found, _: Scope) -> Result<Self::Answer, Refused> {
        Ok(found.ok_or(Refusal::OrderUnknown)?)
    }
}
