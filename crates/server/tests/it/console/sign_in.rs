//! Signing in and out: with a key, with a link, from a page of another site.

use std::time::Duration;

use http::Method;
use kiosque_console::assets::{RENEWAL_HEADER, SCRIPT};
use kiosque_testkit::{TestServer, between};

use super::{Browser, Cause, SESSION, SIGN_IN, behind_proxy, link, revoke, trail};
use crate::operator::fleet;

const PAGE: &str = "/console/service";

#[tokio::test]
async fn a_person_signs_in_with_a_key_and_returns_to_the_page() {
    let server = TestServer::start(fleet()).await;
    let key = server.create_key_named("office", "read").await;
    let mut browser = Browser::new(&server).await;
    let (at, form) = browser.open("/console/service?a=1&b=%2F", Cause::Address).await;
    assert_eq!(at, "/console/login?return=/console/service%3Fa%3D1%26b%3D%252F");
    assert_eq!(form.status, 200);
    assert!(form.text.contains("value=\"/console/service?a=1&amp;b=%2F\""), "{}", form.text);
    let fields = [("key", key.as_str()), ("return", "/console/service?a=1&b=%2F")];
    let reply = browser.post(SIGN_IN, &fields).await;
    assert_eq!((reply.status, reply.headers["location"].as_str()), (303, fields[1].1));
    let page = browser.get(PAGE).await;
    assert_eq!(page.status, 200, "{}", page.text);
    assert!(page.text.contains("office"), "{}", page.text);
    // A signed-in person does not sign in again.
    let again = browser.get(SIGN_IN).await;
    assert_eq!((again.status, again.headers["location"].as_str()), (303, "/console/"));

    let out = browser.post("/console/logout", &[]).await;
    assert_eq!(out.headers["location"], "/console/login?signed-out=1");
    assert!(!browser.cookies.contains_key(SESSION));
    let (at, _) = browser.open(PAGE, Cause::Console).await;
    assert!(at.starts_with(SIGN_IN), "{at}");
    assert_eq!(
        trail(&server, "console").await,
        ["consoleLogin|key office|127.0.0.1|key|1", "consoleLogout|key office|127.0.0.1||1",]
    );
}

/// Another language or theme leaves the page to return to, and the link.
#[tokio::test]
async fn a_choice_on_the_sign_in_keeps_the_page_and_the_link() {
    let server = TestServer::start(fleet()).await;
    server.create_key_named("office", "read").await;
    let (_, token) = link(&server, "office").await;
    let mut browser = Browser::new(&server).await;
    let page = "/console/orders?q=a%26b";
    let with_page = format!("{SIGN_IN}?return=/console/orders%3Fq%3Da%2526b");
    for (address, page) in [
        (SIGN_IN.to_owned(), ""),
        (with_page.clone(), page),
        (format!("{SIGN_IN}?link={token}"), ""),
        (format!("{with_page}&link={token}"), page),
    ] {
        let shown = browser.get(&address).await.text;
        let escaped = address.replace('&', "&amp;");
        let fields = between(&shown, "name=\"return\" value=\"", "\"");
        assert_eq!(fields, [page, &escaped, &escaped]);
        for choice in [("language", "zh-CN"), ("theme", "dark"), ("language", "en")] {
            let form = [("return", address.as_str()), choice];
            let reply = browser.post("/console/preferences", &form).await;
            assert_eq!((reply.status, &reply.headers["location"]), (303, &address), "{choice:?}");
        }
    }
    for wrong in [
        "",
        "/console/login?return=https://other.example/&link=x",
        "/console/login?return=%2Fconsole%2Flogout&link=%2Fconsole%2F",
        "/console/login/?return=/console/",
        "https://other.example/?return=/console/",
    ] {
        let form = [("return", wrong), ("theme", "light")];
        let reply = browser.post("/console/preferences", &form).await;
        assert_eq!((reply.status, reply.headers["location"].as_str()), (303, SIGN_IN), "{wrong}");
    }
    let pasted = format!(" {token}\n");
    let reply = browser.post(SIGN_IN, &[("link", &pasted), ("return", page)]).await;
    assert_eq!((reply.status, reply.headers["location"].as_str()), (303, page));
}

/// A key is often pasted with the end of its line.
#[tokio::test]
async fn spaces_around_a_pasted_key_are_not_a_part_of_it() {
    let server = TestServer::start(fleet()).await;
    let key = server.create_key_named("office", "read").await;
    let mut browser = Browser::signed_in(&server, &format!(" {key}\r\n")).await;
    assert_eq!(browser.get(PAGE).await.status, 200);
}

/// Without a session every page but the sign-in leads to it, also one that does not exist.
#[tokio::test]
async fn every_page_leads_to_the_sign_in() {
    let server = TestServer::start(fleet()).await;
    let mut browser = Browser::new(&server).await;
    for path in ["/console", "/console/", "/console/audit", "/console/keys", "/console/nothing"] {
        for method in [Method::GET, Method::HEAD, Method::POST] {
            let reply = browser.ask(method.clone(), path, Cause::Console, "").await;
            assert_eq!(reply.status, 303, "{method} {path}");
            assert!(reply.headers["location"].starts_with(SIGN_IN), "{reply:?}");
        }
    }
    // The operator's calls are as they were.
    let reply = browser.get("/consoles").await;
    assert_eq!((reply.status, &reply.json["status"]), (404, &404.into()));
}

/// The previews of messengers request the page, and only the button signs in.
#[tokio::test]
async fn a_link_is_spent_by_its_button() {
    let server = TestServer::start(fleet()).await;
    server.create_key_named("office", "read").await;
    let (path, token) = link(&server, "office").await;
    let mut preview = Browser::new(&server).await;
    for (method, cause) in [
        (Method::GET, Cause::OtherSite),
        (Method::HEAD, Cause::OtherSite),
        (Method::GET, Cause::Address),
        (Method::GET, Cause::Console),
    ] {
        let reply = preview.ask(method, &path, cause, "").await;
        assert_eq!(reply.status, 200);
        assert!(!preview.cookies.contains_key(SESSION));
    }
    let mut browser = Browser::new(&server).await;
    let button = browser.ask(Method::GET, &path, Cause::OtherSite, "").await;
    assert!(button.text.contains(&format!("name=\"link\" value=\"{token}\"")), "{}", button.text);
    let reply = browser.post(SIGN_IN, &[("link", &token)]).await;
    assert_eq!((reply.status, reply.headers["location"].as_str()), (303, "/console/"));
    assert_eq!(browser.get(PAGE).await.status, 200);
    // Once.
    let replayed = preview.post(SIGN_IN, &[("link", &token)]).await;
    assert_eq!(replayed.status, 403);
    assert!(!preview.cookies.contains_key(SESSION));
    assert_eq!(
        trail(&server, "console").await,
        [
            "consoleLinkCreated|command||office|1",
            "consoleLogin|key office|127.0.0.1|link|1",
            "consoleLoginRefused||127.0.0.1|link|1",
        ]
    );
    let rows = server.data.rows().join("\n");
    assert!(!rows.contains(&token) && !rows.contains(&browser.cookies[SESSION]), "{rows}");
}

#[tokio::test]
async fn a_link_ends_after_a_minute_and_with_its_key() {
    let server = TestServer::start(fleet()).await;
    server.create_key_named("office", "read").await;
    let mut browser = Browser::new(&server).await;
    // The last time is that of a clock that was set back.
    for (at, status) in [("10:00:59.999", 303), ("10:01:00", 403), ("09:00:00", 403)] {
        server.set_clock("2026-03-02T10:00:00Z");
        let (_, token) = link(&server, "office").await;
        browser.cookies.insert(SESSION.to_owned(), token.clone());
        assert_eq!(browser.get(PAGE).await.status, 303, "a link is no cookie");
        browser.cookies.clear();
        server.set_clock(&format!("2026-03-02T{at}Z"));
        assert_eq!(browser.post(SIGN_IN, &[("link", &token)]).await.status, status, "{at}");
        server.set_clock("2026-03-02T10:00:00Z");
        let again = browser.post(SIGN_IN, &[("link", &token)]).await;
        assert_eq!(again.status, 403, "{at}: it is spent, also if it was refused");
        browser.cookies.clear();
    }
    let (_, revoked) = link(&server, "office").await;
    revoke(&server, "office").await;
    assert_eq!(browser.post(SIGN_IN, &[("link", &revoked)]).await.status, 403);
    assert!(!browser.cookies.contains_key(SESSION));
}

/// Two nodes on the same data: a session is one on both, and a link signs in on one of them.
#[tokio::test]
async fn a_session_is_one_on_every_node_and_after_a_restart() {
    let mut server = TestServer::start(fleet()).await;
    let key = server.create_key_named("office", "read").await;
    let other = server.another_node().await;
    let mut browser = Browser::signed_in(&server, &key).await;
    let mut elsewhere = Browser::new(&other).await;
    elsewhere.cookies.clone_from(&browser.cookies);
    assert_eq!(elsewhere.get(PAGE).await.status, 200);
    let (_, token) = link(&server, "office").await;
    assert_eq!(elsewhere.post(SIGN_IN, &[("link", &token)]).await.status, 303);
    assert_eq!(browser.post(SIGN_IN, &[("link", &token)]).await.status, 403);
    let again = Browser::signed_in(&server, &key).await;
    drop(other);
    server.restart().await;
    let mut restarted = Browser::new(&server).await;
    restarted.cookies.clone_from(&again.cookies);
    assert_eq!(restarted.get(PAGE).await.status, 200);
}

/// A browser sends no cookies with a request that another site causes: the console makes it ask
/// again.
#[tokio::test]
async fn a_colleague_who_follows_a_link_gets_the_page() {
    let server = TestServer::start(fleet()).await;
    let mut browser = Browser::with_rights(&server, "read").await;
    let (at, page) = browser.open("/console/devices?q=1%2F2", Cause::OtherSite).await;
    assert_eq!((at.as_str(), page.status), ("/console/devices?q=1%2F2", 200));
    assert!(page.text.contains("/console/logout"), "{}", page.text);
    // A stranger gets the sign-in, and asks again once.
    let mut stranger = Browser::new(&server).await;
    let (at, form) = stranger.open(PAGE, Cause::OtherSite).await;
    assert_eq!(at, "/console/login?return=/console/service&again=1");
    assert!(form.text.contains("name=\"key\""), "{}", form.text);
    let reply = stranger.ask(Method::GET, &at, Cause::OtherSite, "").await;
    assert!(!reply.headers.contains_key("refresh"), "it does not lead in a circle");
}

/// A right key and a fresh link are let in whatever others did, from the same address or from many:
/// neither can be guessed, so that a limit would protect nothing.
#[tokio::test]
async fn wrong_keys_keep_no_right_one_out() {
    let server = TestServer::start_with(fleet(), behind_proxy).await;
    let key = server.create_key_named("office", "read").await;
    let mut browser = Browser::new(&server).await;
    browser.headers.push(("x-forwarded-for", String::new()));
    let mut from = async |source: String, fields: &[(&str, &str)]| {
        browser.headers[0].1 = source;
        browser.post(SIGN_IN, fields).await
    };
    let wrong = format!("kqo_{}", "B".repeat(43));
    let (_, spent) = link(&server, "office").await;
    let near = || "192.0.2.7".to_owned();
    assert_eq!(from(near(), &[("link", &spent)]).await.status, 303);
    for _ in 0..25 {
        let refused = from(near(), &[("key", &wrong)]).await;
        assert_eq!(refused.status, 403);
        assert!(refused.text.contains("unknown or revoked"), "{}", refused.text);
        assert_eq!(from(near(), &[("link", &spent)]).await.status, 403);
    }
    for at in 0..700 {
        let source = format!("198.51.{}.{}", at / 250, at % 250);
        assert_eq!(from(source, &[("key", &wrong)]).await.status, 403, "{at}");
    }
    for source in [near(), "203.0.113.9".to_owned()] {
        assert_eq!(from(source.clone(), &[("key", &key)]).await.status, 303, "{source}");
        let (_, fresh) = link(&server, "office").await;
        assert_eq!(from(source.clone(), &[("link", &fresh)]).await.status, 303, "{source}");
    }
    // Every attempt is in the trail; the attempts of a minute are few entries.
    server.advance(Duration::from_secs(60));
    let trail = trail(&server, "console").await;
    let refused = trail.iter().filter_map(|entry| entry.strip_prefix("consoleLoginRefused|"));
    let counts = refused.map(|entry| entry.rsplit('|').next().unwrap().parse::<usize>().unwrap());
    assert_eq!(counts.sum::<usize>(), 50 + 700, "{trail:?}");
    let limited = trail.iter().filter(|entry| entry.contains("limited"));
    assert_eq!(limited.count(), 0, "{trail:?}");
}

/// The script of an open page renews its figures: that is no act of a person.
#[tokio::test]
async fn an_open_page_does_not_prolong_its_session() {
    let server = TestServer::start(fleet()).await;
    let key = server.create_key_named("office", "read").await;
    let mut browser = Browser::signed_in(&server, &key).await;
    assert!(SCRIPT.text.contains(&format!("\"{RENEWAL_HEADER}\"")), "the script marks them");
    let hour = Duration::from_secs(3_600);
    server.advance(hour);
    assert_eq!(browser.get(PAGE).await.status, 200);
    browser.headers.push((RENEWAL_HEADER, "1".to_owned()));
    for _ in 1..8 {
        server.advance(hour);
        assert_eq!(browser.get(PAGE).await.status, 200);
    }
    let millisecond = Duration::from_millis(1);
    server.advance(hour - millisecond);
    assert_eq!(browser.get(PAGE).await.status, 200);
    server.advance(millisecond);
    let (at, form) = browser.open(PAGE, Cause::Console).await;
    assert!(at.starts_with(SIGN_IN) && form.text.contains("session has ended"), "{}", form.text);
    // With acts it lasts for seven days.
    let mut browser = Browser::signed_in(&server, &key).await;
    for _ in 0..7 * 4 - 1 {
        server.advance(6 * hour);
        assert_eq!(browser.get(PAGE).await.status, 200);
    }
    for (by, status) in [(6 * hour - millisecond, 200), (millisecond, 303)] {
        server.advance(by);
        assert_eq!(browser.get(PAGE).await.status, status);
    }
}
