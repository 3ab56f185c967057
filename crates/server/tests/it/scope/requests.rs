//! Random requests: lists, details and filters, with values of the group itself, of another group,
//! and of none.

use kiosque_testkit::{
    DETAIL_PATH, DEVICES_PATH, ONLINE_PATH, ORDERS_PATH, Rng, START_MS, dashboard_paths,
};
use serde_json::{Value, json};

use super::{KIOSKS, ORDERS, device};

pub(super) struct Request {
    /// With its query string.
    pub(super) path: String,
    pub(super) body: Value,
}

impl Request {
    pub(super) fn any(rng: &mut Rng, own: &str, other: &str) -> Request {
        let mark = if rng.one_in(3) { other } else { own };
        let whole = |path: &str, body| Request { path: path.to_owned(), body };
        let (path, body) = match rng.below(5) {
            0 => (DEVICES_PATH, device_filter(rng, mark)),
            1 => (ORDERS_PATH, order_filter(rng, mark)),
            2 => return whole(DETAIL_PATH, numbers(rng, mark)),
            _ if rng.one_in(8) => return whole(ONLINE_PATH, json!({})),
            _ => {
                let path = rng.choose(&dashboard_paths().collect::<Vec<_>>());
                return whole(path, dashboard_filter(rng, mark));
            }
        };
        let current = if rng.one_in(3) { 1 + rng.below(4) } else { 1 };
        let size = 1 + rng.below(12);
        Request { path: format!("{path}?current={current}&size={size}"), body }
    }
}

fn device_filter(rng: &mut Rng, mark: &str) -> Value {
    let mut filter = json!({});
    if rng.one_in(3) {
        filter["groupId"] = match rng.below(8) {
            0 => json!("nowhere"),
            1 => json!(""),
            2 => json!("\0"),
            _ => json!(format!("g-{mark}")),
        };
    }
    if rng.one_in(5) {
        filter["deviceCode"] = json!(code(rng, mark));
    }
    if rng.one_in(4) {
        let parts = ["Kiosk", "1", "", "%", "_", "'", "kiosk", "M ", "\0", mark];
        filter["deviceName"] = json!(rng.choose(&parts));
    }
    if rng.one_in(4) {
        filter["isOnline"] = json!(rng.below(2));
    }
    filter
}

fn dashboard_filter(rng: &mut Rng, mark: &str) -> Value {
    let mut filter = json!({});
    if rng.one_in(4) {
        filter["groupId"] = match rng.below(4) {
            0 => json!("nowhere"),
            _ => json!(format!("g-{mark}")),
        };
    }
    if rng.one_in(3) {
        let codes = (0..rng.below(3)).map(|_| code(rng, mark));
        filter["deviceCodes"] = codes.collect();
    }
    for end in ["startTimestamp", "endTimestamp"] {
        if rng.one_in(3) {
            filter[end] = json!(START_MS - rng.range(0..48 * 3_600_000));
        }
    }
    filter
}

fn order_filter(rng: &mut Rng, mark: &str) -> Value {
    let mut filter = json!({"deviceCode": code(rng, mark)});
    if rng.one_in(2) {
        filter["includeHistory"] = json!(!rng.one_in(4));
    }
    for end in ["startTimestamp", "endTimestamp"] {
        if rng.one_in(6) {
            filter[end] = json!(START_MS - rng.range(0..48 * 3_600_000));
        }
    }
    filter
}

fn numbers(rng: &mut Rng, mark: &str) -> Value {
    let number = rng.below(ORDERS + 2);
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
    match rng.below(5) {
        0 => json!({"tradeNoOut": rng.choose(&out), "tradeNoIn": rng.choose(&inner)}),
        1 | 2 => json!({"tradeNoOut": rng.choose(&out)}),
        _ => json!({"tradeNoIn": rng.choose(&inner)}),
    }
}

fn code(rng: &mut Rng, mark: &str) -> String {
    match rng.below(12) {
        0 => format!("nowhere-{mark}"),
        1 => mark.to_owned(),
        2 => "1".to_owned(),
        _ => device(mark, rng.below(KIOSKS)),
    }
}
