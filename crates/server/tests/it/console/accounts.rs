//! The accounts of integrators: their state, their last use, and the end of a session.

use kiosque_testkit::{TestServer, between, card};

use super::{Browser, signed_in_with};
use crate::operator::fleet;

const ACCOUNT: &str = "/console/integrators/account?name=ops";
const END: &str = "/console/integrators/account";

/// An account that is enabled and has no group, or deactivated ones alone, cannot log in, and is
/// not shown as if it could.
#[tokio::test]
async fn the_state_of_an_account_is_why_it_cannot_log_in() {
    let accounts = fleet().account("two", &["g2"]).account::<&str>("unassigned", &[]);
    let (server, mut browser) = signed_in_with(accounts, "read").await;
    let badges =
        |page: &str, id: &str| between(card(page, id), "<span class=\"badge ", "</span>").join(" ");
    let mut states = async || {
        let mut states = vec![badges(&browser.get("/console/integrators").await.text, "accounts")];
        for name in ["two", "unassigned"] {
            let path = format!("/console/integrators/account?name={name}");
            states.push(badges(&browser.get(&path).await.text, "account"));
        }
        states.join(" ")
    };
    let [good, none] = ["good\">enabled", "warning\">no group"];
    assert_eq!(states().await, [good, good, none, good, none].join(" "));
    server.apply("[[group]]\nid = \"g2\"\nactive = false\n").await.unwrap();
    assert_eq!(states().await, [good, none, none, none, none].join(" "));
    server.apply("[[group]]\nid = \"g1\"\nactive = false\n").await.unwrap();
    assert_eq!(states().await, [none; 5].join(" "));
}

/// The name of an account may end with a space: the session of another one does not end.
#[tokio::test]
async fn the_session_of_exactly_the_named_account_is_ended() {
    let accounts = fleet().account("acme", &["g1"]).account("acme ", &["g1"]);
    let server = TestServer::start(accounts).await;
    let manager = server.create_key_named("manager", "read,fleet").await;
    let [acme, spaced] = [server.log_in("acme").await.token, server.log_in("acme ").await.token];
    let mut browser = Browser::signed_in(&server, &manager).await;
    let page = "/console/integrators/account?name=acme%20";
    let form = browser.get(page).await.text;
    let names = between(card(&form, "end"), "name=\"name\" value=\"", "\"");
    assert_eq!(names, ["acme "]);
    let ended = browser.post(END, &[("name", names[0])]).await;
    assert_eq!((ended.status, ended.headers["location"].as_str()), (303, page));
    assert_eq!([server.code_of(&acme).await, server.code_of(&spaced).await], [200, -4]);
}

/// The page of an account has its groups and its session, which a key that may change the fleet
/// can end. The last use remains.
#[tokio::test]
async fn a_session_is_shown_and_ended_on_the_page_of_its_account() {
    let server = TestServer::start(fleet()).await;
    let manager = server.create_key_named("manager", "read,fleet,audit").await;
    let token = server.log_in("ops").await.token;
    assert_eq!(server.code_of(&token).await, 200);
    let mut reader = Browser::with_rights(&server, "read").await;
    let page = reader.get(ACCOUNT).await.text;
    let account = card(&page, "account");
    for part in ["One, Two", "enabled", "from 127.0.0.1", "just now"] {
        assert!(account.contains(part), "{part}: {account}");
    }
    assert!(!page.contains("id=\"end\""), "{page}");
    assert_eq!(reader.post(END, &[("name", "ops")]).await.status, 403);
    assert_eq!(server.code_of(&token).await, 200);

    let mut browser = Browser::signed_in(&server, &manager).await;
    let page = browser.get(ACCOUNT).await.text;
    assert!(card(&page, "end").contains("End the session of ops now"), "{page}");
    let ended = browser.post(END, &[("name", "ops")]).await;
    assert_eq!((ended.status, ended.headers["location"].as_str()), (303, ACCOUNT));
    assert_eq!(server.code_of(&token).await, -4);
    let page = browser.get(ACCOUNT).await.text;
    let account = card(&page, "account");
    assert!(account.contains("just now") && !account.contains("from 127.0.0.1"), "{account}");
    assert!(!page.contains("id=\"end\""), "{page}");
    assert!(card(&page, "timeline").contains("manager"), "{page}");
    assert_eq!(browser.post(END, &[("name", "ops")]).await.status, 303, "it has none");
    assert_eq!(browser.post(END, &[("name", "absent")]).await.status, 404);
    let list = browser.get("/console/integrators").await.text;
    assert!(card(&list, "accounts").contains("just now"), "{list}");
}
