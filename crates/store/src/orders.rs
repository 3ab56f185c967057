//! Order pages and details. Pages cost the same at any depth: the ledger gives the total and turns
//! a page into a range of sequence numbers.

use kiosque_model::{DeviceCode, PageAsk, Presented, Refusal, Scope, UnixMs};

use crate::db::Read;
use crate::record::Ready;
use crate::sql::{Value, statements};
use crate::{Error, Refused, Store, receive};

statements! {
    LEDGER = "select device_no, first_seq, archived_seq, last_seq from ledger
        where group_no = $1 and device_code = $2 and since_ms <= $3";
    PAGE = "select shape, head, lines, errors, trade_no, trade_no_in, order_id
        from orders
        where group_no = $1 and device_no = $2 and seq > $3 and seq <= $4
        order by seq";
    COUNT_IN_SPAN = "select count(*) from orders
        where group_no = $1 and device_no = $2 and seq > $3
            and trade_start_ms >= $4 and trade_start_ms < $5";
    PAGE_IN_SPAN = "select shape, head, lines, errors, trade_no, trade_no_in, order_id
        from (
            select seq, shape, head, lines, errors, trade_no, trade_no_in, order_id from orders
            where group_no = $1 and device_no = $2 and seq > $3
                and trade_start_ms >= $4 and trade_start_ms < $5
            order by seq desc limit $6 offset $7
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
pub struct OrderAsk {
    /// The device; `None` when the text can be no code, and so names none.
    pub device: Option<DeviceCode>,
    /// With or without archived orders.
    pub history: History,
    /// Only trades that started in this span.
    pub span: Option<Span>,
    /// Which page.
    pub page: PageAsk,
}

/// Which order to show; a number that can be no trade number names none.
#[derive(Clone, Debug)]
pub struct TradeNumbers {
    /// `tradeNoOut`, if given.
    pub out: Option<String>,
    /// `tradeNoIn`, if given.
    pub inner: Option<String>,
}

/// The sequence numbers in scope: above `low`, up to `high`.
struct Range {
    device_no: i64,
    low: i64,
    high: i64,
}

impl Store {
    /// Visits the orders of a page, the oldest of them first, and returns the total. Rows that were
    /// stored one after the other are found without a search for each in that direction alone.
    ///
    /// # Errors
    /// `TokenInvalid`, `GroupClosed`, `OutOfScope`, or the store failed.
    pub async fn order_page<A: Default + Send + 'static>(
        &self,
        presented: &Presented,
        now: UnixMs,
        ask: OrderAsk,
        visit: impl Fn(&mut A, Ready<'_>) -> Result<(), Error> + Send + 'static,
    ) -> Result<(i64, A), Refused> {
        let Some(span) = ask.span else {
            return self.scoped(presented, now, |read, scope| page(read, scope, now, &ask, &visit));
        };
        let in_span =
            move |read: &Read<'_>, scope: Scope| page_in_span(read, scope, now, &ask, span, &visit);
        self.scoped_long(presented, now, in_span).await
    }

    /// The order of a trade number.
    ///
    /// # Errors
    /// `TokenInvalid`, `GroupClosed`, `OrderUnknown`, or the store failed.
    pub fn order_detail<A>(
        &self,
        presented: &Presented,
        now: UnixMs,
        numbers: &TradeNumbers,
        show: impl FnOnce(Ready<'_>) -> A,
    ) -> Result<A, Refused> {
        self.scoped(presented, now, |read, scope| detail(read, scope, numbers, show))
    }
}

fn range(read: &Read<'_>, scope: Scope, now: UnixMs, ask: &OrderAsk) -> Result<Range, Refused> {
    let device = ask.device.as_ref().ok_or(Refusal::OutOfScope)?;
    let params = [scope.group().0.into(), device.as_str().into(), now.0.into()];
    let range = read.one(&LEDGER, &params, |row| {
        let low = match ask.history {
            History::Included => row.int(1)? - 1,
            History::Left => row.int(2)?,
        };
        Ok(Range { device_no: row.int(0)?, low, high: row.int(3)? })
    })?;
    Ok(range.ok_or(Refusal::OutOfScope)?)
}

fn page<A: Default>(
    read: &Read<'_>,
    scope: Scope,
    now: UnixMs,
    ask: &OrderAsk,
    visit: &impl Fn(&mut A, Ready<'_>) -> Result<(), Error>,
) -> Result<(i64, A), Refused> {
    let Range { device_no, low, high } = range(read, scope, now, ask)?;
    let newest = high - ask.page.skip();
    let oldest = newest.saturating_sub(ask.page.size()).max(low);
    let mut page = A::default();
    if newest > low {
        let params = [scope.group().0.into(), device_no.into(), oldest.into(), newest.into()];
        let mut rows = 0;
        read.each(&PAGE, &params, |row| {
            rows += 1;
            visit(&mut page, Ready::of(row, 0)?)
        })?;
        if rows != newest - oldest {
            let gap = format!("device {device_no}: {rows} orders in ({oldest}, {newest}]");
            return Err(Error::Data(gap).into());
        }
    }
    Ok((high - low, page))
}

fn page_in_span<A: Default>(
    read: &Read<'_>,
    scope: Scope,
    now: UnixMs,
    ask: &OrderAsk,
    span: Span,
    visit: &impl Fn(&mut A, Ready<'_>) -> Result<(), Error>,
) -> Result<(i64, A), Refused> {
    let Range { device_no, low, .. } = range(read, scope, now, ask)?;
    let params: [Value<'_>; 7] = [
        scope.group().0.into(),
        device_no.into(),
        low.into(),
        span.start.0.into(),
        span.end.0.into(),
        ask.page.size().into(),
        ask.page.skip().into(),
    ];
    let total = read.one(&COUNT_IN_SPAN, &params[..5], |row| row.int(0))?.unwrap_or(0);
    let mut page = A::default();
    read.each(&PAGE_IN_SPAN, &params, |row| visit(&mut page, Ready::of(row, 0)?))?;
    Ok((total, page))
}

fn detail<A>(
    read: &Read<'_>,
    scope: Scope,
    numbers: &TradeNumbers,
    show: impl FnOnce(Ready<'_>) -> A,
) -> Result<A, Refused> {
    let group = Value::Int(scope.group().0);
    let (out, inner) = (numbers.out.as_deref(), numbers.inner.as_deref());
    // Text with a NUL exists nowhere; one engine cannot even be asked for it.
    if [out, inner].into_iter().flatten().any(|number| number.contains('\0')) {
        return Err(Refusal::OrderUnknown.into());
    }
    let (sql, number) = match (out, inner) {
        (_, Some(inner)) => match receive::order_id_of(inner) {
            Some(order_id) => (&BY_ORDER_ID, order_id),
            None => (&BY_TRADE_NO_IN, inner),
        },
        (Some(out), None) => (&BY_TRADE_NO, out),
        (None, None) => return Err(Refusal::OrderUnknown.into()),
    };
    let found = read.one(sql, &[group, number.into()], |row| {
        let ready = Ready::of(row, 0)?;
        let named = out.is_none_or(|out| ready.trade_no == Some(out));
        Ok(named.then(|| show(ready)))
    })?;
    Ok(found.flatten().ok_or(Refusal::OrderUnknown)?)
}
