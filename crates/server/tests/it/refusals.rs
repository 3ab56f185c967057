//! Every refusal in one table: the rule that it tests, the call, and the exact answer in each
//! language (ENV-3); and that nothing was changed by it.

mod accounts;
mod bodies;
mod fields;
mod scope;
mod setup;
mod tokens;

use kiosque_testkit::{
    CHANGES_PATH, Connection, DETAIL_PATH, DEVICES_PATH, LOGOUT_PATH, ONLINE_PATH, ORDERS_PATH,
    SWITCH_PATH, TestRequest, TestServer, dashboard_paths,
};
use serde_json::{Value, json};
use setup::{Setup, Token};

/// One refusal.
struct Row {
    /// The rule, and the case of it; no two rows have the same.
    holds: String,
    token: Token,
    ask: TestRequest,
    status: u16,
    said: Said,
    data: Data,
}

/// A code and its message. `enMsg` is the English one in every language.
#[derive(Clone, Copy, Debug)]
struct Said {
    code: i64,
    en: &'static str,
    zh: &'static str,
}

/// `data` of a refusal.
#[derive(Clone, Debug)]
enum Data {
    /// The message again, in the caller's language.
    Message,
    Null,
    /// A diagnostic string, English in every language.
    Diagnostic(String),
    /// Every violation, in each language.
    Violations(Vec<(String, String)>),
}

const OUT_OF_SCOPE: Said = Said {
    code: -1,
    en: "Requested device/group is not within your permission scope",
    zh: "请求的设备或集团不在您的权限范围内",
};
const GROUP_CLOSED: Said =
    Said {
        code: -1, en: "Group does not exist or has been deactivated", zh: "集团不存在或已停用"
    };
const ORDER_UNKNOWN: Said = Said { code: -1, en: "Order does not exist", zh: "订单不存在" };
const INVALID: Said =
    Said { code: -1, en: "The request is not valid", zh: "请求参数不合法" };
const TOKEN_MISSING: Said =
    Said { code: -3, en: "Request head doesnot have token", zh: "请求头缺少 token" };
const TOKEN_INVALID: Said = Said {
    code: -4,
    en: "Token is incorrect or invalid,please login again",
    zh: "token 错误或已失效，请重新登录",
};
const NOT_FOUND: Said = Said { code: 0, en: "Not found", zh: "路径不存在" };
const UNREADABLE: Said = Said { code: 500, en: "system error", zh: "系统错误" };

/// Returns every path that needs a token, with a valid body.
fn with_token() -> impl Iterator<Item = (&'static str, &'static str)> {
    let calls = [
        (SWITCH_PATH, r#"{"groupId":"south"}"#),
        (LOGOUT_PATH, ""),
        (DEVICES_PATH, "{}"),
        (ORDERS_PATH, r#"{"deviceCode":"N-1"}"#),
        (DETAIL_PATH, r#"{"tradeNoOut":"T-N-1"}"#),
        (CHANGES_PATH, r#"{"waitSeconds":60}"#),
        (ONLINE_PATH, ""),
    ];
    let filters = ["{}", r#"{"deviceCodes":["N-1"]}"#, r#"{"groupId":"south"}"#];
    calls.into_iter().chain(dashboard_paths().zip(filters.into_iter().cycle()))
}

impl Row {
    /// Returns a refusal with HTTP 200 whose `data` repeats the message, for a caller with a live
    /// session.
    fn new(holds: impl Into<String>, ask: TestRequest, said: Said) -> Row {
        let (holds, token) = (holds.into(), Token::Live);
        Row { holds, token, ask, status: 200, said, data: Data::Message }
    }

    fn with(self, token: Token) -> Row {
        Row { token, ..self }
    }

    fn data(self, data: Data) -> Row {
        Row { data, ..self }
    }

    /// Returns the exact body.
    fn body(&self, in_english: bool) -> String {
        let Said { code, en, zh } = self.said;
        let msg = if in_english { en } else { zh };
        let data = match &self.data {
            Data::Message => json!(msg),
            Data::Null => Value::Null,
            Data::Diagnostic(said) => json!(said),
            Data::Violations(all) => {
                all.iter().map(|(en, zh)| if in_english { en } else { zh }).cloned().collect()
            }
        };
        let (msg, en) = (json!(msg), json!(en));
        format!(r#"{{"code":{code},"msg":{msg},"enMsg":{en},"data":{data}}}"#)
    }

    /// Sends the call in both languages, and returns the differences from the expected answer.
    async fn failures(&self, setup: &Setup, line: &mut Connection) -> Vec<String> {
        let mut failures = Vec::new();
        for (tag, in_english) in [("en", true), ("zh-CN", false)] {
            let mut ask = self.ask.clone().locale(tag);
            for value in setup.values(self.token) {
                ask = ask.token(value);
            }
            let reply = ask.send_on(line, &setup.server).await;
            let (got, want) = ((reply.status, &reply.text), (self.status, &self.body(in_english)));
            if got != want {
                failures.push(format!("{}\n  want {want:?}\n  got  {got:?}", self.holds));
            }
        }
        if !setup.is_live(line).await {
            failures.push(format!("{}\n  the live session is gone", self.holds));
        }
        failures
    }
}

/// ENV-2, ENV-6, ENV-7: the HTTP status, `enMsg` and the shape of `data` of every refusal. AUTH-13:
/// no refusal ends a session.
#[tokio::test]
async fn every_refusal_is_answered_to_the_letter_and_changes_nothing() {
    let setup = Setup::new().await;
    let parts = [tokens::rows(), bodies::rows(), fields::rows(), scope::rows(), accounts::rows()];
    let rows: Vec<Row> = parts.into_iter().flatten().collect();
    let (mut failures, mut line) = (Vec::new(), Connection::default());
    // AUTH-25: the first refusal of an expired session deletes it.
    let (deleting, changing_nothing): (Vec<&Row>, Vec<&Row>) =
        rows.iter().partition(|row| row.token == Token::ExpiredNow);
    for row in deleting {
        failures.extend(row.failures(&setup, &mut line).await);
    }
    let before = setup.server.data.fingerprint().await;
    for row in &changing_nothing {
        failures.extend(row.failures(&setup, &mut line).await);
    }
    if setup.server.data.fingerprint().await != before {
        failures
            .push(format!("{}\n  the data was written to", first_writer(&changing_nothing).await));
    }
    assert!(
        failures.is_empty(),
        "{} failures in {} rows:\n{}",
        failures.len(),
        rows.len(),
        failures.join("\n")
    );
    let mut names: Vec<&str> = rows.iter().map(|row| row.holds.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), rows.len(), "each row has a name of its own");
}

/// Returns the first refusal that writes to the data, by repeating them on other data. Comparing
/// all data around each refusal takes minutes, and on Citus an hour, so it is done only then.
async fn first_writer(rows: &[&Row]) -> String {
    let (setup, mut line) = (Setup::new().await, Connection::default());
    let mut before = setup.server.data.fingerprint().await;
    for row in rows {
        // Failures of the answer are known already.
        row.failures(&setup, &mut line).await;
        let after = setup.server.data.fingerprint().await;
        if after != before {
            return row.holds.clone();
        }
        before = after;
    }
    "any refusal, but none when they were repeated".to_owned()
}

/// ENV-4, ENV-5: `X-Locale` selects the language of `msg`; without a supported one the default
/// language applies. Of several headers the first counts.
#[tokio::test]
async fn the_message_is_in_the_requested_language() {
    let many = "fr,".repeat(5_000);
    let cases: [(&[&str], Option<&str>); 10] = [
        (&["en"], Some("en")),
        (&["zh-CN"], Some("zh")),
        (&["zh_cn"], Some("zh")),
        (&["fr, en;q=0.4, zh-CN;q=0.9"], Some("zh")),
        (&["zh-CN", "en"], Some("zh")),
        (&["", "zh-CN"], None),
        (&["fr"], None),
        (&[&many], None),
        (&["中文"], None),
        (&[], None),
    ];
    let english = TestServer::start("").await;
    let chinese = TestServer::start_with("", |settings| {
        settings.default_locale = kiosque_locale::Locale::ZhCn;
    })
    .await;
    for (server, default) in [(&english, "en"), (&chinese, "zh")] {
        for (values, want) in cases {
            let ask = values
                .iter()
                .fold(TestRequest::to(DEVICES_PATH), |ask, value| ask.header("x-locale", value));
            let reply = ask.send(server).await;
            let msg =
                if want.unwrap_or(default) == "en" { TOKEN_INVALID.en } else { TOKEN_INVALID.zh };
            let want = json!({ "code": -4, "msg": msg, "enMsg": TOKEN_INVALID.en, "data": msg });
            assert_eq!(reply.json, want, "{values:?}");
        }
    }
}
