//! AUTH-24: a changed password, a disabled account or disabled API access deletes the session in
//! the transaction of `apply`.

use kiosque_model::fleet::{AccountEntry, Fleet};
use kiosque_model::{ActedBy, Refusal};
use kiosque_store::{ApplyError, NewHash, NewHashes, Refused};
use kiosque_testkit::entries::{account, bare_account};
use kiosque_testkit::{NOW, TestStore, clock_at, origin};

fn accounts(accounts: Vec<AccountEntry>) -> Fleet {
    Fleet { accounts, ..Fleet::default() }
}

fn new_hash(hash: &str) -> NewHashes {
    let compared_with = Some("hash of ops".to_owned());
    NewHashes::from([("ops".to_owned(), NewHash { compared_with, new: Some(hash.to_owned()) })])
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
