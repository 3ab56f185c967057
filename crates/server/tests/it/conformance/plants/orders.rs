use kiosque_testkit::{DETAIL_PATH, ORDERS_PATH};
use serde_json::{Value, json};

use super::{Call, Given, Plant, plant};

pub(super) fn plants() -> Vec<Plant> {
    let mut plants = lists();
    plants.extend(fields());
    plants.extend(details());
    plants.extend(found());
    plants
}

fn lists() -> Vec<Plant> {
    vec![
        plant(
            "orders of no device are none",
            &["envelope.refused-with-200", "orders.device-required", "requests.violations"],
        )
        .call(|call, _| {
            if call.path == ORDERS_PATH && call.body == "{}" {
                call.succeed(json!({"total": 0, "current": 1, "size": 10, "records": []}));
            }
        }),
        plant("orders of no device are refused by a text", &["requests.violations"]).call(
            |call, _| {
                if call.path == ORDERS_PATH && call.body == "{}" {
                    call.refuse(-2, "Which device?");
                }
            },
        ),
        plant("a page of orders past the end is the last one", &["orders.end"]).call(|call, _| {
            if call.path == ORDERS_PATH && call.query.starts_with("current=") {
                call.query = "size=10".to_owned();
            }
        }),
        plant("total counts an order too few", &["orders.end"]).answer(|call, given, _| {
            if call.path == ORDERS_PATH && given.code() == 200 {
                let data = given.data();
                data["total"] = json!(data["total"].as_i64().map(|total| total - 1));
            }
        }),
        plant("a page has an order too many", &["orders.page"]).call(|call, _| {
            if call.path == ORDERS_PATH && call.query == "size=2" {
                call.query = "size=3".to_owned();
            }
        }),
        plant("the order of a list varies", &["orders.newest-first"]).answer(
            |call, given, memory| {
                if call.path == ORDERS_PATH && memory.calls > 20 {
                    given.list("records").reverse();
                }
            },
        ),
        plant("the ends of a span are exchanged", &["orders.span"]).call(|call, _| {
            if call.path == ORDERS_PATH && call.has("startTimestamp", 2) {
                call.change_body(|body| {
                    body["startTimestamp"] = json!(1);
                    body["endTimestamp"] = json!(2);
                });
            }
        }),
        plant("the end of a span belongs to it", &["orders.span"]).call(|call, _| {
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

fn fields() -> Vec<Plant> {
    vec![
        plant("amounts are decimals", &["orders.fields"]).answer(|call, given, _| {
            change(call, given, |order| {
                order["totalAmount"] = json!(order["totalAmount"].as_f64().unwrap() / 100.0);
            });
        }),
        plant("an order has no payment channel", &["orders.more-fields"]).answer(
            |call, given, _| {
                change(call, given, |order| {
                    order.as_object_mut().unwrap().remove("payChannelName");
                });
            },
        ),
        plant("a line has no list price", &["orders.lines"]).answer(|call, given, _| {
            change(call, given, |order| {
                for lines in ["detailVOList", "detailList"] {
                    let lines = order.get_mut(lines).and_then(Value::as_array_mut);
                    for line in lines.into_iter().flatten() {
                        line.as_object_mut().unwrap().remove("goodsPrice");
                    }
                }
            });
        }),
        plant("payEndDate is the time of shipment", &["orders.pay-end-date"]).answer(
            |call, given, _| {
                change(call, given, |order| order["payEndDate"] = json!("2026-03-01 11:00:00"));
            },
        ),
        plant("times are RFC 3339", &["orders.times"]).answer(|call, given, _| {
            change(call, given, |order| {
                for time in ["tradeStartTime", "payEndTime", "shipmentTime", "payEndDate"] {
                    if let Some(text) = order[time].as_str() {
                        order[time] = json!(text.replace(' ', "T"));
                    }
                }
            });
        }),
        plant("numbers of phones are not masked", &["orders.masked"]).answer(|call, given, _| {
            change(call, given, |order| order["phone"] = json!("+49 170 1234567"));
        }),
    ]
}

fn details() -> Vec<Plant> {
    vec![
        plant("a detail has no tradeNoOut", &["orders.detail"]).answer(|call, given, _| {
            if call.path == DETAIL_PATH && given.code() == 200 {
                given.data().as_object_mut().unwrap().remove("tradeNoOut");
            }
        }),
        plant("a detail has one more field", &["orders.detail"]).answer(|call, given, _| {
            if call.path == DETAIL_PATH && given.code() == 200 {
                given.data()["remark"] = json!("");
            }
        }),
        plant("the detail of an unpaid order has no payEndDate", &["orders.detail"]).answer(
            |call, given, _| {
                let is_detail = call.path == DETAIL_PATH && given.code() == 200;
                if is_detail && given.data()["payEndTime"].is_null() {
                    given.data()["payEndDate"] = json!(null);
                }
            },
        ),
        plant("errors of shipments are not listed", &["orders.shipment-errors"]).answer(
            |call, given, _| {
                if call.path == DETAIL_PATH && given.code() == 200 {
                    given.data()["shipmentErrorList"] = json!(null);
                }
            },
        ),
        plant("without shipment errors the list is empty", &["orders.shipment-errors"]).answer(
            |call, given, _| {
                let is_detail = call.path == DETAIL_PATH && given.code() == 200;
                if is_detail && given.data()["shipmentErrorList"].is_null() {
                    given.data()["shipmentErrorList"] = json!([]);
                }
            },
        ),
        plant("a detail has another amount", &["orders.detail"]).answer(|call, given, _| {
            if call.path == DETAIL_PATH && given.code() == 200 {
                given.data()["payAmount"] = json!(0);
            }
        }),
    ]
}

/// Bugs in how a number finds an order.
fn found() -> Vec<Plant> {
    vec![
        plant("details do not follow a switch", &["orders.selected-group"]).call(|call, memory| {
            let group = memory.of(call.token()).map(|issued| issued.group.as_str());
            if call.path == DETAIL_PATH && group == Some("west") && call.body.contains("w1") {
                call.refuse(-1, "Order does not exist");
            }
        }),
        plant("details are of all groups", &["orders.selected-group"]).call(|call, memory| {
            let group = memory.of(call.token()).map(|issued| issued.group.as_str());
            if call.path == DETAIL_PATH && group == Some("west") && !call.body.contains("w1") {
                call.succeed(json!({"deviceCode": "E1"}));
            }
        }),
        plant("tradeNoOut is the internal number", &["orders.detail-by-number"]).call(|call, _| {
            if call.path == DETAIL_PATH {
                call.body = call.body.replace("tradeNoOut", "tradeNoIn");
            }
        }),
        plant("a detail of no number is null", &["orders.number-required"]).call(|call, _| {
            if call.path == DETAIL_PATH && call.body == "{}" {
                call.succeed(json!(null));
            }
        }),
        plant("orderId is a trade number", &["orders.order-id"]).call(|call, _| {
            if call.path == DETAIL_PATH {
                call.body = call.body.replace("Out\":\"o", "Out\":\"t");
            }
        }),
        plant("an unknown order is a success with null", &["orders.unknown-number"]).call(
            |call, _| {
                if call.path == DETAIL_PATH && call.body.contains("\"tradeNoOut\":\"no-such") {
                    call.succeed(json!(null));
                }
            },
        ),
        plant("an unknown order has another message", &["orders.unknown-number-text"]).answer(
            |call, given, _| {
                if call.path == DETAIL_PATH && given.code() == -1 {
                    given.json["msg"] = json!("No such order");
                }
            },
        ),
    ]
}

/// Changes the orders of a list or a detail.
fn change(call: &Call, given: &mut Given, change: fn(&mut Value)) {
    if [ORDERS_PATH, DETAIL_PATH].contains(&call.path.as_str()) && given.code() == 200 {
        given.orders().iter_mut().for_each(change);
    }
}
