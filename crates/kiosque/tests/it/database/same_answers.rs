//! The sales report in both engines: both give the same answers to all requests.

use std::thread;

use jiff::civil;
use kiosque_testdb::{Durability, Server};
use kiosque_testkit::blocking::Client;
use kiosque_testkit::{
    AISLE_PATH, DETAIL_PATH, DEVICES_PATH, ONLINE_PATH, ORDERS_PATH, SUMMARY_PATH, Sandbox, Served,
    dashboard_paths,
};
use serde_json::{Value, json};

use super::{UNHURRIED, node};
use crate::KIOSQUE;
use crate::exports;
use crate::pages;
use crate::sales_report::{brought_in, example, report};

const ZONE: &str = "America/New_York";
const HOUR_MS: i64 = 3_600_000;
const DAY_MS: i64 = 24 * HOUR_MS;
/// One order in this many is also read by its numbers.
const DETAILS_ONE_IN: usize = 100;

/// Imports the data as the example's README says; returns a key for the operator's calls, and the
/// exported orders. The exports change nothing.
fn bring_in(sandbox: &Sandbox) -> (String, String) {
    let report = report().unwrap_or_else(|| example("sales-report/sample.csv"));
    brought_in(sandbox, "sales-report", ZONE, &report);
    let [_, orders] = exports::read_again(sandbox);
    (sandbox.create_key(&["tills"]), orders)
}

/// A server on one of the engines, and a client of it.
struct One {
    served: Served,
    /// Its directory, which must exist for as long as it runs.
    _sandbox: Sandbox,
    caller: Client,
    token: String,
    key: String,
}

impl One {
    fn of(served: Served, sandbox: Sandbox, key: String) -> One {
        let mut caller = served.connect();
        let token = caller.log_in("sales-report", "read-the-report");
        One { served, _sandbox: sandbox, caller, token, key }
    }

    fn operate(&self, call: &str, body: &Value) {
        let path = format!("/operator/v1/{call}");
        let mut caller = self.served.connect_operator();
        let reply = caller.call_operator(&path, &self.key, &body.to_string()).unwrap();
        assert_eq!(reply.status, 200, "{reply:?}");
    }
}

/// One on each engine, with the same data.
struct Both {
    each: [One; 2],
    asked: usize,
}

impl Both {
    /// Returns the answer of both.
    fn ask(&mut self, path: &str, body: &Value) -> Value {
        let [one, other] = self.each.each_mut().map(|one| {
            let mut reply = one.caller.call(path, Some(&one.token), &body.to_string());
            take_out_creation(&mut reply.json);
            (reply.status, reply.json)
        });
        assert!(one == other, "{path} {body}:\n{one:?}\n{other:?}");
        assert_eq!((one.0, &one.1["code"]), (200, &json!(200)), "{path} {body}: {one:?}");
        self.asked += 1;
        one.1["data"].clone()
    }

    /// Posts to both.
    fn operate(&mut self, call: &str, body: &Value) {
        self.each.iter().for_each(|one| one.operate(call, body));
    }

    /// Sends a heartbeat of the same moment to both.
    fn hear_of(&mut self, device: &str) {
        let one = &mut self.each[0];
        one.operate("activity", &json!({"deviceCode": device}));
        let online = one.caller.call(ONLINE_PATH, Some(&one.token), "").success()["list"].clone();
        let heard = online.as_array().unwrap().iter().find(|it| it["deviceCode"] == device);
        let at = &heard.unwrap()["lastActiveTimestamp"];
        self.operate("activity", &json!({"deviceCode": device, "timestamp": at}));
    }
}

/// The creation time of a device is the one thing that differs.
fn take_out_creation(answer: &mut Value) {
    match answer {
        Value::Object(fields) => {
            if let Some(created) = fields.get_mut("createTimestamp") {
                assert!(created.take().is_i64());
            }
            fields.values_mut().for_each(take_out_creation);
        }
        Value::Array(items) => items.iter_mut().for_each(take_out_creation),
        _ => {}
    }
}

/// Serves the report from both engines.
fn both(server: &Server) -> Both {
    let (sandbox, node) = (KIOSQUE.sandbox(), node(&[server]));
    let [(key, orders), (other_key, other_orders)] = thread::scope(|scope| {
        let other = scope.spawn(|| bring_in(&node));
        [bring_in(&sandbox), other.join().unwrap()]
    });
    assert!(orders == other_orders, "the exports differ");
    let one = One::of(sandbox.serve(), sandbox, key);
    let other = One::of(node.serve_with(&UNHURRIED), node, other_key);
    Both { each: [one, other], asked: 0 }
}

/// Orders page by page, whole and in spans, and some of them by their numbers.
fn compare_orders(both: &mut Both, device: &str) -> Vec<Value> {
    let all = json!({"deviceCode": device, "includeHistory": true});
    let mut orders = Vec::new();
    for current in 1.. {
        let page = both.ask(&format!("{ORDERS_PATH}?size=1000&current={current}"), &all);
        let records = page["records"].as_array().unwrap();
        if records.is_empty() {
            assert_eq!(page["total"], orders.len());
            break;
        }
        orders.extend(records.iter().cloned());
    }
    for query in ["", "?current=3&size=7", "?current=2", "?current=1000000"] {
        both.ask(&format!("{ORDERS_PATH}{query}"), &json!({"deviceCode": device}));
    }
    for order in orders.iter().step_by(DETAILS_ONE_IN) {
        both.ask(DETAIL_PATH, &json!({"tradeNoOut": order["tradeNo"]}));
        let detail = both.ask(DETAIL_PATH, &json!({"tradeNoIn": order["tradeNoIn"]}));
        assert_eq!(detail["deviceCode"], device);
    }
    orders
}

/// The year of the first order and the next one's beginning; and ranges inside: a month, whole
/// days, a cut day at either end, noon to noon, and one millisecond.
fn ranges(orders: &[Value]) -> Vec<[i64; 2]> {
    let starts = orders.iter().map(|order| order["tradeStartTime"].as_str().unwrap());
    let first: civil::DateTime = starts.min().unwrap().parse().unwrap();
    let ms = |time: civil::DateTime| time.in_tz(ZONE).unwrap().timestamp().as_millisecond();
    let year = |later| ms(civil::date(first.year() + later, 1, 1).at(0, 0, 0, 0));
    let (day, noon) = (ms(first), ms(first) + 12 * HOUR_MS);
    vec![
        [year(0), year(1)],
        [day, day + 31 * DAY_MS],
        [day, day + DAY_MS],
        [day + 1, day + 40 * DAY_MS],
        [day, day + 40 * DAY_MS + 1],
        [noon, noon + DAY_MS],
        [noon, noon + 90 * DAY_MS],
        [day, day + 1],
        [year(2), year(3)],
    ]
}

/// Every function for every range, of all devices, of one and of two.
fn compare_dashboards(both: &mut Both, devices: &[&str], orders: &[Value]) {
    let ranges = ranges(orders);
    let some = [&devices[..0], &devices[..1], &devices[devices.len() - 2..]];
    for [start, end] in &ranges {
        for codes in some {
            let filter = json!({"startTimestamp": start, "endTimestamp": end});
            let with_codes =
                json!({"startTimestamp": start, "endTimestamp": end, "deviceCodes": codes});
            let body = if codes.is_empty() { filter } else { with_codes };
            for path in dashboard_paths() {
                both.ask(path, &body);
            }
        }
    }
    let [start, end] = ranges[0];
    let year = json!({"startTimestamp": start, "endTimestamp": end});
    let summary = both.ask(SUMMARY_PATH, &year);
    let sold = summary["kpiList"][1]["value"].as_str().unwrap().replace(',', "");
    assert_eq!(sold, orders.len().to_string());
    assert!(both.ask(AISLE_PATH, &year)[0]["cabinets"][0]["layers"][0]["aisles"][1].is_object());
    let online = both.ask(ONLINE_PATH, &json!({}));
    assert_eq!((&online["onlineCount"], &online["totalCount"]), (&json!(1), &json!(devices.len())));
}

#[test]
fn both_engines_answer_alike_on_the_sales_report() {
    let server = Server::start(Durability::Off).unwrap();
    let mut both = both(&server);
    let one = &mut both.each[0];
    let devices = pages::devices(&mut one.caller, &one.token);
    let devices: Vec<&str> = devices.iter().map(|it| it["deviceCode"].as_str().unwrap()).collect();
    let mut orders = Vec::new();
    for device in &devices {
        orders.extend(compare_orders(&mut both, device));
    }
    let goods = orders[0]["detailVOList"][0]["goodsId"].as_str().unwrap();
    let aisle = |code: &str| json!({"code": code, "product": goods, "price": 150, "stock": 3});
    let fleet = json!({"device": [{"code": devices[0], "aisle": [aisle("10"), aisle("9")]}]});
    both.operate("fleet", &fleet);
    both.hear_of(devices[1]);
    for query in ["", "?size=1", "?current=2&size=2"] {
        both.ask(&format!("{DEVICES_PATH}{query}"), &json!({}));
        both.ask(&format!("{DEVICES_PATH}{query}"), &json!({"isOnline": 0}));
    }
    compare_dashboards(&mut both, &devices, &orders);
    println!("{} orders, {} answers compared", orders.len(), both.asked);
}
