//! Reads sales back from stored orders, for sums that are recounted.

use std::borrow::Cow;

use kiosque_model::order::{OrderStates, PayStatus, ShipmentStatus};
use kiosque_model::sales::{Sale, Sold, sale_at};
use kiosque_model::{Currency, Minor, UnixMs};
use serde::Deserialize;

use super::{Fields, json, parsed};
use crate::error::Error;

/// Returns the sale of a stored order that was paid at `at`.
///
/// # Errors
/// The text of the record cannot be read.
pub(crate) fn sale_of(text: &[u8], at: UnixMs) -> Result<Sale, Error> {
    let fields: SaleFields<'_> = parsed(text)?;
    let states = fields.states()?;
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

/// Returns the `payEndTime` of a stored order, `None` if it is not a sale; and the states.
///
/// # Errors
/// The text of the record cannot be read.
pub(crate) fn sale_time(text: &[u8]) -> Result<(Option<String>, OrderStates), Error> {
    let fields: SaleFields<'_> = parsed(text)?;
    let states = fields.states()?;
    let paid = sale_at(Some(UnixMs(0)), states.payment).is_some();
    Ok((fields.pay_end_time.filter(|_| paid).map(Cow::into_owned), states))
}

impl SaleFields<'_> {
    fn states(&self) -> Result<OrderStates, Error> {
        let payment = PayStatus::of(self.pay_status);
        let shipment = ShipmentStatus::of(self.shipment_status);
        Ok(OrderStates {
            payment: payment.ok_or_else(|| unknown("payStatus"))?,
            shipment: shipment.ok_or_else(|| unknown("shipmentStatus"))?,
        })
    }
}

fn unknown(field: &str) -> Error {
    Error::Data(format!("the record of an order: unknown {field}"))
}

/// Checks that a stored order has exactly the fields that this program writes, in any order.
///
/// # Errors
/// What is wrong with the text.
pub(crate) fn check_text(text: &[u8]) -> Result<(), Error> {
    let fields: Fields<'_> = parsed(text)?;
    let written = json(&fields)?;
    let value = |text: &[u8]| parsed::<serde_json::Value>(text);
    if text == written.as_bytes() || value(text)? == value(written.as_bytes())? {
        return Ok(());
    }
    Err(Error::Data("the record of an order is not as it was written".to_owned()))
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
    #[serde(borrow)]
    pay_end_time: Option<Cow<'a, str>>,
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
        assert!(check_text(TEXT.as_bytes()).is_ok());
        for (written, found, reason) in [
            ("payAmount", "payAwount", "missing field `payAmount`"),
            ("\"phone\"", "\"phome\"", "the record of an order is not as it was written"),
            ("[]", "[{}]", "missing field `goodsId`"),
            ("[]}", "", "EOF while parsing a value"),
        ] {
            let error = check_text(TEXT.replace(written, found).as_bytes()).expect_err(reason);
            assert!(error.to_string().contains(reason), "{error}");
        }
    }
}
