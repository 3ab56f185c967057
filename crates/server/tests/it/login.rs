//! Log in.

use std::time::Duration;

use kiosque_testkit::{TOKEN_PATH, TestRequest, TestServer, snapshot};

use crate::catalog;

const GOOD: &str = r#"{"username":"ops","password":"secret"}"#;

/// AUTH-2: the answer of a login. AUTH-3: the token's characters. AUTH-4: the default group is the
/// first active one. AUTH-5: the groups that can be selected, without inactive ones.
#[tokio::test]
async fn a_login_answers_with_token_default_group_and_switchable_groups() {
    let server = catalog::open().await;
    let english = TestRequest::to(TOKEN_PATH).body(GOOD).send(&server).await;
    insta::assert_snapshot!("a_login", snapshot(&english));
    let chinese = TestRequest::to(TOKEN_PATH).body(GOOD).locale("zh-CN").send(&server).await;
    insta::assert_snapshot!("a_login_in_chinese", snapshot(&chinese));
}

/// AUTH-7: a password is compared exactly.
#[tokio::test]
async fn a_password_is_taken_as_it_is() {
    let fleet = r#"
        [[group]]
        id = "g"
        name = "G"
        [[account]]
        login_name = "spaced"
        password = " sécret\t"
        third_party_api = true
        groups = ["g"]
    "#;
    let server = TestServer::start(fleet).await;
    for (password, code) in [
        (" sécret\\t", 200),
        ("\\u0020s\\u00e9cret\\t", 200),
        ("sécret", -2),
        (" sécret", -2),
        // The same letters in another Unicode normalization form are another password.
        (" se\\u0301cret\\t", -2),
    ] {
        let body = format!(r#"{{"username":"spaced","password":"{password}"}}"#);
        assert_eq!(server.call(TOKEN_PATH, None, &body).await.code(), code, "{password}");
    }
}

/// AUTH-6, FMT-1: `expiresIn` is a point in time in milliseconds, from which on the token is
/// refused; using the session does not move it.
#[tokio::test]
async fn a_session_lasts_until_the_millisecond_that_it_names() {
    let validity = Duration::from_millis(90_001);
    let server =
        TestServer::start_with(catalog::fleet(), |settings| settings.token_validity = validity)
            .await;
    let session = server.log_in("ops").await;
    assert_eq!(session.expires_in, server.now().0 + 90_001);
    server.advance(Duration::from_millis(90_000));
    assert_eq!(server.code_of(&session.token).await, 200);
    server.advance(Duration::from_millis(1));
    assert_eq!(server.now().0, session.expires_in);
    assert_eq!(server.code_of(&session.token).await, -4);
    let again = server.log_in("ops").await;
    assert_eq!(server.code_of(&again.token).await, 200);
}

/// AUTH-24: applying the same password again, as text or as a hash, or another name to show ends no
/// session; another password does.
#[tokio::test]
async fn the_same_password_again_ends_no_session() {
    let server = catalog::open().await;
    let session = server.log_in("ops").await;
    let applied = server.apply(catalog::fleet()).await.unwrap().counts;
    assert_eq!((applied.accounts.unchanged, applied.sessions_ended), (2, 0));
    let name = kiosque_model::LoginName::parse("ops").unwrap();
    let hash = server.store.sessions().credentials(&name).await.unwrap().unwrap().password_hash;
    let same = format!("[[account]]\nlogin_name = \"ops\"\npassword_hash = \"{hash}\"");
    assert_eq!(server.apply(&same).await.unwrap().counts.accounts.unchanged, 1);
    let renamed = "[[account]]\nlogin_name = \"ops\"\ndisplay_name = \"Other\"";
    assert_eq!(server.apply(renamed).await.unwrap().counts.sessions_ended, 0);
    assert_eq!(server.code_of(&session.token).await, 200);
    let other = "[[account]]\nlogin_name = \"ops\"\npassword = \"secret \"";
    assert_eq!(server.apply(other).await.unwrap().counts.sessions_ended, 1);
    assert_eq!(server.code_of(&session.token).await, -4);
}
