//! An order as it is kept: rendered once, when it is written, and put together when it is read.
//! The store keeps the parts and never looks inside; all that knows their shape is here.

mod shape;

use std::collections::HashMap;

use kiosque_contract::{LineItem, ShipmentError};
use kiosque_model::Zone;
use kiosque_model::order::{Line, Order};
use kiosque_model::sales::Sale;
use kiosque_store::{Error, Incoming, Ready, Record, derived_trade_no_in};
use serde::{Deserialize, Serialize};

pub use shape::Records;

/// The shape that is written now: the head without its braces and without the order's numbers,
/// which have columns of their own, and without `payEndDate`, which follows from its last two
/// fields.
const SHAPE: i64 = 2;

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
    let record = render(render_head(&head(&order, zone))?, &lines)?;
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

/// Appends the element of an order list's `records`.
pub fn put_list_record(out: &mut Vec<u8>, ready: Ready<'_>) {
    put_head(out, ready);
    out.extend_from_slice(br#","detailVOList":"#);
    out.extend_from_slice(ready.lines);
    out.push(b'}');
}

/// Appends the `data` of an order detail.
pub(crate) fn put_detail(out: &mut Vec<u8>, ready: Ready<'_>) {
    put_head(out, ready);
    out.extend_from_slice(br#","detailList":"#);
    out.extend_from_slice(ready.lines);
    out.extend_from_slice(br#","tradeNoOut":"#);
    put_text(out, ready.trade_no.unwrap_or_default());
    out.extend_from_slice(br#","shipmentErrorList":"#);
    out.extend_from_slice(ready.errors.unwrap_or("null").as_bytes());
    out.push(b'}');
}

/// What list record and detail share, up to its last field.
fn put_head(out: &mut Vec<u8>, ready: Ready<'_>) {
    out.extend_from_slice(br#"{"tradeNo":"#);
    put_text(out, ready.trade_no.unwrap_or_default());
    out.extend_from_slice(br#","tradeNoIn":"#);
    match ready.trade_no_in {
        Some(number) => put_text(out, number),
        None => put_text(out, &derived_trade_no_in(ready.order_id)),
    }
    out.extend_from_slice(br#","orderId":"#);
    put_text(out, ready.order_id);
    out.push(b',');
    out.extend_from_slice(ready.head);
    out.extend_from_slice(br#","payEndDate":"#);
    out.extend_from_slice(pay_end_date(ready.head));
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    // Text always renders, and memory takes it.
    let _ = serde_json::to_writer(out, text);
}

/// Returns `payEndDate` (ORD-12): the head ends with `tradeStartTime` and `payEndTime`, and a time
/// has 19 characters.
fn pay_end_date(head: &[u8]) -> &[u8] {
    const TIME_IN_QUOTES: usize = 21;
    let told = head.strip_suffix(br#","payEndTime":null"#).unwrap_or(head);
    let time = told.len().checked_sub(TIME_IN_QUOTES).and_then(|at| told.get(at..));
    time.unwrap_or(b"null")
}

/// The head as it is kept. What [`pay_end_date`] reads must stay at its end.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Head<'a> {
    device_code: &'a str,
    currency: &'a str,
    total_amount: i64,
    pay_amount: i64,
    refund_amount: i64,
    pay_status: i64,
    shipment_status: i64,
    pay_channel_name: Option<&'a str>,
    shipment_time: Option<String>,
    card_number: Option<&'a str>,
    phone: Option<&'a str>,
    trade_start_time: String,
    pay_end_time: Option<String>,
}

fn head<'a>(order: &'a Order, zone: &Zone) -> Head<'a> {
    Head {
        device_code: order.device_code.as_str(),
        currency: order.currency.code(),
        total_amount: order.total_amount.0,
        pay_amount: order.pay_amount.0,
        refund_amount: order.refund_amount.0,
        pay_status: order.pay_status.number(),
        shipment_status: order.shipment_status.number(),
        pay_channel_name: order.pay_channel_name.as_deref(),
        shipment_time: order.shipment.map(|at| zone.text(at)),
        card_number: order.card_number.as_deref(),
        phone: order.phone.as_deref(),
        trade_start_time: zone.text(order.trade_start),
        pay_end_time: order.pay_end.map(|at| zone.text(at)),
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

fn render_head(head: &Head<'_>) -> Result<String, Error> {
    let text = rendered(head)?;
    let bare = text.strip_prefix('{').and_then(|text| text.strip_suffix('}'));
    Ok(bare.unwrap_or_default().to_owned())
}

fn render(head: String, lines: &[LineItem]) -> Result<Record, Error> {
    Ok(Record { shape: SHAPE, head, lines: rendered(&lines)?, errors: errors(lines)? })
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
