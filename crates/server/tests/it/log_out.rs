//! Log out.

use kiosque_testkit::{LOGOUT_PATH, TestRequest, snapshot};

use crate::catalog;

/// AUTH-21: a log out answers null and ends the session; a second one is refused.
#[tokio::test]
async fn a_log_out_ends_the_session() {
    let (server, token) = catalog::open_to_ops().await;
    let other = server.log_in("new").await.token;
    let reply = TestRequest::to(LOGOUT_PATH).token(&token).body("").send(&server).await;
    insta::assert_snapshot!("a_log_out", snapshot(&reply));
    let after = server.fingerprint().await;
    assert_eq!(server.code_of(&token).await, -4);
    assert_eq!(server.call(LOGOUT_PATH, Some(&token), "").await.code(), -4);
    assert!(server.fingerprint().await == after, "a second log out changes nothing");
    assert_eq!(server.code_of(&other).await, 200, "another account's session is its own");
}

/// REQ-6: the body of a log out is ignored, whatever it contains.
#[tokio::test]
async fn whatever_body_a_log_out_has_is_ignored() {
    let server = catalog::open().await;
    let huge = vec![b'x'; (1 << 20) + 1];
    for body in [&b"{}"[..], b"null", b"{nonsense", b"[[[[", b"\xff", &huge] {
        let token = server.log_in("ops").await.token;
        let ask = TestRequest::to(LOGOUT_PATH).query("current=0").token(&token).body(body);
        let reply = ask.send(&server).await;
        assert_eq!(reply.text, r#"{"code":200,"msg":"success","enMsg":null,"data":null}"#);
        assert_eq!(server.code_of(&token).await, -4);
    }
}
