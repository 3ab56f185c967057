//! Switch group.

use std::time::Duration;

use kiosque_testkit::{DEVICES_PATH, SWITCH_PATH, TestRequest, snapshot};

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

/// SCOPE-5: a session whose group was closed ends with no error of the token: a switch leaves the
/// group.
#[tokio::test]
async fn a_closed_group_is_left_by_a_switch() {
    let (server, token) = catalog::open_to_ops().await;
    server.apply("[[group]]\nid = \"harbour\"\nactive = false").await.unwrap();
    assert_eq!(server.code_of(&token).await, -1);
    let switched = server.switch(&token, "station").await;
    assert_eq!(server.code_of(&switched.token).await, 200);
    server.apply("[[account]]\nlogin_name = \"ops\"\ngroups = []").await.unwrap();
    assert_eq!(server.code_of(&switched.token).await, -1);
    // SCOPE-5: a group that is given back is visible to the same session again.
    server.apply("[[account]]\nlogin_name = \"ops\"\ngroups = [\"station\"]").await.unwrap();
    assert_eq!(server.code_of(&switched.token).await, 200);
}

/// AUTH-19: a refused switch changes neither the group nor the end of the session.
#[tokio::test]
async fn a_refused_switch_leaves_the_group_and_the_expiry() {
    let (server, token) = catalog::open_to_ops().await;
    server.advance(Duration::from_secs(7_199));
    for group in ["nowhere", "old", "bare"] {
        let body = format!(r#"{{"groupId":"{group}"}}"#);
        assert_eq!(server.call(SWITCH_PATH, Some(&token), &body).await.code(), -1);
    }
    let devices = server.call(DEVICES_PATH, Some(&token), "{}").await;
    assert_eq!(catalog::column(&devices, "deviceCode"), ["H-1", "H-2", "H-3"]);
    server.advance(Duration::from_secs(1));
    assert_eq!(server.code_of(&token).await, -4);
}
