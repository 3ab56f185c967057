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
    let local_start = Zone::utc().parse(&head.trade_start_time)?;
    // A payment and a shipment follow the start of the trade. If one does not, the rules of the
    // zone have changed since it was stored, and it has the offset of the start.
    let at = |text: String| match zone.parse_from(&text, trade_start) {
        Ok(at) if at.plus_ms(999) >= trade_start => Ok(at),
        _ => Zone::utc().parse(&text).map(|local| local.plus_ms(trade_start.0 - local_start.0)),
    };
    let time = |text: Option<String>| text.map(at).transpose().map(|at| at.map(UnixMs::rfc3339));
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Texts that were stored at the offset +02:00 are exported in a zone that now sets clocks
    /// forward at midnight.
    #[test]
    fn a_time_that_the_zone_has_no_longer_has_the_offset_of_the_start() {
        let cairo = Zone::named("Africa/Cairo").expect("a zone");
        for (start, shipment, want) in [
            ("2026-04-23 23:50:00", "2026-04-23 23:50:00", "2026-04-23T21:50:00.000Z"),
            ("2026-04-23 23:50:00", "2026-04-24 00:30:00", "2026-04-23T22:30:00.500Z"),
            ("2026-04-25 10:00:00", "2026-04-25 10:00:30", "2026-04-25T08:00:30.500Z"),
        ] {
            let record = serde_json::json!({
                "tradeNo": "", "tradeNoIn": "oid:o", "orderId": "o", "deviceCode": "D1",
                "currency": "EUR", "totalAmount": 1, "payAmount": 0, "refundAmount": 0,
                "payStatus": 0, "shipmentStatus": 1, "payChannelName": null, "cardNumber": null,
                "phone": null, "tradeStartTime": start, "payEndTime": null, "payEndDate": start,
                "shipmentTime": shipment, "detailVOList": [],
            });
            let record = serde_json::from_value(record).expect("a record");
            let started = Zone::utc().parse(start).expect("a time").plus_ms(-7_200_000 + 500);
            let line = line_of_record(record, started, None, &cairo).expect("a line");
            assert_eq!(line.shipment_time.as_deref(), Some(want), "{start} {shipment}");
        }
    }
}
