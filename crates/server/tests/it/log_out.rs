//! Log out.

use kiosque_testkit::{LOGOUT_PATH, TestRequest};

use crate::catalog;

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
