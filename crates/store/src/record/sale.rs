//! Reads sales back from stored orders, for sums that are recounted.

use std::borrow::Cow;

use kiosque_model::order::{OrderStates, PayStatus, ShipmentStatus};
use kiosque_model::sales::{Sale, Sold, sale_at};
use kiosque_model::{Currency, Day, Minor, UnixMs, Zone};
use serde::Deserialize;

use super::{Fields, json, parsed};
use crate::error::Error;

/// Returns the sale of a stored order that was paid at `at`.
///
/// # Errors
/// The text of the record cannot be read.
pub(crate) fn sale_of(text: &[u8], at: UnixMs) -> Result<Sale, Error> {
    let fields: SaleFields<'_> = parsed(text)?;
    let states = states(fields.pay_status, fields.shipment_status)?;
    let currency = Currency::parse(&fields.currency).map_err(|_| unknown("currency"))?;
    let goods = fields.lines.into_iter().map(|line| Sold {
        goods_id: line.goods_id.into_owned(),
        items: line.count,
        amount: Minor(line.pay_amount),
        name: Some(line.goods_name.into_owned()),
    });
    Ok(Sale {
        at,
        currency,
        amount: Minor(fields.pay_amount),
        refund: Minor(fields.refund_amount),
        shipment: states.shipment,
        goods: goods.collect(),
    })
}

/// What the record of an order says that its columns say, too.
pub(crate) struct Recorded {
    pub(crate) device_code: String,
    pub(crate) trade_start_time: String,
    /// The `payEndTime`; `None` if the order is not a sale.
    pub(crate) paid_at: Option<String>,
    pub(crate) states: OrderStates,
}

impl Recorded {
    /// Reads the text of a record, which must have exactly the fields that this program writes, in
    /// any order.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub(crate) fn read(text: &[u8]) -> Result<Recorded, Error> {
        let fields: Fields<'_> = parsed(text)?;
        let written = json(&fields)?;
        let value = |text: &[u8]| parsed::<serde_json::Value>(text);
        if text != written.as_bytes() && value(text)? != value(written.as_bytes())? {
            let reason = "the record of an order is not as it was written";
            return Err(Error::Data(reason.to_owned()));
        }
        let states = states(fields.pay_status, fields.shipment_status)?;
        let is_sale = sale_at(Some(UnixMs(0)), states.payment).is_some();
        Ok(Recorded {
            device_code: fields.device_code.into_owned(),
            trade_start_time: fields.trade_start_time,
            paid_at: fields.pay_end_time.filter(|_| is_sale),
            states,
        })
    }
}

/// Returns the day on which the sale of a stored order that was paid at `at` is counted: the day of
/// its recorded time if it was stored by other rules of the zone.
///
/// # Errors
/// The text of the record cannot be read.
pub(crate) fn day_counted(text: &[u8], at: UnixMs, zone: &Zone) -> Result<Day, Error> {
    let PaymentField { pay_end_time } = parsed(text)?;
    let expected = zone.text(at);
    let recorded = pay_end_time.filter(|recorded| *recorded != expected);
    let by_other_rules = recorded.and_then(|time| day_by_other_rules(&time, &expected, zone));
    Ok(by_other_rules.unwrap_or_else(|| zone.day_of(at)))
}

/// Offsets of time zones are whole numbers of quarter hours, and changes of one at most a day.
const QUARTER_HOUR_MS: u64 = 15 * 60_000;
pub(crate) const ZONE_CHANGE_MAX_MS: i64 = 24 * 3_600_000;

/// Returns the day of a recorded local time if other rules of the zone may have given it to the
/// instant whose local time is `expected`. The rules of UTC do not change.
pub(crate) fn day_by_other_rules(recorded: &str, expected: &str, zone: &Zone) -> Option<Day> {
    let utc = Zone::utc();
    let recorded = utc.parse(recorded).ok()?;
    let apart = recorded.0.abs_diff(utc.parse(expected).ok()?.0);
    let is_possible = *zone != utc
        && apart <= ZONE_CHANGE_MAX_MS.unsigned_abs()
        && apart.is_multiple_of(QUARTER_HOUR_MS);
    is_possible.then(|| utc.day_of(recorded))
}

fn states(payment: i64, shipment: i64) -> Result<OrderStates, Error> {
    Ok(OrderStates {
        payment: PayStatus::of(payment).ok_or_else(|| unknown("payStatus"))?,
        shipment: ShipmentStatus::of(shipment).ok_or_else(|| unknown("shipmentStatus"))?,
    })
}

fn unknown(field: &str) -> Error {
    Error::Data(format!("the record of an order: unknown {field}"))
}

/// The field of a record with the local time at which a sale counts.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PaymentField {
    pay_end_time: Option<String>,
}

/// The fields of a record that sums need.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SaleFields<'a> {
    #[serde(borrow)]
    currency: Cow<'a, str>,
    pay_amount: i64,
    refund_amount: i64,
    pay_status: i64,
    shipment_status: i64,
    #[serde(borrow, rename = "detailVOList")]
    lines: Vec<StoredLine<'a>>,
}

/// The fields of a stored line that sums need.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct StoredLine<'a> {
    #[serde(borrow)]
    goods_id: Cow<'a, str>,
    #[serde(borrow)]
    goods_name: Cow<'a, str>,
    count: i64,
    pay_amount: i64,
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = concat!(
        r#"{"deviceCode":"d","currency":"EUR","totalAmount":1,"payAmount":1,"refundAmount":0,"#,
        r#""payStatus":1,"shipmentStatus":1,"payChannelName":null,"shipmentTime":null,"#,
        r#""cardNumber":null,"phone":null,"tradeStartTime":"2026-01-01 00:00:00","#,
        r#""payEndTime":null,"payEndDate":"2026-01-01 00:00:00","detailVOList":[]}"#,
    );

    #[test]
    fn a_text_with_other_fields_is_not_as_it_was_written() {
        assert!(Recorded::read(TEXT.as_bytes()).is_ok());
        for (written, found, reason) in [
            ("payAmount", "payAwount", "missing field `payAmount`"),
            ("\"phone\"", "\"phome\"", "the record of an order is not as it was written"),
            ("[]", "[{}]", "missing field `goodsId`"),
            ("[]}", "", "EOF while parsing a value"),
        ] {
            let text = TEXT.replace(written, found);
            let error = Recorded::read(text.as_bytes()).err().expect(reason);
            assert!(error.to_string().contains(reason), "{error}");
        }
    }
}
