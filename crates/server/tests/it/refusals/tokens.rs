//! Tokens that are not valid, on every path that needs one (AUTH-14, AUTH-15, AUTH-16), and the
//! order of the checks.

use super::world::Token;
use super::{GROUP_CLOSED, Row, TOKEN_INVALID, TOKEN_MISSING, WITH_TOKEN};
use crate::fixture::Ask;
use crate::harness::{
    DASHBOARD_PATHS, DETAIL_PATH, DEVICES_PATH, LOGOUT_PATH, ONLINE_PATH, ORDERS_PATH, SWITCH_PATH,
};

const FAULTS: &[(Token, &str)] = &[
    (Token::Unknown, "every other token fault: unknown"),
    (Token::ReplacedByLogin, "Log in: earlier token becomes invalid"),
    (Token::ReplacedBySwitch, "Switch group: the new token must replace the old one"),
    (Token::LoggedOut, "Log out: no session"),
    (Token::ExpiredNow, "Time passes beyond expiresIn: requests return code -4"),
    (Token::Altered, "every other token fault: altered"),
    (Token::OfAnotherAccount, "every other token fault: altered, the account's number"),
    (Token::LowerCase, "every other token fault: altered, lower case"),
    (Token::Truncated, "keep complete"),
    (Token::Padded, "every other token fault: altered, padded"),
    (Token::Bearer, "the raw accessToken value, with no Bearer prefix"),
    (Token::Quoted, "the raw accessToken value, quoted"),
    (Token::Twice, "every other token fault: sent twice"),
    (Token::GoodThenBad, "every other token fault: sent twice, the first good"),
    (Token::Joined, "every other token fault: sent twice in one header"),
    (Token::Garbage, "every other token fault: garbage"),
    (Token::NotAscii, "every other token fault: bytes that are not ASCII"),
];

pub(super) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for (path, body) in WITH_TOKEN {
        let ask = Ask::to(path).body(body);
        let on_auth_path = [SWITCH_PATH, LOGOUT_PATH].contains(&path);
        let when_missing = if on_auth_path { TOKEN_MISSING } else { TOKEN_INVALID };
        for (token, holds) in [
            (Token::Missing, "no token on switch group / log out: -3; on business paths: -4"),
            (Token::Empty, "no token on switch group / log out: -3; -4: an empty one"),
        ] {
            let holds = format!("{holds} — {path}");
            rows.push(Row::new(holds, ask.clone(), when_missing).with(token));
        }
        for (token, holds) in FAULTS {
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
    for (path, _) in WITH_TOKEN.into_iter().filter(|(path, _)| *path != LOGOUT_PATH) {
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
            let ask = Ask::to(path).query("current=0&size=x").body(body);
            let holds = format!("token before {what} — {path}");
            rows.push(Row::new(&holds, ask.clone(), TOKEN_INVALID).with(Token::Altered));
            let holds = format!("a missing {holds}");
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
        (Token::GroupDeactivated, "the selected group is deactivated meanwhile"),
        (Token::GroupRevoked, "the selected group is revoked meanwhile"),
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
            let ask = Ask::to(path).body(body);
            let holds = format!("{how} — {path} {body}");
            rows.push(Row::new(holds, ask, GROUP_CLOSED).with(token));
        }
        let bodies = ["{}", r#"{"groupId":"north"}"#, r#"{"deviceCodes":["F-1"]}"#];
        let dashboards =
            DASHBOARD_PATHS.into_iter().flat_map(|path| bodies.map(|body| (path, body)));
        for (path, body) in dashboards.chain([(ONLINE_PATH, ""), (ONLINE_PATH, "{nonsense")]) {
            let ask = Ask::to(path).body(body);
            let holds = format!("{how} — {path} {body}");
            rows.push(Row::new(holds, ask, GROUP_CLOSED).with(token));
        }
    }
    rows
}
