//! What workers see: answers of the server unchanged, and sessions of the broker's own.

use std::time::Duration;

use http_body_util::Full;
use kiosque_client::session::Pace;
use kiosque_server::Settings;
use kiosque_testkit::{
    CHANGES_PATH, Client, DEVICES_PATH, LOGOUT_PATH, LoggedIn, ORDERS_PATH, Reply, SUMMARY_PATH,
    SWITCH_PATH, TOKEN_PATH, TestServer, post,
};

use super::{LOG_IN, broker};
use crate::client::{fleet, server, trail};

/// Calls of every kind: pages, violations, refusals, errors in the body.
const CALLS: [(&str, &str); 6] = [
    (DEVICES_PATH, "{}"),
    (SUMMARY_PATH, r#"{"unknownKey":1}"#),
    ("third-center-web/openapi/v1/kioskDevice/devicePage?current=0&size=x", "{}"),
    (ORDERS_PATH, r#"{"deviceCode":"nowhere"}"#),
    (ORDERS_PATH, "{"),
    (ORDERS_PATH, ""),
];

async fn replies(client: &mut Client, token: &str) -> Vec<(u16, String, String, Option<String>)> {
    let mut replies = Vec::new();
    for (path, body) in CALLS {
        for locale in ["en", "zh-CN"] {
            let request = post(&format!("/v8/{path}")).header("third-api-token", token);
            let request = request.header("x-locale", locale).body(Full::from(body)).unwrap();
            let Reply { status, mut headers, text, .. } = client.send(request).await;
            assert!(headers["x-request-id"].contains('-'), "{headers:?}");
            let kind = headers.remove("content-type").unwrap();
            replies.push((status, kind, text, headers.remove("kiosque-ignored")));
        }
    }
    replies
}

/// ENV-1, ENV-4: status, content type, body and the `kiosque-*` headers of an answer are the
/// server's, in the language of the worker.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_are_passed_on_unchanged() {
    let server = server().await;
    let local = broker(&server, |_| {}).await;
    let mut worker = local.worker("north").await;
    let through = replies(&mut worker.client, &worker.token).await;
    let direct = LoggedIn::of(&server.call(TOKEN_PATH, None, LOG_IN).await);
    let expected = replies(&mut server.connect().await, &direct.token).await;
    assert_eq!(through, expected);
    assert_eq!(through[2].3.as_deref(), Some("unknownKey"), "{through:?}");
}

/// AUTH-12, AUTH-17, AUTH-21: workers of one name do not end each other's sessions, and nothing of
/// them reaches the server.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_of_workers_are_their_own() {
    let server = server().await;
    let local = broker(&server, |_| {}).await;
    let (mut first, mut second) = (local.worker("south").await, local.worker("west").await);
    let old = first.token.clone();
    let body = r#"{"groupId":"north"}"#;
    let switched = LoggedIn::of(&first.call(SWITCH_PATH, body).await);
    (first.token, first.group) = (switched.token, switched.group);
    assert_eq!(first.client.call(DEVICES_PATH, Some(&old), "{}").await.code(), -4);
    first.list_devices().await;
    second.list_devices().await;
    let closed = first.call(SWITCH_PATH, r#"{"groupId":"east"}"#).await;
    assert_eq!((closed.code(), &closed.json["enMsg"]), (-1, &CLOSED.into()));
    first.list_devices().await;
    assert_eq!(*first.call(LOGOUT_PATH, "").await.success(), serde_json::Value::Null);
    assert_eq!(first.call(LOGOUT_PATH, "").await.code(), -4);
    assert_eq!(first.call(DEVICES_PATH, "{}").await.code(), -4);
    second.list_devices().await;
    assert_eq!((trail(&server, "login").await, trail(&server, "logout").await), (1, 0));
}

/// ENV-4, ENV-6: a refusal of the server is in the language of the worker, whichever language the
/// server answers the broker in, and `enMsg` is English.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refused_sessions_are_in_the_language_of_the_worker() {
    const NO_GROUP: &str = "Current user is not bound to any group, login denied";
    for default in ["en", "zh-CN"] {
        let set = |settings: &mut Settings| settings.default_locale = default.parse().unwrap();
        let server = TestServer::start_with(fleet("secret"), set).await;
        let local = broker(&server, |_| {}).await;
        let mut worker = local.worker("north").await;
        let mut refused = async |path: &str, body: &'static str, locale: &str| {
            let request = post(&format!("/v8/{path}")).header("x-locale", locale);
            let request = request.header("third-api-token", &worker.token);
            let Reply { json, .. } = worker.client.send(request.body(body.into()).unwrap()).await;
            ["msg", "data", "enMsg"].map(|name| json[name].as_str().unwrap().to_owned())
        };
        for (locale, closed) in [("en", CLOSED), ("zh-CN", "集团不存在或已停用")] {
            let switch = refused(SWITCH_PATH, r#"{"groupId":"nowhere"}"#, locale).await;
            assert_eq!(switch, [closed, closed, CLOSED], "{default}");
        }
        server.apply("[[account]]\nlogin_name = \"ops\"\ngroups = []\n").await.unwrap();
        refused(DEVICES_PATH, "{}", "en").await;
        for (locale, none) in [("en", NO_GROUP), ("zh-CN", "当前用户未绑定任何集团，禁止登录")]
        {
            let login = refused(TOKEN_PATH, LOG_IN, locale).await;
            assert_eq!(login, [none, none, NO_GROUP], "{default}");
        }
    }
}

const CLOSED: &str = "Group does not exist or has been deactivated";

/// AUTH-4, AUTH-5, SCOPE-5: a worker whose group is taken from the account logs in again, and gets
/// the group that a login to the server selects, also if its call was one that waits, or if another
/// group was selected when it was refused.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_login_after_the_loss_of_a_group_selects_another() {
    let account =
        |groups: &[&str]| format!("[[account]]\nlogin_name = \"ops\"\ngroups = {groups:?}\n");
    for (path, body, is_switched) in [
        (DEVICES_PATH, "{}", false),
        (DEVICES_PATH, "{}", true),
        (CHANGES_PATH, r#"{"waitSeconds":30}"#, false),
    ] {
        let server = server().await;
        let local = broker(&server, |_| {}).await;
        let (mut north, mut south) = (local.worker("north").await, local.worker("south").await);
        north.list_devices().await;
        server.apply(account(&["south"])).await.unwrap();
        if is_switched {
            south.list_devices().await;
        }
        let refused = north.call(path, body).await;
        assert_eq!((refused.code(), &refused.json["msg"]), (-1, &CLOSED.into()), "{path}");
        let session = local.connect().await.call(TOKEN_PATH, None, LOG_IN).await;
        let data = session.success();
        let groups: Vec<&str> = data["switchableGroups"]
            .as_array()
            .unwrap()
            .iter()
            .map(|group| group["groupId"].as_str().unwrap())
            .collect();
        assert_eq!((data["groupId"].as_str(), groups), (Some("south"), vec!["south"]), "{path}");
        // A group that no answer of the server lists causes no login.
        let logins = trail(&server, "login").await;
        assert_eq!(south.call(SWITCH_PATH, r#"{"groupId":"north"}"#).await.code(), -1);
        south.list_devices().await;
        assert_eq!(trail(&server, "login").await, logins);
    }
}

/// AUTH-8, AUTH-14, AUTH-15, LIM-7, ADDR-3: refusals of the broker's own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn workers_without_a_session_are_refused_here() {
    let server = server().await;
    let local = broker(&server, |_| {}).await;
    let mut client = local.connect().await;
    for (path, token, code) in [
        (SWITCH_PATH, None, -3),
        (LOGOUT_PATH, None, -3),
        (LOGOUT_PATH, Some(""), -3),
        (SWITCH_PATH, Some("unknown"), -4),
        (DEVICES_PATH, None, -4),
        (DEVICES_PATH, Some("unknown"), -4),
        ("third-center-web/openapi/v1/nothing", Some("unknown"), 0),
    ] {
        let reply = client.call(path, token, "{}").await;
        assert_eq!((reply.code(), reply.status == 404), (code, code == 0), "{path}: {reply:?}");
        assert_eq!(reply.headers["kiosque-broker"], "own");
    }
    let invalid = client.call(TOKEN_PATH, None, r#"{"username":7}"#).await;
    let direct = server.call(TOKEN_PATH, None, r#"{"username":7}"#).await;
    assert_eq!(invalid.text, direct.text);
    let wrong = r#"{"username":"ops","password":"guess"}"#;
    for _ in 0..10 {
        assert_eq!(client.call(TOKEN_PATH, None, wrong).await.code(), -2);
    }
    let limited = client.call(TOKEN_PATH, None, LOG_IN).await;
    assert_eq!(limited.code(), -1, "{limited:?}");
    assert!(limited.headers.contains_key("retry-after"), "{limited:?}");
    assert_eq!((trail(&server, "login").await, trail(&server, "loginRefused").await), (0, 0));
}

/// AUTH-11: the third time that another user of the account replaces the session, a note says so.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_that_is_replaced_again_and_again_is_noted() {
    let server = server().await;
    let hold = Duration::from_millis(20);
    let pace = Pace { hold_first: hold, hold_max: hold, ..Pace::default() };
    let local = broker(&server, |parts| parts.pace = pace).await;
    let mut worker = local.worker("north").await;
    let third = "3 times another user of the account has replaced the session".to_owned();
    for note in [None, None, Some(&third)] {
        server.log_in("ops").await;
        assert_eq!(worker.list_devices().await.headers.get("kiosque-broker-note"), note);
    }
}
