//! The record of an order: the order as sent in a list, without its three numbers, which have
//! separate columns. It is rendered once, when the order is written, and stored compressed with a
//! [dictionary](dictionaries); [`stored`] reads it back.

pub(crate) mod dictionaries;
pub(crate) mod sale;
pub(crate) mod sale_figures;
pub(crate) mod stored;

use std::borrow::Cow;
use std::cell::LazyCell;
use std::collections::HashMap;
use std::fmt::Display;

use kiosque_contract::LineItem;
use kiosque_model::order::{Line, Order, OrderStates};
use kiosque_model::sales::Sale;
use kiosque_model::{Currency, DeviceCode, Minor, OrderId, TradeNo, UnixMs, Zone};
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::json_records::json;

/// The prefix of derived internal trade numbers; given numbers never have it.
const DERIVED_PREFIX: &str = "oid:";

/// Returns the internal trade number of an order that was given without one.
pub fn derived_trade_no_in(order_id: &str) -> String {
    format!("{DERIVED_PREFIX}{order_id}")
}

/// Returns the id of the order whose derived internal trade number this is.
pub(crate) fn order_id_of(trade_no_in: &str) -> Option<&str> {
    trade_no_in.strip_prefix(DERIVED_PREFIX)
}

/// Product names by `goodsId`.
pub type ProductNames = HashMap<String, String>;

/// The text of an order's record: the JSON of a list record without its first three fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record(String);

/// Returns the text of a record without the card and the phone number, which a dictionary must not
/// contain.
pub(crate) fn without_personal_data(text: &[u8]) -> Result<String, Error> {
    let fields: Fields<'_> = parsed(text)?;
    let hidden = |number: Option<Cow<'_, str>>| number.map(|_| Cow::Borrowed(""));
    let (card_number, phone) = (hidden(fields.card_number), hidden(fields.phone));
    json(&Fields { card_number, phone, ..fields })
}

impl Record {
    /// Returns the record with this text.
    pub(crate) fn read(text: Vec<u8>) -> Result<Record, Error> {
        let text = String::from_utf8(text);
        text.map(Record).map_err(|error| Error::Data(format!("the record of an order: {error}")))
    }

    pub(crate) fn text(&self) -> &str {
        &self.0
    }
}

/// An order to be stored.
#[derive(Clone, Debug)]
pub struct Incoming {
    /// The device that sold.
    pub device_code: DeviceCode,
    /// Identifies the order within its group.
    pub order_id: OrderId,
    /// Determines, with the device, the group that owns the order.
    pub trade_start: UnixMs,
    /// External trade number.
    pub trade_no: Option<TradeNo>,
    /// Internal trade number, if one was given.
    pub trade_no_in: Option<TradeNo>,
    /// The lines without their own product name, by position. An update keeps their stored names.
    pub nameless_lines: Vec<usize>,
    /// The sale that the order counts as.
    pub sale: Option<Sale>,
    /// Its states.
    pub states: OrderStates,
    /// The text to store if the order is new.
    pub record: Record,
}

impl Incoming {
    /// Renders an order. A line without a name takes its product's from `names`.
    ///
    /// # Errors
    /// The text cannot be rendered, which does not happen for an [`Order`].
    pub fn of(order: Order, zone: &Zone, names: &ProductNames) -> Result<Incoming, Error> {
        let nameless_lines = order
            .lines
            .iter()
            .enumerate()
            .filter_map(|(at, line)| line.goods_name.is_none().then_some(at))
            .collect();
        let record = Record(json(&fields(&order, zone, names))?);
        let mut sale = Sale::of(&order);
        for sold in sale.iter_mut().flat_map(|sale| &mut sale.goods) {
            // A product is counted under its current name; other goods under the name in the order.
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
            states: OrderStates { payment: order.pay_status, shipment: order.shipment_status },
            record,
        })
    }

    /// Returns the currency of the order, and its total in minor units.
    ///
    /// # Errors
    /// The text cannot be read, which does not happen for one that [`Incoming::of`] rendered.
    pub fn total(&self) -> Result<(Currency, Minor), Error> {
        let Fields { currency, total_amount, .. } = parsed(self.record.text().as_bytes())?;
        Ok((Currency::parse(&currency)?, Minor(total_amount)))
    }

    /// Returns the text to store in place of `stored`: a line that was given without a name keeps
    /// the stored one, since names are as of the sale.
    ///
    /// # Errors
    /// The stored text cannot be read.
    pub fn record_after(&self, stored: &Record) -> Result<Cow<'_, Record>, Error> {
        if self.nameless_lines.is_empty() {
            return Ok(Cow::Borrowed(&self.record));
        }
        let mut fields: Fields<'_> = parsed(self.record.text().as_bytes())?;
        let stored_lines = parsed::<Fields<'_>>(stored.text().as_bytes())?.lines;
        let first_of_product = LazyCell::new(|| {
            let later_first = stored_lines.iter().rev();
            later_first.map(|was| (was.goods_id.as_str(), was)).collect::<HashMap<_, _>>()
        });
        for at in &self.nameless_lines {
            let Some(line) = fields.lines.get_mut(*at) else { continue };
            // The same position first: a product may have two lines with different names.
            let same_position = stored_lines.get(*at).filter(|was| was.goods_id == line.goods_id);
            let same_product = || first_of_product.get(line.goods_id.as_str()).copied();
            if let Some(was) = same_position.or_else(same_product) {
                line.goods_name.clone_from(&was.goods_name);
            }
        }
        Ok(Cow::Owned(Record(json(&fields)?)))
    }
}

/// The fields of a record, in the order in which they are sent.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Fields<'a> {
    #[serde(borrow)]
    device_code: Cow<'a, str>,
    #[serde(borrow)]
    currency: Cow<'a, str>,
    total_amount: i64,
    pay_amount: i64,
    refund_amount: i64,
    pay_status: i64,
    shipment_status: i64,
    pay_channel_name: Option<Cow<'a, str>>,
    shipment_time: Option<String>,
    card_number: Option<Cow<'a, str>>,
    phone: Option<Cow<'a, str>>,
    trade_start_time: String,
    pay_end_time: Option<String>,
    /// The end of the payment; the start of the trade while unpaid.
    pay_end_date: String,
    #[serde(rename = "detailVOList")]
    lines: Vec<LineItem>,
}

fn fields<'a>(order: &'a Order, zone: &Zone, names: &ProductNames) -> Fields<'a> {
    let trade_start_time = zone.text(order.trade_start);
    let pay_end_time = order.pay_end.map(|at| zone.text(at));
    Fields {
        device_code: order.device_code.as_str().into(),
        currency: order.currency.code().into(),
        total_amount: order.total_amount.0,
        pay_amount: order.pay_amount.0,
        refund_amount: order.refund_amount.0,
        pay_status: order.pay_status.number(),
        shipment_status: order.shipment_status.number(),
        pay_channel_name: order.pay_channel_name.as_deref().map(Cow::Borrowed),
        shipment_time: order.shipment.map(|at| zone.text(at)),
        card_number: order.card_number.as_deref().map(Cow::Borrowed),
        phone: order.phone.as_deref().map(Cow::Borrowed),
        pay_end_date: pay_end_time.as_ref().unwrap_or(&trade_start_time).clone(),
        trade_start_time,
        pay_end_time,
        lines: order.lines.iter().map(|line| item(line, names)).collect(),
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

fn parsed<'a, T: Deserialize<'a>>(text: &'a [u8]) -> Result<T, Error> {
    let invalid = |reason: &dyn Display| Error::Data(format!("the record of an order: {reason}"));
    // Checked as a whole: `from_slice` would check each string.
    let text = str::from_utf8(text).map_err(|error| invalid(&error))?;
    serde_json::from_str(text).map_err(|error| invalid(&error))
}
