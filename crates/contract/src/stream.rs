//! The lines that an operator streams or imports.
//!
//! Every field is optional, so that a missing one can be reported together with all other errors of
//! its line; the schema says which fields a valid line has.

use std::fmt;
use std::marker::PhantomData;

use schemars::JsonSchema;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::Number;

/// A line of a stream or a file of orders: one whole order. Amounts are integers in minor units of
/// `currency`; times are RFC 3339 with an offset, or `yyyy-MM-dd HH:mm:ss` in the platform's time
/// zone.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OrderLine {
    /// Identifies the order in its group; an order with a known id is an update.
    #[schemars(required, length(min = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order_id: Option<String>,
    /// The device that sold.
    #[schemars(required, length(min = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_code: Option<String>,
    /// ISO 4217 code of every amount of the order.
    #[schemars(required)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub currency: Option<String>,
    /// The price of the order.
    #[schemars(required)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_amount: Option<i64>,
    /// When the trade started.
    #[schemars(required)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trade_start_time: Option<String>,
    /// External trade number; none by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trade_no: Option<String>,
    /// Internal trade number; derived from `orderId` by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trade_no_in: Option<String>,
    /// The amount paid; by default `totalAmount` with a `payEndTime`, else 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pay_amount: Option<i64>,
    /// The amount refunded; 0 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refund_amount: Option<i64>,
    /// When the order was paid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pay_end_time: Option<String>,
    /// When the goods were dispensed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shipment_time: Option<String>,
    /// Masked before it is stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub card_number: Option<String>,
    /// Masked before it is stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phone: Option<String>,
    /// See ORD-13; derived from the times by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pay_status: Option<i64>,
    /// See ORD-14; derived from the times by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shipment_status: Option<i64>,
    /// How the order was paid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pay_channel_name: Option<String>,
    /// The line items.
    #[serde(rename = "detailVOList", skip_serializing_if = "Option::is_none")]
    pub detail_vo_list: Option<Vec<Object<OrderLineItem>>>,
}

/// A line item of an [`OrderLine`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OrderLineItem {
    /// The product.
    #[schemars(required)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goods_id: Option<String>,
    /// Its name; by default the name of the product at the time of the sale.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goods_name: Option<String>,
    /// The aisle that it came from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aisle_code: Option<String>,
    /// Number of items; 1 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<i64>,
    /// Price of one item as sold; 0 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sale_price: Option<i64>,
    /// List price of one item; `salePrice` by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goods_price: Option<i64>,
    /// The amount paid for the line; `salePrice` times `count` by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pay_amount: Option<i64>,
    /// See ORD-14; the order's by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shipment_status: Option<i64>,
    /// Fault code of the machine; 0 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shipment_err_code: Option<i64>,
    /// Description of the fault.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shipment_fail_desc: Option<String>,
}

/// A line of a stream of heartbeats.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HeartbeatLine {
    /// The device that was active.
    #[schemars(required, length(min = 1))]
    pub device_code: Option<String>,
    /// When, Unix milliseconds; now by default, and in place of a later time.
    #[schemars(with = "Option<i64>")]
    pub timestamp: Option<Number>,
}

/// A `T` that is an object. A list, whose items serde would take for the fields by their position,
/// is an error.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[serde(transparent)]
#[schemars(transparent, inline)]
pub struct Object<T>(pub T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Fields<T> {
            type Value = T;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map))
            }
        }
        deserializer.deserialize_map(Fields(PhantomData)).map(Object)
    }
}
