//! Random requests: lists, details and filters, with values of the group itself, of another group,
//! and of none.

use serde_json::{Value, json};

use super::{KIOSKS, ORDERS, device};
use crate::chance::Chance;
use crate::harness::{
    DASHBOARD_PATHS, DETAIL_PATH, DEVICES_PATH, ONLINE_PATH, ORDERS_PATH, START_MS,
};

pub(super) struct Request {
    /// With its query string.
    pub(super) path: String,
    pub(super) body: Value,
}

impl Request {
    pub(super) fn any(chance: &mut Chance, own: &str, other: &str) -> Request {
        let mark = if chance.once_in(3) { other } else { own };
        let whole = |path: &str, body| Request { path: path.to_owned(), body };
        let (path, body) = match chance.below(5) {
            0 => (DEVICES_PATH, device_filter(chance, mark)),
            1 => (ORDERS_PATH, order_filter(chance, mark)),
            2 => return whole(DETAIL_PATH, numbers(chance, mark)),
            _ if chance.once_in(8) => return whole(ONLINE_PATH, json!({})),
            _ => {
                let path = chance.pick(&DASHBOARD_PATHS);
                return whole(path, dashboard_filter(chance, mark));
            }
        };
        let current = if chance.once_in(3) { 1 + chance.below(4) } else { 1 };
        let size = 1 + chance.below(12);
        Request { path: format!("{path}?current={current}&size={size}"), body }
    }
}

fn device_filter(chance: &mut Chance, mark: &str) -> Value {
    let mut filter = json!({});
    if chance.once_in(3) {
        filter["groupId"] = match chance.below(8) {
            0 => json!("nowhere"),
            1 => json!(""),
            2 => json!("\0"),
            _ => json!(format!("g-{mark}")),
        };
    }
    if chance.once_in(5) {
        filter["deviceCode"] = json!(code(chance, mark));
    }
    if chance.once_in(4) {
        let parts = ["Kiosk", "1", "", "%", "_", "'", "kiosk", "M ", "\0", mark];
        filter["deviceName"] = json!(chance.pick(&parts));
    }
    if chance.once_in(4) {
        filter["isOnline"] = json!(chance.below(2));
    }
    filter
}

fn dashboard_filter(chance: &mut Chance, mark: &str) -> Value {
    let mut filter = json!({});
    if chance.once_in(4) {
        filter["groupId"] = match chance.below(4) {
            0 => json!("nowhere"),
            _ => json!(format!("g-{mark}")),
        };
    }
    if chance.once_in(3) {
        let codes = (0..chance.below(3)).map(|_| code(chance, mark));
        filter["deviceCodes"] = codes.collect();
    }
    for end in ["startTimestamp", "endTimestamp"] {
        if chance.once_in(3) {
            filter[end] = json!(START_MS - chance.within(0..48 * 3_600_000));
        }
    }
    filter
}

fn order_filter(chance: &mut Chance, mark: &str) -> Value {
    let mut filter = json!({"deviceCode": code(chance, mark)});
    if chance.once_in(2) {
        filter["includeHistory"] = json!(!chance.once_in(4));
    }
    for end in ["startTimestamp", "endTimestamp"] {
        if chance.once_in(6) {
            filter[end] = json!(START_MS - chance.within(0..48 * 3_600_000));
        }
    }
    filter
}

fn numbers(chance: &mut Chance, mark: &str) -> Value {
    let number = chance.below(ORDERS + 2);
    let shared = number % 20;
    let own = |text: String| format!("{text}-{mark}");
    let out = [format!("T{shared}"), own(format!("T{shared}")), own("T".to_owned())];
    let inner = [
        format!("I{number}"),
        own(format!("I{number}")),
        format!("oid:o{number}"),
        own(format!("oid:o{number}")),
        "oid:".to_owned(),
    ];
    match chance.below(5) {
        0 => json!({"tradeNoOut": chance.pick(&out), "tradeNoIn": chance.pick(&inner)}),
        1 | 2 => json!({"tradeNoOut": chance.pick(&out)}),
        _ => json!({"tradeNoIn": chance.pick(&inner)}),
    }
}

fn code(chance: &mut Chance, mark: &str) -> String {
    match chance.below(12) {
        0 => format!("nowhere-{mark}"),
        1 => mark.to_owned(),
        2 => "1".to_owned(),
        _ => device(mark, chance.below(KIOSKS)),
    }
}
