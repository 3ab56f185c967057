//! List orders, and order detail.

use kiosque_model::refusal::Fault;
use kiosque_model::{DeviceCode, PageAsk, Refusal, UnixMs};
use kiosque_store::{History, OrderAsk, Ready, Span, TradeNumbers};

use crate::answer::{Data, Failure};
use crate::call::{Call, after_session};
use crate::ingest::record;

/// `POST …/kioskOrder/queryOrderList`
pub(crate) async fn query_order_list(call: Call<'_>) -> Result<Data, Failure> {
    let (app, now) = (call.app, call.now);
    let presented = call.presented(Refusal::TokenInvalid)?;
    let asked = order_ask(call);
    let ask = after_session(app, now, &presented, asked)?;

    let page = ask.page;
    let collect = |records: &mut Records, ready: Ready<'_>| records.put(ready);
    let (total, records) = app.store.order_page(&presented, now, ask, collect).await?;
    Ok(page_of_ready_records(total, page, &records))
}

/// What a page of ten orders takes, more or less.
const USUAL_BYTES: usize = 12 << 10;

/// List records as JSON, in the order in which they were read.
#[derive(Default)]
struct Records {
    json: Vec<u8>,
    ends: Vec<usize>,
}

impl Records {
    fn put(&mut self, ready: Ready<'_>) {
        if self.json.is_empty() {
            self.json.reserve(USUAL_BYTES);
        }
        record::put_list_record(&mut self.json, ready);
        self.ends.push(self.json.len());
    }

    /// "Newest first is highest sequence first": the other way round than they were read.
    fn newest_first(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let mut ranges: Vec<_> = starts.zip(self.ends.iter().copied()).collect();
        ranges.reverse();
        ranges.into_iter().filter_map(|(start, end)| self.json.get(start..end))
    }
}

fn order_ask(call: Call<'_>) -> Result<OrderAsk, Refusal> {
    let (query, size_max) = (call.query(), call.app.settings.limits.page_size_max);
    let mut form = call.form()?;
    let page = form.page(&query, size_max);
    let device = form.required_text("deviceCode");
    let history = match form.flag("includeHistory") {
        Some(true) => History::Included,
        Some(false) | None => History::Left,
    };
    let span = match form.span("startTimestamp", "endTimestamp") {
        (None, None) => None,
        (start, end) => Some(Span {
            start: start.unwrap_or(UnixMs(i64::MIN)),
            end: end.unwrap_or(UnixMs(i64::MAX)),
        }),
    };
    let (page, device) = form.finish(page.zip(device))?;
    // A text that can be no code is out of scope like any other that names no device.
    Ok(OrderAsk { device: DeviceCode::parse(device).ok(), history, span, page })
}

/// The same shape as [`kiosque_wire::Page`], around records that are JSON already.
fn page_of_ready_records(total: i64, page: PageAsk, records: &Records) -> Data {
    let (current, size) = (page.current(), page.size());
    let mut data = Vec::with_capacity(records.json.len() + records.ends.len() + 128);
    data.extend_from_slice(
        format!(r#"{{"total":{total},"current":{current},"size":{size},"records":["#).as_bytes(),
    );
    for (at, record) in records.newest_first().enumerate() {
        if at > 0 {
            data.push(b',');
        }
        data.extend_from_slice(record);
    }
    data.extend_from_slice(b"]}");
    Data(data)
}

/// `POST …/kioskOrder/orderDetail`
pub(crate) async fn order_detail(call: Call<'_>) -> Result<Data, Failure> {
    let (app, now) = (call.app, call.now);
    let presented = call.presented(Refusal::TokenInvalid)?;
    let asked = numbers_asked(call);
    let numbers = after_session(app, now, &presented, asked)?;

    let detail = app.store.order_detail(&presented, now, &numbers, |ready| {
        let mut detail = Vec::new();
        record::put_detail(&mut detail, ready);
        detail
    })?;
    Ok(Data(detail))
}

fn numbers_asked(call: Call<'_>) -> Result<TradeNumbers, Refusal> {
    let mut form = call.form()?;
    let out = form.text("tradeNoOut").filter(|number| !number.trim().is_empty());
    let inner = form.text("tradeNoIn").filter(|number| !number.trim().is_empty());
    let numbers = TradeNumbers { out, inner };
    // A number of the wrong type is told as such, and not as missing, too.
    let none_given = numbers.out.is_none() && numbers.inner.is_none();
    if none_given && form.is_clean() {
        form.violates::<()>("tradeNoOut", Fault::NoTradeNumber);
    }
    form.finish(Some(numbers))
}
