//! Exports of orders, as lines of an order file or as a CSV report. Imported again, they change
//! nothing.

mod csv;

use kiosque_contract::{LineItem, Object, OrderHead, OrderLine, OrderLineItem, OrderRecord};
use kiosque_model::time::TimeError;
use kiosque_model::{UnixMs, Zone};
use kiosque_store::{ExportedOrder, derived_trade_no_in};

pub use self::csv::{CSV_MAPPING, CsvExport};

/// Returns an order as a line of an order file. Times have an offset and milliseconds, which the
/// texts of the interface lack.
///
/// # Errors
/// A stored time is not valid in the zone.
pub fn order_line(order: ExportedOrder, zone: &Zone) -> Result<OrderLine, TimeError> {
    line_of_record(order.item.record, order.trade_start, order.paid_at, zone)
}

/// Returns a record of an order list as a line of an order file; `paid_at` is the end of the
/// payment, of an order that is a sale.
pub(crate) fn line_of_record(
    record: OrderRecord,
    trade_start: UnixMs,
    paid_at: Option<UnixMs>,
    zone: &Zone,
) -> Result<OrderLine, TimeError> {
    let OrderRecord { head, detail_vo_list } = record;
    let OrderHead { order_id, trade_no_in, .. } = head;
    // A payment and a shipment follow the start of the trade.
    let time = |text: Option<String>| {
        let at = text.map(|text| zone.parse_from(&text, trade_start));
        at.map(|at| at.map(UnixMs::rfc3339)).transpose()
    };
    let pay_end_time = match paid_at {
        Some(at) => Some(at.rfc3339()),
        None => time(head.pay_end_time)?,
    };
    let derived = derived_trade_no_in(&order_id);
    let lines = detail_vo_list.into_iter().map(|line| Object(line_item(line)));
    Ok(OrderLine {
        trade_no_in: Some(trade_no_in).filter(|number| *number != derived),
        order_id: Some(order_id),
        device_code: Some(head.device_code),
        currency: Some(head.currency),
        total_amount: Some(head.total_amount),
        trade_start_time: Some(trade_start.rfc3339()),
        trade_no: Some(head.trade_no).filter(|number| !number.is_empty()),
        pay_amount: Some(head.pay_amount),
        refund_amount: Some(head.refund_amount),
        pay_end_time,
        shipment_time: time(head.shipment_time)?,
        card_number: head.card_number,
        phone: head.phone,
        pay_status: Some(head.pay_status),
        shipment_status: Some(head.shipment_status),
        pay_channel_name: head.pay_channel_name,
        detail_vo_list: Some(lines.collect()),
    })
}

fn line_item(line: LineItem) -> OrderLineItem {
    OrderLineItem {
        goods_id: Some(line.goods_id),
        goods_name: Some(line.goods_name),
        aisle_code: Some(line.aisle_code),
        count: Some(line.count),
        sale_price: Some(line.sale_price),
        goods_price: Some(line.goods_price),
        pay_amount: Some(line.pay_amount),
        shipment_status: Some(line.shipment_status),
        shipment_err_code: Some(line.shipment_err_code),
        shipment_fail_desc: line.shipment_fail_desc,
    }
}
