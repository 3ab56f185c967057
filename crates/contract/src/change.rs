//! Order changes (ORD-23 to ORD-30 in `docs/interface.md`), and the same for the operator.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Example, OrderRecord, Request};

/// Body of Order changes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct OrderChangesRequest {
    /// `next` of the answer before; null: from the first change on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// The largest number of records, 10 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub size: Option<i64>,
    /// Seconds that the answer waits if there is no change yet, 0 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 60))]
    pub wait_seconds: Option<i64>,
    /// True: the totals of the group, too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub include_totals: Option<bool>,
}

impl Request for OrderChangesRequest {}

impl Example for OrderChangesRequest {
    fn example() -> OrderChangesRequest {
        OrderChangesRequest {
            // A cursor is only valid at the server that sent it.
            after: None,
            size: Some(100),
            include_totals: Some(true),
            wait_seconds: None,
        }
    }
}

/// `data` of Order changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(not(feature = "literals"), non_exhaustive)]
pub struct OrderChanges {
    /// The orders, each at its latest change.
    pub records: Vec<OrderChange>,
    /// `after` of the next request.
    pub next: String,
    /// Whether there are further changes already.
    pub more: bool,
    /// The totals of the group, if the request asks for them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub totals: Option<OrderTotals>,
}

impl Example for OrderChanges {
    fn example() -> OrderChanges {
        let change = OrderChange { change_no: 764, order: OrderRecord::example() };
        let sales = SalesTotals {
            currency: change.order.head.currency.clone(),
            orders: 741,
            pay_amount: 178_300,
            refund_amount: 250,
        };
        OrderChanges {
            records: vec![change],
            next: "AAAAAAAAAAEAAAAAAAAC_AAAAAAAAAL8GOCJHbMfLDU".to_owned(),
            more: false,
            totals: Some(OrderTotals { change_no: 764, orders: 764, sales: vec![sales] }),
        }
    }
}

/// The totals of all orders of a group, archived ones included, in the state of the answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OrderTotals {
    /// The number of the last change of the group; 0 before the first.
    pub change_no: i64,
    /// The number of orders.
    pub orders: i64,
    /// The totals of the sales in each currency that has any, sorted by currency.
    pub sales: Vec<SalesTotals>,
}

/// The totals of the orders of a currency that are paid, refunding or refunded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SalesTotals {
    /// ISO 4217 code of the amounts.
    #[schemars(schema_with = "crate::schema::currency")]
    pub currency: String,
    /// The number of these orders.
    pub orders: i64,
    /// The sum of their `payAmount`, in minor units.
    pub pay_amount: i64,
    /// The sum of their `refundAmount`, in minor units.
    pub refund_amount: i64,
}

/// An order at its latest change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(not(feature = "literals"), non_exhaustive)]
pub struct OrderChange {
    /// The number of the change, larger than the number of any earlier change of the group.
    pub change_no: i64,
    /// The record of an order list.
    pub order: OrderRecord,
}

/// The query string of the changes of a group.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChangesFilter {
    /// The id of the group.
    #[schemars(required, length(min = 1))]
    pub group: Option<String>,
    /// `next` of the last line that was read; empty or absent: from the first change on.
    pub after: Option<String>,
    /// `true`: the answer does not end after the last change, and goes on with each new one.
    #[schemars(with = "Option<bool>")]
    pub follow: Option<String>,
}

/// A line of the changes of a group: an order at its latest change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OrderChangeLine {
    /// The number of the change, larger than the number of any earlier change of the group.
    pub change_no: i64,
    /// `after` of a request that continues behind this line.
    pub next: String,
    /// The record of an order list.
    pub order: OrderRecord,
}
