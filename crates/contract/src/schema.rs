//! Schemas of fields about which the interface says more than their Rust types: enumerations, flags
//! and dates. They are only used in the OpenAPI documents.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

/// Declares enumerations: their values, with names for generated code.
macro_rules! enumerations {
    ($(
        $(#[doc = $description:literal])+
        $name:ident: $kind:literal { $($value:literal $variant:literal),+ $(,)? }
    )+) => { $(
        $(#[doc = $description])+
        pub(crate) struct $name;

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({
                    "type": $kind,
                    "description": concat!($($description),+).trim_ascii(),
                    "enum": [$($value),+],
                    "x-enum-varnames": [$($variant),+],
                })
            }
        }
    )+ };
}

enumerations! {
    /// A flag.
    Flag: "integer" { 0 "NO", 1 "YES" }
    /// The payment of an order. Later versions may add values.
    PayStatus: "integer" { 0 "UNPAID", 1 "PAID", 2 "CANCELLED", 3 "REFUNDING", 4 "REFUNDED" }
    /// The shipment of an order or of a line. Later versions may add values.
    ShipmentStatus: "integer" { 0 "NONE", 1 "SUCCESS", 2 "IN_PROGRESS", 3 "FAILED", 4 "PARTIAL" }
    /// Names a figure of the summary. Later versions may add values.
    KpiCode: "string" {
        "salesAmount" "SALES_AMOUNT",
        "orderCount" "ORDER_COUNT",
        "itemCount" "ITEM_COUNT",
        "averageOrderAmount" "AVERAGE_ORDER_AMOUNT",
        "refundAmount" "REFUND_AMOUNT",
        "shipmentSuccessRate" "SHIPMENT_SUCCESS_RATE",
        "deviceCount" "DEVICE_COUNT",
        "onlineDeviceCount" "ONLINE_DEVICE_COUNT",
        "onlineRate" "ONLINE_RATE",
    }
    /// The format of a figure. Later versions may add values.
    KpiType: "string" { "money" "MONEY", "count" "COUNT", "percent" "PERCENT" }
    /// The state of an import.
    ImportState: "string" {
        "running" "RUNNING",
        "complete" "COMPLETE",
        "interrupted" "INTERRUPTED",
    }
}

/// Returns the schema of one of the values of `T`, or of another value of the type `U`.
pub(crate) fn open<T: JsonSchema, U: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({ "anyOf": [generator.subschema_for::<T>(), generator.subschema_for::<U>()] })
}

/// A date string (FMT-2).
const TIME: &str = r"^\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}$";

pub(crate) fn time(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "pattern": TIME })
}

pub(crate) fn optional_time(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["string", "null"], "pattern": TIME })
}

pub(crate) fn day(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "format": "date" })
}

pub(crate) fn currency(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "pattern": "^[A-Z]{3}$" })
}
