//! Reads pages to their end, as an integrator does (PAGE-7).

use std::collections::BTreeMap;

use kiosque_testkit::blocking::Client;
use kiosque_testkit::{BY_DEVICE_PATH, DEVICES_PATH, ORDERS_PATH, SUMMARY_PATH, Served};
use serde_json::{Value, json};

/// Returns every record of a paged call, and checks that the pages agree with their totals.
pub(crate) fn pages(
    caller: &mut Client,
    path: &str,
    token: &str,
    body: &Value,
    size: usize,
) -> Vec<Value> {
    let mut all = Vec::new();
    for current in 1.. {
        let path = format!("{path}?current={current}&size={size}");
        let reply = caller.call(&path, Some(token), &body.to_string());
        let page = reply.success();
        let records = page["records"].as_array().unwrap();
        if records.is_empty() {
            assert_eq!(page["total"], all.len(), "{path} {body}");
            break;
        }
        all.extend(records.iter().cloned());
    }
    all
}

/// The devices of the selected group.
pub(crate) fn devices(caller: &mut Client, token: &str) -> Vec<Value> {
    pages(caller, DEVICES_PATH, token, &json!({}), 1_000)
}

/// All orders of a device, newest first.
pub(crate) fn orders(caller: &mut Client, token: &str, device: &str) -> Vec<Value> {
    let body = json!({"deviceCode": device, "includeHistory": true});
    pages(caller, ORDERS_PATH, token, &body, 1_000)
}

/// The orders of a device that are not archived, newest first.
pub(crate) fn current_orders(caller: &mut Client, token: &str, device: &str) -> Vec<Value> {
    pages(caller, ORDERS_PATH, token, &json!({"deviceCode": device}), 1_000)
}

/// Every order of every device of the selected group, by device.
pub(crate) fn all_orders(caller: &mut Client, token: &str) -> BTreeMap<String, Vec<Value>> {
    let devices = devices(caller, token);
    let codes = devices.iter().map(|device| device["deviceCode"].as_str().unwrap().to_owned());
    codes
        .map(|code| {
            let orders = orders(caller, token, &code);
            (code, orders)
        })
        .collect()
}

/// The pages of the orders of the selected group, and the sums of the first days of 2026, in all
/// and by device.
pub(crate) type Answers = (BTreeMap<String, Vec<Value>>, [Value; 2]);

pub(crate) fn answers(served: &Served, token: &str) -> Answers {
    let mut caller = served.connect();
    let range = r#"{"startTimestamp":1767139200000,"endTimestamp":1767830400000}"#;
    let sums = [SUMMARY_PATH, BY_DEVICE_PATH]
        .map(|path| caller.call(path, Some(token), range).success().clone());
    (all_orders(&mut caller, token), sums)
}
