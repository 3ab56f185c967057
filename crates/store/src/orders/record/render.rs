//! Joins stored fragments into the records of an order list and an order detail.

use kiosque_model::TradeNo;

use super::{Incoming, SHAPE, derived_trade_no_in};
use crate::Error;
use crate::sql::row;

row! {
    /// A stored order, borrowed from its row.
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct StoredOrder<'r> {
        shape: i64,
        head: &'r [u8],
        lines: &'r [u8],
        errors: Option<&'r str>,
        pub(crate) trade_no: Option<&'r str>,
        trade_no_in: Option<&'r str>,
        order_id: &'r str,
    }
}

impl StoredOrder<'_> {
    /// Appends the order as an element of an order list's `records`.
    pub(crate) fn put_list_record(&self, out: &mut Vec<u8>) -> Result<(), Error> {
        self.put_head(out)?;
        out.extend_from_slice(br#","detailVOList":"#);
        out.extend_from_slice(self.lines);
        out.push(b'}');
        Ok(())
    }

    /// Appends the order as the `data` of an order detail.
    pub(crate) fn put_detail(&self, out: &mut Vec<u8>) -> Result<(), Error> {
        self.put_head(out)?;
        out.extend_from_slice(br#","detailList":"#);
        out.extend_from_slice(self.lines);
        out.extend_from_slice(br#","tradeNoOut":"#);
        put_text(out, self.trade_no.unwrap_or_default());
        out.extend_from_slice(br#","shipmentErrorList":"#);
        out.extend_from_slice(self.errors.unwrap_or("null").as_bytes());
        out.push(b'}');
        Ok(())
    }

    /// Appends the fields that both have, without the closing brace.
    fn put_head(&self, out: &mut Vec<u8>) -> Result<(), Error> {
        if self.shape != SHAPE {
            let (order_id, shape) = (self.order_id, self.shape);
            return Err(Error::Data(format!("order {order_id}: unknown shape {shape}")));
        }
        let pay_end_date = pay_end_date(self.head).ok_or_else(|| {
            Error::Data(format!("order {}: its stored head ends without its times", self.order_id))
        })?;
        out.extend_from_slice(br#"{"tradeNo":"#);
        put_text(out, self.trade_no.unwrap_or_default());
        out.extend_from_slice(br#","tradeNoIn":"#);
        match self.trade_no_in {
            Some(number) => put_text(out, number),
            None => put_text(out, &derived_trade_no_in(self.order_id)),
        }
        out.extend_from_slice(br#","orderId":"#);
        put_text(out, self.order_id);
        out.push(b',');
        out.extend_from_slice(self.head);
        out.extend_from_slice(br#","payEndDate":"#);
        out.extend_from_slice(pay_end_date);
        Ok(())
    }
}

impl Incoming {
    /// Appends the order as an element of an order list's `records`, as it would be listed if it
    /// were stored unchanged.
    ///
    /// # Errors
    /// The text is not one that [`Incoming::of`] rendered.
    pub fn put_list_record(&self, out: &mut Vec<u8>) -> Result<(), Error> {
        self.as_stored().put_list_record(out)
    }

    fn as_stored(&self) -> StoredOrder<'_> {
        StoredOrder {
            shape: self.record.shape,
            head: self.record.head.as_bytes(),
            lines: self.record.lines.as_bytes(),
            errors: self.record.errors.as_deref(),
            trade_no: self.trade_no.as_ref().map(TradeNo::as_str),
            trade_no_in: self.trade_no_in.as_ref().map(TradeNo::as_str),
            order_id: self.order_id.as_str(),
        }
    }
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    // A string always serializes, and writing to memory does not fail.
    let _ = serde_json::to_writer(out, text);
}

/// Returns the JSON of `payEndDate`: `payEndTime`, or `tradeStartTime` while unpaid. A stored head
/// ends with these two fields; `None` if this one does not.
fn pay_end_date(head: &[u8]) -> Option<&[u8]> {
    let (rest, pay_end) = split_last_field(head, br#""payEndTime":"#)?;
    if pay_end != b"null" {
        return Some(pay_end);
    }
    split_last_field(rest, br#""tradeStartTime":"#).map(|(_, start)| start)
}

/// Splits off the last field of an object without braces, which must be `key` and have a value
/// without commas. Returns the fields before it and its value.
fn split_last_field<'a>(fields: &'a [u8], key: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let comma = fields.iter().rposition(|byte| *byte == b',')?;
    let (rest, last) = fields.split_at_checked(comma)?;
    Some((rest, last.strip_prefix(b",")?.strip_prefix(key)?))
}

#[cfg(test)]
mod tests {
    use kiosque_contract::{OrderDetail, OrderRecord};
    use kiosque_model::order::{Line, Order, ShipmentStatus};
    use kiosque_model::{Currency, DeviceCode, Minor, OrderId, UnixMs, Zone};
    use serde::Serialize;
    use serde::de::DeserializeOwned;

    use super::*;
    use crate::orders::record::{Head, ProductNames, head_json};

    fn head(pay_end_time: Option<&str>) -> String {
        let head = Head {
            device_code: r#"","payEndTime":null"#.into(),
            currency: "EUR".into(),
            total_amount: 1,
            pay_amount: 1,
            refund_amount: 0,
            pay_status: 1,
            shipment_status: 1,
            pay_channel_name: Some("cash, coins".into()),
            shipment_time: Some("2026-01-02 03:04:07".to_owned()),
            card_number: None,
            phone: None,
            trade_start_time: "2026-01-02 03:04:05".to_owned(),
            pay_end_time: pay_end_time.map(str::to_owned),
        };
        head_json(&head).expect("renders")
    }

    fn incoming(faults: &[Option<&str>]) -> Incoming {
        let order_id = OrderId::parse("o").expect("an id");
        let device = DeviceCode::parse("d").expect("a code");
        let currency = Currency::parse("EUR").expect("a currency");
        let line = |fault: &Option<&str>| Line {
            goods_id: "g".to_owned(),
            goods_name: None,
            aisle_code: "1".to_owned(),
            count: 1,
            goods_price: Minor(2),
            sale_price: Minor(3),
            pay_amount: Minor(4),
            shipment_status: ShipmentStatus::None,
            shipment_err_code: 0,
            shipment_fail_desc: fault.map(str::to_owned),
        };
        let order = Order::unpaid(order_id, device, currency, Minor(1), UnixMs(0));
        let order = Order { lines: faults.iter().map(line).collect(), ..order };
        Incoming::of(order, &Zone::utc(), &ProductNames::new()).expect("renders")
    }

    /// Asserts that a text is a `T` with all its fields, in their order, and no others.
    fn assert_is<T: Serialize + DeserializeOwned>(text: &[u8]) {
        let value: T = serde_json::from_slice(text).expect("a T");
        let again = serde_json::to_string(&value).expect("renders");
        assert_eq!(again, String::from_utf8_lossy(text));
    }

    /// ORD-7, ORD-8, ORD-16, ORD-17: the texts have the fields of the interface's types.
    #[test]
    fn records_and_details_have_the_fields_of_their_types() {
        for faults in [&[][..], &[None], &[None, Some("jammed")]] {
            let (mut record, mut detail) = (Vec::new(), Vec::new());
            let incoming = incoming(faults);
            incoming.put_list_record(&mut record).expect("renders");
            incoming.as_stored().put_detail(&mut detail).expect("renders");
            assert_is::<OrderRecord>(&record);
            assert_is::<OrderDetail>(&detail);
        }
    }

    /// A head is stored for good: its fields and their order are those of shape 2.
    #[test]
    fn a_head_ends_with_the_times_that_pay_end_date_follows_from() {
        let unpaid = head(None);
        let fields = [
            r#""deviceCode":"\",\"payEndTime\":null""#,
            r#""currency":"EUR","totalAmount":1,"payAmount":1,"refundAmount":0"#,
            r#""payStatus":1,"shipmentStatus":1,"payChannelName":"cash, coins""#,
            r#""shipmentTime":"2026-01-02 03:04:07","cardNumber":null,"phone":null"#,
            r#""tradeStartTime":"2026-01-02 03:04:05","payEndTime":null"#,
        ];
        assert_eq!(unpaid, fields.join(","));
        assert_eq!(pay_end_date(unpaid.as_bytes()), Some(&br#""2026-01-02 03:04:05""#[..]));
        let paid = head(Some("2026-01-02 03:04:06"));
        assert_eq!(pay_end_date(paid.as_bytes()), Some(&br#""2026-01-02 03:04:06""#[..]));
        for other in ["", r#""payEndTime":null"#, r#""a":1,"payEndTime":null"#, r#""a":1,"b":2"#] {
            assert_eq!(pay_end_date(other.as_bytes()), None, "{other}");
        }
    }
}
