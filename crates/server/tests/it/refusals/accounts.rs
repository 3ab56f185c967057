//! Refused logins (AUTH-7 to AUTH-10, LIM-7, LIM-10).

use kiosque_testkit::{TOKEN_PATH, TestRequest};

use super::setup::Token;
use super::{Row, Said};

const CREDENTIALS: Said =
    Said { code: -2, en: "User name or password is wrong.", zh: "用户名或密码错误。" };
const API_NOT_ENABLED: Said = Said {
    code: -1,
    en: "Third-party API access is not enabled for this account. Please contact the platform \
         operator.",
    zh: "该账号未开通第三方 API 权限，请联系平台运营人员。",
};
const NO_GROUP: Said = Said {
    code: -1,
    en: "Current user is not bound to any group, login denied",
    zh: "当前用户未绑定任何集团，禁止登录",
};

const TOO_MANY_FAILURES: Said = Said {
    code: -1,
    en: "Too many failed logins. Please try again later.",
    zh: "登录失败次数过多，请稍后再试。",
};

const CASES: &[(&str, &str, &str, Said)] = &[
    ("AUTH-8: unknown login name", "absent", "secret", CREDENTIALS),
    ("AUTH-8: wrong password", "ops", "Secret", CREDENTIALS),
    ("AUTH-7: a password with a space before", "ops", " secret", CREDENTIALS),
    ("AUTH-7: a password with a space behind", "ops", "secret ", CREDENTIALS),
    ("AUTH-7: a password with a NUL behind", "ops", "secret\\u0000", CREDENTIALS),
    ("AUTH-7: a hash of the password", "ops", "5ebe2294ecd0e0f08eab7690d2a6ee69", CREDENTIALS),
    ("AUTH-7: the display name", "Operations", "secret", CREDENTIALS),
    ("REQ-12: a login name in other letters", "OPS", "secret", CREDENTIALS),
    ("REQ-12: a login name with a space", "ops ", "secret", CREDENTIALS),
    ("REQ-12: a login name with a NUL", "ops\\u0000", "secret", CREDENTIALS),
    ("REQ-12: a login name with an escape of a URL", "%6fps", "secret", CREDENTIALS),
    ("REQ-12: a login name that ends a text of SQL", "ops' or '1'='1", "secret", CREDENTIALS),
    ("REQ-12: a login name of a NUL alone", "\\u0000", "secret", CREDENTIALS),
    (
        "REQ-12: a login name longer than any",
        "ooooooooooooooooooooooooooooooooooooooooooooooooooooooooooooooooooops",
        "secret",
        CREDENTIALS,
    ),
    ("AUTH-8: disabled account, right password", "disabled", "secret", CREDENTIALS),
    ("AUTH-8: disabled account, wrong password", "disabled", "wrong", CREDENTIALS),
    ("AUTH-8: disabled account without API access", "no-api-disabled", "secret", CREDENTIALS),
    ("AUTH-9: no API access", "no-api", "secret", API_NOT_ENABLED),
    ("AUTH-9: API access before groups", "no-api-no-group", "secret", API_NOT_ENABLED),
    ("AUTH-9: no API access, wrong password", "no-api", "wrong", CREDENTIALS),
    ("AUTH-10: no group", "no-group", "secret", NO_GROUP),
    ("AUTH-10: no active group", "only-shut", "secret", NO_GROUP),
    ("AUTH-10: no group, wrong password", "no-group", "wrong", CREDENTIALS),
    ("AUTH-10: no active group, wrong password", "only-shut", "wrong", CREDENTIALS),
    ("LIM-7: too many failed logins, wrong password", "guessed", "wrong", TOO_MANY_FAILURES),
    ("LIM-7: too many failed logins, right password", "guessed", "secret", TOO_MANY_FAILURES),
    ("LIM-10: too many failed logins, no such account", "guessed absent", "x", TOO_MANY_FAILURES),
];

pub(super) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for (what, username, password, said) in CASES {
        let body = format!("{{\"username\":\"{username}\",\"password\":\"{password}\"}}");
        let ask = TestRequest::to(TOKEN_PATH).body(body);
        rows.push(Row::new(*what, ask, *said).with(Token::Missing));
    }
    let ask = TestRequest::to(TOKEN_PATH).body(r#"{"username":"ops","password":"wrong"}"#);
    for token in [Token::Live, Token::Garbage, Token::Twice] {
        let holds = format!("AUTH-1: a token is ignored: {token:?}");
        rows.push(Row::new(holds, ask.clone(), CREDENTIALS).with(token));
    }
    rows
}
