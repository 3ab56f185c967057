//! Refused requests of integrators, looked up by their ids.

use kiosque_testkit::{
    DEVICES_PATH, ORDERS_PATH, Reply, SWITCH_PATH, TOKEN_PATH, TestServer, card,
};

use super::Browser;
use crate::operator::fleet;

/// A text that is given where it does not belong.
const SECRET: &str = "hunter2";

fn id(reply: &Reply) -> &str {
    &reply.headers["x-request-id"]
}

async fn write_refused(server: &TestServer) {
    server.store.trail().write_refused().await.unwrap();
}

/// Returns the result of a look-up, as text.
async fn look_up(browser: &mut Browser, id: &str) -> String {
    let page = browser.get(&format!("/console/integrators?request={id}")).await;
    assert_eq!(page.status, 200, "{}", page.text);
    text(card(&page.text, "request"))
}

/// Returns the texts of HTML, on a line each.
fn text(html: &str) -> String {
    let texts =
        html.split('<').filter_map(|part| part.split_once('>')).map(|(_, text)| text.trim());
    texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n").replace("&quot;", "\"")
}

/// Refused requests are found after a restart and on another node, with what was asked, by which
/// account and from where, what was answered, and why.
#[tokio::test]
async fn a_refused_request_is_found_by_its_id_after_a_restart_and_on_another_node() {
    let (mut server, token) = TestServer::start_for_ops(fleet()).await;
    let body = r#"{"deviceCode":7,"startTimestamp":5,"endTimestamp":3,"password":"hunter2"}"#;
    let invalid = server.call(&format!("{ORDERS_PATH}?size=x"), Some(&token), body).await;
    let scope = server.call(DEVICES_PATH, Some(&token), r#"{"groupId":"foreign"}"#).await;
    let absent = server.call("nothing", Some(&token), "{}").await;
    let newer = server.log_in("ops").await.token;
    let replaced = server.call(DEVICES_PATH, Some(&token), "{}").await;
    let login = r#"{"username":"ops","password":"hunter2"}"#;
    let refused = server.call(TOKEN_PATH, None, login).await;
    write_refused(&server).await;

    let key = server.create_key_named("office", "read").await;
    server.restart().await;
    let other = server.another_node().await;
    for server in [&server, &other] {
        let mut browser = Browser::signed_in(server, &key).await;
        let mut found = String::new();
        for reply in [&invalid, &scope, &absent, &replaced, &refused] {
            let shown = look_up(&mut browser, id(reply)).await;
            assert!(shown.contains(id(reply)), "{shown}");
            found.push_str(&shown.replace(id(reply), "[id]"));
            found.push_str("\n\n");
        }
        insta::assert_snapshot!("refused_requests", found);
        let missing = look_up(&mut browser, "00000000-0").await;
        assert!(missing.contains("It may be older than a day"), "{missing}");
        let account = browser.get("/console/integrators/account?name=ops").await.text;
        let list = card(&account, "refusals");
        for (reply, is_listed) in
            [(&invalid, true), (&scope, true), (&replaced, true), (&refused, true), (&absent, true)]
        {
            assert_eq!(list.contains(id(reply)), is_listed, "{}: {list}", id(reply));
        }
    }
    assert_eq!(server.code_of(&newer).await, 200);
}

/// No password, token or key is stored, wherever it was sent; nor is a login name that does not
/// exist, since people type passwords there.
#[tokio::test]
async fn no_secret_of_a_refused_request_is_stored() {
    let (server, token) = TestServer::start_for_ops(fleet()).await;
    let key = server.create_key_named("office", "read").await;
    let long = "x".repeat(5_000);
    let mut refused = Vec::new();
    for (path, sent, body) in [
        (TOKEN_PATH, None, format!(r#"{{"username":"ops","password":"{SECRET}"}}"#)),
        (TOKEN_PATH, None, format!(r#"{{"username":"{SECRET}","password":"x"}}"#)),
        (TOKEN_PATH, None, format!(r#"{{"username":"{SECRET}","password":"#)),
        (TOKEN_PATH, None, format!(r#"{{"username":"ops","password":{{"{SECRET}":1}}}}"#)),
        (ORDERS_PATH, Some(&token), format!(r#"{{"deviceCode":5,"password":"{SECRET}"}}"#)),
        (ORDERS_PATH, Some(&token), format!(r#"{{"deviceCode":"{token}"}}"#)),
        (ORDERS_PATH, Some(&token), format!(r#"{{"deviceCode":"a {key}"}}"#)),
        (ORDERS_PATH, Some(&token), format!(r#"{{"deviceCode":5,"{SECRET}":"{SECRET}"}}"#)),
        (SWITCH_PATH, Some(&token), format!(r#"{{"groupId":"{token}","x":"{SECRET}"}}"#)),
        (ORDERS_PATH, Some(&key), "{}".to_owned()),
        (ORDERS_PATH, Some(&token), format!(r#"{{"deviceCode":5,"x":"{SECRET}{long}"}}"#)),
    ] {
        let reply = server.call(path, sent.map(String::as_str), &body).await;
        assert_ne!(reply.code(), 200, "{body}");
        refused.push(id(&reply).to_owned());
    }
    for path in [token.clone(), format!("{ORDERS_PATH}?token={token}&current={token}")] {
        let reply = server.call(&path, Some(&token), r#"{"deviceCode":5}"#).await;
        assert_ne!(reply.code(), 200, "{path}");
        refused.push(id(&reply).to_owned());
    }
    write_refused(&server).await;
    let rows = server.data.rows();
    let stored: Vec<&String> =
        rows.iter().filter(|row| row.starts_with("refused_requests")).collect();
    assert_eq!(stored.len(), refused.len(), "{stored:?}");
    for secret in [SECRET, &token, &key, &token[..40], &token[24..]] {
        for row in &stored {
            assert!(!row.contains(secret), "{secret}: {row}");
        }
    }
}

/// The token of another account proves nothing: the request counts for its source.
#[tokio::test]
async fn a_token_that_was_never_valid_does_not_count_for_the_account_that_it_names() {
    let (server, token) = TestServer::start_for_ops(fleet()).await;
    let end = if token.ends_with('A') { "B" } else { "A" };
    let forged = format!("{}{end}", &token[..token.len() - 1]);
    let reply = server.call(DEVICES_PATH, Some(&forged), "{}").await;
    assert_eq!(reply.code(), -4);
    write_refused(&server).await;
    let mut browser = Browser::with_rights(&server, "read").await;
    let found = look_up(&mut browser, id(&reply)).await;
    assert!(found.contains("ops, as the token or the login claims"), "{found}");
    let account = browser.get("/console/integrators/account?name=ops").await.text;
    assert!(!card(&account, "refusals").contains(id(&reply)));
}
