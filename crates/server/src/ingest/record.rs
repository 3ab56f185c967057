//! An order as it is kept: rendered once, when it is written, and put together when it is read.
//! The store keeps the parts and never looks inside; all that knows their shape is here.

use std::borrow::Cow;
use std::collections::HashMap;

use kiosque_model::order::{Line, Order, PayStatus, ShipmentStatus};
use kiosque_model::sales::{Sale, Sold, sale_at};
use kiosque_model::{Currency, Minor, UnixMs, Zone};
use kiosque_store::{Error, Incoming, Kept, Ready, Record, RecordShape, derived_trade_no_in};
use kiosque_wire::{LineItem, OrderHead, ShipmentError};
use serde::{Deserialize, Serialize};

/// The shape that is written now. Reading fills in what an older one lacks; there is none yet.
const SHAPE: i64 = 1;

/// Names of products by `goodsId`.
pub type ProductNames = HashMap<String, String>;

/// Renders an order as it is kept when it is new.
///
/// # Errors
/// Never for an order that was checked; rendering is fallible by its nature.
pub fn incoming(order: Order, zone: &Zone, names: &ProductNames) -> Result<Incoming, Error> {
    let nameless_lines = order
        .lines
        .iter()
        .enumerate()
        .filter_map(|(at, line)| line.goods_name.is_none().then_some(at))
        .collect();
    let lines: Vec<LineItem> = order.lines.iter().map(|line| item(line, names)).collect();
    let record = render(&head(&order, zone), &lines)?;
    let mut sale = Sale::of(&order);
    for sold in sale.iter_mut().flat_map(|sale| &mut sale.goods) {
        // A product's name is its own; only other goods go by the name they came with.
        sold.name = sold.name.take().filter(|_| !names.contains_key(&sold.goods_id));
    }
    Ok(Incoming {
        device_code: order.device_code,
        order_id: order.order_id,
        trade_start: order.trade_start,
        trade_no: order.trade_no,
        trade_no_in: order.trade_no_in,
        nameless_lines,
        sale,
        record,
    })
}

/// What the store must be told of the records that are rendered here.
#[derive(Clone, Copy, Debug)]
pub struct Records;

impl RecordShape for Records {
    fn settle(&self, incoming: &Incoming, kept: &Kept) -> Result<Record, Error> {
        settle(incoming, kept)
    }

    fn sale(&self, kept: Ready<'_>, at: UnixMs) -> Result<Sale, Error> {
        let head = closed(kept.head);
        let head: KeptHead<'_> = parsed(&head)?;
        let lines: Vec<KeptLine<'_>> = parsed(kept.lines)?;
        let unknown = |what: &str| Error::Data(format!("a kept record: {what} is not known"));
        let currency = Currency::parse(&head.currency).map_err(|_| unknown("its currency"))?;
        let shipment = ShipmentStatus::of(head.shipment_status);
        let goods = lines.into_iter().map(|line| Sold {
            goods_id: line.goods_id.into_owned(),
            items: line.count,
            amount: Minor(line.pay_amount),
            name: Some(line.goods_name.into_owned()),
        });
        Ok(Sale {
            at,
            currency,
            amount: Minor(head.pay_amount),
            refund: Minor(head.refund_amount),
            shipment: shipment.ok_or_else(|| unknown("its shipment status"))?,
            goods: goods.collect(),
        })
    }

    fn sale_time(&self, kept: Ready<'_>) -> Result<Option<String>, Error> {
        let head = closed(kept.head);
        let head: KeptHead<'_> = parsed(&head)?;
        let status = PayStatus::of(head.pay_status);
        let paid = status.is_some_and(|status| sale_at(Some(UnixMs(0)), status).is_some());
        Ok(head.pay_end_time.filter(|_| paid).map(Cow::into_owned))
    }
}

/// What sums need of a kept head.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct KeptHead<'a> {
    #[serde(borrow)]
    currency: Cow<'a, str>,
    pay_amount: i64,
    refund_amount: i64,
    pay_status: i64,
    shipment_status: i64,
    #[serde(borrow)]
    pay_end_time: Option<Cow<'a, str>>,
}

/// What sums need of a kept line.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct KeptLine<'a> {
    #[serde(borrow)]
    goods_id: Cow<'a, str>,
    #[serde(borrow)]
    goods_name: Cow<'a, str>,
    count: i64,
    pay_amount: i64,
}

/// A head is kept without its closing brace.
fn closed(head: &[u8]) -> Vec<u8> {
    [head, b"}"].concat()
}

/// Settles an order that comes in again: the internal trade number and the product names that it
/// leaves out stay what they were. "Names are as of the sale."
fn settle(incoming: &Incoming, kept: &Kept) -> Result<Record, Error> {
    let keeps_number = incoming.trade_no_in.is_none() && kept.trade_no_in.is_some();
    if !keeps_number && incoming.nameless_lines.is_empty() {
        return Ok(incoming.record.clone());
    }
    let mut head: OrderHead = parsed(&closed(incoming.record.head.as_bytes()))?;
    if let Some(number) = kept.trade_no_in.as_ref().filter(|_| keeps_number) {
        head.trade_no_in.clone_from(number);
    }
    let mut lines: Vec<LineItem> = parsed(incoming.record.lines.as_bytes())?;
    let kept_lines: Vec<LineItem> = parsed(kept.record.lines.as_bytes())?;
    for at in &incoming.nameless_lines {
        let Some(line) = lines.get_mut(*at) else { continue };
        // The same place first: one product may stand on two lines under two names.
        let same_place = kept_lines.get(*at).filter(|was| was.goods_id == line.goods_id);
        let was =
            same_place.or_else(|| kept_lines.iter().find(|was| was.goods_id == line.goods_id));
        if let Some(was) = was {
            line.goods_name.clone_from(&was.goods_name);
        }
    }
    render(&head, &lines)
}

/// Appends the element of an order list's `records`.
pub(crate) fn put_list_record(out: &mut Vec<u8>, ready: Ready<'_>) {
    out.extend_from_slice(ready.head);
    out.extend_from_slice(br#","detailVOList":"#);
    out.extend_from_slice(ready.lines);
    out.push(b'}');
}

/// Appends the `data` of an order detail.
pub(crate) fn put_detail(out: &mut Vec<u8>, ready: Ready<'_>) {
    out.extend_from_slice(ready.head);
    out.extend_from_slice(br#","detailList":"#);
    out.extend_from_slice(ready.lines);
    out.extend_from_slice(br#","tradeNoOut":"#);
    let trade_no = serde_json::Value::from(ready.trade_no.unwrap_or_default());
    out.extend_from_slice(trade_no.to_string().as_bytes());
    out.extend_from_slice(br#","shipmentErrorList":"#);
    out.extend_from_slice(ready.errors.unwrap_or("null").as_bytes());
    out.push(b'}');
}

fn head(order: &Order, zone: &Zone) -> OrderHead {
    let currency: Currency = order.currency;
    let started = zone.text(order.trade_start);
    let paid = order.pay_end.map(|at| zone.text(at));
    let trade_no_in = order.trade_no_in.as_ref().map(|number| number.as_str().to_owned());
    OrderHead {
        trade_no: order.trade_no.as_ref().map_or("", |number| number.as_str()).to_owned(),
        trade_no_in: trade_no_in.unwrap_or_else(|| derived_trade_no_in(order.order_id.as_str())),
        order_id: order.order_id.as_str().to_owned(),
        device_code: order.device_code.as_str().to_owned(),
        currency: currency.code().to_owned(),
        total_amount: order.total_amount.0,
        pay_amount: order.pay_amount.0,
        refund_amount: order.refund_amount.0,
        pay_status: order.pay_status.number(),
        shipment_status: order.shipment_status.number(),
        pay_channel_name: order.pay_channel_name.clone(),
        pay_end_date: paid.clone().unwrap_or_else(|| started.clone()),
        trade_start_time: started,
        pay_end_time: paid,
        shipment_time: order.shipment.map(|at| zone.text(at)),
        card_number: order.card_number.clone(),
        phone: order.phone.clone(),
    }
}

fn item(line: &Line, names: &ProductNames) -> LineItem {
    let name = line.goods_name.as_ref().or_else(|| names.get(&line.goods_id));
    LineItem {
        goods_id: line.goods_id.clone(),
        goods_name: name.cloned().unwrap_or_default(),
        aisle_code: line.aisle_code.clone(),
        count: line.count,
        goods_price: line.goods_price.0,
        sale_price: line.sale_price.0,
        pay_amount: line.pay_amount.0,
        shipment_status: line.shipment_status.number(),
        shipment_err_code: line.shipment_err_code,
        shipment_fail_desc: line.shipment_fail_desc.clone(),
    }
}

fn render(head: &OrderHead, lines: &[LineItem]) -> Result<Record, Error> {
    let mut text = rendered(head)?;
    text.pop();
    Ok(Record { shape: SHAPE, head: text, lines: rendered(&lines)?, errors: errors(lines)? })
}

/// `shipmentErrorList`: null, or the lines that have a fault.
fn errors(lines: &[LineItem]) -> Result<Option<String>, Error> {
    let errors: Vec<ShipmentError> = lines
        .iter()
        .filter(|line| line.shipment_err_code != 0 || line.shipment_fail_desc.is_some())
        .map(|line| ShipmentError {
            goods_id: line.goods_id.clone(),
            aisle_code: line.aisle_code.clone(),
            shipment_err_code: line.shipment_err_code,
            shipment_fail_desc: line.shipment_fail_desc.clone(),
        })
        .collect();
    if errors.is_empty() { Ok(None) } else { rendered(&errors).map(Some) }
}

fn rendered(value: &impl Serialize) -> Result<String, Error> {
    serde_json::to_string(value).map_err(|error| Error::Data(format!("rendering: {error}")))
}

fn parsed<'a, T: Deserialize<'a>>(text: &'a [u8]) -> Result<T, Error> {
    serde_json::from_slice(text).map_err(|error| Error::Data(format!("a kept record: {error}")))
}
