//! Attacks on the sign-in and on its cookie.

use http::Method;
use kiosque_model::ConsoleSecret;
use kiosque_testkit::TestServer;

use super::{Browser, SESSION, SIGN_IN, link, revoke, sessions};
use crate::operator::fleet;

const PAGE: &str = "/console/service";
const ALL: &str = "orders,activity,fleet,audit,read,keys";

/// A cookie that an attacker planted is never a session, and a sign-in ends the one before.
#[tokio::test]
async fn the_session_is_renewed_at_each_sign_in() {
    let server = TestServer::start(fleet()).await;
    let key = server.create_key_named("office", "read").await;
    let planted = ConsoleSecret::mint([7; 32]).reveal().to_owned();
    let mut browser = Browser::new(&server).await;
    browser.cookies.insert(SESSION.to_owned(), planted.clone());
    browser.post(SIGN_IN, &[("key", &key)]).await;
    assert_ne!(browser.cookies[SESSION], planted);
    let mut attacker = Browser::new(&server).await;
    attacker.cookies.insert(SESSION.to_owned(), planted);
    assert_eq!(attacker.get(PAGE).await.status, 303);
    // The attacker's own session does not become the session of the person who signs in after it.
    let other = server.create_key_named("other", "read").await;
    let mut attacker = Browser::signed_in(&server, &other).await;
    browser.cookies.clone_from(&attacker.cookies);
    browser.post(SIGN_IN, &[("key", &key)]).await;
    assert_ne!(browser.cookies[SESSION], attacker.cookies[SESSION]);
    assert_eq!(attacker.get(PAGE).await.status, 303, "its session has ended");
    assert_eq!(browser.get(PAGE).await.status, 200);
}

/// The first request of a browser that says neither is refused as well.
#[tokio::test]
async fn posts_of_other_sites_are_refused() {
    let server = TestServer::start(fleet()).await;
    let key = server.create_key_named("office", ALL).await;
    let (_, token) = link(&server, "office").await;
    let mut browser = Browser::signed_in(&server, &key).await;
    let cookie = ("cookie", browser.cookie_field());
    let text = |text: &str| text.to_owned();
    let attempts = [
        vec![("sec-fetch-site", text("cross-site")), cookie.clone()],
        vec![("sec-fetch-site", text("same-site")), cookie.clone()],
        vec![("origin", text("https://evil.example")), cookie.clone()],
        vec![("origin", text("https://ops.example:8445")), cookie.clone()],
        vec![("origin", text("http://ops.example:8444")), cookie.clone()],
        vec![("origin", text("https://ops.example")), cookie.clone()],
        vec![("origin", text("https://ops.example:8444.evil.example")), cookie.clone()],
        vec![
            ("sec-fetch-site", text("cross-site")),
            ("origin", text("https://ops.example:8444")),
            cookie.clone(),
        ],
        vec![("sec-fetch-site", String::new()), cookie.clone()],
        vec![("origin", text("null")), ("cookie", text("other=1"))],
        // A browser without Sec-Fetch-Site sends no cookies for another site.
        vec![("origin", text("null"))],
        vec![],
    ];
    let before = sessions(&server);
    let revoking = "action=revoke&name=office";
    for headers in &attempts {
        for (path, body) in [
            (SIGN_IN, format!("key={key}")),
            (SIGN_IN, format!("link={token}")),
            ("/console/logout", String::new()),
            ("/console/keys", revoking.to_owned()),
            ("/console/preferences", text("theme=dark")),
            ("/console/api/operator/readStatus", String::new()),
        ] {
            let reply = browser.send(Method::POST, path, headers, &body).await;
            assert_eq!(reply.status, 403, "{path} {headers:?}");
            assert!(!reply.headers.contains_key("set-cookie"), "{reply:?}");
        }
    }
    assert_eq!(sessions(&server), before);
    assert_eq!(browser.get(PAGE).await.status, 200);
    // The link was not spent.
    assert_eq!(browser.post(SIGN_IN, &[("link", &token)]).await.status, 303);
}

/// Browsers without `Sec-Fetch-Site` send `Origin: null` with our own forms.
#[tokio::test]
async fn browsers_without_sec_fetch_site_sign_in_and_out() {
    let server = TestServer::start(fleet()).await;
    let key = server.create_key_named("office", "read").await;
    let mut browser = Browser::new(&server).await;
    let shown = browser.send(Method::GET, SIGN_IN, &[], "").await;
    assert_eq!(shown.status, 200);
    for origin in ["null", "https://ops.example:8444", "https://OPS.example:8444"] {
        let headers = [("origin", origin.to_owned()), ("cookie", browser.cookie_field())];
        let body = format!("key={key}");
        let reply = browser.send(Method::POST, SIGN_IN, &headers, &body).await;
        assert_eq!(reply.status, 303, "{origin}");
        let headers = [("origin", origin.to_owned()), ("cookie", browser.cookie_field())];
        let reply = browser.send(Method::POST, "/console/logout", &headers, "").await;
        assert_eq!(reply.headers["location"], "/console/login?signed-out=1", "{origin}");
    }
}

#[tokio::test]
async fn two_tabs_share_one_session() {
    let server = TestServer::start(fleet()).await;
    // Both tabs show the sign-in; the second one signs in later, with a link.
    let mut browser = Browser::with_rights(&server, "read").await;
    let (_, token) = link(&server, "office").await;
    let first = browser.cookies[SESSION].clone();
    assert_eq!(browser.post(SIGN_IN, &[("link", &token)]).await.status, 303);
    assert_ne!(browser.cookies[SESSION], first);
    assert_eq!(browser.get(PAGE).await.status, 200, "the other tab goes on");
    assert_eq!(sessions(&server), 1);
    // One tab signs out, the other one clicks, with a form too.
    browser.post("/console/logout", &[]).await;
    assert_eq!(browser.get(PAGE).await.status, 303);
    let form = browser.post("/console/keys", &[("action", "revoke"), ("name", "office")]).await;
    assert_eq!((form.status, form.headers["location"].as_str()), (303, SIGN_IN));
}

#[tokio::test]
async fn the_next_click_after_a_revocation_is_the_sign_in() {
    let server = TestServer::start(fleet()).await;
    let mut browser = Browser::with_rights(&server, ALL).await;
    assert_eq!(browser.get(PAGE).await.status, 200);
    revoke(&server, "office").await;
    assert_eq!(browser.get(PAGE).await.status, 303);
    let create = [("action", "create"), ("name", "mine"), ("may", "read")];
    assert_eq!(browser.post("/console/keys", &create).await.status, 303);
    assert_eq!(server.store.operators().keys().await.unwrap().len(), 1);
    // A key of the same name is another key.
    server.create_key_named("office", ALL).await;
    assert_eq!(browser.get(PAGE).await.status, 303);
}

/// Ports are no part of a cookie's origin: the cookie of another server at the same host, or one
/// that is no cookie of a console, is unknown here.
#[tokio::test]
async fn the_cookie_of_another_server_is_unknown() {
    let (here, there) = (TestServer::start(fleet()).await, TestServer::start(fleet()).await);
    here.create_key_named("office", "read").await;
    let key = there.create_key_named("office", "read").await;
    let theirs = Browser::signed_in(&there, &key).await;
    let session = theirs.cookies[SESSION].clone();
    for cookies in [
        format!("{SESSION}={session}"),
        format!("{SESSION}={}", ConsoleSecret::mint([0; 32]).reveal()),
        format!("{SESSION}={key}"),
        format!("{SESSION}="),
        format!("{SESSION}=' or 1=1"),
    ] {
        let mut browser = Browser::new(&here).await;
        let headers = [("cookie", cookies.clone()), ("sec-fetch-site", "same-origin".to_owned())];
        let reply = browser.send(Method::GET, PAGE, &headers, "").await;
        assert_eq!(reply.status, 303, "{cookies}");
    }
    // HTTP/2 may divide the cookies of a request.
    let mut browser = Browser::new(&there).await;
    let divided = ["__Host-kiosque-theme=dark; a=1".to_owned(), format!("{SESSION}={session}")];
    let divided = divided.map(|cookies| ("cookie", cookies));
    assert_eq!(browser.send(Method::GET, PAGE, &divided, "").await.status, 200);
    // A cookie that is sent twice, once by an attacker, is none.
    let twice = format!("{SESSION}={session}; {SESSION}={}", ConsoleSecret::mint([0; 32]).reveal());
    let reply = browser.send(Method::GET, PAGE, &[("cookie", twice)], "").await;
    assert_eq!(reply.status, 303);
}

/// The page after a sign-in is one of this console.
#[tokio::test]
async fn a_sign_in_leads_to_no_other_host() {
    let server = TestServer::start(fleet()).await;
    let key = server.create_key_named("office", "read").await;
    let long = format!("/console/{}", "x".repeat(2_000));
    for evil in [
        "/",
        "/console",
        "console/",
        "https://evil.example/console/",
        "//evil.example/console/",
        "/\\evil.example",
        "/console/\\evil.example",
        "/console/../../evil",
        "/console/%2e%2E/metrics",
        "javascript:alert(1)",
        "/console/login?return=/console/",
        "/console/logout",
        "/console/\r\nset-cookie: a=b",
        "/console/ x",
        "/console/é",
        "/console/#x",
        "/console/>",
        &long,
    ] {
        let mut browser = Browser::new(&server).await;
        let reply = browser.post(SIGN_IN, &[("key", &key), ("return", evil)]).await;
        assert_eq!(reply.headers["location"], "/console/", "{evil}");
        let encoded: String = evil.bytes().map(|byte| format!("%{byte:02x}")).collect();
        let reply = browser.get(&format!("{SIGN_IN}?return={encoded}")).await;
        assert_eq!(reply.headers["location"], "/console/", "{evil}");
        let reply = browser.post("/console/preferences", &[("return", evil)]).await;
        // The sign-in itself keeps its page.
        let stays = if evil.starts_with(SIGN_IN) { evil } else { SIGN_IN };
        assert_eq!(reply.headers["location"], stays, "{evil}");
    }
}
