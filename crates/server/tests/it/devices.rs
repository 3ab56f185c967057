//! List devices.

use kiosque_testkit::{DEVICES_PATH, TestServer, snapshot};

use crate::catalog::{self, ask, column};

async fn page(server: &TestServer, token: &str, query: &str, body: &str) -> String {
    snapshot(&ask(server, token, DEVICES_PATH, query, body).await)
}

/// DEV-2, FMT-5: the fields of a device record. DEV-3: by code. PAGE-1: the defaults are 1 and 10.
#[tokio::test]
async fn a_page_of_devices() {
    let (server, token) = catalog::open_to_ops().await;
    insta::assert_snapshot!("a_device_page", page(&server, &token, "", "{}").await);
    let second = page(&server, &token, "current=2&size=2", "{}").await;
    insta::assert_snapshot!("a_second_device_page", second);
}

/// PAGE-5: a page without a match is `total: 0` and `records: []`. DEV-1: the group has no devices.
#[tokio::test]
async fn a_group_without_devices_has_an_empty_page() {
    let server = catalog::open().await;
    let token = server.log_in("new").await.token;
    insta::assert_snapshot!("an_empty_device_page", page(&server, &token, "", "{}").await);
}

/// DEV-4: each filter selects devices, and a device must match all that are given. SCOPE-2:
/// `groupId` is one of them.
#[tokio::test]
async fn each_filter_narrows_the_page() {
    let (server, token) = catalog::open_to_ops().await;
    let by_group = page(&server, &token, "", r#"{"groupId":"station"}"#).await;
    insta::assert_snapshot!("a_device_page_of_another_group", by_group);
    for (body, codes) in [
        (r#"{"deviceCode":"H-2"}"#, vec!["H-2"]),
        (r#"{"deviceName":"Pier"}"#, vec!["H-1", "H-2"]),
        (r#"{"deviceName":"pier"}"#, vec![]),
        (r#"{"deviceName":"ier 2"}"#, vec!["H-2"]),
        (r#"{"deviceName":"h_m"}"#, vec!["H-3"]),
        (r#"{"deviceName":"_"}"#, vec!["H-3"]),
        (r#"{"deviceName":"%"}"#, vec!["H-3"]),
        (r#"{"deviceName":" "}"#, vec!["H-1", "H-2", "H-3"]),
        (r#"{"deviceName":"\u0000"}"#, vec![]),
        (r#"{"isOnline":1}"#, vec!["H-1"]),
        (r#"{"isOnline":0}"#, vec!["H-2", "H-3"]),
        (r#"{"isOnline":0,"deviceName":"Pier"}"#, vec!["H-2"]),
        (r#"{"groupId":"station","isOnline":1,"deviceName":"P","deviceCode":"S-1"}"#, vec!["S-1"]),
    ] {
        let reply = ask(&server, &token, DEVICES_PATH, "", body).await;
        assert_eq!(column(&reply, "deviceCode"), codes, "{body}");
        assert_eq!(reply.data()["total"], codes.len(), "{body}");
    }
}
