//! AUTH-24, SCOPE-5: a changed password, a disabled account or disabled API access deletes the
//! session in the transaction of `apply`; a group that is revoked or deactivated does not.

use kiosque_model::fleet::{AccountEntry, Fleet, GroupEntry};
use kiosque_model::{ActedBy, Refusal};
use kiosque_store::{ApplyError, NewHash, NewHashes, Refused};
use kiosque_testkit::entries::{account, bare_account, group, group_id};
use kiosque_testkit::{NOW, TestStore, clock_at, origin};

fn accounts(accounts: Vec<AccountEntry>) -> Fleet {
    Fleet { accounts, ..Fleet::default() }
}

fn new_hash(hash: &str) -> NewHashes {
    let compared_with = Some("hash of ops".to_owned());
    NewHashes::from([("ops".to_owned(), NewHash { compared_with, new: Some(hash.to_owned()) })])
}

/// AUTH-24: each of the three ends the session. Anything else leaves it, and the sessions of other
/// accounts stay.
#[tokio::test]
async fn what_is_taken_away_ends_the_session_in_the_same_transaction() {
    let ops = || bare_account("ops");
    let off = NewHashes::new;
    let cases: Vec<(&str, AccountEntry, NewHashes, usize)> = vec![
        ("a new password", ops(), new_hash("other"), 1),
        ("disabled", AccountEntry { enabled: Some(false), ..ops() }, off(), 1),
        ("no API", AccountEntry { third_party_api: Some(false), ..ops() }, off(), 1),
        ("nothing", ops(), off(), 0),
        ("the same password", ops(), new_hash("hash of ops"), 0),
        (
            "another display name",
            AccountEntry { display_name: Some("x".into()), ..ops() },
            off(),
            0,
        ),
        ("enabled as it was", AccountEntry { enabled: Some(true), ..ops() }, off(), 0),
        ("a group less", account("ops", &["b"]), off(), 0),
    ];
    for (what, entry, hashes, ended) in cases {
        let fixture = TestStore::with_fleet().await;
        let fleet = accounts(vec![account("other", &["a"])]);
        fixture.apply(fleet).await.unwrap();
        let session = fixture.log_in("ops").await.unwrap();
        let other = fixture.log_in("other").await.unwrap();
        let applied = fixture
            .store
            .fleet()
            .apply(accounts(vec![entry]), hashes, ActedBy::command(NOW), &clock_at(NOW))
            .await
            .unwrap();
        assert_eq!(applied.counts.sessions_ended, ended, "{what}");
        assert_eq!(
            fixture.store.sessions().prove(fixture.claim(&session)).await.is_err(),
            ended == 1,
            "{what}"
        );
        assert!(
            fixture.store.sessions().prove(fixture.claim(&other)).await.is_ok(),
            "{what}: another account's session"
        );
        let rows = fixture.query("select count(*) from sessions");
        assert_eq!(rows, [(2 - ended).to_string()], "{what}");
    }
}

/// An error elsewhere in the fleet rolls the end of the session back.
#[tokio::test]
async fn an_error_ends_no_session() {
    let fixture = TestStore::with_fleet().await;
    let session = fixture.log_in("ops").await.unwrap();
    let disabled = AccountEntry { enabled: Some(false), ..bare_account("ops") };
    let errors = fixture.errors(accounts(vec![disabled, account("x", &["nowhere"])])).await;
    assert_eq!(errors, ["account x: groups: no group nowhere is known"]);
    assert!(fixture.store.sessions().prove(fixture.claim(&session)).await.is_ok());
}

/// AUTH-24: a login that had compared its password before the change is refused, too.
#[tokio::test]
async fn what_is_taken_away_during_a_login_counts() {
    let cases: [(AccountEntry, NewHashes, Refusal); 4] = [
        (bare_account("ops"), new_hash("other"), Refusal::Credentials),
        (
            AccountEntry { enabled: Some(false), ..bare_account("ops") },
            NewHashes::new(),
            Refusal::Credentials,
        ),
        (
            AccountEntry { third_party_api: Some(false), ..bare_account("ops") },
            NewHashes::new(),
            Refusal::ApiNotEnabled,
        ),
        (account("ops", &[]), NewHashes::new(), Refusal::NoGroup),
    ];
    for (entry, hashes, refusal) in cases {
        let fixture = TestStore::with_fleet().await;
        let name = kiosque_model::LoginName::parse("ops").unwrap();
        let credentials = fixture.store.sessions().credentials(&name).await.unwrap().unwrap();
        fixture
            .store
            .fleet()
            .apply(accounts(vec![entry]), hashes, ActedBy::command(NOW), &clock_at(NOW))
            .await
            .unwrap();
        let end = NOW.plus_ms(1);
        match fixture
            .store
            .sessions()
            .log_in(credentials, [1; 32], end, origin("127.0.0.1", NOW))
            .await
        {
            Err(Refused::Refusal(actual)) => assert_eq!(actual, refusal),
            other => panic!("{refusal:?}: {other:?}"),
        }
    }
}

/// AUTH-4, AUTH-5: the groups of an account in its own order. A list in an entry replaces the whole
/// list.
#[tokio::test]
async fn the_groups_of_an_account_are_a_list_in_its_own_order() {
    let fixture = TestStore::with_fleet().await;
    let opened = async || {
        let name = kiosque_model::LoginName::parse("ops").unwrap();
        let credentials = fixture.store.sessions().credentials(&name).await.unwrap().unwrap();
        let opened = fixture
            .store
            .sessions()
            .log_in(credentials, [1; 32], NOW.plus_ms(1), origin("127.0.0.1", NOW))
            .await
            .unwrap();
        let ids = opened.switchable.into_iter().map(|group| group.group_id);
        (opened.group_id, ids.collect::<Vec<_>>().join(" "))
    };
    let seen = |group: &str, all: &str| (group.to_owned(), all.to_owned());
    assert_eq!(opened().await, seen("a", "a b"));
    let fleet = Fleet { groups: vec![group("c")], ..accounts(vec![account("ops", &["b", "c"])]) };
    fixture.apply(fleet).await.unwrap();
    assert_eq!(opened().await, seen("b", "b c"));
    fixture.apply(accounts(vec![account("ops", &["c", "b", "a"])])).await.unwrap();
    assert_eq!(opened().await, seen("c", "c b a"));
    let shut = GroupEntry { id: group_id("c"), name: None, active: Some(false) };
    fixture.apply(Fleet { groups: vec![shut], ..Fleet::default() }).await.unwrap();
    assert_eq!(opened().await, seen("b", "b a"));
    fixture.apply(accounts(vec![bare_account("ops")])).await.unwrap();
    assert_eq!(opened().await, seen("b", "b a"), "what is not named stays");
}

/// A new account needs a password.
#[tokio::test]
async fn a_new_account_needs_a_password() {
    let fixture = TestStore::with_fleet().await;
    let fleet = accounts(vec![bare_account("new")]);
    match fixture
        .store
        .fleet()
        .apply(fleet, NewHashes::new(), ActedBy::command(NOW), &clock_at(NOW))
        .await
    {
        Err(ApplyError::Invalid(errors)) => {
            let error = "account new: password or password_hash: required for a new account";
            assert_eq!(errors.iter().map(ToString::to_string).collect::<Vec<_>>(), [error]);
        }
        other => panic!("{other:?}"),
    }
}

/// Of two applies at once, the second one compares its password with the hash of the first.
#[tokio::test]
async fn a_password_that_changed_since_it_was_compared_is_compared_again() {
    let fixture = TestStore::with_fleet().await;
    let apply = async |given: NewHash, name: &str| {
        let hashes = NewHashes::from([(name.to_owned(), given)]);
        let fleet = accounts(vec![bare_account(name)]);
        fixture.store.fleet().apply(fleet, hashes, ActedBy::command(NOW), &clock_at(NOW)).await
    };
    let compared = |stored: Option<&str>, new: Option<&str>| NewHash {
        compared_with: stored.map(str::to_owned),
        new: new.map(str::to_owned),
    };
    apply(compared(Some("hash of ops"), Some("first")), "ops").await.unwrap();
    let before = fixture.rows();
    // The password of "hash of ops" is "unchanged", and another one would replace "first" unseen.
    for new in [None, Some("second")] {
        let late = apply(compared(Some("hash of ops"), new), "ops").await;
        assert!(matches!(late, Err(ApplyError::PasswordChanged)), "{late:?}");
    }
    let late = apply(compared(None, Some("second")), "ops").await;
    assert!(matches!(late, Err(ApplyError::PasswordChanged)), "{late:?}");
    assert_eq!(fixture.rows(), before);
    let applied = apply(compared(Some("first"), None), "ops").await.unwrap();
    assert_eq!(applied.counts.accounts.unchanged, 1);
    assert_eq!(fixture.query("select password_hash from accounts"), ["first"]);
}
