//! Devices, groups and orders outside the scope, which look like such that do not exist (SCOPE-4).

use kiosque_testkit::{
    DETAIL_PATH, DEVICES_PATH, ORDERS_PATH, SWITCH_PATH, TestRequest, dashboard_paths,
};

use super::{GROUP_CLOSED, ORDER_UNKNOWN, OUT_OF_SCOPE, Row};

const LONG: &str = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx";

pub(super) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    rows.extend(switches());
    rows.extend(group_filters());
    rows.extend(devices());
    rows.extend(dashboards());
    rows.extend(trade_numbers());
    rows
}

/// AUTH-19: groups that cannot be selected; the session stays as it was.
fn switches() -> Vec<Row> {
    let groups = [
        ("unknown", "nowhere"),
        ("inactive", "shut"),
        ("not assigned", "foreign"),
        ("not assigned and inactive", "closing"),
        ("by its name", "South"),
        ("in other letters", "SOUTH"),
        ("with a space", "south "),
        ("with a NUL", "south\\u0000"),
        ("of a NUL alone", "\\u0000"),
        ("longer than any id", LONG),
        ("of other characters", "南\\ud83d\\ude00' or 1=1 --"),
    ];
    let row = |(what, group): (&str, &str)| {
        let ask = TestRequest::to(SWITCH_PATH).body(format!("{{\"groupId\":\"{group}\"}}"));
        Row::new(format!("AUTH-19: a group that is {what}"), ask, GROUP_CLOSED)
    };
    groups.into_iter().map(row).collect()
}

/// SCOPE-3, REQ-12: values of a `groupId` filter that are no active group of the account.
const FOREIGN_GROUPS: [(&str, &str); 7] = [
    ("unknown", "nowhere"),
    ("foreign", "foreign"),
    ("inactive", "shut"),
    ("with a NUL", "north\\u0000"),
    ("blank, not empty", " "),
    ("longer than any id", LONG),
    ("in other letters", "North"),
];

/// SCOPE-4, REQ-12: values of `deviceCode`, or of one of `deviceCodes`, outside the scope.
const FOREIGN_DEVICES: [(&str, &str); 11] = [
    ("unknown", "X-1"),
    ("of another account's group", "F-1"),
    ("of another group of the account", "S-1"),
    ("by its name", "North one"),
    ("in other letters", "n-1"),
    ("with a space", "N-1 "),
    ("with a wildcard", "N-%"),
    ("the beginning of a code", "N-"),
    ("with a NUL", "N-1\\u0000"),
    ("of a NUL alone", "\\u0000"),
    ("longer than any code", LONG),
];

fn group_filters() -> Vec<Row> {
    let mut rows = Vec::new();
    for (what, group) in FOREIGN_GROUPS {
        for rest in ["", r#","deviceCode":"F-1""#, r#","deviceName":"o","isOnline":0"#] {
            let body = format!("{{\"groupId\":\"{group}\"{rest}}}");
            let ask = TestRequest::to(DEVICES_PATH).body(body.as_str());
            rows.push(Row::new(format!("SCOPE-3: {what} — {body}"), ask, OUT_OF_SCOPE));
        }
    }
    rows
}

fn devices() -> Vec<Row> {
    let mut rows = Vec::new();
    for (what, code) in FOREIGN_DEVICES {
        let rests = ["", r#","includeHistory":true"#, r#","startTimestamp":0,"endTimestamp":9"#];
        for rest in rests {
            let body = format!("{{\"deviceCode\":\"{code}\"{rest}}}");
            let ask = TestRequest::to(ORDERS_PATH).query("current=9&size=1000").body(body.as_str());
            rows.push(Row::new(format!("SCOPE-4: {what} — {body}"), ask, OUT_OF_SCOPE));
        }
        let ask = TestRequest::to(DEVICES_PATH).body(format!("{{\"deviceCode\":\"{code}\"}}"));
        rows.push(Row::new(format!("DEV-5: {what} — {code}"), ask, OUT_OF_SCOPE));
    }
    rows
}

fn dashboards() -> Vec<Row> {
    let mut bodies = Vec::new();
    for (what, group) in FOREIGN_GROUPS {
        bodies.push((what, format!(r#"{{"groupId":"{group}"}}"#)));
        bodies.push((what, format!(r#"{{"groupId":"{group}","deviceCodes":["N-1"]}}"#)));
    }
    for (what, code) in FOREIGN_DEVICES.into_iter().chain([("blank", " "), ("empty", "")]) {
        bodies.push((what, format!(r#"{{"deviceCodes":["{code}"]}}"#)));
        bodies.push((what, format!(r#"{{"deviceCodes":["N-1","{code}","N-2"]}}"#)));
    }
    let of_selected = r#"{"groupId":"south","deviceCodes":["N-1"]}"#;
    bodies.push(("of the selected group, in another one", of_selected.to_owned()));
    let asks = dashboard_paths().flat_map(|path| {
        bodies.iter().map(move |(what, body)| {
            let ask = TestRequest::to(path).body(body.as_str());
            Row::new(format!("SCOPE-3, SCOPE-4: {what} — {path} {body}"), ask, OUT_OF_SCOPE)
        })
    });
    asks.collect()
}

/// ORD-18, ORD-19, ORD-20: trade numbers that name no order of the group, or different orders.
fn trade_numbers() -> Vec<Row> {
    let bodies = [
        ("unknown outer", r#"{"tradeNoOut":"T-9"}"#),
        ("unknown inner", r#"{"tradeNoIn":"I-9"}"#),
        ("unknown derived inner", r#"{"tradeNoIn":"oid:O-9"}"#),
        ("both unknown", r#"{"tradeNoOut":"T-9","tradeNoIn":"I-9"}"#),
        ("outer of another account's group", r#"{"tradeNoOut":"T-F-1"}"#),
        ("inner of another account's group", r#"{"tradeNoIn":"I-F-1"}"#),
        ("both of another account's group", r#"{"tradeNoOut":"T-F-1","tradeNoIn":"I-F-1"}"#),
        ("outer of another group of the account", r#"{"tradeNoOut":"T-S-1"}"#),
        ("inner of another group of the account", r#"{"tradeNoIn":"I-S-1"}"#),
        ("the two name different orders", r#"{"tradeNoOut":"T-N-1","tradeNoIn":"I-N-1b"}"#),
        ("known and unknown", r#"{"tradeNoOut":"T-N-1","tradeNoIn":"I-9"}"#),
        ("unknown and known", r#"{"tradeNoOut":"T-9","tradeNoIn":"I-N-1"}"#),
        ("known and foreign", r#"{"tradeNoOut":"T-N-1","tradeNoIn":"I-F-1"}"#),
        ("orderId is not a trade number", r#"{"tradeNoOut":"O-N-1"}"#),
        ("orderId is not an inner number", r#"{"tradeNoIn":"O-N-1"}"#),
        ("a derived number of an order with its own", r#"{"tradeNoIn":"oid:O-N-1"}"#),
        ("the outer one as inner", r#"{"tradeNoIn":"T-N-1"}"#),
        ("in other letters", r#"{"tradeNoOut":"t-n-1"}"#),
        ("with a space", r#"{"tradeNoOut":" T-N-1"}"#),
        ("with a NUL", r#"{"tradeNoOut":"T-N-1\u0000"}"#),
        ("inner with a NUL", r#"{"tradeNoIn":"\u0000"}"#),
        ("known and a NUL", r#"{"tradeNoOut":"T-N-1","tradeNoIn":"\u0000"}"#),
        ("derived with a NUL", r#"{"tradeNoIn":"oid:\u0000"}"#),
        ("nothing derived", r#"{"tradeNoIn":"oid:"}"#),
    ];
    let row = |(what, body): (&str, &str)| {
        let ask = TestRequest::to(DETAIL_PATH).body(body);
        Row::new(format!("ORD-20: {what}"), ask, ORDER_UNKNOWN)
    };
    let mut rows: Vec<Row> = bodies.into_iter().map(row).collect();
    let long = format!("{{\"tradeNoOut\":\"{LONG}\"}}");
    rows.push(row(("longer than any", &long)));
    rows
}
