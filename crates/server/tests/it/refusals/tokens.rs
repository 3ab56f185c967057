//! Tokens that are not valid, on every path that needs one (AUTH-14, AUTH-15, AUTH-16), and the
//! order of the checks.

use kiosque_testkit::{
    DETAIL_PATH, DEVICES_PATH, LOGOUT_PATH, ONLINE_PATH, ORDERS_PATH, SWITCH_PATH, TestRequest,
    dashboard_paths,
};

use super::setup::Token;
use super::{GROUP_CLOSED, Row, TOKEN_INVALID, TOKEN_MISSING, with_token};

const REFUSALS: &[(Token, &str)] = &[
    (Token::Unknown, "AUTH-16: unknown"),
    (Token::ReplacedByLogin, "AUTH-11: replaced by a login"),
    (Token::ReplacedBySwitch, "AUTH-17: replaced by a switch"),
    (Token::LoggedOut, "AUTH-21: logged out"),
    (Token::ExpiredNow, "AUTH-6: expired"),
    (Token::Altered, "AUTH-16: altered"),
    (Token::OfAnotherAccount, "AUTH-16: altered, the account's number"),
    (Token::LowerCase, "AUTH-16: altered, lower case"),
    (Token::Truncated, "AUTH-3: cut short"),
    (Token::Padded, "AUTH-16: altered, padded"),
    (Token::Bearer, "AUTH-14: with Bearer"),
    (Token::Quoted, "AUTH-14: quoted"),
    (Token::Twice, "AUTH-16: sent twice"),
    (Token::GoodThenBad, "AUTH-16: sent twice, the first valid"),
    (Token::BadThenGood, "AUTH-16: sent twice, the second valid"),
    (Token::Joined, "AUTH-16: sent twice in one header"),
    (Token::Garbage, "AUTH-16: garbage"),
    (Token::Long, "AUTH-16: long"),
    (Token::NotAscii, "AUTH-16: bytes that are not ASCII"),
];

pub(super) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for (path, body) in with_token() {
        let ask = TestRequest::to(path).body(body);
        let on_auth_path = [SWITCH_PATH, LOGOUT_PATH].contains(&path);
        let when_missing = if on_auth_path { TOKEN_MISSING } else { TOKEN_INVALID };
        for (token, holds) in
            [(Token::Missing, "AUTH-15: no token"), (Token::Empty, "AUTH-15: an empty token")]
        {
            let holds = format!("{holds} — {path}");
            rows.push(Row::new(holds, ask.clone(), when_missing).with(token));
        }
        for (token, holds) in REFUSALS {
            let holds = format!("{holds} — {path}");
            rows.push(Row::new(holds, ask.clone(), TOKEN_INVALID).with(*token));
        }
    }
    rows.extend(token_before_body());
    rows.extend(closed_meanwhile());
    rows
}

/// REQ-1: the token is checked before the body, the fields and the scope.
fn token_before_body() -> Vec<Row> {
    let mut rows = Vec::new();
    for (path, _) in with_token().filter(|(path, _)| *path != LOGOUT_PATH) {
        let when_missing = if path == SWITCH_PATH { TOKEN_MISSING } else { TOKEN_INVALID };
        for (what, body) in [
            ("body", "{nonsense"),
            ("fields", r#"{"groupId":1,"deviceCode":1,"deviceCodes":1,"tradeNoOut":1}"#),
            (
                "scope",
                r#"{"groupId":"foreign","deviceCode":"F-1","deviceCodes":["F-1"],
                "tradeNoOut":"T-F-1"}"#,
            ),
        ] {
            let ask = TestRequest::to(path).query("current=0&size=x").body(body);
            let holds = format!("token before {what} — {path}");
            rows.push(
                Row::new(format!("REQ-1: a wrong {holds}"), ask.clone(), TOKEN_INVALID)
                    .with(Token::Altered),
            );
            let holds = format!("REQ-1: a missing {holds}");
            rows.push(Row::new(holds, ask, when_missing).with(Token::Missing));
        }
    }
    rows
}

/// SCOPE-5: the selected group was deactivated, or taken from the account; filters for another
/// group make no difference.
fn closed_meanwhile() -> Vec<Row> {
    let mut rows = Vec::new();
    for (token, how) in [
        (Token::GroupDeactivated, "SCOPE-5: deactivated"),
        (Token::GroupRevoked, "SCOPE-5: taken from the account"),
    ] {
        for (path, body) in [
            (DEVICES_PATH, "{}"),
            (DEVICES_PATH, r#"{"deviceName":"N"}"#),
            (DEVICES_PATH, r#"{"groupId":"north"}"#),
            (ORDERS_PATH, r#"{"deviceCode":"N-1"}"#),
            (ORDERS_PATH, r#"{"deviceCode":"S-1","startTimestamp":1}"#),
            (ORDERS_PATH, r#"{"deviceCode":"\u0000"}"#),
            (DETAIL_PATH, r#"{"tradeNoOut":"T-S-1"}"#),
            (DETAIL_PATH, r#"{"tradeNoIn":"\u0000"}"#),
        ] {
            let ask = TestRequest::to(path).body(body);
            let holds = format!("{how} — {path} {body}");
            rows.push(Row::new(holds, ask, GROUP_CLOSED).with(token));
        }
        let bodies = ["{}", r#"{"groupId":"north"}"#, r#"{"deviceCodes":["F-1"]}"#];
        let dashboards = dashboard_paths().flat_map(|path| bodies.map(|body| (path, body)));
        for (path, body) in dashboards.chain([(ONLINE_PATH, ""), (ONLINE_PATH, "{nonsense")]) {
            let ask = TestRequest::to(path).body(body);
            let holds = format!("{how} — {path} {body}");
            rows.push(Row::new(holds, ask, GROUP_CLOSED).with(token));
        }
    }
    rows
}
