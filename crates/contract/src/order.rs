//! List orders and Order detail (ORD-1 to ORD-20 in `docs/interface.md`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::example::MARCH_MS;
use crate::{Example, Request};

/// Body of List orders.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(not(feature = "literals"), non_exhaustive)]
pub struct OrderFilter {
    /// One device of the current scope.
    pub device_code: String,
    /// Whether to include archived orders; false by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub include_history: Option<bool>,
    /// Trades that started at or after this time, Unix milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_timestamp: Option<i64>,
    /// Trades that started before this time, Unix milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_timestamp: Option<i64>,
}

impl Request for OrderFilter {}

impl Example for OrderFilter {
    fn example() -> OrderFilter {
        OrderFilter { start_timestamp: Some(MARCH_MS), ..OrderFilter::new("HBR-001".to_owned()) }
    }
}

impl OrderFilter {
    /// Returns the filter of all orders of a device that are not archived.
    pub fn new(device_code: String) -> OrderFilter {
        OrderFilter { device_code, ..OrderFilter::default() }
    }
}

/// Body of Order detail; at least one of the two must be non-empty.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct OrderDetailRequest {
    /// The `tradeNo` of an order-list record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trade_no_out: Option<String>,
    /// The internal trade number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trade_no_in: Option<String>,
}

impl Request for OrderDetailRequest {}

impl Example for OrderDetailRequest {
    fn example() -> OrderDetailRequest {
        OrderDetailRequest {
            trade_no_out: Some(OrderHead::example().trade_no),
            ..OrderDetailRequest::default()
        }
    }
}

/// The fields that a list record and a detail share, in the order in which they are sent. Amounts
/// are integers in minor units of `currency`; times are `yyyy-MM-dd HH:mm:ss` in the platform's
/// time zone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(not(feature = "literals"), non_exhaustive)]
pub struct OrderHead {
    /// External trade number; may be empty.
    pub trade_no: String,
    /// Internal trade number, unique in a group.
    pub trade_no_in: String,
    /// Identifies the order in its group; not a trade number.
    pub order_id: String,
    /// The device that sold.
    pub device_code: String,
    /// ISO 4217 code of every amount of the order.
    #[schemars(schema_with = "crate::schema::currency")]
    pub currency: String,
    /// The price of the order.
    pub total_amount: i64,
    /// The amount paid.
    pub pay_amount: i64,
    /// The amount refunded.
    pub refund_amount: i64,
    /// 0 unpaid, 1 paid, 2 cancelled, 3 refunding, 4 refunded; others may be added.
    #[schemars(schema_with = "crate::schema::open::<crate::schema::PayStatus, i64>")]
    pub pay_status: i64,
    /// 0 none, 1 success, 2 in progress, 3 failed, 4 partial; others may be added.
    #[schemars(schema_with = "crate::schema::open::<crate::schema::ShipmentStatus, i64>")]
    pub shipment_status: i64,
    /// How it was paid; null when not reported.
    pub pay_channel_name: Option<String>,
    /// When it was shipped, in the platform's time zone; null when shipment has not occurred.
    #[schemars(schema_with = "crate::schema::optional_time")]
    pub shipment_time: Option<String>,
    /// Masked but for its last four letters or digits.
    pub card_number: Option<String>,
    /// Masked but for its last four letters or digits.
    pub phone: Option<String>,
    /// When the trade started, in the platform's time zone, which the summary names.
    #[schemars(schema_with = "crate::schema::time")]
    pub trade_start_time: String,
    /// When it was paid, in the platform's time zone; null when payment has not occurred.
    #[schemars(schema_with = "crate::schema::optional_time")]
    pub pay_end_time: Option<String>,
    /// `payEndTime`, or the trade's start while unpaid.
    #[schemars(schema_with = "crate::schema::time")]
    pub pay_end_date: String,
}

impl Example for OrderHead {
    fn example() -> OrderHead {
        OrderHead {
            trade_no: "2026030111474600000000073873".to_owned(),
            trade_no_in: "oid:837c06e774e27eb5".to_owned(),
            order_id: "837c06e774e27eb5".to_owned(),
            device_code: "HBR-001".to_owned(),
            currency: "USD".to_owned(),
            total_amount: 275,
            pay_amount: 275,
            refund_amount: 0,
            pay_status: 1,
            shipment_status: 1,
            pay_channel_name: Some("Mobile wallet".to_owned()),
            shipment_time: Some("2026-03-01 11:48:26".to_owned()),
            card_number: None,
            phone: Some("+* *** **5431".to_owned()),
            trade_start_time: "2026-03-01 11:47:46".to_owned(),
            pay_end_time: Some("2026-03-01 11:48:03".to_owned()),
            pay_end_date: "2026-03-01 11:48:03".to_owned(),
        }
    }
}

/// A line of an order, under `detailVOList` and `detailList` alike. Names are as of the sale.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(not(feature = "literals"), non_exhaustive)]
pub struct LineItem {
    /// The product sold.
    pub goods_id: String,
    /// Its name when it was sold.
    pub goods_name: String,
    /// The aisle it came from.
    pub aisle_code: String,
    /// How many.
    pub count: i64,
    /// List price per item.
    pub goods_price: i64,
    /// Price per item as sold.
    pub sale_price: i64,
    /// The amount paid for the line.
    pub pay_amount: i64,
    /// 0 none, 1 success, 2 in progress, 3 failed, 4 partial; others may be added.
    #[schemars(schema_with = "crate::schema::open::<crate::schema::ShipmentStatus, i64>")]
    pub shipment_status: i64,
    /// 0 when there was no fault.
    pub shipment_err_code: i64,
    /// Description of the fault; null without one.
    pub shipment_fail_desc: Option<String>,
}

impl Example for LineItem {
    fn example() -> LineItem {
        LineItem {
            goods_id: "P1005".to_owned(),
            goods_name: "Orange Juice 300 ml".to_owned(),
            aisle_code: "702".to_owned(),
            count: 1,
            goods_price: 275,
            sale_price: 275,
            pay_amount: 275,
            shipment_status: 1,
            shipment_err_code: 0,
            shipment_fail_desc: None,
        }
    }
}

/// An element of an order list's `records`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Order")]
#[cfg_attr(not(feature = "literals"), non_exhaustive)]
pub struct OrderRecord {
    /// The fields that list and detail share.
    #[serde(flatten)]
    pub head: OrderHead,
    /// The lines.
    #[serde(rename = "detailVOList")]
    pub detail_vo_list: Vec<LineItem>,
}

impl Example for OrderRecord {
    fn example() -> OrderRecord {
        OrderRecord { head: OrderHead::example(), detail_vo_list: Vec::example() }
    }
}

/// `data` of Order detail.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(not(feature = "literals"), non_exhaustive)]
pub struct OrderDetail {
    /// The fields that list and detail share.
    #[serde(flatten)]
    pub head: OrderHead,
    /// The order's lines, which lists call `detailVOList`.
    pub detail_list: Vec<LineItem>,
    /// The external trade number again, under the name that requests use.
    pub trade_no_out: String,
    /// The lines whose shipment failed; null when none did.
    pub shipment_error_list: Option<Vec<ShipmentError>>,
}

impl Example for OrderDetail {
    fn example() -> OrderDetail {
        let head = OrderHead::example();
        OrderDetail {
            trade_no_out: head.trade_no.clone(),
            head,
            detail_list: Vec::example(),
            shipment_error_list: None,
        }
    }
}

/// Why a line was not shipped.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(not(feature = "literals"), non_exhaustive)]
pub struct ShipmentError {
    /// The product.
    pub goods_id: String,
    /// The aisle.
    pub aisle_code: String,
    /// The machine's fault code.
    pub shipment_err_code: i64,
    /// Description of the fault; null without one.
    pub shipment_fail_desc: Option<String>,
}
