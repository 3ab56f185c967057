//! Fields that are missing or wrong (REQ-7, REQ-8, REQ-11): every violation, in each language.

use kiosque_testkit::{
    CHANGES_PATH, DETAIL_PATH, DEVICES_PATH, ORDERS_PATH, START_MS, SWITCH_PATH, TOKEN_PATH,
    TestRequest, dashboard_paths,
};

use super::setup::Token;
use super::{Data, INVALID, Row};

/// A violation in English and in Chinese; `{}` is the field.
type ViolationKind = (&'static str, &'static str);

const BLANK: ViolationKind = ("{} must not be blank", "{} 不能为空");
const NOT_TEXT: ViolationKind = ("{} must be a string", "{} 必须是字符串");
const NOT_FLAG: ViolationKind = ("{} must be true or false", "{} 必须是 true 或 false");
const NOT_INTEGER: ViolationKind = ("{} must be an integer", "{} 必须是整数");
const NOT_ZERO_OR_ONE: ViolationKind = ("{} must be 0 or 1", "{} 必须是 0 或 1");
const NOT_POSITIVE: ViolationKind = ("{} must be a positive integer", "{} 必须是正整数");
const OVER_MAXIMUM: ViolationKind = ("{} must be at most 1000", "{} 不能大于 1000");
const NEGATIVE: ViolationKind = ("{} must not be negative", "{} 不能为负数");
const OVER_MINUTE: ViolationKind = ("{} must be at most 60", "{} 不能大于 60");
const NOT_CURSOR: ViolationKind =
    ("{} must be the value of next in an answer, or null", "{} 必须是某次应答中的 next，或为 null");
const REPEATED: ViolationKind = ("{} must be given once", "{} 只能出现一次");
const AFTER_END: ViolationKind = ("{} must not be after endTimestamp", "{} 不能晚于 endTimestamp");
const AFTER_NOW: ViolationKind =
    ("{} must not be after now, the default end", "{} 不能晚于当前时间（默认的结束时间）");
const NO_NUMBER: ViolationKind =
    ("{} or tradeNoIn must not be blank", "{} 与 tradeNoIn 不能同时为空");

const NOT_TEXTS: ViolationKind = ("{} must be a list of strings", "{} 必须是字符串数组");
const TOO_MANY: ViolationKind = ("{} must have at most 1000 entries", "{} 最多包含 1000 项");
const TOO_LONG: ViolationKind = (
    "{} must not be more than 3660 days before endTimestamp",
    "{} 距 endTimestamp 不能超过 3660 天",
);
const TOO_LONG_TO_NOW: ViolationKind = (
    "{} must not be more than 3660 days before now, the default end",
    "{} 距当前时间（默认的结束时间）不能超过 3660 天",
);

const SECONDS: ViolationKind = (
    "{} must be in milliseconds; ten digits look like seconds",
    "{} 必须以毫秒为单位；十位数字像是秒",
);
const FINER_UNIT: ViolationKind = (
    "{} must be in milliseconds; sixteen digits look like microseconds, nineteen like nanoseconds",
    "{} 必须以毫秒为单位；十六位数字像是微秒，十九位数字像是纳秒",
);

/// Times that look like seconds, and like microseconds or nanoseconds (REQ-15).
const IN_SECONDS: &[&str] = &["1000000000", "9999999999"];
const IN_FINER_UNITS: &[&str] =
    &["1000000000000000", "8999999999999999", "1000000000000000000", "8999999999999999999"];
/// Texts that are no cursors (ORD-28).
const NO_CURSOR: &[&str] = &[
    "\"x\"",
    "\"AAAAAAAAAAEAAAAAAAAC_AAAAAAAAAL8GOCJHbMfLD\"",
    "\"AAAAAAAAAAEAAAAAAAAC_AAAAAAAAAL8GOCJHbMfLDU=\"",
    "\"AAAAAAAAAAEAAAAAAAAC_AAAAAAAAAL8GOCJHbMfLDV\"",
    "\"AAAAAAAAAAH__________wAAAAAAAAL8AAAAAAAAAAU\"",
    "\"AAAAAAAAAAEAAAAAAAAC_QAAAAAAAAL8AAAAAAAAAAU\"",
    "\" \"",
];
/// JSON values of every type but a string.
const NO_TEXT: &[&str] = &["1", "1.5", "-1e999", "true", "[\"N-1\"]", "{}"];
const NO_FLAG: &[&str] = &["\"true\"", "1", "0", "[]", "{}"];
const NO_INTEGER: &[&str] = &[
    "\"1\"",
    "1.0",
    "1.5",
    "1e3",
    "1e999",
    "1e-999999",
    "true",
    "[]",
    "{}",
    "9223372036854775808",
    "18446744073709551616",
    "999999999999999999999999999999999999999999999999999999999999999999999999999999999999",
];
const NO_ZERO_OR_ONE: &[&str] = &["2", "-1", "1.0", "0.5", "true", "\"1\"", "[]", "{}"];
const NO_TEXTS: &[&str] =
    &["1", "true", "\"N-1\"", "{}", "[1]", "[null]", "[\"N-1\",1]", "[[\"N-1\"]]", "[\"N-1\",{}]"];
/// Values that a required field may not have, apart from values of a wrong type; for the empty one
/// the field is left out.
const BLANKS: &[&str] = &["", "null", "\"\"", "\" \\t\\u3000\""];

/// A path, a field, the rest of a valid body, invalid values of the field, and the violation.
const FIELDS: &[(&str, &str, &str, &[&str], ViolationKind)] = &[
    (TOKEN_PATH, "username", r#""password":"secret""#, BLANKS, BLANK),
    (TOKEN_PATH, "username", r#""password":"secret""#, NO_TEXT, NOT_TEXT),
    (TOKEN_PATH, "password", r#""username":"ops""#, BLANKS, BLANK),
    (TOKEN_PATH, "password", r#""username":"ops""#, NO_TEXT, NOT_TEXT),
    (SWITCH_PATH, "groupId", r#""x":1"#, BLANKS, BLANK),
    (SWITCH_PATH, "groupId", r#""x":1"#, NO_TEXT, NOT_TEXT),
    (DEVICES_PATH, "groupId", r#""deviceName":"N""#, NO_TEXT, NOT_TEXT),
    (DEVICES_PATH, "deviceCode", r#""deviceName":"N""#, NO_TEXT, NOT_TEXT),
    (DEVICES_PATH, "deviceName", r#""isOnline":1"#, NO_TEXT, NOT_TEXT),
    (DEVICES_PATH, "isOnline", r#""deviceName":"N""#, NO_ZERO_OR_ONE, NOT_ZERO_OR_ONE),
    (ORDERS_PATH, "deviceCode", r#""includeHistory":true"#, BLANKS, BLANK),
    (ORDERS_PATH, "deviceCode", r#""includeHistory":true"#, NO_TEXT, NOT_TEXT),
    (ORDERS_PATH, "includeHistory", r#""deviceCode":"N-1""#, NO_FLAG, NOT_FLAG),
    (ORDERS_PATH, "startTimestamp", r#""deviceCode":"N-1""#, NO_INTEGER, NOT_INTEGER),
    (ORDERS_PATH, "endTimestamp", r#""deviceCode":"N-1""#, NO_INTEGER, NOT_INTEGER),
    (ORDERS_PATH, "startTimestamp", r#""deviceCode":"N-1""#, IN_SECONDS, SECONDS),
    (ORDERS_PATH, "endTimestamp", r#""deviceCode":"N-1""#, IN_SECONDS, SECONDS),
    (ORDERS_PATH, "startTimestamp", r#""deviceCode":"N-1""#, IN_FINER_UNITS, FINER_UNIT),
    (ORDERS_PATH, "endTimestamp", r#""deviceCode":"N-1""#, IN_FINER_UNITS, FINER_UNIT),
    (CHANGES_PATH, "after", r#""size":1"#, NO_TEXT, NOT_TEXT),
    (CHANGES_PATH, "after", r#""size":1"#, NO_CURSOR, NOT_CURSOR),
    (CHANGES_PATH, "size", r#""waitSeconds":60"#, NO_INTEGER, NOT_INTEGER),
    (CHANGES_PATH, "size", r#""waitSeconds":60"#, &["0", "-1"], NOT_POSITIVE),
    (CHANGES_PATH, "size", r#""waitSeconds":60"#, &["1001"], OVER_MAXIMUM),
    (CHANGES_PATH, "waitSeconds", r#""size":1"#, NO_INTEGER, NOT_INTEGER),
    (CHANGES_PATH, "waitSeconds", r#""size":1"#, &["-1"], NEGATIVE),
    (CHANGES_PATH, "waitSeconds", r#""size":1"#, &["61", "9223372036854775807"], OVER_MINUTE),
    (CHANGES_PATH, "includeTotals", r#""size":1"#, NO_FLAG, NOT_FLAG),
    (DETAIL_PATH, "tradeNoOut", r#""tradeNoIn":"I-N-1""#, NO_TEXT, NOT_TEXT),
    (DETAIL_PATH, "tradeNoOut", r#""x":1"#, NO_TEXT, NOT_TEXT),
    (DETAIL_PATH, "tradeNoIn", r#""tradeNoOut":"T-N-1""#, NO_TEXT, NOT_TEXT),
    (DETAIL_PATH, "tradeNoOut", r#""tradeNoIn":null"#, BLANKS, NO_NUMBER),
    (DETAIL_PATH, "tradeNoOut", r#""tradeNoIn":"  ""#, BLANKS, NO_NUMBER),
];

/// Values of `current` and `size` that are not positive integers in ASCII digits (PAGE-2).
const NO_POSITIVE: &[&str] = &[
    "",
    "0",
    "00",
    "-1",
    "+1",
    "%2B1",
    "1.0",
    "1e3",
    "0x1",
    "%201",
    "1%20",
    "1%00",
    "one",
    "9223372036854775808",
    "%D9%A3",
    "%EF%BC%91",
    "null",
    "1,2",
];

pub(super) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for (path, field, rest, values, error) in FIELDS {
        for value in *values {
            let body = match *value {
                "" => format!("{{{rest}}}"),
                value => format!("{{{rest},\"{field}\":{value}}}"),
            };
            let ask = TestRequest::to(path).body(body.as_str());
            rows.push(row(
                &format!("REQ-8: a field missing or wrong — {path} {body}"),
                ask,
                &[(field, *error)],
            ));
        }
    }
    for path in dashboard_paths() {
        for (field, values, error) in [
            ("startTimestamp", NO_INTEGER, NOT_INTEGER),
            ("endTimestamp", NO_INTEGER, NOT_INTEGER),
            ("startTimestamp", IN_SECONDS, SECONDS),
            ("endTimestamp", IN_SECONDS, SECONDS),
            ("startTimestamp", IN_FINER_UNITS, FINER_UNIT),
            ("endTimestamp", IN_FINER_UNITS, FINER_UNIT),
            ("groupId", NO_TEXT, NOT_TEXT),
            ("deviceCodes", NO_TEXTS, NOT_TEXTS),
        ] {
            for value in values {
                let ask = TestRequest::to(path).body(format!("{{\"x\":1,\"{field}\":{value}}}"));
                let holds = format!("REQ-8: a field wrong — {path} {field} {value}");
                rows.push(row(&holds, ask, &[(field, error)]));
            }
        }
        rows.extend(dashboards(path));
    }
    rows.extend(pages());
    rows.extend(all_at_once());
    rows
}

/// PAGE-2, PAGE-3, PAGE-4: the values of `current` and `size`, keys given twice, and `size` over
/// its limit.
fn pages() -> Vec<Row> {
    let mut rows = Vec::new();
    for (path, body) in [(DEVICES_PATH, "{}"), (ORDERS_PATH, r#"{"deviceCode":"N-1"}"#)] {
        let mut add = |query: String, field, error| {
            let ask = TestRequest::to(path).query(&query).body(body);
            rows.push(row(
                &format!("PAGE-2, PAGE-3, PAGE-4: {path} {query}"),
                ask,
                &[(field, error)],
            ));
        };
        for key in ["current", "size"] {
            for value in NO_POSITIVE {
                add(format!("{key}={value}"), key, NOT_POSITIVE);
            }
            add(key.to_owned(), key, NOT_POSITIVE);
            add(format!("{key}=1&x=2&{key}=1"), key, REPEATED);
            add(format!("{key}=1&{key}=x"), key, REPEATED);
            add(format!("{key}=1&%{:02x}{}=1", key.as_bytes()[0], &key[1..]), key, REPEATED);
        }
        for size in ["1001", "9223372036854775807", "0001001"] {
            add(format!("size={size}"), "size", OVER_MAXIMUM);
        }
    }
    rows
}

/// A case, the fields of its body, and the violations.
type Violating = (&'static str, String, &'static [(&'static str, ViolationKind)]);

/// DASH-5: a start after the end or after now. DASH-6: a range that is too long. DASH-7: too many
/// devices.
fn violating_filters() -> [Violating; 10] {
    const DAY_MS: i64 = 86_400_000;
    // The server's clock is two hours later.
    let now = START_MS + 7_200_000;
    let long = 3_660 * DAY_MS + 1;
    let many = format!("[{}\"N-1\"]", "\"N-1\",".repeat(1_000));
    [
        (
            "DASH-5: start after end",
            r#""startTimestamp":2,"endTimestamp":1"#.into(),
            &[("startTimestamp", AFTER_END)],
        ),
        (
            "DASH-5: start after now",
            format!(r#""startTimestamp":{}"#, now + 1),
            &[("startTimestamp", AFTER_NOW)],
        ),
        (
            "DASH-6: a range of more than 3,660 days",
            format!(r#""startTimestamp":0,"endTimestamp":{long}"#),
            &[("startTimestamp", TOO_LONG)],
        ),
        (
            "DASH-6: more than 3,660 days until now",
            format!(r#""startTimestamp":{}"#, now - long),
            &[("startTimestamp", TOO_LONG_TO_NOW)],
        ),
        (
            "DASH-6: from the smallest time to the largest",
            r#""startTimestamp":-9223372036854775808,"endTimestamp":9223372036854775807"#.into(),
            &[("startTimestamp", TOO_LONG)],
        ),
        (
            "REQ-15: seconds, the start after the end",
            r#""startTimestamp":1900000000,"endTimestamp":1800000000"#.into(),
            &[("startTimestamp", SECONDS), ("endTimestamp", SECONDS)],
        ),
        (
            "DASH-7: too many devices",
            format!(r#""deviceCodes":{many}"#),
            &[("deviceCodes", TOO_MANY)],
        ),
        (
            "REQ-7: an end that cannot be read is no violation of the start",
            format!(r#""startTimestamp":{},"endTimestamp":"x""#, now + 1),
            &[("endTimestamp", NOT_INTEGER)],
        ),
        (
            "REQ-7: nor of a start long ago",
            r#""startTimestamp":0,"endTimestamp":1.5"#.into(),
            &[("endTimestamp", NOT_INTEGER)],
        ),
        (
            "REQ-7: all violations at once",
            r#""deviceCodes":{},"groupId":[],"endTimestamp":true,"startTimestamp":"0""#.into(),
            &[
                ("startTimestamp", NOT_INTEGER),
                ("endTimestamp", NOT_INTEGER),
                ("groupId", NOT_TEXT),
                ("deviceCodes", NOT_TEXTS),
            ],
        ),
    ]
}

/// The filters of one dashboard function. REQ-1: fields are checked before the group and the scope.
fn dashboards(path: &str) -> Vec<Row> {
    let mut rows = Vec::new();
    for (what, fields, violations) in violating_filters() {
        let ask = TestRequest::to(path).body(format!("{{{fields}}}"));
        rows.push(row(&format!("{what} — {path}"), ask, violations));
    }
    let body = r#"{"startTimestamp":2,"endTimestamp":1,"groupId":"foreign","deviceCodes":[7]}"#;
    let ask = TestRequest::to(path).body(body);
    let violations = [("startTimestamp", AFTER_END), ("deviceCodes", NOT_TEXTS)];
    rows.push(row(&format!("REQ-1: fields before scope — {path}"), ask.clone(), &violations));
    let holds = format!("REQ-1: fields before scope: the selected group is closed — {path}");
    rows.push(row(&holds, ask, &violations).with(Token::GroupRevoked));
    rows
}

/// REQ-7: all violations of a request come in one answer, in the order of the fields.
fn all_at_once() -> Vec<Row> {
    let page = [("current", NOT_POSITIVE), ("size", OVER_MAXIMUM)];
    let ask =
        |path: &str, body: &str| TestRequest::to(path).query("size=1001&current=0").body(body);
    let orders = r#"{"endTimestamp":[],"startTimestamp":"a","includeHistory":1,"deviceCode":" "}"#;
    let devices = r#"{"groupId":1,"deviceCode":2,"deviceName":3,"isOnline":4}"#;
    let backwards = r#"{"deviceCode":"F-1","startTimestamp":2,"endTimestamp":1}"#;
    let numbers = r#"{"tradeNoOut":1,"tradeNoIn":[]}"#;
    let after = ("startTimestamp", AFTER_END);
    let mut rows = vec![
        row(
            "REQ-7: all violations at once — List orders",
            ask(ORDERS_PATH, orders),
            &[
                page[0],
                page[1],
                ("deviceCode", BLANK),
                ("includeHistory", NOT_FLAG),
                ("startTimestamp", NOT_INTEGER),
                ("endTimestamp", NOT_INTEGER),
            ],
        ),
        row(
            "REQ-7: all violations at once — List devices",
            ask(DEVICES_PATH, devices),
            &[
                page[0],
                page[1],
                ("groupId", NOT_TEXT),
                ("deviceCode", NOT_TEXT),
                ("deviceName", NOT_TEXT),
                ("isOnline", NOT_ZERO_OR_ONE),
            ],
        ),
        row(
            "REQ-7: all violations at once — Log in",
            TestRequest::to(TOKEN_PATH),
            &[("username", BLANK), ("password", BLANK)],
        ),
        row(
            "REQ-7: all violations at once — Order detail",
            TestRequest::to(DETAIL_PATH).body(numbers),
            &[("tradeNoOut", NOT_TEXT), ("tradeNoIn", NOT_TEXT)],
        ),
        row("ORD-6: start after end", TestRequest::to(ORDERS_PATH).body(backwards), &[after]),
        row(
            "REQ-7: start after end, and all the rest",
            ask(ORDERS_PATH, &backwards.replace("\"F-1\"", "null")),
            &[page[0], page[1], ("deviceCode", BLANK), after],
        ),
        row("ORD-15: no trade number", TestRequest::to(DETAIL_PATH), &[("tradeNoOut", NO_NUMBER)]),
    ];
    for token in [Token::Live, Token::GroupRevoked, Token::GroupDeactivated] {
        let body = r#"{"groupId":"foreign","deviceCode":"F-1","isOnline":7}"#;
        let ask = TestRequest::to(DEVICES_PATH).body(body);
        let holds = format!("REQ-1: fields before scope: {token:?}");
        rows.push(row(&holds, ask, &[("isOnline", NOT_ZERO_OR_ONE)]).with(token));
    }
    rows
}

fn row(holds: &str, ask: TestRequest, violations: &[(&str, ViolationKind)]) -> Row {
    let worded = violations
        .iter()
        .map(|(field, (en, zh))| (en.replace("{}", field), zh.replace("{}", field)));
    Row::new(holds, ask, INVALID).data(Data::Violations(worded.collect()))
}
