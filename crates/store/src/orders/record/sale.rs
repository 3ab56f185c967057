//! Reads sales back from stored orders, for sums that are recounted.

use std::borrow::Cow;

use kiosque_contract::LineItem;
use kiosque_model::order::{PayStatus, ShipmentStatus};
use kiosque_model::sales::{Sale, Sold, sale_at};
use kiosque_model::{Currency, Minor, UnixMs};
use serde::Deserialize;

use super::{Head, errors, json, parsed};
use crate::Error;

/// Returns the sale of a stored order that was paid at `at`.
///
/// # Errors
/// The stored text cannot be read.
pub(crate) fn sale_of(head: &[u8], lines: &[u8], at: UnixMs) -> Result<Sale, Error> {
    let head = in_braces(head);
    let head: StoredHead<'_> = parsed(&head)?;
    let lines: Vec<StoredLine<'_>> = parsed(lines)?;
    let unknown =
        |field: &str| Error::Data(format!("the stored text of an order: unknown {field}"));
    let currency = Currency::parse(&head.currency).map_err(|_| unknown("currency"))?;
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
        shipment: shipment.ok_or_else(|| unknown("shipmentStatus"))?,
        goods: goods.collect(),
    })
}

/// Returns the `payEndTime` of a stored order that is a sale, `None` of any other.
///
/// # Errors
/// The stored text cannot be read.
pub(crate) fn sale_time(head: &[u8]) -> Result<Option<String>, Error> {
    let head = in_braces(head);
    let head: StoredHead<'_> = parsed(&head)?;
    let status = PayStatus::of(head.pay_status);
    let paid = status.is_some_and(|status| sale_at(Some(UnixMs(0)), status).is_some());
    Ok(head.pay_end_time.filter(|_| paid).map(Cow::into_owned))
}

/// Checks that a stored order has the fields that this program writes, in any order, and no others.
///
/// # Errors
/// The fault of the text.
pub(crate) fn check_text(head: &[u8], lines: &[u8], faults: Option<&[u8]>) -> Result<(), Error> {
    let head = in_braces(head);
    let fields: Head<'_> = parsed(&head)?;
    check_same("the head", Some(&head), Some(&json(&fields)?))?;
    let items: Vec<LineItem> = parsed(lines)?;
    check_same("the list of lines", Some(lines), Some(&json(&items)?))?;
    check_same("the list of shipment errors", faults, errors(&items)?.as_deref())
}

fn check_same(part: &str, stored: Option<&[u8]>, written: Option<&str>) -> Result<(), Error> {
    if stored == written.map(str::as_bytes) {
        return Ok(());
    }
    let value = |text: &[u8]| parsed::<serde_json::Value>(text);
    let stored = stored.map(value).transpose()?;
    if stored == written.map(|text| value(text.as_bytes())).transpose()? {
        return Ok(());
    }
    Err(Error::Data(format!("the stored text of an order: {part} is not as it was written")))
}

/// The fields of a stored head that sums need.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct StoredHead<'a> {
    #[serde(borrow)]
    currency: Cow<'a, str>,
    pay_amount: i64,
    refund_amount: i64,
    pay_status: i64,
    shipment_status: i64,
    #[serde(borrow)]
    pay_end_time: Option<Cow<'a, str>>,
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

/// A head is stored without braces.
fn in_braces(head: &[u8]) -> Vec<u8> {
    [b"{", head, b"}"].concat()
}
