//! Addresses and HTTP: the gateway prefix, the service paths and the two versions of HTTP.

use http_body_util::{BodyExt, Full};
use kiosque_testkit::{
    DETAIL_PATH, DEVICES_PATH, LOGOUT_PATH, ORDERS_PATH, SWITCH_PATH, TOKEN_PATH, TestRequest, post,
};

use crate::catalog;

/// ADDR-1, VER-1: the address of a call is the base URL with `/v8`, a service path and an endpoint.
/// ADDR-2: every call is a POST.
#[tokio::test]
async fn the_paths_are_those_of_the_contract() {
    let server = catalog::open().await;
    let mut token = String::new();
    for (path, body) in [
        ("/v8/platform-auth/auth/third-api/token", r#"{"username":"ops","password":"secret"}"#),
        ("/v8/platform-auth/auth/third-api/switchGroup", r#"{"groupId":"harbour"}"#),
        ("/v8/third-center-web/openapi/v1/kioskDevice/devicePage?current=1&size=10", "{}"),
        (
            "/v8/third-center-web/openapi/v1/kioskOrder/queryOrderList?current=1&size=10",
            r#"{"deviceCode":"H-1"}"#,
        ),
        ("/v8/third-center-web/openapi/v1/kioskOrder/orderDetail", r#"{"tradeNoOut":"T-1"}"#),
        ("/v8/third-center-web/openapi/v1/kioskOrder/changes", "{}"),
        ("/v8/platform-auth/auth/third-api/logout", ""),
    ] {
        let ask = TestRequest::at(path).body(body);
        let ask = if token.is_empty() { ask } else { ask.token(&token) };
        let reply = ask.send(&server).await;
        assert_eq!((reply.status, reply.code()), (200, 200), "{path}: {reply:?}");
        if let Some(new) = reply.data()["accessToken"].as_str() {
            token = new.to_owned();
        }
    }
}

/// ADDR-6: HTTP/1.1 and HTTP/2 give the same answers.
#[tokio::test]
async fn both_versions_of_http_say_the_same() {
    let (server, token) = catalog::open_to_ops().await;
    let mut sender = server.connect_http2().await;
    for (path, body) in [
        (TOKEN_PATH, r#"{"username":"ops","password":"wrong"}"#),
        (SWITCH_PATH, r#"{"groupId":"nowhere"}"#),
        (DEVICES_PATH, "{}"),
        (ORDERS_PATH, r#"{"deviceCode":"H-1"}"#),
        (DETAIL_PATH, r#"{"tradeNoOut":"T-1"}"#),
        (DETAIL_PATH, "{"),
        ("nowhere", "{}"),
    ] {
        let first = server.call(path, Some(&token), body).await;
        let request = post(&format!("https://localhost/v8/{path}"));
        let request = request.header("third-api-token", &token);
        let request = request.body(Full::from(body.to_owned())).unwrap();
        let (head, body) = sender.send_request(request).await.unwrap().into_parts();
        assert_eq!(head.status.as_u16(), first.status, "{path}");
        for name in ["content-type", "cache-control"] {
            assert_eq!(head.headers[name], first.headers[name].as_str(), "{path}: {name}");
        }
        assert!(head.headers.contains_key("x-request-id"), "{path}");
        assert_eq!(body.collect().await.unwrap().to_bytes(), first.text.as_bytes(), "{path}");
    }
}

/// REQ-1, REQ-13: a request that is refused for its path or its token still gets its answer after a
/// large body.
#[tokio::test]
async fn a_refusal_before_a_large_body_arrives() {
    let server = catalog::open().await;
    for size in [100_000, 1 << 20, 4 << 20] {
        for (path, code) in
            [(DEVICES_PATH, -4), (SWITCH_PATH, -3), (LOGOUT_PATH, -3), ("nowhere", 0)]
        {
            for _ in 0..5 {
                let reply = TestRequest::to(path).body(vec![b' '; size]).send(&server).await;
                assert_eq!(reply.code(), code, "{path} with {size} bytes");
            }
        }
    }
}
