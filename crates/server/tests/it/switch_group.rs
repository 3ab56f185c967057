//! Switch group.

use std::time::Duration;

use crate::fixture::{Ask, whole};
use crate::harness::{DEVICES_PATH, SWITCH_PATH};
use crate::shop;

/// "`code` 200; `data.groupId` is the selected Group; `data` carries a new `accessToken` that
/// replaces the previous one"; "switch group's `expiresIn`: renewed: now + validity".
#[tokio::test]
async fn a_switch_answers_a_new_token_for_the_new_group() {
    let (server, token) = shop::open_to_ops().await;
    server.pass(Duration::from_secs(60));
    let ask = Ask::to(SWITCH_PATH).token(&token).body(r#"{"groupId":"station"}"#);
    let reply = ask.send(&server).await;
    insta::assert_snapshot!("a_switch", whole(&reply));
    let switched = reply.data()["accessToken"].as_str().unwrap();
    assert_ne!(switched, token);
    assert_eq!(server.code_of(&token).await, -4);
    let devices = server.call(DEVICES_PATH, Some(switched), "{}").await;
    assert_eq!(shop::column(&devices, "deviceCode"), ["S-1"]);
}

/// "`groupId` is one the account may select": the one that is selected already is such a one, and
/// its token is replaced like any other.
#[tokio::test]
async fn a_switch_to_the_selected_group_replaces_the_token() {
    let (server, token) = shop::open_to_ops().await;
    let switched = server.switch(&token, "harbour").await;
    assert_eq!(switched.group, "harbour");
    assert_eq!(server.code_of(&token).await, -4);
    assert_eq!(server.code_of(&switched.token).await, 200);
}

/// "the selected group is deactivated or revoked meanwhile: …; switch or log in again".
#[tokio::test]
async fn a_closed_group_is_left_by_a_switch() {
    let (server, token) = shop::open_to_ops().await;
    server.apply("[[group]]\nid = \"harbour\"\nactive = false").await.unwrap();
    assert_eq!(server.code_of(&token).await, -1);
    let switched = server.switch(&token, "station").await;
    assert_eq!(server.code_of(&switched.token).await, 200);
    server.apply("[[account]]\nlogin_name = \"ops\"\ngroups = []").await.unwrap();
    assert_eq!(server.code_of(&switched.token).await, -1);
    // What is given back is seen again: the session was never ended.
    server.apply("[[account]]\nlogin_name = \"ops\"\ngroups = [\"station\"]").await.unwrap();
    assert_eq!(server.code_of(&switched.token).await, 200);
}

/// "the session stays as it was": the group and the expiry, too.
#[tokio::test]
async fn a_refused_switch_leaves_the_group_and_the_expiry() {
    let (server, token) = shop::open_to_ops().await;
    server.pass(Duration::from_secs(7_199));
    for group in ["nowhere", "old", "bare"] {
        let body = format!(r#"{{"groupId":"{group}"}}"#);
        assert_eq!(server.call(SWITCH_PATH, Some(&token), &body).await.code(), -1);
    }
    let devices = server.call(DEVICES_PATH, Some(&token), "{}").await;
    assert_eq!(shop::column(&devices, "deviceCode"), ["H-1", "H-2", "H-3"]);
    server.pass(Duration::from_secs(1));
    assert_eq!(server.code_of(&token).await, -4);
}

/// "A `groupId` filter on a device query does not change the selected Group."
#[tokio::test]
async fn a_filter_does_not_switch() {
    let (server, token) = shop::open_to_ops().await;
    let filter = r#"{"groupId":"station"}"#;
    for (body, codes) in [(filter, vec!["S-1"]), ("{}", vec!["H-1", "H-2", "H-3"])] {
        let devices = server.call(DEVICES_PATH, Some(&token), body).await;
        assert_eq!(shop::column(&devices, "deviceCode"), codes);
    }
}
