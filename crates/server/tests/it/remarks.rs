//! Headers and violations that explain requests that are easily misunderstood: ignored keys
//! (REQ-14), times in other units (REQ-15), a token in the wrong place (AUTH-27).

use kiosque_testkit::{
    DEVICES_PATH, LOGOUT_PATH, ONLINE_PATH, ORDERS_PATH, Reply, SUMMARY_PATH, SWITCH_PATH,
    TOKEN_PATH, TestRequest, TestServer, dashboard_paths,
};

use crate::abuse::fleet;

fn ignored(reply: &Reply) -> Option<&str> {
    reply.headers.get("kiosque-ignored").map(String::as_str)
}

/// REQ-14.
#[tokio::test]
async fn keys_that_a_call_does_not_know_are_named() {
    let (server, token) = TestServer::start_for_ops(fleet()).await;
    let ask = |path: &str, query: &str, body: &str| {
        TestRequest::to(path).query(query).token(&token).body(body)
    };
    for (request, code, want) in [
        (ask(DEVICES_PATH, "", "{}"), 200, None),
        (ask(DEVICES_PATH, "current=1&size=5", r#"{"deviceName":null}"#), 200, None),
        (ask(DEVICES_PATH, "", r#"{"deviceNmae":"x"}"#), 200, Some("deviceNmae")),
        (ask(DEVICES_PATH, "page=2&pageSize=5", "{}"), 200, Some("page, pageSize")),
        (ask(DEVICES_PATH, "page=2", r#"{"size":1,"page":1}"#), 200, Some("page, size")),
        // Keys are compared after they are decoded.
        (ask(DEVICES_PATH, "s%69ze=2&page=3&&=4&%70age=5&Size=6", "{}"), 200, Some("page, Size")),
        (
            ask(DEVICES_PATH, "", r#"{"a\r\nb, c%":1,"é":1}"#),
            200,
            Some("a%0D%0Ab%2C%20c%25, %C3%A9"),
        ),
        (ask(ORDERS_PATH, "", r#"{"deviceCode":"D1","deviceCodes":[]}"#), 200, Some("deviceCodes")),
        (ask(ORDERS_PATH, "", r#"{"devicecode":"D1"}"#), -1, Some("devicecode")),
        (ask(DEVICES_PATH, "x", r#"{"deviceCode":"foreign"}"#), -1, Some("x")),
        (ask(SUMMARY_PATH, "current=1", r#"{"from":1}"#), 200, Some("current, from")),
        (ask(ONLINE_PATH, "", r#"{"groupId":"g2"}"#), 200, Some("groupId")),
        (ask(ONLINE_PATH, "", "nonsense"), 200, None),
        (ask(SWITCH_PATH, "", r#"{"groupID":"g1"}"#), -1, Some("groupID")),
    ] {
        let reply = request.send(&server).await;
        assert_eq!((reply.code(), ignored(&reply)), (code, want), "{request:?}");
    }
    let login = r#"{"username":"ops","password":"secret","rememberMe":true}"#;
    let reply = TestRequest::to(TOKEN_PATH).body(login).send(&server).await;
    assert_eq!((reply.code(), ignored(&reply)), (200, Some("rememberMe")));
}

/// REQ-15: the table of refusals has times in other units; these are near them.
#[tokio::test]
async fn times_that_look_like_milliseconds_are_accepted() {
    let (server, token) = TestServer::start_for_ops(fleet()).await;
    for path in dashboard_paths().chain([ORDERS_PATH]) {
        for (start, end) in [
            (0, 999_999_999),
            (10_000_000_000, 10_000_000_001),
            (999_999_999_999_998, 999_999_999_999_999),
            (9_007_199_254_740_990, 9_007_199_254_740_991),
            (999_999_999_999_999_998, 999_999_999_999_999_999),
            (i64::MAX - 1, i64::MAX),
        ] {
            let body =
                format!(r#"{{"deviceCode":"D1","startTimestamp":{start},"endTimestamp":{end}}}"#);
            assert_eq!(server.call(path, Some(&token), &body).await.code(), 200, "{path} {body}");
        }
    }
}

/// AUTH-27.
#[tokio::test]
async fn a_token_in_the_wrong_place_is_explained() {
    let (server, token) = TestServer::start_for_ops(fleet()).await;
    let bearer = format!("Bearer {token}");
    let ask = |path| TestRequest::to(path).body("{}");
    let missing = "send the access token in the header third-api-token";
    let elsewhere =
        "send the access token in the header third-api-token; authorization is not read";
    let as_it_is = "send the access token in third-api-token unchanged, without Bearer before it";
    for (path, when_missing) in [(DEVICES_PATH, -4), (SWITCH_PATH, -3), (LOGOUT_PATH, -3)] {
        for (request, code, want) in [
            (ask(path), when_missing, Some(missing)),
            (ask(path).token(""), when_missing, Some(missing)),
            (ask(path).header("authorization", &bearer), when_missing, Some(elsewhere)),
            (ask(path).token(&bearer), -4, Some(as_it_is)),
            (ask(path).token("bearer x"), -4, Some(as_it_is)),
            (ask(path).token("Bearer"), -4, Some(as_it_is)),
            (ask(path).token("bearer:x"), -4, Some(as_it_is)),
            (ask(path).token("bear"), -4, None),
            (ask(path).token("nonsense"), -4, None),
            (ask(path).token("nonsense").header("authorization", &bearer), -4, None),
        ] {
            let reply = request.send(&server).await;
            let hint = reply.headers.get("kiosque-hint").map(String::as_str);
            assert_eq!((reply.code(), hint), (code, want), "{request:?}");
        }
    }
    let both = ask(DEVICES_PATH).token(&token).header("authorization", "Basic x");
    let reply = both.send(&server).await;
    assert_eq!((reply.code(), reply.headers.get("kiosque-hint")), (200, None));
}
