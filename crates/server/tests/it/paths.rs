//! The gateway prefix and the service paths.

use kiosque_testkit::TestRequest;

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
