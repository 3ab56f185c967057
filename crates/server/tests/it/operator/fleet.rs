//! `POST /operator/v1/fleet`: a fleet in JSON. An error anywhere names the entry, and nothing is
//! applied.

use kiosque_testkit::eventually;
use serde_json::json;

use super::{FLEET_CALL, whole, with_key};

#[tokio::test]
async fn a_fleet_is_applied_and_the_changes_are_returned() {
    let (server, key) = with_key("fleet").await;
    server.log_in("ops").await;
    let fleet = json!({
        "group": [{"id": "g1"}, {"id": "g3", "name": "Three"}],
        "account": [
            {"login_name": "ops", "password": "other"},
            {"login_name": "new", "password": "secret", "third_party_api": true, "groups": ["g3"]},
        ],
        "product": [{"id": "cola", "name": "Cola zero"}],
        "device": [{"code": "D3", "name": "Hall", "group": "g3",
            "aisle": [{"code": "1", "product": "cola", "price": 250}]}],
    });
    let reply = server.call_operator(FLEET_CALL, Some(&key), fleet.to_string()).await;
    insta::assert_snapshot!("a_fleet", whole(&reply));
    assert_eq!(server.log_in("new").await.group, "g3");
    // The same fleet again changes nothing, and ends no session.
    let reply = server.call_operator(FLEET_CALL, Some(&key), fleet.to_string()).await;
    insta::assert_snapshot!("the_same_fleet_again", whole(&reply));
}

/// Very many errors are counted: the answer has the first ones.
#[tokio::test]
async fn the_errors_of_a_fleet_have_a_bound() {
    let (server, key) = with_key("fleet").await;
    let device = |at: usize| json!({"code": format!("X{at}"), "name": "X", "group": "south"});
    for (devices, listed, last) in [
        (1_000, 1_000, "device X999: group: no group south is known"),
        (1_003, 1_001, "… and 3 more errors"),
    ] {
        let fleet = json!({"device": (0..devices).map(device).collect::<Vec<_>>()}).to_string();
        let reply = server.call_operator(FLEET_CALL, Some(&key), fleet).await;
        let faults = reply.json["faults"].as_array().unwrap();
        assert_eq!((reply.status, faults.len(), &faults[listed - 1]), (422, listed, &json!(last)));
    }
}

#[tokio::test]
async fn every_error_is_returned_and_nothing_is_applied() {
    let (server, key) = with_key("fleet").await;
    // Further uses of the key are in the same minute, and are not stored.
    assert_eq!(server.call_operator(FLEET_CALL, Some(&key), "null").await.status, 422);
    eventually("the use of the key is stored", async || {
        server.store.operators().keys().await.unwrap()[0].used_at == Some(server.now())
    })
    .await;
    let before = server.data.fingerprint().await;
    // Errors of the entries themselves, then of their references, then of the text.
    let entries = json!({
        "group": [{"id": "g9", "name": "Nine"}],
        "product": [{"id": "p", "name": "P", "currency": "ZZZ"}],
        "device": [{"code": "D9", "name": "a\u{0}b", "group": "g9"}],
    });
    let named = json!({
        "group": [{"id": "g9", "name": "Nine"}, {"id": "g8"}],
        "device": [{"code": "D9", "name": "Nine", "group": "g7"}],
    });
    for (name, body) in [
        ("errors_of_entries", entries.to_string()),
        ("errors_of_references", named.to_string()),
        ("a_fleet_that_is_no_json", "{\"group\":[}".to_owned()),
    ] {
        let reply = server.call_operator(FLEET_CALL, Some(&key), body).await;
        insta::assert_snapshot!(name, whole(&reply));
    }
    // Errors of keys, of values and of references are reported together, each once.
    let all = json!({
        "grop": [],
        "group": [{"id": "g7", "nmae": "Seven"}],
        "account": [{"login_name": "new", "groups": ["g7", "nowhere"]}],
        "product": [{"id": "p", "default_price": "5"}],
        "device": [
            {"code": "D9", "group": "west", "aisle": [{"code": "1", "product": "x", "price": 1}]},
            {"code": "D8", "name": 8, "group": "g7"},
            {"code": "D8", "name": "Again", "group": "south"},
            {"code": "D7", "name": "Seven"},
        ],
    });
    let reply = server.call_operator(FLEET_CALL, Some(&key), all.to_string()).await;
    insta::assert_snapshot!("all_errors_together", whole(&reply));
    let reply = server.call_operator(FLEET_CALL, Some(&key), &b"\xff"[..]).await;
    assert_eq!((reply.status, &reply.json["detail"]), (400, &json!("the body is not valid UTF-8")));
    assert!(before == server.data.fingerprint().await, "something was applied");
}

/// Reading and hashing a fleet takes long; other requests are answered meanwhile.
#[tokio::test]
async fn a_fleet_of_many_passwords_delays_no_login() {
    let (server, key) = with_key("fleet").await;
    let token = server.log_in("ops").await.token;
    let accounts: Vec<_> = (0..12)
        .map(|at| json!({"login_name": format!("a{at}"), "password": "secret", "groups": ["g1"]}))
        .collect();
    let body = json!({ "account": accounts }).to_string();
    let mut applying = std::pin::pin!(server.call_operator(FLEET_CALL, Some(&key), body));
    // The test has one thread: a hash on it would stop everything else until its end.
    let mut served = 0;
    let reply = loop {
        tokio::select! {
            reply = &mut applying => break reply,
            code = server.code_of(&token) => {
                assert_eq!(code, 200);
                served += 1;
            }
        }
    };
    assert_eq!((reply.status, &reply.json["accounts"]["created"]), (200, &json!(12)));
    assert!(served > 5, "{served} others were served");
}
