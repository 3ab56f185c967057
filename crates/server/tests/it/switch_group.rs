//! Switch group.

use std::time::Duration;

use kiosque_testkit::{SWITCH_PATH, TestRequest, snapshot};

use crate::catalog;

/// AUTH-17: a switch answers with the new group, a new token, and a renewed `expiresIn`.
#[tokio::test]
async fn a_switch_answers_a_new_token_for_the_new_group() {
    let (server, token) = catalog::open_to_ops().await;
    server.advance(Duration::from_secs(60));
    let ask = TestRequest::to(SWITCH_PATH).token(&token).body(r#"{"groupId":"station"}"#);
    let reply = ask.send(&server).await;
    insta::assert_snapshot!("a_switch", snapshot(&reply));
    assert_ne!(reply.data()["accessToken"], token.as_str());
}
