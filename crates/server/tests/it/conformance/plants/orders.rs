use kiosque_testkit::{DETAIL_PATH, ORDERS_PATH};
use serde_json::{Value, json};

use super::Change::{Add, Body, InBody, Query, Refuse, Remove, Replace, Set, Succeed};
use super::{Call, Given, Plant, at, empty_page, plant};

pub(super) fn plants() -> Vec<Plant> {
    let mut plants = lists();
    plants.extend(fields());
    plants.extend(details());
    plants.extend(found());
    plants
}

fn lists() -> Vec<Plant> {
    vec![
        plant("orders of no device are none").on(at(ORDERS_PATH).body("{}"), Succeed(empty_page())),
        plant("orders of no device are refused by a text")
            .on(at(ORDERS_PATH).body("{}"), Refuse(-2, "Which device?")),
        plant("a page of orders past the end is the last one").call(|call, _| {
            if call.path == ORDERS_PATH && call.query.starts_with("current=") {
                call.query = "size=10".to_owned();
            }
        }),
        plant("total counts an order too few").on(at(ORDERS_PATH), Add("data.total", -1)),
        plant("a page has an order too many").on(at(ORDERS_PATH).query("size=2"), Query("size=3")),
        plant("the order of a list varies").answer(|call, given, memory| {
            if call.path == ORDERS_PATH && memory.calls > 20 {
                given.list("records").reverse();
            }
        }),
        plant("the ends of a span are exchanged").on(
            at(ORDERS_PATH).part("\"startTimestamp\":2,"),
            Body(r#"{"deviceCode": "E1", "startTimestamp": 1, "endTimestamp": 2}"#),
        ),
        plant("the end of a span belongs to it").call(|call, _| {
            if call.path == ORDERS_PATH {
                call.change_body(|body| {
                    if body.get("startTimestamp") == body.get("endTimestamp") {
                        body.as_object_mut().unwrap().remove("startTimestamp");
                    }
                });
            }
        }),
    ]
}

/// Bugs in fields that a list and a detail have.
fn fields() -> Vec<Plant> {
    let late = || json!("2026-03-01 11:00:00");
    let phone = || json!("+49 170 1234567");
    vec![
        plant("amounts are decimals").answer(|call, given, _| {
            change(call, given, |order| {
                order["totalAmount"] = json!(order["totalAmount"].as_f64().unwrap() / 100.0);
            });
        }),
        plant("an order has no payment channel")
            .on(at(ORDERS_PATH), Remove("data.records.*.payChannelName"))
            .on(at(DETAIL_PATH), Remove("data.payChannelName")),
        plant("a line has no list price")
            .on(at(ORDERS_PATH), Remove("data.records.*.detailVOList.*.goodsPrice"))
            .on(at(DETAIL_PATH), Remove("data.detailList.*.goodsPrice")),
        plant("payEndDate is the time of shipment")
            .on(at(ORDERS_PATH), Set("data.records.*.payEndDate", late()))
            .on(at(DETAIL_PATH), Set("data.payEndDate", late())),
        plant("times are RFC 3339").answer(|call, given, _| {
            change(call, given, |order| {
                for time in ["tradeStartTime", "payEndTime", "shipmentTime", "payEndDate"] {
                    if let Some(text) = order[time].as_str() {
                        order[time] = json!(text.replace(' ', "T"));
                    }
                }
            });
        }),
        plant("numbers of phones are not masked")
            .on(at(ORDERS_PATH), Set("data.records.*.phone", phone()))
            .on(at(DETAIL_PATH), Set("data.phone", phone())),
    ]
}

fn details() -> Vec<Plant> {
    vec![
        plant("a detail has no tradeNoOut").on(at(DETAIL_PATH), Remove("data.tradeNoOut")),
        plant("a detail has one more field").on(at(DETAIL_PATH), Set("data.remark", json!(""))),
        plant("the detail of an unpaid order has no payEndDate").answer(|call, given, _| {
            let is_detail = call.path == DETAIL_PATH && given.code() == 200;
            if is_detail && given.data()["payEndTime"].is_null() {
                given.data()["payEndDate"] = json!(null);
            }
        }),
        plant("errors of shipments are not listed")
            .on(at(DETAIL_PATH), Set("data.shipmentErrorList", Value::Null)),
        plant("without shipment errors the list is empty")
            .on(at(DETAIL_PATH), Replace("data.shipmentErrorList", Value::Null, json!([]))),
        plant("a detail has another amount").on(at(DETAIL_PATH), Set("data.payAmount", json!(0))),
    ]
}

/// Bugs in how a number finds an order.
fn found() -> Vec<Plant> {
    vec![
        plant("details do not follow a switch")
            .on(at(DETAIL_PATH).in_group("west").part("w1"), Refuse(-1, "Order does not exist")),
        plant("details are of all groups").call(|call, memory| {
            let is_west = memory.group_of(call.token()) == Some("west");
            if call.path == DETAIL_PATH && is_west && !call.body.contains("w1") {
                call.succeed(json!({"deviceCode": "E1"}));
            }
        }),
        plant("tradeNoOut is the internal number")
            .on(at(DETAIL_PATH), InBody("tradeNoOut", "tradeNoIn")),
        plant("a detail of no number is null").on(at(DETAIL_PATH).body("{}"), Succeed(Value::Null)),
        plant("orderId is a trade number").on(at(DETAIL_PATH), InBody("Out\":\"o", "Out\":\"t")),
        plant("an unknown order is a success with null")
            .on(at(DETAIL_PATH).part("\"tradeNoOut\":\"no-such"), Succeed(Value::Null)),
        plant("an unknown order has another message")
            .on(at(DETAIL_PATH).code(-1), Set("msg", json!("No such order"))),
    ]
}

/// Changes the orders of a list or a detail.
fn change(call: &Call, given: &mut Given, change: fn(&mut Value)) {
    if [ORDERS_PATH, DETAIL_PATH].contains(&call.path.as_str()) && given.code() == 200 {
        given.orders().iter_mut().for_each(change);
    }
}
