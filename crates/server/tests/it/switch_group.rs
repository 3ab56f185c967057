//! Switch group.

use std::time::Duration;

use kiosque_testkit::{DEVICES_PATH, SWITCH_PATH, TestRequest, snapshot};

use crate::catalog;

/// AUTH-17: a switch answers with the new group, a token that replaces the old one, and a renewed
/// `expiresIn`. SCOPE-1: the next page shows the new group.
#[tokio::test]
async fn a_switch_answers_a_new_token_for_the_new_group() {
    let (server, token) = catalog::open_to_ops().await;
    server.advance(Duration::from_secs(60));
    let ask = TestRequest::to(SWITCH_PATH).token(&token).body(r#"{"groupId":"station"}"#);
    let reply = ask.send(&server).await;
    insta::assert_snapshot!("a_switch", snapshot(&reply));
    let switched = reply.data()["accessToken"].as_str().unwrap();
    assert_ne!(switched, token);
    assert_eq!(server.code_of(&token).await, -4);
    let devices = server.call(DEVICES_PATH, Some(switched), "{}").await;
    assert_eq!(catalog::column(&devices, "deviceCode"), ["S-1"]);
}

/// AUTH-18: a switch to the selected group replaces the token as well.
#[tokio::test]
async fn a_switch_to_the_selected_group_replaces_the_token() {
    let (server, token) = catalog::open_to_ops().await;
    let switched = server.switch(&token, "harbour").await;
    assert_eq!(switched.group, "harbour");
    assert_eq!(server.code_of(&token).await, -4);
    assert_eq!(server.code_of(&switched.token).await, 200);
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

/// SCOPE-2: a `groupId` filter does not change the selected group.
#[tokio::test]
async fn a_filter_does_not_switch() {
    let (server, token) = catalog::open_to_ops().await;
    let filter = r#"{"groupId":"station"}"#;
    for (body, codes) in [(filter, vec!["S-1"]), ("{}", vec!["H-1", "H-2", "H-3"])] {
        let devices = server.call(DEVICES_PATH, Some(&token), body).await;
        assert_eq!(catalog::column(&devices, "deviceCode"), codes);
    }
}
