//! List devices.

use crate::fixture::whole;
use crate::harness::{DEVICES_PATH, TestServer};
use crate::shop::{self, ask, column};

async fn page(server: &TestServer, token: &str, query: &str, body: &str) -> String {
    whole(&ask(server, token, DEVICES_PATH, query, body).await)
}

/// "`data` is a paginated result of device records (each has `deviceCode`)"; "Ordered by
/// `deviceCode`, by code point"; "defaults 1 and 10".
#[tokio::test]
async fn a_page_of_devices() {
    let (server, token) = shop::open_to_ops().await;
    insta::assert_snapshot!("a_device_page", page(&server, &token, "", "{}").await);
    let second = page(&server, &token, "current=2&size=2", "{}").await;
    insta::assert_snapshot!("a_second_device_page", second);
    let past = page(&server, &token, "current=9223372036854775807&size=1000", "{}").await;
    insta::assert_snapshot!("a_device_page_past_the_end", past);
}

/// "An empty result is `total: 0` and `records: []`."
#[tokio::test]
async fn a_group_without_devices_has_an_empty_page() {
    let server = shop::open().await;
    let token = server.log_in("new").await.token;
    insta::assert_snapshot!("an_empty_device_page", page(&server, &token, "", "{}").await);
}

/// "A `groupId` filter is supported"; "More filters: `deviceCode` (exact), `deviceName` (contains,
/// case-sensitive, no wildcards), `isOnline`".
#[tokio::test]
async fn each_filter_narrows_the_page() {
    let (server, token) = shop::open_to_ops().await;
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

/// "Requests for a device or Group outside the account's scope return a business error (code -1)";
/// unknown and foreign answer alike.
#[tokio::test]
async fn a_device_outside_the_scope_is_refused_and_not_an_empty_page() {
    let (server, token) = shop::open_to_ops().await;
    for body in [
        r#"{"deviceCode":"H-"}"#,
        r#"{"deviceCode":"H-1\u0000"}"#,
        r#"{"deviceCode":" "}"#,
        r#"{"groupId":"harbour","deviceCode":"S-1"}"#,
        r#"{"deviceCode":"S-1","isOnline":1}"#,
    ] {
        let reply = server.call(DEVICES_PATH, Some(&token), body).await;
        assert_eq!(reply.code(), -1, "{body}: {}", reply.text);
        assert_eq!(reply.data(), "Requested device/group is not within your permission scope");
    }
}

/// "an optional field null, or `""` in a filter, or an empty list: as if absent"; "unknown body
/// fields, unknown query keys: ignored"; "`current`, `size`: read from the query string only".
#[tokio::test]
async fn what_says_nothing_changes_nothing() {
    let (server, token) = shop::open_to_ops().await;
    let plain = ask(&server, &token, DEVICES_PATH, "", "{}").await.json;
    for (query, body) in [
        ("", r#"{"groupId":null,"deviceCode":null,"deviceName":null,"isOnline":null}"#),
        ("", r#"{"groupId":"","deviceCode":"","deviceName":"","isOnline":""}"#),
        ("", r#"{"current":2,"size":1,"other":{"groupId":"station"}}"#),
        ("currents=7&Size=1&page=3&=4&&current=1", "{}"),
        ("size=%31%30", "{}"),
    ] {
        let reply = ask(&server, &token, DEVICES_PATH, query, body).await;
        assert_eq!(reply.json, plain, "{query} {body}");
    }
}

/// "A device is online while its last activity is at most `online_window` (default 10 minutes)
/// old." An order counts as activity at its trade's start.
#[tokio::test]
async fn a_device_is_online_for_ten_minutes() {
    let (server, token) = shop::open_to_ops().await;
    // H-1 sold last at 09:55; it is 10:00.
    for (seconds, online) in [(0, vec!["H-1"]), (300, vec!["H-1"]), (1, vec![])] {
        server.pass(std::time::Duration::from_secs(seconds));
        let reply = ask(&server, &token, DEVICES_PATH, "", r#"{"isOnline":1}"#).await;
        assert_eq!(column(&reply, "deviceCode"), online);
        let all = ask(&server, &token, DEVICES_PATH, "", "{}").await;
        let flags = all.data()["records"].as_array().unwrap();
        let flags: Vec<_> = flags.iter().map(|record| record["isOnline"].as_i64()).collect();
        assert_eq!(flags, [Some(i64::from(!online.is_empty())), Some(0), Some(0)]);
    }
}

/// "device pages show present owners only"; "A device that is not enabled leaves device pages and
/// counts".
#[tokio::test]
async fn a_page_shows_present_owners_and_what_is_enabled() {
    let (server, token) = shop::open_to_ops().await;
    let moved = "[[device]]\ncode = \"H-1\"\ngroup = \"station\"\n\
                 [[device]]\ncode = \"H-2\"\nenabled = false\n\
                 [[device]]\ncode = \"H-4\"\nenabled = true\n";
    server.apply(moved).await.unwrap();
    for (body, codes) in [
        ("{}", ["H-3", "H-4"]),
        (r#"{"groupId":"station"}"#, ["H-1", "S-1"]),
        (r#"{"groupId":"station","deviceName":"P"}"#, ["H-1", "S-1"]),
    ] {
        let reply = ask(&server, &token, DEVICES_PATH, "", body).await;
        assert_eq!(column(&reply, "deviceCode"), codes, "{body}");
        assert_eq!(reply.data()["total"], 2, "{body}");
    }
}
