//! Orders: lists and details.

use std::sync::LazyLock;

use kiosque_locale::Message;
use serde_json::{Value, json};

use super::pages::{no_records, past_the_end};
use crate::answer::{Answer, Expected, Type, all_have_fields, has_fields, met};
use crate::ask::Ask;
use crate::facts::{Facts, ORDERS_QUERY, UNKNOWN};
use crate::paths::{DETAIL, ORDERS};
use crate::rule::Mark::{Contract, Kiosque};
use crate::rule::{Needs, Rule, rule};

const FIELDS: &[(&str, Type)] = &[
    ("tradeNo", Type::Text),
    ("orderId", Type::Text),
    ("currency", Type::Text),
    ("totalAmount", Type::Integer),
    ("payAmount", Type::Integer),
    ("shipmentTime", Type::TextOrNull),
    ("cardNumber", Type::TextOrNull),
    ("phone", Type::TextOrNull),
    ("tradeStartTime", Type::Text),
    ("payEndTime", Type::TextOrNull),
    ("payEndDate", Type::Text),
];

pub(super) static RULES: LazyLock<Vec<Rule>> = LazyLock::new(|| {
    vec![
        rule("orders.device-required", "ORD-1", Contract)
            .text("List orders requires a deviceCode.")
            .ask(|facts| Some(facts.call(ORDERS, "{}")))
            .expect(|_, answer| answer.refusal()),
        rule("orders.page", "ORD-2", Contract)
            .text("List orders answers with a page of orders.")
            .ask(|facts| facts.orders_of_device("size=2"))
            .expect(|facts, answer| {
                let count = facts.orders.len().min(2);
                met!(answer.records()?.len() == count, "{count} orders")
            }),
        rule("orders.end", "PAGE-6", Contract)
            .text("A page of orders past the end, behind as many as total says, has none.")
            .ask(|facts| facts.orders_of_device(ORDERS_QUERY))
            .expect(|_, answer| answer.records().map(drop))
            .ask(|facts| facts.orders_of_device(&past_the_end(facts)))
            .expect(no_records),
        rule("orders.newest-first", "ORD-3", Kiosque)
            .text("Orders are listed by arrival: a repeated walk has the same order.")
            .ask(|facts| facts.orders_of_device(ORDERS_QUERY).filter(|_| facts.orders.len() > 2))
            .expect(|facts, answer| {
                let ids = |orders: &[Value]| {
                    orders.iter().map(|order| order["orderId"].clone()).collect::<Vec<_>>()
                };
                let (now, before) = (ids(answer.records()?), ids(&facts.orders));
                // Orders that arrived meanwhile are first.
                let kept: Vec<Value> =
                    before.iter().filter(|id| now.contains(id)).cloned().collect();
                let shown: Vec<Value> =
                    now.iter().filter(|id| before.contains(id)).cloned().collect();
                let has_new = now.first() != before.first();
                let is_met = kept == shown && (has_new || now == before);
                met!(is_met, "the orders in the same order as before")
            }),
        rule("orders.span", "ORD-6", Kiosque)
            .text("A start after the end is a violation; a span whose ends are equal is empty.")
            .ask(|facts| {
                let device = facts.device.as_ref()?;
                let body = json!({"deviceCode": device, "startTimestamp": 2, "endTimestamp": 1});
                Some(facts.call_with(ORDERS, &body))
            })
            .expect(|_, answer| answer.violates(&["startTimestamp"]))
            .ask(|facts| {
                let device = facts.device.as_ref()?;
                let at = facts.now_ms;
                let body = json!({"deviceCode": device, "startTimestamp": at, "endTimestamp": at});
                Some(facts.call_with(ORDERS, &body))
            })
            .expect(|_, answer| met!(answer.records()?.is_empty(), "no order")),
        rule("orders.fields", "ORD-7", Contract)
            .text("The record of an order has its fields; amounts are integers in minor units.")
            .ask(|facts| facts.orders_of_device(ORDERS_QUERY))
            .expect(|_, answer| {
                let records = answer.records()?;
                met!(!records.is_empty(), "orders")?;
                records.iter().try_for_each(|order| has_fields(order, FIELDS))
            }),
        rule("orders.more-fields", "ORD-7", Kiosque)
            .text(
                "The record of an order has the internal trade number, the device and its \
                 states.",
            )
            .ask(|facts| facts.orders_of_device(ORDERS_QUERY))
            .expect(|_, answer| {
                let fields = [
                    ("tradeNoIn", Type::Text),
                    ("deviceCode", Type::Text),
                    ("refundAmount", Type::Integer),
                    ("payStatus", Type::Integer),
                    ("shipmentStatus", Type::Integer),
                    ("payChannelName", Type::TextOrNull),
                ];
                answer.records()?.iter().try_for_each(|order| has_fields(order, &fields))
            }),
        rule("orders.lines", "ORD-8", Kiosque)
            .text("A line item has all of its fields.")
            .ask(|facts| facts.orders_of_device(ORDERS_QUERY))
            .expect(|_, answer| {
                let fields = [
                    ("goodsId", Type::Text),
                    ("goodsName", Type::Text),
                    ("aisleCode", Type::Text),
                    ("count", Type::Integer),
                    ("goodsPrice", Type::Integer),
                    ("salePrice", Type::Integer),
                    ("payAmount", Type::Integer),
                    ("shipmentStatus", Type::Integer),
                    ("shipmentErrCode", Type::Integer),
                    ("shipmentFailDesc", Type::TextOrNull),
                ];
                let lines =
                    |order: &Value| all_have_fields(&order["detailVOList"], &fields).map(drop);
                answer.records()?.iter().try_for_each(lines)
            }),
        rule("orders.pay-end-date", "ORD-12", Kiosque)
            .text("payEndDate equals payEndTime, or tradeStartTime while the order is unpaid.")
            .ask(|facts| facts.orders_of_device(ORDERS_QUERY))
            .expect(|_, answer| {
                let is_met = answer.records()?.iter().all(|order| {
                    let is_unpaid = order["payEndTime"].is_null();
                    order["payEndDate"]
                        == order[if is_unpaid { "tradeStartTime" } else { "payEndTime" }]
                });
                met!(is_met, "payEndDate as payEndTime, or as tradeStartTime")
            }),
        rule("orders.times", "FMT-2", Contract)
            .text("Date strings have the form yyyy-MM-dd HH:mm:ss.")
            .ask(|facts| facts.orders_of_device(ORDERS_QUERY))
            .expect(|_, answer| {
                let times = ["tradeStartTime", "payEndTime", "shipmentTime", "payEndDate"];
                let is_met = |order: &Value| times.iter().all(|name| is_time(&order[name]));
                met!(answer.records()?.iter().all(is_met), "times as yyyy-MM-dd HH:mm:ss")
            }),
        rule("orders.masked", "FMT-4", Kiosque)
            .text("cardNumber and phone are masked but for their last four letters or digits.")
            .ask(|facts| facts.orders_of_device(ORDERS_QUERY))
            .expect(|_, answer| {
                let is_met = |order: &Value| {
                    ["cardNumber", "phone"].iter().all(|name| is_masked(&order[name]))
                };
                met!(answer.records()?.iter().all(is_met), "masked numbers")
            }),
        rule("orders.detail", "ORD-16", Kiosque)
            .text("The detail has the fields of the list record with the same values.")
            // An order may change at any time, so the list is read again before each detail.
            .ask(|facts| facts.orders_of_device(ORDERS_QUERY))
            .expect(|_, answer| answer.records().map(drop))
            .ask(|facts| detail_of(facts, before_at(facts, 0)))
            .expect(|facts, answer| is_detail(before_at(facts, 0), answer))
            .ask(|facts| facts.orders_of_device(ORDERS_QUERY))
            .expect(|_, answer| answer.records().map(drop))
            .ask(|facts| detail_of(facts, before_at(facts, 1)))
            .expect(|facts, answer| is_detail(before_at(facts, 1), answer))
            .ask(|facts| facts.orders_of_device(ORDERS_QUERY))
            .expect(|_, answer| answer.records().map(drop))
            .ask(|facts| detail_of(facts, before_at(facts, 2)))
            .expect(|facts, answer| is_detail(before_at(facts, 2), answer)),
        rule("orders.shipment-errors", "ORD-17", Kiosque)
            .text(
                "shipmentErrorList has an entry for each line with an error, and is null \
                 without one.",
            )
            .ask(|facts| detail_of(facts, order_at(facts, 0)))
            .ask(|facts| detail_of(facts, order_at(facts, 1)))
            .ask(|facts| detail_of(facts, order_at(facts, 2)))
            .expect(|_, answer| lists_errors(answer)),
        rule("orders.detail-by-number", "ORD-15", Contract)
            .text("Order detail takes tradeNoOut, the tradeNo of a list record.")
            .ask(|facts| {
                let mut numbers = facts.orders.iter().map(|order| &order["tradeNo"]);
                let number = numbers.find(|number| **number != "")?;
                Some(facts.call_with(DETAIL, &json!({"tradeNoOut": number})))
            })
            .expect(|facts, answer| {
                let detail = answer.success()?;
                met!(detail.is_object(), "an order")?;
                let is_listed =
                    |number: &Value| facts.orders.iter().any(|order| order["tradeNo"] == *number);
                // A detail may have the number under either name, or not at all.
                let mut numbers =
                    ["tradeNo", "tradeNoOut"].iter().filter_map(|name| detail.get(name));
                met!(numbers.all(is_listed), "the order with this tradeNo")
            }),
        rule("orders.number-required", "ORD-15", Contract)
            .text("Order detail without a trade number is refused.")
            .ask(|facts| Some(facts.call(DETAIL, "{}")))
            .expect(|_, answer| answer.refusal()),
        rule("orders.order-id", "ORD-18", Contract)
            .text("orderId is not a trade number.")
            .ask(|facts| {
                let order =
                    facts.orders.iter().find(|order| order["orderId"] != order["tradeNo"])?;
                Some(facts.call_with(DETAIL, &json!({"tradeNoOut": order["orderId"]})))
            })
            .expect(|_, answer| answer.outcome(200, -1)),
        rule("orders.selected-group", "ORD-18", Kiosque)
            .text("The order of a detail belongs to the selected group, also after a switch.")
            .changes_session()
            .needs(Needs::OrdersOfEach)
            .ask(|facts| {
                facts.other_device.as_ref()?;
                Some(facts.switch(facts.other_group.as_deref()?))
            })
            .expect(|_, answer| answer.success().map(drop))
            .ask(|facts| Some(facts.list_all_orders(facts.other_device.as_deref()?)))
            .expect(|_, answer| answer.records().map(drop))
            .ask(|facts| {
                let number = facts.before.as_ref()?.data()["records"][0].get("tradeNoIn")?;
                Some(facts.call_with(DETAIL, &json!({"tradeNoIn": number})))
            })
            .expect(|facts, answer| {
                let code = facts.other_device.as_deref().unwrap_or_default();
                met!(answer.success()?["deviceCode"] == code, "an order of {code:?}")
            })
            .ask(|facts| detail_of(facts, order_at(facts, 0)))
            .expect(|facts, answer| {
                // Both groups may have orders with this number.
                let device = facts.device.as_deref().unwrap_or_default();
                let is_other = answer.success().is_ok_and(|order| order["deviceCode"] != device);
                if is_other { Ok(()) } else { answer.outcome(200, -1) }
            }),
        rule("orders.unknown-number", "ORD-20", Contract)
            .text("An unknown trade number is answered with -1, never with a success.")
            .ask(|facts| Some(facts.call_with(DETAIL, &json!({"tradeNoOut": UNKNOWN}))))
            .expect(|_, answer| answer.outcome(200, -1)),
        rule("orders.unknown-number-text", "ORD-20", Kiosque)
            .text("The message for an unknown trade number is Order does not exist.")
            .ask(|facts| Some(facts.call_with(DETAIL, &json!({"tradeNoIn": UNKNOWN}))))
            .expect(|_, answer| answer.refused(Message::OrderUnknown)),
    ]
});

/// Returns one of the orders that the survey found; the first one if it found fewer.
fn order_at(facts: &Facts, at: usize) -> Option<&Value> {
    facts.orders.get(at).or_else(|| facts.orders.first())
}

/// Returns an order of the list that the previous answer has; the first one if it has fewer.
fn before_at(facts: &Facts, at: usize) -> Option<&Value> {
    let list = facts.before.as_ref()?.data()["records"].as_array()?;
    list.get(at).or_else(|| list.first())
}

/// Returns the call of the detail of an order, by its internal number.
fn detail_of(facts: &Facts, order: Option<&Value>) -> Option<Ask> {
    let number = &order?["tradeNoIn"];
    Some(facts.call_with(DETAIL, &json!({"tradeNoIn": number})))
}

/// Expects the detail of an order: the fields of the list record, and two more.
fn is_detail(order: Option<&Value>, answer: &Answer) -> Expected {
    let detail = answer.success()?;
    let order = order.and_then(Value::as_object).ok_or_else(|| "an order".to_owned())?;
    for (name, value) in order.iter().filter(|(name, _)| *name != "detailVOList") {
        met!(detail.get(name) == Some(value), "{name} of the list record")?;
    }
    let is_same = detail.get("detailList") == order.get("detailVOList");
    met!(is_same, "the line items of the list record in detailList")?;
    met!(detail.get("tradeNoOut") == order.get("tradeNo"), "tradeNoOut equal to tradeNo")?;
    let is_met = detail.as_object().is_some_and(|detail| detail.len() == order.len() + 2);
    met!(is_met, "the fields of the list record, tradeNoOut and shipmentErrorList alone")
}

/// Expects the entries of `shipmentErrorList` that the lines of the detail require.
fn lists_errors(answer: &Answer) -> Expected {
    let detail = answer.success()?;
    let lines = answer.listed("detailList");
    let is_error =
        |line: &&Value| line["shipmentErrCode"] != 0 || !line["shipmentFailDesc"].is_null();
    let entry = |line: &Value| {
        json!({
            "goodsId": line["goodsId"], "aisleCode": line["aisleCode"],
            "shipmentErrCode": line["shipmentErrCode"],
            "shipmentFailDesc": line["shipmentFailDesc"],
        })
    };
    let errors: Vec<Value> = lines.iter().filter(is_error).map(entry).collect();
    let expected = if errors.is_empty() { Value::Null } else { Value::Array(errors) };
    met!(detail.get("shipmentErrorList") == Some(&expected), "shipmentErrorList {expected}")
}

/// Returns whether a value is null, or a time such as `2026-03-02 10:00:00`.
fn is_time(value: &Value) -> bool {
    let Some(text) = value.as_str() else { return value.is_null() };
    let shape = text.bytes().map(|byte| if byte.is_ascii_digit() { b'0' } else { byte });
    shape.eq(*b"0000-00-00 00:00:00")
}

/// Returns whether a value is null, or has at most four unmasked letters and digits.
fn is_masked(value: &Value) -> bool {
    let shown = |text: &str| text.chars().filter(|c| c.is_alphanumeric()).count();
    value.as_str().map_or(value.is_null(), |text| shown(text) <= 4)
}
