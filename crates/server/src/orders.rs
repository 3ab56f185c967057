//! List orders, and order detail.

use kiosque_model::refusal::Fault;
use kiosque_model::{DeviceCode, Refusal, UnixMs};
use kiosque_store::{History, OrderQuery, Ready, Span, TradeNumbers};

use crate::answer::{Data, Failure};
use crate::call::{Call, after_session};
use crate::ingest::record;
use crate::records::Records;

/// `POST …/kioskOrder/queryOrderList`
pub(crate) async fn query_order_list(call: Call<'_>) -> Result<Data, Failure> {
    let (app, now) = (call.app, call.now);
    let presented = call.presented(Refusal::TokenInvalid)?;
    let asked = order_ask(call);
    let ask = after_session(app, now, &presented, asked).await?;

    let page = ask.page;
    let collect = |records: &mut Records, ready: Ready<'_>| {
        records.put(|json| {
            record::put_list_record(json, ready);
            Ok(())
        })
    };
    let (total, records) = app.store.order_page(&presented, now, ask, collect).await?;
    // Newest first (ORD-3): the reverse of the order in which they were read.
    Ok(Data::page(total, page, records.in_order().rev()))
}

fn order_ask(call: Call<'_>) -> Result<OrderQuery, Refusal> {
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
    Ok(OrderQuery { device: DeviceCode::parse(device).ok(), history, span, page })
}

/// `POST …/kioskOrder/orderDetail`
pub(crate) async fn order_detail(call: Call<'_>) -> Result<Data, Failure> {
    let (app, now) = (call.app, call.now);
    let presented = call.presented(Refusal::TokenInvalid)?;
    let asked = numbers_asked(call);
    let numbers = after_session(app, now, &presented, asked).await?;

    let show = |ready: Ready<'_>| {
        let mut detail = Vec::new();
        record::put_detail(&mut detail, ready);
        detail
    };
    Ok(Data(app.store.order_detail(&presented, now, numbers, show).await?))
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
