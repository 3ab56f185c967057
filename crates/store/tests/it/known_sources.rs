//! LIM-9: which sources are known to an account.

use kiosque_model::{LoginName, Source, UnixMs};
use kiosque_store::SourceStatus;
use kiosque_testkit::{NOW, TestStore, origin};

const DAY_MS: i64 = 86_400_000;

async fn log_in(fixture: &TestStore, source: &str, now: UnixMs) {
    fixture.log_in_until("ops", 7, now.plus_ms(1), origin(source, now)).await.unwrap();
}

fn name(name: &str) -> LoginName {
    LoginName::parse(name).unwrap()
}

async fn knows(fixture: &TestStore, source: &str, now: UnixMs) -> bool {
    let source: Source = source.parse().unwrap();
    let known =
        fixture.store.sessions().credentials_for(&name("ops"), source.prefix(), now).await.unwrap();
    known.unwrap().1 == SourceStatus::Known
}

/// LIM-7, LIM-9: an IPv4 address, or the /64 of an IPv6 address, is known to the account that
/// logged in, from its login on.
#[tokio::test]
async fn a_login_makes_its_source_known_to_its_account() {
    let fixture = TestStore::with_fleet().await;
    let fleet = kiosque_model::fleet::Fleet {
        accounts: vec![kiosque_testkit::entries::account("other", &["a"])],
        ..Default::default()
    };
    fixture.apply(fleet).await.unwrap();
    assert!(!knows(&fixture, "192.0.2.1", NOW).await);
    log_in(&fixture, "192.0.2.1", NOW).await;
    log_in(&fixture, "2001:db8:0:1::5", NOW).await;
    for (source, known) in [
        ("192.0.2.1", true),
        ("::ffff:192.0.2.1", true),
        ("192.0.2.2", false),
        ("2001:db8:0:1:ffff::", true),
        ("2001:db8:0:2::5", false),
    ] {
        assert_eq!(knows(&fixture, source, NOW).await, known, "{source}");
    }
    let source = "192.0.2.1".parse::<Source>().unwrap().prefix();
    let other = fixture
        .store
        .sessions()
        .credentials_for(&name("other"), source, NOW)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(other.1, SourceStatus::Unknown);
    assert!(
        fixture
            .store
            .sessions()
            .credentials_for(&name("absent"), source, NOW)
            .await
            .unwrap()
            .is_none()
    );
}

/// LIM-9: the latest 32 are known, for 90 days.
#[tokio::test]
async fn the_newest_are_known_for_ninety_days() {
    let fixture = TestStore::with_fleet().await;
    log_in(&fixture, "192.0.2.1", NOW).await;
    for ago in 1..40 {
        log_in(&fixture, &format!("198.51.100.{ago}"), NOW.plus_ms(ago)).await;
        log_in(&fixture, "192.0.2.1", NOW.plus_ms(ago)).await;
    }
    let count = "select count(*) from known_sources";
    assert_eq!(fixture.query(count), ["32"]);
    let now = NOW.plus_ms(39);
    assert!(knows(&fixture, "192.0.2.1", now).await, "used all the while");
    assert!(
        knows(&fixture, "198.51.100.39", now).await && knows(&fixture, "198.51.100.9", now).await
    );
    assert!(!knows(&fixture, "198.51.100.8", now).await);

    let last = now.plus_ms(90 * DAY_MS - 1);
    assert!(knows(&fixture, "198.51.100.39", last).await);
    assert!(!knows(&fixture, "198.51.100.39", last.plus_ms(1)).await);
    log_in(&fixture, "203.0.113.1", last.plus_ms(1)).await;
    assert_eq!(fixture.query(count), ["1"]);
}
